package fix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
)

// A branch gets a commit for each fix. The working tree, the index and the branch that is checked out stay as they are: what is
// committed was only ever in git's store.
type branch struct {
	name string
	top  string // of the working tree
	tip  string // the last commit
	temp string // index
}

// ErrNoCommit is that fixes cannot be committed.
var ErrNoCommit = errors.New("the fixes cannot be committed")

// newBranch begins a branch at the commit that is checked out.
func newBranch(ctx context.Context, dir, name string) (*branch, error) {
	b := &branch{name: name, top: dir}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrNoCommit, fmt.Sprintf(format, args...))
	}
	top, err := b.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, wrong("%s is not in a git repository: %v", dir, err)
	}
	if b.top, err = filepath.EvalSymlinks(filepath.FromSlash(top)); err != nil {
		return nil, err
	}
	if b.tip, err = b.git(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return nil, wrong("the repository has no commit yet")
	}
	if _, err := b.git(ctx, nil, "check-ref-format", "--branch", name); err != nil {
		return nil, wrong("%q is not a valid branch name", name)
	}
	if _, err := b.git(ctx, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+name); err == nil {
		return nil, wrong("branch %s already exists: choose another name, or delete it with git branch -D %s", name, name)
	}
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if _, err := b.git(ctx, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+up); err == nil {
			return nil, wrong("branch %s exists, so git cannot create %s: choose another name", up, name)
		}
	}
	if below, err := b.git(ctx, nil, "for-each-ref", "--count=1", "--format=%(refname:short)", "refs/heads/"+name+"/"); err == nil && below != "" {
		return nil, wrong("branch %s exists, so git cannot create %s: choose another name", below, name)
	}
	if _, err := b.git(ctx, nil, "var", "GIT_COMMITTER_IDENT"); err != nil {
		return nil, wrong("git has no user name or email: %v", err)
	}
	return b, nil
}

// clean says why a file cannot be committed: it differs from what the last commit has.
func (b *branch) clean(ctx context.Context, file string) error {
	rel, err := b.rel(file)
	if err != nil {
		return err
	}
	status, err := b.git(ctx, nil, "status", "--porcelain", "--ignored", "--", rel)
	if err != nil {
		return err
	}
	if status != "" {
		return hint.Errorf(hint.Text{"commit them first, or leave ", hint.Option{Name: "commit"}, " out"}, "%s has changes that are not committed", rel)
	}
	return nil
}

func (b *branch) rel(file string) (string, error) {
	rel, err := filepath.Rel(b.top, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the repository %s", file, b.top)
	}
	return filepath.ToSlash(rel), nil
}

// commit commits a file with a new text, and returns the commit.
func (b *branch) commit(ctx context.Context, file string, text []byte, message string) (string, error) {
	rel, err := b.rel(file)
	if err != nil {
		return "", err
	}
	entry, err := b.git(ctx, nil, "ls-tree", b.tip, "--", ":(top)"+rel)
	if err != nil {
		return "", err
	}
	mode, _, ok := strings.Cut(entry, " ")
	if !ok {
		return "", fmt.Errorf("%s is not in the last commit", rel)
	}
	dir, err := scratch.Dir("index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	b.temp = filepath.Join(dir, "index") // git makes it
	defer func() { b.temp = "" }()
	if _, err := b.git(ctx, nil, "read-tree", b.tip); err != nil {
		return "", err
	}
	blob, err := b.git(ctx, text, "hash-object", "-w", "--stdin", "--path="+rel)
	if err != nil {
		return "", err
	}
	if _, err := b.git(ctx, nil, "update-index", "--cacheinfo", mode+","+blob+","+rel); err != nil {
		return "", err
	}
	tree, err := b.git(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := b.git(ctx, []byte(message), "commit-tree", tree, "-p", b.tip, "-F", "-")
	if err != nil {
		return "", err
	}
	// It has to be where the last one left it, or not there.
	was := strings.Repeat("0", len(commit))
	if old, err := b.git(ctx, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+b.name); err == nil {
		if was = old; old != b.tip {
			return "", fmt.Errorf("branch %s was changed by something else: the fix is not committed", b.name)
		}
	}
	if _, err := b.git(ctx, nil, "update-ref", "-m", "hone: fixed", "refs/heads/"+b.name, commit, was); err != nil {
		return "", err
	}
	b.tip = commit
	return commit, nil
}

// git runs git and returns what it prints.
func (b *branch) git(ctx context.Context, in []byte, args ...string) (string, error) {
	c := git.Command{Dir: b.top, Input: in}
	if b.temp != "" {
		c.Env = []string{"GIT_INDEX_FILE=" + b.temp}
	}
	return c.Line(ctx, args...)
}

// message writes a fix with its evidence, for git.
func message(x *report.Fixed) string {
	var b strings.Builder
	title := x.Fix
	if fn := x.Where.Function; fn != "" {
		title = fn[strings.LastIndexByte(fn, '/')+1:] + ": " + title
	}
	fmt.Fprintf(&b, "%s\n\n%s, %s.\n\n", title, x.Where.String(), x.Title)
	for i := range x.Speed {
		r := &x.Speed[i]
		if r.Verdict == report.Better || r.What.IsTime() {
			fmt.Fprintf(&b, "    %s\n", measured(r))
		}
	}
	fmt.Fprintf(&b, "\nProven by: %s.\n", x.Proof())
	if x.Risk != "" && !x.Safe {
		fmt.Fprintf(&b, "Risk: %s.\n", x.Risk)
	}
	for _, d := range x.Doubts {
		fmt.Fprintf(&b, "Not proven: %s.\n", d.Text)
	}
	return b.String()
}

// measured writes a row as text.
func measured(r *report.CompareRow) string {
	return said(r) + ", " + r.Words
}
