package gosrc

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
)

// asRecorded takes the file of that very name, which is there when this machine built the program, or one like it. But
// /app/main.go is a file of many programs, so the file has to fit like others.
func (s *search) asRecorded() bool {
	name, ok := filename.Local(s.frame.File, runtime.GOOS)
	if !ok {
		return false
	}
	c := candidate{path: name, how: "as recorded"}
	root, version := rootOf(name)
	switch want := s.goVersion(); {
	case s.inCache(name), root != "" && want == version:
		c.exact = true
	case root == "":
		if c.ours = s.inCheckout(name); s.opt.Own && !c.ours && (s.mainModule() || s.suffix()) {
			return true
		}
	case want == "":
		c.notes = []string{"the profile does not name the Go version of the program; this file is from " + version}
	default:
		return false // standard looks for the one of the right version
	}
	return s.try(c)
}

// searchPath looks where the user said. With no folder named, what remains of a trimmed name is looked for in Dir.
func (s *search) searchPath() bool {
	names := []string{s.name}
	for _, prefix := range s.opt.TrimPath {
		if rest, ok := cutFolder(s.name, filename.Key(prefix)); ok {
			names = append(names, rest)
		}
	}
	dirs := s.opt.SearchPath
	if len(dirs) == 0 {
		if len(names) == 1 {
			return false
		}
		dirs, names = []string{s.opt.Dir}, names[1:]
	}
	for _, dir := range dirs {
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name[len(filename.Volume(name)):]))
			if s.try(candidate{path: path, how: "search path", ours: s.inCheckout(path)}) {
				return true
			}
		}
	}
	return false
}

// mainModule finds files of the modules that the checkout builds with its own code.
func (s *search) mainModule() bool {
	mods := s.workspace()
	if s.inModules(mods, "main module") {
		return true
	}
	if main := s.opt.MainModule; main != "" {
		_, named := cutFolder(s.name, main)
		if here := s.nearest(s.opt.Dir); named && (here == nil || here.path != main) {
			s.failed("main module", "there is no go.mod of "+main+" above "+s.opt.Dir)
		}
	}
	return false
}

// nestedModule finds files of modules below the current folder, which the go command builds only from within.
func (s *search) nestedModule() bool {
	return s.inModules(s.walked().modules, "nested module")
}

// inModules looks for the file in mods, by its name, which with -trimpath starts with the path of the module, and by
// the package of its function.
func (s *search) inModules(mods []moduleDir, how string) bool {
	done := map[string]bool{}
	for _, m := range mods {
		if rel, ok := cutFolder(s.name, m.path); ok && m.path != "" && filepath.IsLocal(rel) {
			name := filepath.Join(m.dir, filepath.FromSlash(rel))
			if done[name] = true; s.try(candidate{path: name, how: how, ours: true}) {
				return true
			}
		}
		if rel, ok := s.packageFile(m.path); ok && m.path != "" && filepath.IsLocal(rel) {
			name := filepath.Join(m.dir, filepath.FromSlash(rel))
			if done[name] || strings.Contains(s.name, "@") {
				continue // what has a version is no part of the checkout
			}
			if done[name] = true; s.try(candidate{path: name, how: how, ours: true, byPkg: true}) {
				return true
			}
		}
	}
	return false
}

// suffix takes the file of the checkout whose name ends most like the recorded one. That alone proves little, so it has
// to be the only one, and the function has to be there at the line.
func (s *search) suffix() bool {
	const how = "unique suffix"
	tree := s.walked()
	if !tree.whole {
		s.failed(how, "the checkout has more files than hone searched")
		return false
	}
	names := longestSuffix(s.name, tree.files)
	if len(names) > 1 {
		names = s.samePackage(names)
	}
	switch len(names) {
	case 0:
		if why := "there is no " + baseName(s.name) + " below " + tree.dir; !slices.Contains(s.tried, why) {
			s.tried = append(s.tried, why)
		}
		return false
	case 1:
	default:
		s.failed(how, severalNames(names))
		return false
	}
	name := filepath.Join(tree.dir, filepath.FromSlash(names[0]))
	return s.try(candidate{path: name, how: how, guess: true, ours: true,
		notes: []string{"recorded as " + s.frame.File + ", taken by the end of its name and by what it declares"}})
}

// samePackage returns those of names in the checkout that can be of the package of the function.
func (s *search) samePackage(names []string) []string {
	var same []string
	for _, n := range names {
		if s.otherPackage(filepath.Join(s.walked().dir, filepath.FromSlash(n))) == "" {
			same = append(same, n)
		}
	}
	return same
}
