// Package line finds out everything that is known about a line of Go: what it costs, which of its values go to the heap and
// why, what is inlined, what is checked, and its machine code.
//
// Look asks the compiler, builds what holds the line, and puts together what they say; costs come from whoever asks.
package line

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

// Options tune Look.
type Options struct {
	Dir    string   // names are taken from here; "" is the current folder
	Flags  []string // for the go command
	NoCode bool     // leaves the machine code out
	Say    func(string)
	// Costs returns what lines of a file cost, by line; nil means that nobody knows. Look asks it when it knows that the code is there.
	Costs func(file string, from, to int) (map[int][]report.LineCost, error)
}

// Errors of Look about what was asked.
var (
	ErrAsked    = errors.New("it is not clear what to look at")
	ErrNotFound = errors.New("not found")
)

// A place is what was asked about.
type place struct {
	file     string // absolute
	line     int    // 0 when it is a function
	fn       *function
	lines    []string
	test     bool
	pkg      string // name
	external bool   // a test outside of the package
}

// A function of a file.
type function struct {
	name     string // as in profiles, without the package: (*T).Method
	expr     string // that names it in code of the package; "" where that cannot be done
	from, to int
	body     bool
	generic  bool
}

// Look finds out what is known about FILE:LINE, or about a function: Parse, T.Method, or pkg.Parse.
func Look(ctx context.Context, asked string, opt Options) (*report.WhyAlloc, error) {
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, err
	}
	opt.Dir = dir
	p, err := find(ctx, asked, opt)
	if err != nil {
		return nil, err
	}
	opt.Say("asking the compiler")
	cmd := gocmd.Command{Dir: filepath.Dir(p.file)}
	log, err := cmd.Explain(ctx, p.test, opt.Flags, ".")
	if err != nil {
		return nil, explainError(asked, p, err)
	}
	out := &report.WhyAlloc{Asked: asked, Lines: []report.LineStory{}}
	if p.fn != nil && p.fn.generic && !log.Compiled(p.file, p.fn.from) {
		if log, err = explainUses(ctx, cmd, p, opt, log, out); err != nil {
			return nil, err
		}
	}
	if learnTypes(ctx, log, p, opt.Flags) {
		return nil, leftOut(asked)
	}
	out.Go, out.Notes = log.Go, append(log.Notes, out.Notes...)
	from, to := p.line, p.line
	if p.fn != nil {
		out.Function = p.fn.name
		for _, r := range log.At(p.file, p.fn.from) {
			if r.Kind == escape.Inlinable || r.Kind == escape.TooBig {
				r.What = ""
				out.Inlining = r.String()
				break
			}
		}
		if p.line == 0 {
			from, to = p.fn.from, p.fn.to
		}
	}
	costs := map[int][]report.LineCost{}
	if opt.Costs != nil {
		if costs, err = opt.Costs(p.file, from, to); err != nil {
			return nil, err
		}
	}
	for n := from; n <= to; n++ {
		l := story(log, p.file, n)
		l.Text, l.Costs = p.lines[n-1], costs[n]
		l.File = shown(opt.Dir, p.file)
		l.NotCompiled = out.NotCompiled
		made := slices.ContainsFunc(l.Stays, func(s string) bool { return strings.HasPrefix(s, "make(") })
		if p.line == 0 && len(l.Heap)+len(l.Inlined)+len(l.Costs)+l.Bounds+l.Slices == 0 && !made {
			continue
		}
		out.Lines = append(out.Lines, l)
	}
	if p.line == 0 {
		if len(out.Lines) == 0 && !out.NotCompiled {
			out.Notes = append(out.Notes, fmt.Sprintf("no line of %s has a value that goes to the heap, or a bounds check", p.fn.name))
		}
		return out, nil
	}
	if opt.NoCode {
		return out, nil
	}
	opt.Say("building it for its machine code")
	if err := machineCode(ctx, p, opt, &out.Lines[0]); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		out.Notes = append(out.Notes, "there is no machine code: "+err.Error())
	}
	return out, nil
}

