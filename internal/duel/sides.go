package duel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
)

// A Side is a version of what is compared: a folder with sources, or a test program that was built before.
type Side struct {
	recording.DuelSide
	Dir  string // where its packages are named, and the go command runs
	File string // the test program; "" when it is to be built

	// Options.Set sets what follows. The zero value of each is what is in use now.
	Tool     string   // the go command that builds it
	BuildEnv []string // environment of that
	Flags    []string // for building, behind those for both sides
	Env      []string // NAME=value for its runs, beside the environment of this process
}

// ErrNoRepository is that versions were named outside of a git repository.
var ErrNoRepository = errors.New("not in a git repository")

// A NoCommitError says that what should be a revision is not one here.
type NoCommitError struct {
	Name           string
	Remote, Branch string // it is a branch of a remote; "" is none
}

func (e *NoCommitError) Error() string { return e.Name + " names no commit" }

// A ShallowError is what is wrong with revisions in a clone that lacks older commits, which may be why.
type ShallowError struct{ Err error }

func (e *ShallowError) Error() string { return e.Err.Error() }
func (e *ShallowError) Unwrap() error { return e.Err }

// Revisions returns the sides that a spec names: A..B are two revisions, A is one against the working tree, and "" is where
// the work began against the working tree. close removes what was checked out for it.
func Revisions(ctx context.Context, dir, spec string) (old, new Side, close func(), err error) {
	var r repository
	close = func() { r.close() }
	defer func() {
		if err != nil {
			close()
		}
	}()
	if err := r.open(ctx, dir); err != nil {
		return old, new, close, err
	}
	before, after, isRange := strings.Cut(spec, "..")
	if strings.HasPrefix(after, ".") { // A...B is from where they parted
		after = after[1:]
		base, err := r.parted(ctx, cmp.Or(before, "HEAD"), cmp.Or(after, "HEAD"))
		if err != nil {
			return old, new, close, fmt.Errorf("finding where %s parted: %w", spec, err)
		}
		before = base
	}
	if before == "" {
		if before, err = r.base(ctx); err != nil {
			return old, new, close, err
		}
	}
	if old, err = r.side(ctx, before); err != nil {
		return old, new, close, err
	}
	if isRange && after != "" {
		new, err = r.side(ctx, after)
		return old, new, close, err
	}
	new = Side{Dir: dir, DuelSide: recording.DuelSide{Name: "working tree"}}
	if new.Rev, err = r.run(ctx, "rev-parse", "HEAD"); err != nil {
		return old, new, close, err
	}
	status, err := r.run(ctx, "status", "--porcelain")
	new.Dirty = status != ""
	return old, new, close, err
}

// A repository is one of git, and what was checked out of it for a while.
type repository struct {
	root  string // of the working tree
	dir   string // where the user is
	trees []string
	temp  string
}

func (r *repository) open(ctx context.Context, dir string) (err error) {
	if r.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		return err
	}
	if r.root, err = r.run(ctx, "rev-parse", "--show-toplevel"); err != nil {
		if errors.Is(err, git.ErrNotInstalled) {
			return fmt.Errorf("comparing revisions needs git: %w", err)
		}
		if !git.IsOutside(err) { // such as: the repository belongs to another user
			return hint.Errorf(hint.Next(err), "%s: git: %s", r.dir, git.Said(err))
		}
		return fmt.Errorf("%s: %w", r.dir, ErrNoRepository)
	}
	r.root = filepath.FromSlash(r.root)
	return nil
}

// base returns the commit where the work in this working tree began: where its branch left the main one, or the last
// commit when it is on that one and has changes, or the one before.
func (r *repository) base(ctx context.Context) (string, error) {
	names := []string{"main", "master", "origin/main", "origin/master"}
	if head, err := r.run(ctx, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"); err == nil {
		names = append([]string{head}, names...)
	}
	head, err := r.run(ctx, "rev-parse", "HEAD")
	if failed := (*git.Error)(nil); errors.As(err, &failed) {
		return "", errors.New("the repository has no commit yet")
	}
	if err != nil {
		return "", err
	}
	for _, name := range names {
		base, err := r.run(ctx, "merge-base", "HEAD", name)
		if err == nil && base != head {
			return base, nil
		}
	}
	if status, err := r.run(ctx, "status", "--porcelain"); err != nil || status != "" {
		return "HEAD", err
	}
	if _, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD~1"); err != nil {
		return "", r.unshallowed(ctx, errors.New("there is only one commit, and no change since to compare with it"))
	}
	return "HEAD~1", nil
}

// commit returns the commit that a revision names.
func (r *repository) commit(ctx context.Context, name string) (string, error) {
	rev, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err == nil {
		return rev, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	missing := &NoCommitError{Name: name}
	if remote, branch, ok := strings.Cut(name, "/"); ok && !strings.ContainsAny(branch, "~^@:") {
		if remotes, err := r.run(ctx, "remote"); err == nil && slices.Contains(strings.Fields(remotes), remote) {
			missing.Remote, missing.Branch = remote, branch
			return "", missing
		}
	}
	return "", r.unshallowed(ctx, missing)
}

// unshallowed returns what is wrong with revisions, as a ShallowError if the clone lacks older commits.
func (r *repository) unshallowed(ctx context.Context, wrong error) error {
	if is, err := r.run(ctx, "rev-parse", "--is-shallow-repository"); err == nil && is == "true" {
		return &ShallowError{wrong}
	}
	return wrong
}

// parted returns the last commit that two revisions have in common.
func (r *repository) parted(ctx context.Context, a, b string) (string, error) {
	for _, name := range []string{a, b} {
		if _, err := r.commit(ctx, name); err != nil {
			return "", err
		}
	}
	base, err := r.run(ctx, "merge-base", a, b)
	if failed := (*git.Error)(nil); errors.As(err, &failed) {
		return "", r.unshallowed(ctx, fmt.Errorf("%s and %s have no commit in common", a, b))
	}
	return base, err
}

// side checks a revision out into a folder of its own.
func (r *repository) side(ctx context.Context, name string) (s Side, err error) {
	s.Name = name
	if s.Rev, err = r.commit(ctx, name); err != nil {
		return s, err
	}
	if len(name) == len(s.Rev) {
		s.Name = name[:min(len(name), 12)]
	}
	if r.temp == "" {
		if r.temp, err = scratch.Dir("work-"); err != nil {
			return s, err
		}
		if r.temp, err = filepath.EvalSymlinks(r.temp); err != nil {
			return s, err
		}
	}
	tree := filepath.Join(r.temp, fmt.Sprint(len(r.trees)), filepath.Base(r.root))
	r.trees = append(r.trees, tree)
	if _, err := r.run(ctx, "worktree", "add", "--detach", "--quiet", tree, s.Rev); err != nil {
		return s, fmt.Errorf("checking %s out: %w", name, err)
	}
	rel, err := filepath.Rel(r.root, r.dir)
	if err != nil {
		return s, err
	}
	s.Dir = filepath.Join(tree, rel)
	if _, err := os.Stat(s.Dir); err != nil {
		return s, fmt.Errorf("%s has no folder %s", name, rel)
	}
	return s, nil
}

// close removes what was checked out, also when it is time to end.
func (r *repository) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, tree := range r.trees {
		r.run(ctx, "worktree", "remove", "--force", tree)
	}
	if r.temp != "" {
		os.RemoveAll(r.temp)
		r.run(ctx, "worktree", "prune")
	}
	r.trees, r.temp = nil, ""
}

// run returns what a git command prints.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	return git.Command{Dir: r.dir, Fetch: true}.Line(ctx, args...)
}
