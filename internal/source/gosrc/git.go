package gosrc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	gitTimeout = 10 * time.Second
	maxTree    = 64 << 20 // bytes of a list of files, for a million of them
)

// A commit is the revision that the program was built from, in the repository of the checkout.
type commit struct {
	repo  string // "" when the commit cannot be read
	why   string // then
	id    string
	files []string // nil until listed
}

// hash is a revision as the go command records it. Nothing else gets to git's command line, so that no revision can be
// an option.
var hash = pattern(`^[0-9a-f]{7,64}$`)

// short is how a revision is shown.
func (c *commit) short() string { return c.id[:min(len(c.id), 12)] }

// built returns the commit that the program was built from.
func (s *search) built() *commit {
	if s.commit != nil {
		return s.commit
	}
	c := &commit{id: s.opt.Revision, repo: s.above(".git")}
	switch {
	case !s.opt.Git || c.id == "":
		c.repo = ""
	case !hash().MatchString(c.id):
		c.repo, c.why = "", fmt.Sprintf("%q is no commit of git", c.id)
	case c.repo == "":
		c.why = s.opt.Dir + " is not in a git repository"
	default:
		if _, err := runGit(s.ctx, c.repo, 1<<10, "cat-file", "-t", c.id); err != nil {
			c.repo, c.why = "", fmt.Sprintf("commit %s: %v", c.short(), err)
			if s.ctx.Err() != nil {
				return c // and ask again next time
			}
		}
	}
	s.commit = c
	return c
}

// blob returns the file of that name in the repository, as it was at the commit.
func (s *search) blob(c *commit, rel string) *file {
	key := c.id + ":" + rel
	if known := s.files[key]; known != nil {
		return known
	}
	text, err := runGit(s.ctx, c.repo, maxFile, "cat-file", "blob", key)
	if err != nil && s.ctx.Err() != nil {
		return &file{name: key, err: err}
	}
	return s.remember(key, text, err)
}

// inRepo returns the name of a file on disk in the repository, with slashes.
func (c *commit) inRepo(name string) (rel string, ok bool) {
	if c.repo == "" {
		return "", false
	}
	rel, err := filepath.Rel(c.repo, name)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// atRevision compares the file that was found in the checkout with the one that was built. Where they differ, lines have
// moved, and the one that was built is the answer.
func (s *search) atRevision(now *file) {
	note := func(text string) { s.found.Notes = append(slices.Clip(s.found.Notes), text) }
	if s.opt.Modified {
		note("the program was built with local changes to its files, so lines may differ")
		return
	}
	c := s.built()
	rel, ok := c.inRepo(now.name)
	if !ok {
		if c.why != "" {
			note("the file may have changed since the build: " + c.why)
		}
		return
	}
	then := s.blob(c, rel)
	switch {
	case then.err != nil:
		note(fmt.Sprintf("the file is not in commit %s, which the program was built from: %s", c.short(), then.err))
	case slices.Equal(then.lines, now.lines): // git may have changed the ends of lines
	default:
		v, _, why := then.fit(s.sym, s.frame.Line)
		if v != fits && v != unknown {
			note(fmt.Sprintf("the file was changed after the build, and at commit %s it %s", c.short(), why))
			return
		}
		note(now.name + " was changed after the build; this is the file that was built")
		s.found.Path, s.found.Lines, s.found.How = "", then.lines, "git "+c.short()
	}
}

// revision looks for the file in the commit that the program was built from, where the checkout does not have it any more.
func (s *search) revision() bool {
	c := s.built()
	if c.repo == "" {
		if c.why != "" {
			s.failed("git", c.why)
		}
		return false
	}
	how := "git " + c.short()
	for _, name := range s.ours {
		rel, ok := c.inRepo(name)
		if ok && s.tryBlob(c, how, rel, false) {
			return true
		}
	}
	if len(s.ours) > 0 && s.second != nil {
		return false
	}
	if c.files == nil {
		list, err := runGit(s.ctx, c.repo, maxTree, "ls-tree", "-r", "-z", "--name-only", "--full-tree", c.id)
		if err != nil {
			s.failed(how, err.Error())
			return false
		}
		c.files = slices.DeleteFunc(strings.Split(list, "\x00"), func(name string) bool { return !isSource(name) })
	}
	names := longestSuffix(s.name, c.files)
	switch len(names) {
	case 0:
		s.failed(how, "has no file called "+baseName(s.name))
		return false
	case 1:
		return s.tryBlob(c, how, names[0], true)
	}
	s.failed(how, severalNames(names))
	return false
}

// tryBlob settles the search with a file of the commit, if it fits. A guess is one that only its name led to.
func (s *search) tryBlob(c *commit, how, rel string, guess bool) bool {
	f := s.blob(c, rel)
	if f.err != nil {
		s.failed(how, rel+" cannot be read: "+f.err.Error())
		return false
	}
	// The go.mod files of now have to do for the check of the package.
	at := candidate{path: filepath.Join(c.repo, filepath.FromSlash(rel)), guess: guess}
	v, why := s.judge(at, f)
	var notes []string
	switch {
	case v == fits:
	case v == unknown && !guess:
		notes = append(notes, rel+" "+why)
	default:
		s.failed(how, rel+" "+why)
		return false
	}
	if guess {
		notes = append(notes, "recorded as "+s.frame.File+", taken by the end of its name and by what it declares")
	}
	if s.opt.Modified {
		notes = append(notes, "the program was built with local changes to its files, so lines may differ")
	}
	s.found = Source{Lines: f.lines, How: how, Notes: notes}
	return true
}

// runGit returns what a git command prints, which must not be more than limit bytes. The command only reads: it takes
// no lock, asks for no password and fetches nothing, and the repository is dir whatever hook hone may run in.
func runGit(ctx context.Context, dir string, limit int, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-C", dir}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	// Git before 2.45 fetches what a partial clone lacks all the same, but not over a protocol that is not allowed.
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, problem := &capped{limit: limit}, &capped{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, problem
	err := cmd.Run()
	switch {
	case out.over:
		return "", errTooLarge
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return out.text.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed")
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(problem.text.String()), "\n"); line != "" {
		return "", errors.New(strings.TrimPrefix(line, "fatal: "))
	}
	return "", err
}

// capped keeps what is written to it up to a limit, and fails beyond it, which stops the writer.
type capped struct {
	text  strings.Builder
	limit int
	over  bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.text.Len()+len(p) > c.limit {
		c.over = true
		return 0, errTooLarge
	}
	return c.text.Write(p)
}
