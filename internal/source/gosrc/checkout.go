package gosrc

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxWalk is how many files and folders a checkout may have. The largest repositories known have several hundred
// thousand.
const maxWalk = 500_000

// A checkout is what a walk over the program's files found.
type checkout struct {
	dir     string
	whole   bool     // that the walk saw all of it
	files   []string // source files, relative to dir, with slashes
	modules []moduleDir
}

// root returns the folder of the checkout that Dir is in: that of the repository, or of the workspace, or of the module.
func (f *Finder) root() string {
	if f.dir != "" {
		return f.dir
	}
	f.dir = cmp.Or(f.above(".git"), f.above("go.work"))
	if m := f.nearest(f.opt.Dir); f.dir == "" && m != nil {
		f.dir = m.dir
	}
	f.dir = cmp.Or(f.dir, f.opt.Dir)
	return f.dir
}

// above returns the nearest folder, from Dir up, that has an entry called name, or "".
func (f *Finder) above(name string) string {
	for dir := f.opt.Dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func (f *Finder) inCheckout(name string) bool {
	rel, err := filepath.Rel(f.root(), name)
	return err == nil && filepath.IsLocal(rel)
}

// walked walks over the checkout, once.
func (f *Finder) walked() *checkout {
	if f.tree != nil {
		return f.tree
	}
	f.tree = walk(f.root(), []string{f.opt.GOROOT, f.opt.GOMODCACHE}, maxWalk)
	return f.tree
}

// walk looks at up to limit entries in dir. It leaves out what is no code of the checkout: folders of version control
// and of node, and Go itself and its module cache, which some keep inside.
func walk(dir string, others []string, limit int) *checkout {
	c := &checkout{dir: dir, whole: true}
	// What cannot be read is not there.
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if limit--; limit < 0 {
			c.whole = false
			return fs.SkipAll
		}
		switch {
		case err != nil:
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			skip := slices.Contains([]string{".git", ".hg", ".svn", "node_modules"}, d.Name()) || slices.Contains(others, name)
			if skip && name != dir {
				return fs.SkipDir
			}
		case d.Name() == "go.mod":
			if m := readMod(filepath.Dir(name)); m != nil && m.path != "" {
				c.modules = append(c.modules, moduleDir{m.path, m.dir})
			}
		case d.Type().IsRegular() && isSource(d.Name()):
			if rel, err := filepath.Rel(dir, name); err == nil {
				c.files = append(c.files, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	c.modules = longestFirst(c.modules)
	return c
}

// longestSuffix returns those of names that have most of their last elements in common with name, and at least one.
func longestSuffix(name string, names []string) []string {
	var best []string
	most := 1
	for _, n := range names {
		if baseName(n) != baseName(name) {
			continue
		}
		switch common := commonSuffix(name, n); {
		case common > most:
			best, most = []string{n}, common
		case common == most:
			best = append(best, n)
		}
	}
	return best
}

// commonSuffix counts the last elements that two names have in common.
func commonSuffix(a, b string) int {
	n := 0
	for a != "" && b != "" {
		if baseName(a) != baseName(b) {
			break
		}
		n++
		a, b = parent(a), parent(b)
	}
	return n
}

func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

func severalNames(names []string) string {
	shown := strings.Join(names[:min(len(names), 3)], ", ")
	return fmt.Sprintf("%d files end in %s: %s", len(names), baseName(names[0]), shown)
}
