package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/source/gosrc"
)

// A NoModuleError says that no package can be loaded, for want of a module in a folder.
type NoModuleError struct {
	Dir    string
	Likely string // folder of sources that were recorded
}

func (e *NoModuleError) Error() string {
	return (&gocmd.NoModuleError{Dir: e.Dir}).Error()
}

// Hint says what to do about it.
func (e *NoModuleError) Hint() hint.Text {
	return hint.Text{hint.Option{Name: "source", Value: "DIR"}, " says where the module is, such as ", hint.Option{Name: "source", Value: e.Likely}}
}

// A tree is the sources that profiles are of.
type tree struct {
	ctx    context.Context
	dir    string   // where to begin to look; the root of the module when there is one
	env    []string // of the go command
	about  gocmd.About
	finder *gosrc.Finder
	mod    *modfile.File // nil when there is none

	std     map[string]bool             // import paths of Go itself
	places  map[string]string           // of files that profiles name; "" for those that are nowhere
	classes map[cost.LineKey]cost.Class // by function and file
	kept    []recording.Sources
	taken   time.Time // when the profiles were; zero when it is not known
	afar    bool      // they are of a store: when a file was written here says nothing about them
	lost    []lost
	apart   map[string][]span // of test files that profiles name: what benchmarks do not time
	notes   notes

	units    []*code.Package
	imports  types.Importer // made when it is asked for
	imported []string       // the packages that it knows
}

// A lost function is one whose file is not known.
type lost struct {
	fn  string
	err error
}

// sayMissing notes what nothing is said of since its file is not known: in a word, since a profile that was brought from elsewhere
// may have nothing else.
func (t *tree) sayMissing() {
	const named = 3
	what := ""
	switch n := len(t.lost); {
	case n == 0:
		return
	case n == 1:
		what = t.lost[0].fn + " and the rest of its file"
	default:
		var names []string
		for _, m := range t.lost[:min(n, named)] {
			names = append(names, m.fn)
		}
		more := ""
		if n > named {
			more = fmt.Sprintf(" and %d more", n-named)
		}
		what = fmt.Sprintf("the files of %s%s; about the first", strings.Join(names, ", "), more)
	}
	t.notes.AddNew(hint.Text{"no findings for ", what, ": ", t.lost[0].err, "; ", hint.Option{Name: "source", Value: "DIR"}, " says where the sources are"})
}

// notes are said once.
type notes struct{ hint.Texts }

func (n *notes) add(format string, args ...any) { n.AddNew(hint.Text{fmt.Sprintf(format, args...)}) }

// openTree finds the module that dir is in.
func openTree(ctx context.Context, dir string, flags []string, in []*recording.Recording) (*tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	command, about, err := gocmd.Command{Dir: dir}.WithFlags(ctx, flags)
	if err != nil {
		return nil, err
	}
	t := &tree{
		ctx: ctx, dir: dir, env: command.Env, about: about, std: map[string]bool{}, places: map[string]string{}, classes: map[cost.LineKey]cost.Class{}, apart: map[string][]span{},
	}
	opt := gosrc.Options{Dir: dir, Own: true, GOROOT: about.GOROOT, GOMODCACHE: about.GOMODCACHE}
	if gomod := about.GOMOD; gomod != "" && gomod != os.DevNull {
		t.dir = filepath.Dir(gomod)
		text, err := os.ReadFile(gomod)
		if err != nil {
			return nil, err
		}
		if t.mod, err = modfile.ParseLax(gomod, text, nil); err != nil {
			return nil, err
		}
		if t.mod.Module != nil {
			opt.MainModule = t.mod.Module.Mod.Path
		}
	}
	t.finder = gosrc.New(opt)
	for _, r := range in {
		if r.Sources != nil {
			t.kept = append(t.kept, r.Sources)
		}
		switch {
		case r.Manifest != nil && r.Manifest.How == recording.Stored:
			t.afar = true
		case r.Manifest != nil && r.Manifest.Started.After(t.taken):
			t.taken = r.Manifest.Started
		case r.Profile != nil && r.Profile.TimeNanos > 0:
			if at := time.Unix(0, r.Profile.TimeNanos); at.After(t.taken) {
				t.taken = at
			}
		}
	}
	return t, nil
}

