package race

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gotypes"
	"github.com/hone-perf/hone/internal/gotypes/writes"
	"github.com/hone-perf/hone/internal/racelog"
	"github.com/hone-perf/hone/internal/report"
)

// codes is the source of what took part in races, read when it is asked for.
type codes struct {
	env   []string // of the go command
	texts map[string][]string
	pkgs  map[string][]*packages.Package // by folder: with tests, without, and the tests outside
}

// lines returns the lines of a file, or nothing.
func (c *codes) lines(file string) []string {
	if lines, ok := c.texts[file]; ok {
		return lines
	}
	const most = 8 << 20
	var lines []string
	if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Size() < most {
		if text, err := os.ReadFile(file); err == nil {
			lines = strings.Split(string(text), "\n")
		}
	}
	if c.texts == nil {
		c.texts = make(map[string][]string)
	}
	c.texts[file] = lines
	return lines
}

func (c *codes) line(file string, n int) string {
	lines := c.lines(file)
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

// around returns a line with those next to it.
func (c *codes) around(file string, n int) []report.SourceLine {
	lines := c.lines(file)
	if n < 1 || n > len(lines) {
		return nil
	}
	var out []report.SourceLine
	for i := max(1, n-1); i <= min(len(lines), n+1); i++ {
		out = append(out, report.SourceLine{Line: i, Text: strings.TrimRight(lines[i-1], "\r")})
	}
	return out
}

// load type-checks the package that a file belongs to, with its tests.
func (c *codes) load(ctx context.Context, file string) (*packages.Package, error) {
	dir := filepath.Dir(file)
	found, ok := c.pkgs[dir]
	if !ok {
		var err error
		found, err = gotypes.Load(&packages.Config{
			Context: ctx, Dir: dir, Env: c.env, Tests: true, Mode: packages.LoadSyntax | packages.NeedModule | packages.NeedForTest,
		}, ".")
		if err != nil {
			return nil, fmt.Errorf("reading the package in %s: %w", dir, err)
		}
		if c.pkgs == nil {
			c.pkgs = make(map[string][]*packages.Package)
		}
		c.pkgs[dir] = found
	}
	var best *packages.Package
	for _, p := range found {
		holds := slices.ContainsFunc(p.Syntax, func(f *ast.File) bool { return p.Fset.File(f.FileStart).Name() == file })
		if holds && len(p.Errors) == 0 && (best == nil || len(p.Syntax) > len(best.Syntax)) {
			best = p
		}
	}
	return best, nil
}

// A variable is what a race is about.
type variable struct {
	codes *codes
	pkg   *packages.Package
	obj   *types.Var
	name  string
	kind  string
	lines map[string]map[int]bool // of the accesses, by file
}

// variable finds out which variable both accesses of a race are to. It returns nil when the code does not say it for sure.
func (c *codes) variable(ctx context.Context, r *racelog.Race) (*variable, error) {
	var common []*types.Var
	var pkg *packages.Package
	lines := make(map[string]map[int]bool)
	kind, first := "", true
	for i := range r.Accesses {
		a := &r.Accesses[i]
		if len(a.Stack) == 0 {
			return nil, nil
		}
		if !known(a) {
			continue // such as an atomic access, whose caller the detector does not know: the other one has to say it
		}
		at, _ := a.Place()
		p, err := c.load(ctx, at.File)
		if err != nil || p == nil {
			return nil, err
		}
		if pkg == nil {
			pkg = p
		}
		if p != pkg {
			return nil, nil
		}
		if lines[at.File] == nil {
			lines[at.File] = make(map[int]bool)
		}
		lines[at.File][at.Line] = true
		if k := kindOfAccess(a.Stack[0].Func); k != "" {
			kind = k
		}
		vars := mentioned(p, at.File, at.Line, a.Write && !racelog.Library(a.Stack[0].Func))
		if first {
			common, first = vars, false
			continue
		}
		common = slices.DeleteFunc(common, func(v *types.Var) bool { return !slices.Contains(vars, v) })
	}
	if r.Global != "" {
		name := r.Global[strings.LastIndexByte(r.Global, '.')+1:]
		common = slices.DeleteFunc(common, func(v *types.Var) bool { return v.Name() != name })
	}
	if kind != "" {
		common = slices.DeleteFunc(common, func(v *types.Var) bool { return kindOfType(v.Type()) != kind })
	}
	// What one goroutine has for itself is in no race: local variables that no function literal captured.
	common = slices.DeleteFunc(common, func(v *types.Var) bool { return !shared(pkg, v) })
	if len(common) != 1 {
		return nil, nil
	}
	v := &variable{codes: c, pkg: pkg, obj: common[0], lines: lines}
	v.name, v.kind = v.fullName(), kindOfType(v.obj.Type())
	if v.kind == "" {
		v.kind = "variable"
		if v.atomicType() != "" {
			v.kind = "counter"
			if v.atomicType() == "Bool" {
				v.kind = "variable"
			}
		}
	}
	return v, nil
}

// kindOfAccess tells from the function of the runtime what is accessed.
func kindOfAccess(fn string) string {
	switch name := strings.TrimPrefix(strings.TrimPrefix(fn, "runtime."), "internal/runtime/maps."); {
	case name == fn:
	case strings.HasPrefix(name, "map"), strings.HasPrefix(name, "runtime_map"), strings.Contains(name, "Map)"), strings.HasPrefix(name, "(*Iter"), strings.HasPrefix(name, "(*table"):
		return "map"
	case strings.HasPrefix(name, "growslice"):
		return "slice"
	}
	return ""
}

func kindOfType(t types.Type) string {
	switch t.Underlying().(type) {
	case *types.Map:
		return "map"
	case *types.Slice:
		return "slice"
	}
	return ""
}

// mentioned returns the variables on a line: all of them, or those that are written.
func mentioned(p *packages.Package, file string, line int, written bool) []*types.Var {
	var out []*types.Var
	add := func(e ast.Expr) {
		if v := varOf(p.TypesInfo, e); v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	on := func(n ast.Node) bool {
		return p.Fset.Position(n.Pos()).Line <= line && line <= p.Fset.Position(n.End()).Line
	}
	for _, f := range p.Syntax {
		if p.Fset.File(f.FileStart).Name() != file {
			continue
		}
		if written {
			for w := range writes.In(p.TypesInfo, f) {
				at := p.Fset.Position(w.Expr.Pos()).Line
				_, loop := w.At.(*ast.RangeStmt) // whose lines are not its own
				if (w.How == writes.Define || w.How.Sets()) && on(w.At) && (at == line || at < line && !loop) {
					addTarget(w.Expr, add)
				}
			}
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil || !on(n) {
				return false
			}
			if e, ok := n.(ast.Expr); ok && p.Fset.Position(lastPos(e)).Line == line {
				add(e)
			}
			return true
		})
	}
	return out
}

// lastPos returns where the name of a variable is: that of a field is behind the point.
func lastPos(e ast.Expr) token.Pos {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Pos()
	}
	return e.Pos()
}

