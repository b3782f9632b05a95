package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/testrun"
)

// repository makes a repository with a commit, a folder in it, and a linked working tree.
func repository(t *testing.T) (top, sub, linked string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testrun.Missing(t, "there is no git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "a")
		t.Setenv("GIT_"+who+"_EMAIL", "a@example.com")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top, linked = filepath.Join(dir, "top"), filepath.Join(dir, "linked")
	sub = filepath.Join(top, "sub")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "file"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}, {"worktree", "add", "-q", linked}} {
		if _, err := (Command{Dir: top}).Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	return top, sub, linked
}

// TestRepositoryOfTheFolder holds that git works on the repository of the folder, whichever one a hook was called for.
func TestRepositoryOfTheFolder(t *testing.T) {
	top, sub, linked := repository(t)
	other := filepath.Join(t.TempDir(), "other")
	if _, err := (Command{}).Run(t.Context(), "init", "-q", other); err != nil {
		t.Fatal(err)
	}
	hooks := map[string]map[string]string{
		"of the repository":     {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index", "GIT_PREFIX": ""},
		"of a linked tree":      {"GIT_DIR": filepath.Join(top, ".git", "worktrees", "linked"), "GIT_WORK_TREE": linked, "GIT_INDEX_FILE": filepath.Join(top, ".git", "worktrees", "linked", "index")},
		"of another repository": {"GIT_DIR": filepath.Join(other, ".git"), "GIT_WORK_TREE": other, "GIT_COMMON_DIR": filepath.Join(other, ".git"), "GIT_OBJECT_DIRECTORY": filepath.Join(other, ".git", "objects")},
	}
	for name, env := range hooks {
		t.Run("in a hook "+name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			for dir, want := range map[string]string{top: top, sub: top, linked: linked} {
				in := Command{Dir: dir}
				if got, err := in.Line(t.Context(), "rev-parse", "--show-toplevel"); filepath.FromSlash(got) != want || err != nil {
					t.Errorf("in %s, the working tree is %q, %v; want %q", dir, got, err, want)
				}
				if got, err := in.Line(t.Context(), "log", "--format=%s"); got != "first" || err != nil {
					t.Errorf("in %s, the commits are %q, %v", dir, got, err)
				}
				if got, err := in.Line(t.Context(), "status", "--porcelain"); got != "" || err != nil {
					t.Errorf("in %s, the status is %q, %v", dir, got, err)
				}
			}
		})
	}
}

func TestUnbound(t *testing.T) {
	env := []string{"GIT_DIR=.git", "HOME=/home/a", "GIT_INDEX_FILE=x", "GIT_SSH_COMMAND=ssh -q", "GIT_WORK_TREE=.", "GIT_CONFIG_COUNT=1"}
	want := []string{"HOME=/home/a", "GIT_SSH_COMMAND=ssh -q", "GIT_CONFIG_COUNT=1"}
	if got := Unbound(env); !slices.Equal(got, want) {
		t.Errorf("Unbound(%q) = %q; want %q", env, got, want)
	}
	if env[0] != "GIT_DIR=.git" {
		t.Error("what it was given is changed")
	}
	t.Setenv("GIT_DIR", ".git")
	t.Setenv("GIT_AUTHOR_NAME", "a")
	if got := Unbound(nil); slices.Contains(got, "GIT_DIR=.git") || !slices.Contains(got, "GIT_AUTHOR_NAME=a") {
		t.Errorf("the environment of this process is %q", got)
	}
}

// TestSettingsAreKept holds that git knows who the user is, and what settings came by the environment, as CI systems do it.
func TestSettingsAreKept(t *testing.T) {
	top, _, _ := repository(t)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "hone.test")
	t.Setenv("GIT_CONFIG_VALUE_0", "kept")
	if got, err := (Command{Dir: top}).Line(t.Context(), "config", "hone.test"); got != "kept" || err != nil {
		t.Errorf("the setting is %q, %v", got, err)
	}
	if got, err := (Command{Dir: top}).Line(t.Context(), "var", "GIT_AUTHOR_IDENT"); !strings.HasPrefix(got, "a <a@example.com>") || err != nil {
		t.Errorf("the author is %q, %v", got, err)
	}
}

func TestErrorsNameTheCommand(t *testing.T) {
	top, _, _ := repository(t)
	in := Command{Dir: top}
	_, err := in.Run(t.Context(), "cat-file", "-t", "nowhere")
	if want := "git cat-file -t nowhere: Not a valid object name nowhere"; err == nil || err.Error() != want {
		t.Errorf("the error is %v; want %s", err, want)
	} else if got := Said(err); got != "Not a valid object name nowhere" {
		t.Errorf("git said %q", got)
	}
	if _, err := in.Run(t.Context(), "rev-parse", "--verify", "--quiet", "nowhere"); err == nil || !strings.HasSuffix(err.Error(), ": exit status 1") {
		t.Errorf("the error of a quiet command is %v", err)
	}
	if _, err := (Command{Dir: filepath.Join(top, "nowhere")}).Run(t.Context(), "status"); err == nil || !strings.HasPrefix(err.Error(), "git status: ") {
		t.Errorf("the error of a folder that is not there is %v", err)
	}
	text := "warning: CRLF\nfatal: it is broken\nhint: mend it"
	if got := complaint(text, errors.New("exit status 1")); got != "it is broken" {
		t.Errorf("the complaint of %q is %q", text, got)
	}
}

func TestLimit(t *testing.T) {
	top, _, _ := repository(t)
	out, err := Command{Dir: top, Limit: 3}.Run(t.Context(), "cat-file", "blob", "HEAD:sub/file")
	if string(out) != "tex" || !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file behind a limit of 3 bytes is %q, %v", out, err)
	}
	out, err = Command{Dir: top, Limit: 5}.Run(t.Context(), "cat-file", "blob", "HEAD:sub/file")
	if string(out) != "text\n" || err != nil {
		t.Errorf("a file as long as the limit is %q, %v", out, err)
	}
}

func TestContextEnds(t *testing.T) {
	top, _, _ := repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Command{Dir: top}).Run(ctx, "status"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v; want %v", err, context.Canceled)
	}
}

// TestIsOutside holds that a folder in no repository is told from a repository that git does not open.
func TestIsOutside(t *testing.T) {
	top, _, _ := repository(t)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(top))
	_, err := Command{Dir: filepath.Dir(top)}.Run(t.Context(), "status")
	if !IsOutside(err) {
		t.Errorf("in no repository: %v", err)
	}
	_, err = Command{Dir: top}.Run(t.Context(), "cat-file", "-t", "nowhere")
	if err == nil || IsOutside(err) {
		t.Errorf("in a repository: %v", err)
	}
	if next := hint.Next(err); next != nil {
		t.Errorf("the next step is %v", next)
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := (Command{}).Run(t.Context(), "status"); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("the error is %v; want %v", err, ErrNotInstalled)
	} else if next := hint.Next(err).String(); !strings.HasPrefix(next, "install git") {
		t.Errorf("the next step is %q", next)
	}
}
