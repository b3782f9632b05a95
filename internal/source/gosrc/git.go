package gosrc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/git"
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
		c.repo, c.why = "", fmt.Sprintf("%q is not a commit of git", c.id)
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
		note(fmt.Sprintf("the file is not in commit %s, from which the program was built: %s", c.short(), then.err))
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

// runGit returns what a git command prints, which must not be more than limit bytes.
func runGit(ctx context.Context, dir string, limit int, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := git.Command{Dir: dir, Limit: limit}.Run(ctx, args...)
	switch {
	case errors.Is(err, git.ErrTooLarge):
		return "", errTooLarge
	case err != nil && ctx.Err() == nil:
		return "", errors.New(git.Said(err)) // what is shown beside it says what was asked
	}
	return string(out), err
}
