package gosrc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A search is the way to the file of one frame.
type search struct {
	*Finder
	ctx   context.Context
	frame Frame
	name  string // the recorded file, cleaned and with slashes
	sym   symbol

	found  Source
	second *Source  // a file that was surely the one, but has changed
	ours   []string // where in the checkout the file should be, and is not as it was
	tried  []string
	next   string
}

// A candidate is a file that a rule came to.
type candidate struct {
	path  string // on disk
	how   string
	exact bool // the very version that was compiled, which nobody edits
	guess bool // that it is the file rests on the function alone
	ours  bool // a file of the checkout: there may be a history of it
	byPkg bool // that it is the file follows from the package of the function
	notes []string
}

// try settles the search with c if it is the file, and otherwise remembers why not.
func (s *search) try(c candidate) bool {
	f := s.read(c.path)
	if f.err != nil {
		s.fail(c, reason(f.err))
		return false
	}
	v, why := s.judge(c, f)
	notes := c.notes
	switch {
	case v == fits:
	case v == unknown && !c.guess, c.exact && f.broken == nil && s.frame.Line <= len(f.lines):
		notes = append(notes, c.path+" "+why)
	case v == moved && !c.guess:
		// It was edited. There may be a better one at the commit that was built.
		s.fail(c, why)
		if s.second == nil {
			s.second = &Source{Path: c.path, Lines: f.lines, How: c.how,
				Notes: append(notes, c.path+" was changed after the program was built: it "+why)}
		}
		return false
	default:
		s.fail(c, why)
		return false
	}
	s.found = Source{Path: c.path, Lines: f.lines, How: c.how, Notes: notes}
	if c.ours {
		s.atRevision(f)
	}
	return true
}

// judge holds f against the frame, and its package, as go.mod tells it, against that of the function.
func (s *search) judge(c candidate, f *file) (verdict, string) {
	v, outer, why := f.fit(s.sym, s.frame.Line)
	if outer && !c.exact {
		if other := s.otherPackage(c.path); other != "" {
			return foreign, "is of " + other
		}
	}
	if (v == fits || v == moved) && !outer && (c.guess || c.byPkg) {
		return foreign, "does not declare the function that " + s.sym.name + " was compiled in"
	}
	return v, why
}

func (s *search) fail(c candidate, why string) {
	text := fmt.Sprintf("%s: %s %s", c.how, c.path, why)
	if c.path == s.frame.File {
		text = "that file " + why // the error names it before; several rules may come to it
	}
	if !slices.Contains(s.tried, text) {
		s.tried = append(s.tried, text)
	}
	if c.ours && !c.guess {
		s.ours = append(s.ours, c.path)
	}
}

// failed notes a rule that came to no file at all.
func (s *search) failed(how, why string) { s.tried = append(s.tried, how+": "+why) }

func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "does not exist on this machine"
	}
	return "cannot be read: " + err.Error()
}

func (s *search) notFound(why, next string) error {
	return &NotFoundError{Frame: s.frame, Why: why, Tried: s.tried, Next: next}
}

// packageFile returns where the module at root with the path mod has the file of the frame, by the package of its function.
// That needs no luck with folders: a package path and a base name are one file.
func (s *search) packageFile(mod string) (rel string, ok bool) {
	pkg := strings.TrimSuffix(s.sym.pkg, "_test") // tests outside of the package lie in its folder
	if pkg == mod {
		return baseName(s.name), true
	}
	rel, ok = cutFolder(pkg, mod)
	return path.Join(rel, baseName(s.name)), ok
}