// class says whose a function is.
func (t *tree) class(fn, file string) cost.Class {
	k := cost.LineKey{File: fn + "\x00" + file}
	c, ok := t.classes[k]
	if !ok {
		c = t.classOf(fn, file)
		t.classes[k] = c
	}
	return c
}

func (t *tree) classOf(fn, file string) cost.Class {
	pkg := symbol.PackageOf(fn)
	switch {
	case file == "" || strings.HasPrefix(file, "<") || !strings.HasSuffix(file, ".go"):
		return cost.Std // of nobody
	case strings.HasSuffix(file, "_test.go"), file == "_testmain.go":
		return cost.Test
	case t.isStd(pkg), pkg == "_" && t.inStd(file): // since Go 1.27 some closures are of no package: _.goready.func1
		return cost.Std
	}
	slashed := filename.Slashed(file)
	if t.released(slashed) != "" {
		return cost.Own
	}
	if t.about.GOMODCACHE != "" && strings.HasPrefix(slashed, filepath.ToSlash(t.about.GOMODCACHE)+"/") ||
		strings.Contains(slashed, "/pkg/mod/") || strings.Contains(slashed, "/vendor/") || strings.Contains(slashed, "@v") {
		return cost.Foreign
	}
	return cost.Own
}

// released returns the name that a file of the main module has in a checkout, where the program was built from a version of the module: with
// go install example.com/m/cmd@v1.2.3. It is "" for all others.
func (t *tree) released(slashed string) string {
	if t.mod == nil || t.mod.Module == nil {
		return ""
	}
	path := t.mod.Module.Mod.Path
	before, rest, ok := strings.Cut(slashed, path+"@")
	_, name, inside := strings.Cut(rest, "/")
	if !ok || !inside || before != "" && !strings.HasSuffix(before, "/pkg/mod/") {
		return ""
	}
	return path + "/" + name
}

func (t *tree) isStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	if strings.Contains(first, ".") || pkg == "main" || pkg == "" {
		return false
	}
	is, ok := t.std[pkg]
	if !ok {
		st, err := os.Stat(filepath.Join(t.about.GOROOT, "src", filepath.FromSlash(pkg)))
		is = err == nil && st.IsDir()
		t.std[pkg] = is
	}
	return is
}

