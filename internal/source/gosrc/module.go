package gosrc

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/order"
)

// A modFile is a go.mod file: the folder it is in, its module, and what it replaces.
type modFile struct {
	dir      string
	path     string
	replaces []*modfile.Replace
}

// A moduleDir is where a module has its files on this machine.
type moduleDir struct{ path, dir string }

// nearest returns the go.mod file of the folder or of one above it, or nil.
func (f *Finder) nearest(dir string) *modFile {
	if m, known := f.modules[dir]; known {
		return m
	}
	m := readMod(dir)
	if up := filepath.Dir(dir); m == nil && up != dir {
		m = f.nearest(up)
	}
	f.modules[dir] = m
	return m
}

func readMod(dir string) *modFile {
	text, err := readFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil
	}
	m, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil || m.Module == nil {
		// Even one that the go command refuses bounds a module.
		return &modFile{dir: dir, path: modfile.ModulePath([]byte(text))}
	}
	return &modFile{dir: dir, path: m.Module.Mod.Path, replaces: m.Replace}
}

// workspace returns the modules that the checkout builds with its own code: that of the nearest go.mod, those that
// go.work uses, and those that one of them replaces by a folder. The longest paths come first.
func (f *Finder) workspace() []moduleDir {
	if f.own != nil {
		return f.own
	}
	var mods []*modFile
	if m := f.nearest(f.opt.Dir); m != nil {
		mods = append(mods, m)
	}
	for dir := f.opt.Dir; ; dir = filepath.Dir(dir) {
		if text, err := readFile(filepath.Join(dir, "go.work")); err == nil {
			if work, err := modfile.ParseWork("go.work", []byte(text), nil); err == nil {
				for _, use := range work.Use {
					if m := readMod(rooted(dir, use.Path)); m != nil {
						mods = append(mods, m)
					}
				}
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	dirs := []moduleDir{}
	for _, m := range mods {
		dirs = append(dirs, moduleDir{m.path, m.dir})
		for _, r := range m.replaces {
			if r.New.Version == "" {
				dirs = append(dirs, moduleDir{r.Old.Path, rooted(m.dir, r.New.Path)})
			}
		}
	}
	f.own = longestFirst(dirs)
	return f.own
}

func longestFirst(dirs []moduleDir) []moduleDir {
	order.Stable(dirs, func(a, b moduleDir) int { return len(b.path) - len(a.path) })
	return slices.Compact(dirs)
}

func rooted(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// otherPackage returns what package and module the go.mod above a file says that it is of, when that is not where the
// function was compiled, and otherwise "".
func (s *search) otherPackage(name string) string {
	if s.inCache(name) {
		return "" // a fork may be in the cache under another path than its go.mod has
	}
	m := s.nearest(filepath.Dir(name))
	if m == nil || m.path == "" || s.sym.pkg == "" || s.sym.pkg == noPackage || s.sym.pkg == "command-line-arguments" {
		return ""
	}
	if s.sym.pkg == "main" {
		if s.opt.MainModule == "" || s.opt.MainModule == m.path {
			return ""
		}
		return "module " + m.path + ", and the program is of " + s.opt.MainModule
	}
	rel, err := filepath.Rel(m.dir, filepath.Dir(name))
	if err != nil {
		return ""
	}
	rel = filepath.ToSlash(rel)
	pkg := path.Join(m.path, rel)
	if m.path == "std" {
		pkg = rel
	} else if _, vendored, ok := strings.Cut("/"+rel, "/vendor/"); ok && m.path != "cmd" {
		pkg = vendored
	}
	if s.isPackage(pkg) {
		return ""
	}
	for _, w := range s.workspace() { // the folder may stand for a module of another path
		if w.dir == m.dir && s.isPackage(path.Join(w.path, rel)) {
			return ""
		}
	}
	return "package " + pkg + ", and the function is of " + s.sym.pkg
}

// isPackage reports whether the function was compiled in pkg, or in the tests outside of it that lie in the same folder.
func (s *search) isPackage(pkg string) bool {
	return s.sym.pkg == pkg || s.sym.pkg == pkg+"_test"
}

// inCache reports whether a file is in the module cache, under module@version.
func (f *Finder) inCache(name string) bool {
	rel, err := filepath.Rel(f.opt.GOMODCACHE, name)
	return err == nil && f.opt.GOMODCACHE != "" && filepath.IsLocal(rel) && strings.Contains(rel, "@")
}

// A cached is a recorded file in a module of some version.
type cached struct {
	mod  module.Version
	rest string // file in the module
	disk bool   // recorded as a folder of the module cache rather than as a module, so that replacements are done
}

// splitModule finds the module and version in a recorded name: with -trimpath it starts with them, otherwise some
// module cache comes first, with upper-case letters escaped.
func splitModule(name string) (c cached, ok bool) {
	elems := strings.Split(name, "/")
	i := slices.IndexFunc(elems, func(e string) bool { return strings.Contains(e, "@") })
	if i < 0 || i+1 >= len(elems) {
		return cached{}, false
	}
	last, version, _ := strings.Cut(elems[i], "@")
	elems[i] = last
	c.rest = strings.Join(elems[i+1:], "/")
	c.disk = filename.IsAbs(name)
	if !filepath.IsLocal(c.rest) {
		return cached{}, false
	}
	c.mod = module.Version{Path: strings.Join(elems[:i+1], "/"), Version: version}
	if c.disk {
		// The cache is a folder of any name, mostly pkg/mod. A module path starts with a host, and a user's folder may look like one.
		start := slices.IndexFunc(elems[:i+1], host().MatchString)
		for k := 2; k <= i; k++ {
			if elems[k-2] == "pkg" && elems[k-1] == "mod" && host().MatchString(elems[k]) {
				start = k
			}
		}
		if start < 0 {
			return cached{}, false
		}
		var err, err2 error
		c.mod.Path, err = module.UnescapePath(strings.Join(elems[start:i+1], "/"))
		c.mod.Version, err2 = module.UnescapeVersion(version)
		if err != nil || err2 != nil {
			return cached{}, false
		}
	}
	return c, semver.IsValid(c.mod.Version) && module.CheckPath(c.mod.Path) == nil
}

// host tells the name of a host from other folders with a dot in them, .cache and go1.22.
var host = pattern(`^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}$`)

// cacheDir returns the folder of a module in the cache, or "" if there can be none.
func (f *Finder) cacheDir(mod module.Version) string {
	p, err := module.EscapePath(mod.Path)
	if err != nil || f.opt.GOMODCACHE == "" {
		return ""
	}
	v, err := module.EscapeVersion(mod.Version)
	if err != nil {
		return ""
	}
	return filepath.Join(f.opt.GOMODCACHE, filepath.FromSlash(p)+"@"+v)
}

// moduleCache finds files of modules of a known version. A module may have been replaced by another one, or a copy of
// it may be in vendor.
func (s *search) moduleCache() bool {
	c, ok := splitModule(s.name)
	if !ok {
		return false
	}
	main := s.nearest(s.opt.Dir)
	// What the go command recorded, and a folder of the cache, tell replacements. Otherwise go.mod has to.
	mod, known := c.mod, c.disk || s.opt.Replaced != nil
	if !c.disk {
		if r, ok := s.opt.Replaced[mod]; ok {
			mod = r
		}
	}
	switch {
	case mod.Version == "": // a folder, on the machine that built
		if main != nil && s.try(candidate{path: filepath.Join(rooted(main.dir, mod.Path), filepath.FromSlash(c.rest)),
			how: "replaced module", ours: true}) {
			return true
		}
	case !known && main != nil && s.replaced(main, c):
		return true
	default:
		if dir := s.cacheDir(mod); dir != "" {
			if s.try(candidate{path: filepath.Join(dir, filepath.FromSlash(c.rest)), how: "module cache", exact: known}) {
				return true
			}
			s.next = "go mod download " + mod.String() + " brings it"
		}
	}
	return main != nil && s.vendored(main, c)
}

// replaced looks where go.mod says now that the code of a module is. It may have said something else at the build, so
// the function decides.
func (s *search) replaced(m *modFile, c cached) bool {
	for _, r := range m.replaces {
		if r.Old.Path != c.mod.Path || r.Old.Version != "" && r.Old.Version != c.mod.Version {
			continue
		}
		dir := rooted(m.dir, r.New.Path)
		if r.New.Version != "" {
			if dir = s.cacheDir(r.New); dir == "" {
				continue
			}
		}
		if s.try(candidate{path: filepath.Join(dir, filepath.FromSlash(c.rest)), how: "replaced module", ours: r.New.Version == "",
			notes: []string{"go.mod replaces " + c.mod.String() + " by " + r.New.String()}}) {
			return true
		}
	}
	return false
}

// vendored looks into the vendor folder beside go.mod. What version is there is in modules.txt.
func (s *search) vendored(m *modFile, c cached) bool {
	dir := filepath.Join(m.dir, "vendor")
	list, err := os.Open(filepath.Join(dir, "modules.txt"))
	if err != nil {
		return false
	}
	defer list.Close()
	version := ""
	for lines := bufio.NewScanner(list); lines.Scan() && version == ""; {
		// # path version [=> replacement]
		if f := strings.Fields(lines.Text()); len(f) >= 3 && f[0] == "#" && f[1] == c.mod.Path {
			version = f[2]
		}
	}
	v := candidate{path: filepath.Join(dir, filepath.FromSlash(c.mod.Path+"/"+c.rest)), how: "vendor", ours: true}
	switch version {
	case c.mod.Version:
	case "":
		s.failed("vendor", dir+" does not have "+c.mod.Path)
		return false
	default:
		v.guess = true
		v.notes = []string{"vendor has " + c.mod.Path + " " + version + ", the program was built with " + c.mod.Version}
	}
	return s.try(v)
}
