package capture

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTreeOf(t *testing.T) {
	needs(t, "git")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	if got := treeOf(ctx, dir); got != nil {
		t.Errorf("a folder without git has %+v", got)
	}
	run("init", "-q")
	put("a.go", "package a\n")
	put("b.go", "package a\n\nconst one, two, three = 1, 2, 3\n")
	put("sub/c.go", "package sub\n")
	if got := treeOf(ctx, dir); got != nil {
		t.Errorf("a tree without a commit has %+v", got)
	}
	run("add", ".")
	run("commit", "-q", "-m", "x")
	put("old.hone", "") // recordings are no change
	put("new.hone.part/manifest.json", "{}")
	sub := filepath.Join(dir, "sub")
	if got := treeOf(ctx, sub); got == nil || len(got.revision) != 40 || got.changes.Files != 0 || got.text != nil {
		t.Errorf("a clean tree has %+v", got)
	}
	put("a.go", "package a\n\nvar changed int\n")
	put("new.go", "package a\n")
	run("mv", "b.go", "sub/b.go")
	got := treeOf(ctx, sub)
	if got == nil || got.changes.Files != 3 || got.changes.Untracked != 1 || got.changes.Cut {
		t.Fatalf("changes are %+v", got)
	}
	t.Run("in a hook of another repository", func(t *testing.T) {
		t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), ".git"))
		t.Setenv("GIT_WORK_TREE", t.TempDir())
		if again := treeOf(ctx, sub); again == nil || again.revision != got.revision || again.changes != got.changes {
			t.Errorf("changes are %+v, want %+v", again, got)
		}
	})
	for _, want := range []string{"# new: \"new.go\"\n", "+var changed int\n", "rename to sub/b.go"} {
		if !strings.Contains(string(got.text), want) {
			t.Errorf("there is no %q in\n%s", want, got.text)
		}
	}
	put("a.go", strings.Repeat("// much\n", maxDiff/4))
	if got = treeOf(ctx, dir); !got.changes.Cut || len(got.text) < maxDiff || len(got.text) > maxDiff+100 {
		t.Errorf("of a large change there are %d bytes, cut: %v", len(got.text), got.changes.Cut)
	}
}