// inStd tells whether the standard library has the file, wherever Go was when it was compiled.
func (t *tree) inStd(file string) bool {
	rel := filepath.ToSlash(file)
	for more := true; more; _, rel, more = strings.Cut(rel, "/src/") {
		if !filepath.IsLocal(filepath.FromSlash(rel)) {
			continue // as it was recorded without -trimpath
		}
		if st, err := os.Stat(filepath.Join(t.about.GOROOT, "src", filepath.FromSlash(rel))); err == nil && st.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// place returns where a file that a profile names is on disk, or "".
func (t *tree) place(fn, file string, line int) string {
	at, ok := t.places[file]
	if ok {
		return at
	}
	src, err := t.finder.Find(t.ctx, gosrc.Frame{Func: fn, File: cmp.Or(t.released(filename.Slashed(file)), file), Line: line})
	switch {
	case err != nil:
		t.lost = append(t.lost, lost{fn, err})
	case src.Path == "":
		t.notes.add("%s is known only from %s, so it is left out", file, src.How)
	default:
		at = src.Path
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
	}
	t.places[file] = at
	return at
}

// maxUnits bounds how many packages are loaded. Where so many are hot, the first say enough.
const maxUnits = 60

// load loads the packages that the files belong to, those that matter most first. What does not build is said and left out.
func (t *tree) load(paths []string) ([]*code.Package, error) {
	var dirs, patterns []string
	mine := map[string]bool{}
	for _, p := range paths {
		dir := filepath.Dir(p)
		if slices.Contains(dirs, dir) || len(dirs) == maxUnits {
			continue
		}
		dirs = append(dirs, dir)
		if rel, err := filepath.Rel(t.dir, dir); err == nil && filepath.IsLocal(rel) {
			patterns = append(patterns, "./"+filepath.ToSlash(rel))
			mine[dir] = true
			continue
		}
		patterns = append(patterns, dir)
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	cfg := t.loading()
	cfg.Mode = packages.LoadSyntax | packages.NeedModule
	found, err := gotypes.Load(&cfg, t.importPaths(patterns, dirs, mine)...)
	if err != nil && (t.mod != nil || t.ctx.Err() != nil) {
		return nil, fmt.Errorf("loading the packages that cost most: %w", err)
	}
	var wrong notes
	var newer *gotypes.NewerError
	for _, p := range found {
		switch err := gotypes.Problem(p); {
		case errors.As(err, &newer):
			wrong.AddNew(hint.Text{t.short(newer.Error()), "; ", newer.Hint()})
			continue
		case err != nil:
			wrong.add("%s does not build, so it is left out: %s", p.PkgPath, t.short(err.Error()))
			continue
		}
		if len(p.Syntax) > 0 {
			t.units = append(t.units, t.unit(p, mine))
		}
	}
	if len(t.units) == 0 && newer != nil {
		return nil, newer
	}
	if len(t.units) == 0 && t.mod == nil {
		return nil, &NoModuleError{t.dir, dirs[0]}
	}
	for _, w := range wrong.Texts {
		t.notes.AddNew(w)
	}
	return t.units, nil
}

// loading is how packages of the tree are loaded.
func (t *tree) loading() packages.Config {
	return packages.Config{Context: t.ctx, Dir: t.dir, Env: append(git.Unbound(t.env), "PWD="+t.dir)}
}

// short leaves the folder of the tree out of a text.
func (t *tree) short(text string) string {
	return strings.ReplaceAll(text, t.dir+string(filepath.Separator), "")
}

// importPaths names packages of other modules by their import paths, as the go command wants it.
func (t *tree) importPaths(patterns, dirs []string, mine map[string]bool) []string {
	for i, dir := range dirs {
		if mine[dir] {
			continue
		}
		if rel, err := filepath.Rel(filepath.Join(t.dir, "vendor"), dir); err == nil && filepath.IsLocal(rel) {
			patterns[i] = filepath.ToSlash(rel)
		} else if rel, err := filepath.Rel(t.about.GOMODCACHE, dir); err == nil && filepath.IsLocal(rel) {
			patterns[i] = withoutVersion(filepath.ToSlash(rel))
		}
	}
	return patterns
}

// withoutVersion returns the import path of a folder in the module cache: github.com/!burnt!sushi/toml@v1.2.3/internal.
func withoutVersion(rel string) string {
	var b strings.Builder
	upper := false
	version := false
	for _, r := range rel {
		switch {
		case r == '@':
			version = true
		case r == '/' && version:
			version = false
			b.WriteRune(r)
		case version:
		case r == '!':
			upper = true
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (t *tree) unit(p *packages.Package, mine map[string]bool) *code.Package {
	u := &code.Package{Package: p, Files: map[string]*code.File{}}
	if m := p.Module; m != nil {
		fmt.Sscanf(m.GoVersion, "1.%d", &u.GoMinor)
		if !m.Main && (m.Replace == nil || m.Replace.Version != "") {
			u.NoFix = missing.Dependency.Of(m.Path, m.Version)
		}
	}
	for _, f := range p.Syntax {
		tok := p.Fset.File(f.FileStart)
		if tok == nil {
			continue
		}
		path := tok.Name()
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if strings.HasPrefix(path, filepath.Join(t.dir, "vendor")+string(filepath.Separator)) {
			u.NoFix = missing.Vendored.Of()
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		one := &code.File{Path: path, Name: t.rel(path), Text: text, AST: f, Tok: tok}
		switch {
		case ast.IsGenerated(f):
			one.NoFix = missing.Generated.Of()
		case len(text) != tok.Size():
			one.NoFix = missing.NotAsCompiled.Of()
		case importsC(f):
			one.NoFix = missing.Cgo.Of()
		}
		u.Files[path] = one
	}
	// Files that use cgo are compiled from others that were made of them.
	for _, name := range p.GoFiles {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		if u.Files[name] == nil && u.NoFix.Fact == "" {
			t.notes.add("%s uses cgo, so it is left out", t.rel(name))
		}
	}
	return u
}

func importsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}

// rel returns a name relative to the root, when the file is below it.
func (t *tree) rel(path string) string {
	if rel, err := filepath.Rel(t.dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