// explainUses asks the compiler about a generic function that the package itself does not call with types: its tests may.
func explainUses(ctx context.Context, cmd gocmd.Command, p *place, opt Options, log *escape.Log, out *report.WhyAlloc) (*escape.Log, error) {
	if !p.test {
		tested, err := cmd.Explain(ctx, true, opt.Flags, ".")
		switch {
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			out.Notes = append(out.Notes, "the tests of the package do not build, so nobody knows with which types they call "+p.fn.name)
		case tested.Compiled(p.file, p.fn.from):
			out.Notes = append(out.Notes, fmt.Sprintf("%s is generic; the answer is for the types with which the tests of the package call it", p.fn.name))
			return tested, nil
		}
	}
	out.NotCompiled = true
	out.Notes = append(out.Notes, fmt.Sprintf("%s is generic, and neither its package nor the tests of that call it with types, so the compiler makes no code of it; add a test that calls it with the types that your program uses", p.fn.name))
	return log, nil
}

// explainError says why the compiler cannot be asked.
func explainError(asked string, p *place, err error) error {
	var failed *gocmd.Error
	switch {
	case errors.As(err, new(*gocmd.NoModuleError)):
		return moduleError(fmt.Sprintf("asking the compiler about %s", asked), filepath.Dir(p.file), err)
	case errors.As(err, &failed) && strings.Contains(failed.Output, "build constraints exclude all Go files"):
		return leftOut(asked)
	case errors.As(err, &failed): // with the flags that hone adds, Doing says nothing to the user
		return hint.Errorf(hint.Text{"the package has to build first: go build in " + filepath.Dir(p.file)},
			"asking the compiler about %s: the package does not build:\n%s", asked, strings.TrimSpace(failed.Output))
	}
	return fmt.Errorf("asking the compiler about %s: %w", asked, err)
}

// moduleError is about code in a folder that belongs to no module.
func moduleError(doing, dir string, err error) error {
	return hint.Errorf(hint.Text{"hone builds the code, which needs a module: go mod init NAME in " + dir + " makes one, or name a file in a module"}, "%s: %w", doing, err)
}

// leftOut is about a line of a file that the build leaves out.
func leftOut(asked string) error {
	return hint.Errorf(hint.Text{"if they name another system, set GOOS and GOARCH; if they name a tag, add -tags"}, "%w: %s: build constraints leave out the file", ErrNotFound, asked)
}

// learnTypes loads the package for its types, which tell conversions from interfaces. Without them less is told: the compiler
// built it, so what is wrong is not the code. It reports whether build constraints leave out the file.
func learnTypes(ctx context.Context, log *escape.Log, p *place, flags []string) (ignored bool) {
	flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.Contains(f, "gcflags=") })
	dir := filepath.Dir(p.file)
	found, err := gotypes.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(gocmd.Environ(nil), "PWD="+dir), BuildFlags: flags, Tests: p.test, Mode: packages.LoadSyntax,
	}, ".")
	if err != nil {
		return false
	}
	for _, pkg := range found {
		ignored = ignored || slices.ContainsFunc(pkg.IgnoredFiles, func(f string) bool { return filename.Key(f) == filename.Key(p.file) })
		if pkg.TypesInfo != nil && len(pkg.Errors) == 0 {
			log.Learn(pkg.Fset, pkg.Syntax, pkg.TypesInfo)
		}
	}
	return ignored
}

