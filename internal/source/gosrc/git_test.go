package gosrc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inRepo runs a git command in dir, whatever the user's configuration is.
func inRepo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false",
		"-c", "core.autocrlf=false", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// history makes a repository of two commits and returns its root and the first of them, which the program is of.
func history(t *testing.T) (root, built string) {
	t.Helper()
	root = lay(t, map[string]string{
		"go.mod":       "module example.com/app\n",
		"same.go":      code("main", "func same() {", "}"),
		"grown.go":     code("main", "func grown() {", "	println(1)", "	println(2)", "}"),
		"moved.go":     code("main", "func moved() {", "}"),
		"gone/gone.go": code("gone", "func Gone() {", "}"),
		"cmd/left.go":  code("main", "func left() {", "}"),
		"one/twin.go":  code("main", "func twin() {", "}"),
		"two/twin.go":  code("main", "func twin() {", "}"),
		"c/code.c":     "int c;\nint d;\n",
	})
	inRepo(t, root, "init", "-q")
	inRepo(t, root, "add", ".")
	inRepo(t, root, "commit", "-q", "-m", "built")
	built = inRepo(t, root, "rev-parse", "HEAD")
	for name, text := range map[string]string{
		"grown.go": code("main", "func grown() {", "	println(0)", "	println(1)", "	println(2)", "}"),
		"moved.go": code("main", "", "", "", "", "func moved() {", "}"),
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"gone", "cmd", "one", "two", "c"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	inRepo(t, root, "commit", "-q", "-a", "-m", "later")
	return root, built
}

func TestGit(t *testing.T) {
	root, built := history(t)
	how := "git " + built[:12]
	tests := []struct {
		name  string
		frame Frame
		opt   func(*Options)
		line  string // what line of the frame is, or "" for an error
		how   string
		path  string // "" for git
		notes []string
		err   string
	}{
		{name: "unchanged", frame: Frame{"main.same", "example.com/app/same.go", 3},
			line: "func same() {", how: "main module", path: "same.go"},
		{name: "changed around the line", frame: Frame{"main.grown", "example.com/app/grown.go", 4},
			line: "	println(1)", how: how, notes: []string{"this is the file that was built"}},
		{name: "changed, with local changes", frame: Frame{"main.grown", "example.com/app/grown.go", 4},
			opt:  func(o *Options) { o.Modified = true },
			line: "	println(0)", how: "main module", path: "grown.go", notes: []string{"built with local changes"}},
		{name: "changed, git not wanted", frame: Frame{"main.grown", "example.com/app/grown.go", 4},
			opt:  func(o *Options) { o.Git = false },
			line: "	println(0)", how: "main module", path: "grown.go"},
		{name: "changed, commit unknown", frame: Frame{"main.grown", "example.com/app/grown.go", 4},
			opt:  func(o *Options) { o.Revision = strings.Repeat("ab", 20) },
			line: "	println(0)", how: "main module", path: "grown.go",
			notes: []string{"may have changed since the build: commit abababababab: "}},
		{name: "changed, commit is not a hash", frame: Frame{"main.grown", "example.com/app/grown.go", 4},
			opt:  func(o *Options) { o.Revision = "--output=x" },
			line: "	println(0)", how: "main module", path: "grown.go", notes: []string{`"--output=x" is not a commit of git`}},
		{name: "moved away from the line", frame: Frame{"main.moved", "example.com/app/moved.go", 3},
			line: "func moved() {", how: how},
		{name: "moved, git not wanted", frame: Frame{"main.moved", "example.com/app/moved.go", 3},
			opt:  func(o *Options) { o.Git = false },
			line: "", how: "main module", path: "moved.go", notes: []string{"was changed after the program was built"}},
		{name: "at no time at the line", frame: Frame{"main.moved", "example.com/app/moved.go", 5},
			line: "", how: "main module", path: "moved.go", notes: []string{"was changed after"}},
		{name: "deleted", frame: Frame{"example.com/app/gone.Gone", "example.com/app/gone/gone.go", 3},
			line: "func Gone() {", how: how},
		{name: "deleted, as recorded", frame: Frame{"example.com/app/gone.Gone", "$/gone/gone.go", 3},
			line: "func Gone() {", how: how},
		{name: "deleted, with local changes", frame: Frame{"example.com/app/gone.Gone", "example.com/app/gone/gone.go", 3},
			opt:  func(o *Options) { o.Modified = true },
			line: "func Gone() {", how: how, notes: []string{"built with local changes"}},
		{name: "deleted, not Go", frame: Frame{"example.com/app/c._Cfunc_d", "example.com/app/c/code.c", 2},
			line: "int d;", how: how, notes: []string{"not a Go file"}},
		{name: "deleted, built elsewhere", frame: Frame{"main.left", "/ci/build/cmd/left.go", 3},
			line: "func left() {", how: how, notes: []string{"recorded as /ci/build/cmd/left.go"}},
		{name: "deleted, other function", frame: Frame{"main.right", "/ci/build/cmd/left.go", 3},
			err: "cmd/left.go does not declare main.right"},
		{name: "deleted, two", frame: Frame{"main.twin", "/ci/build/twin.go", 3},
			err: "2 files end in twin.go: one/twin.go, two/twin.go"},
		{name: "deleted, git not wanted", frame: Frame{"main.left", "/ci/build/cmd/left.go", 3},
			opt: func(o *Options) { o.Git = false },
			err: "there is no left.go below"},
		{name: "never there", frame: Frame{"main.left", "/ci/build/never.go", 3},
			err: how + ": has no file called never.go"},
		{name: "commit unknown", frame: Frame{"main.left", "/ci/build/cmd/left.go", 3},
			opt: func(o *Options) { o.Revision = strings.Repeat("ab", 20) },
			err: "git: commit abababababab: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opt := options(root)
			opt.Dir, opt.MainModule, opt.Git, opt.Revision = root, "example.com/app", true, built
			if test.opt != nil {
				test.opt(&opt)
			}
			test.frame.File = strings.Replace(test.frame.File, "$", filepath.ToSlash(root), 1)
			got, err := New(opt).Find(t.Context(), test.frame)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("found %q (%s), error %v, want one with %q", got.Path, got.How, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			path := ""
			if test.path != "" {
				path = filepath.Join(root, test.path)
			}
			if got.How != test.how || got.Path != path {
				t.Errorf("found %q (%s), want %q (%s)", got.Path, got.How, path, test.how)
			}
			if line := got.Lines[test.frame.Line-1]; line != test.line {
				t.Errorf("line %d is %q, want %q", test.frame.Line, line, test.line)
			}
			if len(got.Notes) != len(test.notes) {
				t.Fatalf("notes %q, want %q", got.Notes, test.notes)
			}
			for i, want := range test.notes {
				if !strings.Contains(got.Notes[i], want) {
					t.Errorf("note %q, want one with %q", got.Notes[i], want)
				}
			}
		})
	}
}

// TestGitEnvironment runs as in a hook, where git's variables name another repository.
func TestGitEnvironment(t *testing.T) {
	root, built := history(t)
	t.Setenv("GIT_DIR", filepath.Join(root, "nowhere"))
	opt := options(root)
	opt.Dir, opt.MainModule, opt.Git, opt.Revision = root, "example.com/app", true, built
	got, err := New(opt).Find(t.Context(), Frame{"main.left", "/ci/build/cmd/left.go", 3})
	if err != nil || !strings.HasPrefix(got.How, "git ") {
		t.Errorf("found %q (%s), %v", got.Path, got.How, err)
	}
}

func TestGitEnds(t *testing.T) {
	root, built := history(t)
	if _, err := runGit(t.Context(), root, 5, "cat-file", "blob", built+":same.go"); !errors.Is(err, errTooLarge) {
		t.Errorf("more than the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runGit(ctx, root, maxFile, "cat-file", "blob", built+":same.go"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	opt := options(root)
	opt.Dir, opt.MainModule, opt.Git, opt.Revision = root, "example.com/app", true, built
	f := New(opt)
	if _, err := f.Find(ctx, Frame{"main.left", "/ci/build/cmd/left.go", 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("find after cancel: %v", err)
	}
	// Whoever asks next is not told of it.
	if got, err := f.Find(t.Context(), Frame{"main.left", "/ci/build/cmd/left.go", 3}); err != nil {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestNoGit(t *testing.T) {
	root, built := history(t)
	t.Setenv("PATH", "")
	opt := options(root)
	opt.Dir, opt.Git, opt.Revision = root, true, built
	_, err := New(opt).Find(t.Context(), Frame{"main.left", "/ci/build/cmd/left.go", 3})
	if err == nil || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("error %v", err)
	}
}