// addTarget adds the variable that an assignment changes. What is behind an index or a pointer belongs to the variable before it.
func addTarget(e ast.Expr, add func(ast.Expr)) {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		addTarget(e.X, add)
	case *ast.StarExpr:
		addTarget(e.X, add)
	default:
		add(e)
	}
}

// varOf returns the variable or field that an expression is, or nil.
func varOf(info *types.Info, e ast.Expr) *types.Var {
	var id *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	default:
		return nil
	}
	v, _ := info.Uses[id].(*types.Var)
	if v == nil {
		v, _ = info.Defs[id].(*types.Var)
	}
	if v == nil || v.Name() == "_" {
		return nil
	}
	return v.Origin()
}

// shared reports whether more than one goroutine can get at a variable.
func shared(p *packages.Package, v *types.Var) bool {
	if v.IsField() || v.Parent() == p.Types.Scope() || v.Parent() == nil {
		return true
	}
	captured := false
	for _, f := range p.Syntax {
		if f.FileStart > v.Pos() || v.Pos() > f.FileEnd {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.FuncLit)
			if !ok || lit.Pos() <= v.Pos() && v.Pos() < lit.End() {
				return true
			}
			ast.Inspect(lit, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && p.TypesInfo.Uses[id] == v {
					captured = true
				}
				return !captured
			})
			return true
		})
	}
	return captured
}

// fullName names a field with its type.
func (v *variable) fullName() string {
	if !v.obj.IsField() {
		return v.obj.Name()
	}
	scope := v.pkg.Types.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if st, ok := tn.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() {
				if f == v.obj {
					return name + "." + f.Name()
				}
			}
		}
	}
	return v.obj.Name()
}

// memory says what kind of variable it is, and where it is declared.
func (v *variable) memory(s *Search) string {
	at := v.pkg.Fset.Position(v.obj.Pos())
	what := "a local variable"
	switch {
	case v.obj.IsField():
		what = "a field"
	case v.obj.Parent() == v.pkg.Types.Scope():
		what = "a package variable"
	}
	return fmt.Sprintf("%s of type %s, declared at %s:%d", what, types.TypeString(v.obj.Type(), types.RelativeTo(v.pkg.Types)), s.rel(at.Filename), at.Line)
}