func shown(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// story sorts the remarks about a line.
func story(log *escape.Log, file string, n int) report.LineStory {
	l := report.LineStory{Place: report.Place{Line: n}}
	for _, r := range log.At(file, n) {
		switch r.Kind {
		case escape.Heap, escape.Moved:
			if !r.OnHeap() {
				continue
			}
			l.Heap = append(l.Heap, report.HeapStory{Story: r.Story(), At: r.Place, Through: r.Through})
		case escape.Stack:
			if !slices.Contains(l.Stays, r.What) && r.What != "... argument" {
				l.Stays = append(l.Stays, r.What)
			}
		case escape.Inlined, escape.CallKept:
			l.Calls = append(l.Calls, r)
		case escape.Bounds:
			l.Bounds++
		case escape.SliceBound:
			l.Slices++
		case escape.NilCheck:
			l.Nils++
		}
	}
	for _, r := range log.InlinedFrom(file, n) {
		if r.OnHeap() && !(r.Line == n && escape.SameFile(r.File, file)) {
			l.Inlined = append(l.Inlined, report.HeapStory{Story: r.Story(), At: r.Place, Through: r.Through})
		}
	}
	return l
}

// find reads what was asked about.
func find(ctx context.Context, asked string, opt Options) (*place, error) {
	if name, number, ok := cutLast(asked, ":"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: %s: %q is not a line number", ErrAsked, asked, number)
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(opt.Dir, name)
		}
		return atLine(name, n, asked)
	}
	if strings.HasSuffix(asked, ".go") {
		return nil, fmt.Errorf("%w: %s is a whole file; name a line of it, or a function", ErrAsked, asked)
	}
	return findFunction(ctx, asked, opt)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

const maxFile = 16 << 20

// atLine reads the file of a line.
func atLine(name string, n int, asked string) (*place, error) {
	st, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s: no such file", ErrNotFound, asked)
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular() || filepath.Ext(name) != ".go" || st.Size() > maxFile:
		return nil, fmt.Errorf("%w: %s is not a Go file", ErrAsked, asked)
	}
	if name, err = filepath.EvalSymlinks(name); err != nil { // as the compiler calls it
		return nil, err
	}
	p, fns, err := read(name)
	if err != nil {
		return nil, err
	}
	if n > len(p.lines) {
		return nil, fmt.Errorf("%w: %s: the file has %d lines", ErrNotFound, asked, len(p.lines))
	}
	p.line = n
	for i := range fns {
		if fns[i].from <= n && n <= fns[i].to {
			p.fn = &fns[i]
		}
	}
	return p, nil
}

// read reads a file and its functions.
func read(name string) (*place, []function, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	p := &place{file: name, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), pkg: f.Name.Name}
	p.test = strings.HasSuffix(name, "_test.go")
	p.external = p.test && strings.HasSuffix(p.pkg, "_test")
	var fns []function
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		one := function{from: set.Position(fn.Pos()).Line, to: set.Position(fn.End()).Line, body: fn.Body != nil}
		one.name, one.expr, one.generic = nameOf(fn)
		fns = append(fns, one)
	}
	return p, fns, nil
}

// nameOf returns the name of a function as profiles have it, how code names it, and whether it or its receiver has type parameters.
func nameOf(fn *ast.FuncDecl) (name, expr string, generic bool) {
	generic = fn.Type.TypeParams != nil
	name = fn.Name.Name
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		t, star := fn.Recv.List[0].Type, false
		if s, ok := t.(*ast.StarExpr); ok {
			t, star = s.X, true
		}
		switch x := t.(type) {
		case *ast.IndexExpr:
			t, generic = x.X, true
		case *ast.IndexListExpr:
			t, generic = x.X, true
		}
		id, ok := t.(*ast.Ident)
		switch {
		case !ok:
		case star:
			name = "(*" + id.Name + ")." + name
		default:
			name = id.Name + "." + name
		}
	}
	if !generic && fn.Name.Name != "init" && fn.Name.Name != "_" && name != "main" {
		expr = name
	}
	return name, expr, generic
}

// findFunction looks for a function in the packages of the module below the folder.
func findFunction(ctx context.Context, asked string, opt Options) (*place, error) {
	opt.Say("looking for " + asked)
	list, err := gocmd.Command{Dir: opt.Dir}.TestPackages(ctx, []string{"./..."}, opt.Flags)
	switch {
	case errors.As(err, new(*gocmd.NoModuleError)):
		return nil, moduleError("looking for "+asked, opt.Dir, err)
	case err != nil:
		return nil, fmt.Errorf("looking for %s: %w", asked, err)
	}
	bare := strings.NewReplacer("(*", "", ")", "").Replace
	var found []*place
	for _, pkg := range list {
		files, err := gocmd.Files(pkg.Dir, "*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			p, fns, err := read(name)
			if err != nil {
				continue // the compiler will say so
			}
			for i := range fns {
				own := fns[i].name
				full := p.pkg + "." + own
				path := pkg.ImportPath + "." + own
				if w := bare(asked); fns[i].body && (w == bare(own) || w == bare(full) || w == bare(path)) {
					q := *p
					q.fn = &fns[i]
					found = append(found, &q)
				}
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: no function %s in the packages of %s", ErrNotFound, asked, opt.Dir)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, p := range found {
		names = append(names, fmt.Sprintf("%s:%d", shown(opt.Dir, p.file), p.fn.from))
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return nil, fmt.Errorf("%w: there are several functions %s: %s", ErrAsked, asked, strings.Join(names, ", "))
}
