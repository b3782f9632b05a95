package fix

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestBranch commits two versions of a file to a branch of its own, and holds that nothing else of the repository moves.
func TestBranch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testrun.Missing(t, "there is no git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "a@example.com")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) string {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return at
	}
	git("init", "-q", "-b", "main")
	if _, err := newBranch(t.Context(), dir, "hone-fix"); !errors.Is(err, ErrNoCommit) {
		t.Errorf("in a repository without commits: %v", err)
	}
	file, other := write("sub/a.go", "one\n"), write("b.go", "b\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	write("staged.go", "staged\n")
	git("add", "staged.go")
	write("b.go", "changed\n")
	before := git("status", "--porcelain")

	b, err := newBranch(t.Context(), filepath.Join(dir, "sub"), "hone-fix")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.clean(t.Context(), file); err != nil {
		t.Errorf("a file as it was committed: %v", err)
	}
	if err := b.clean(t.Context(), other); err == nil || !strings.Contains(err.Error(), "b.go has changes") {
		t.Errorf("a file that was changed: %v", err)
	}
	for _, text := range []string{"two\n", "three\n"} {
		if _, err := b.commit(t.Context(), file, []byte(text), "make it "+text+"\nwith a reason\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := git("log", "--format=%s", "hone-fix"); got != "make it three\nmake it two\nfirst" {
		t.Errorf("the branch has %q", got)
	}
	if got := git("show", "hone-fix:sub/a.go"); got != "three" {
		t.Errorf("the branch holds %q", got)
	}
	if got := git("show", "hone-fix:b.go"); got != "b" {
		t.Errorf("what was not committed is on the branch: %q", got)
	}
	if got := git("ls-tree", "hone-fix", "sub/a.go"); !strings.HasPrefix(got, "100755 ") {
		t.Errorf("the mode of the file is %q", got)
	}
	if got := git("status", "--porcelain"); got != before {
		t.Errorf("the working tree was %q and is %q", before, got)
	}
	if got := git("rev-parse", "--abbrev-ref", "HEAD"); got != "main" {
		t.Errorf("on branch %s", got)
	}
	git("branch", "deep/er")
	for _, name := range []string{"hone-fix/two", "hone-fix/two/three", "deep", "deep/er/still"} {
		if _, err := newBranch(t.Context(), dir, name); !errors.Is(err, ErrNoCommit) || !strings.Contains(err.Error(), "so git cannot create") {
			t.Errorf("a branch %s beside hone-fix and deep/er: %v", name, err)
		}
	}
	if _, err := newBranch(t.Context(), dir, "hone-fix"); !errors.Is(err, ErrNoCommit) || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second branch of the name: %v", err)
	}
	if _, err := newBranch(t.Context(), dir, "no..name"); !errors.Is(err, ErrNoCommit) {
		t.Errorf("a bad name: %v", err)
	}
	git("branch", "-f", "hone-fix", "main")
	if _, err := b.commit(t.Context(), file, []byte("four\n"), "four"); err == nil || !strings.Contains(err.Error(), "changed by something else") {
		t.Errorf("a branch that was moved: %v", err)
	}
}
