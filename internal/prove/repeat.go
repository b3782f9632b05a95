package prove

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
)

// What tests do with a value is done from several goroutines here, where the value is made to be shared: tests know how to make values
// that nobody can make up, such as a compiled template with its data.

// Limits of what is taken from tests.
const (
	repeatedTests  = 32 // values that tests make, of a package
	repeatedOfOne  = 4  // statements about one of them
	repeatedMethod = 8  // values for one method
	repeatedRows   = 4  // of a table of a test at least, even where there is no time
	repeatedText   = 4 << 10
	repeatedTable  = 64 << 10
)

// A borrowed is a value that a test makes, and statements of the test that use it.
type borrowed struct {
	test    string
	param   string // its *testing.T, "" in an example
	table   string // what is ranged over, "" where the test has no table
	before  string // what makes the table, and all that its rows need; each goroutine has that for itself
	row     string // what gets a row of it
	of      string // type of the value
	setup   string
	calls   []string
	methods []string // that the statements call
	imports map[string]string
	outer   bool
}

// outside are packages whose use is not to be repeated: what it does is not in the process alone, or takes long.
var outside = []string{"os", "os/exec", "os/signal", "net", "syscall", "flag", "testing/quick", "runtime", "runtime/debug", "plugin"}

// repeatTests finds what to repeat.
func (g *guards) repeatTests() []*borrowed {
	var all []*borrowed
	for _, t := range g.testFiles() {
		text, err := os.ReadFile(g.pkg.Fset.File(t.file.Pos()).Name())
		if err != nil {
			continue
		}
		for _, d := range t.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Recv != nil {
				continue
			}
			r := &repeater{guards: g, testFile: t, text: text}
			switch {
			case strings.HasPrefix(fn.Name.Name, "Test") && fn.Type.Params.NumFields() == 1 && len(fn.Type.Params.List[0].Names) == 1:
				r.param = fn.Type.Params.List[0].Names[0]
			case strings.HasPrefix(fn.Name.Name, "Example") && fn.Type.Params.NumFields() == 0:
			default:
				continue
			}
			for _, one := range r.body(fn.Body.List) {
				one.test = fn.Name.Name
				all = append(all, one)
			}
		}
	}
	// Those first that call most, and tables, whose rows are as many different values.
	order.Stable(all, func(a, b *borrowed) int { return cmp.Or(len(b.methods)-len(a.methods), len(b.table)-len(a.table)) })
	had := make(map[string]int)
	var out []*borrowed
	for _, r := range all {
		fresh := slices.ContainsFunc(r.methods, func(m string) bool { return had[m] < repeatedMethod })
		if !fresh || len(out) == repeatedTests {
			continue
		}
		for _, m := range r.methods {
			had[m]++
		}
		out = append(out, r)
	}
	return out
}

// A repeater reads one test.
type repeater struct {
	*guards
	testFile
	text  []byte
	param *ast.Ident
	stmts []ast.Stmt
	all   []ast.Node // with those around them

	table, before, row string // as in a borrowed
}

func (r *repeater) source(n ast.Node) string {
	f := r.pkg.Fset.File(n.Pos())
	from, to := f.Offset(n.Pos()), f.Offset(n.End())
	if from < 0 || to > len(r.text) || from > to {
		return ""
	}
	return string(r.text[from:to])
}

// body finds values that the statements of a test make, or that the package has, and what is done with them.
func (r *repeater) body(stmts []ast.Stmt) (out []*borrowed) {
	r.stmts = stmts
	for _, s := range stmts {
		r.all = append(r.all, s)
	}
	var values []*types.Var
	for _, s := range stmts {
		ast.Inspect(s, func(n ast.Node) bool {
			if _, ok := n.(*ast.FuncLit); ok {
				return false
			}
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := cmp.Or(r.info.Defs[id], r.info.Uses[id]).(*types.Var)
			if ok && !v.IsField() && r.typeOf(v) != nil && (r.local(v) || v.Parent() == v.Pkg().Scope()) && !slices.Contains(values, v) {
				values = append(values, v)
			}
			return true
		})
	}
	for _, v := range values {
		if one := r.value(v); one != nil {
			out = append(out, one)
		}
	}
	for i, s := range stmts {
		if b, ok := s.(*ast.BlockStmt); ok {
			if in := r.block(i, b); in != nil {
				out = append(out, in.body(b.List)...)
			}
		}
	}
	if r.table != "" {
		return out
	}
	for i, s := range stmts {
		if inner, list := r.within(i, s); inner != nil {
			out = append(out, inner.body(list)...)
		}
	}
	return out
}

// block returns what reads the statements of a block, with all that these need from before it.
func (r *repeater) block(at int, b *ast.BlockStmt) *repeater {
	in := *r
	need, ok := r.slice(at, r.mentions(b), nil)
	if !ok || slices.ContainsFunc(need, func(i int) bool { return returns(r.stmts[i]) }) {
		return nil
	}
	for _, i := range need {
		in.row += r.write(r.stmts[i])
	}
	return &in
}

// within returns the statements of a loop over a table, or of a subtest, and what reads them.
func (r *repeater) within(at int, s ast.Stmt) (*repeater, []ast.Stmt) {
	in := &repeater{guards: r.guards, testFile: r.testFile, text: r.text, param: r.param, all: r.all, before: r.before}
	subtest := func(s ast.Stmt) *ast.FuncLit {
		x, ok := s.(*ast.ExprStmt)
		if !ok {
			return nil
		}
		call, ok := x.X.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return nil
		}
		fn := r.called(call)
		lit, ok := call.Args[1].(*ast.FuncLit)
		if !ok || fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "testing" || fn.Name() != "Run" || r.param == nil ||
			len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 || lit.Type.Params.List[0].Names[0].Name != r.param.Name {
			return nil
		}
		return lit
	}
	list := []ast.Stmt{s}
	if loop, ok := s.(*ast.RangeStmt); ok {
		row, isIdent := loop.Value.(*ast.Ident)
		if !isIdent || loop.Tok != token.DEFINE || row.Name == "_" {
			return nil, nil
		}
		switch base(r.info.TypeOf(loop.X)).Underlying().(type) {
		case *types.Slice, *types.Array:
		default:
			return nil, nil
		}
		in.table = r.source(loop.X)
		if id, ok := loop.X.(*ast.Ident); ok {
			if v, ok := r.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return nil, nil // all goroutines would have its rows
			}
		}
		in.row = row.Name + " := " + in.table + "[honeRow]\n_ = " + row.Name + "\n"
		if key, ok := loop.Key.(*ast.Ident); ok && key.Name != "_" {
			in.row += key.Name + " := honeRow\n_ = " + key.Name + "\n"
		}
		list = loop.Body.List
	} else if subtest(s) == nil {
		return nil, nil
	}
	if len(list) > 0 { // what stands before it is often a copy of the row
		if lit := subtest(list[len(list)-1]); lit != nil {
			list = slices.Concat(list[:len(list)-1], lit.Body.List)
		}
	}
	before, ok := r.slice(at, r.mentions(s), nil)
	if !ok || slices.ContainsFunc(before, func(i int) bool { return returns(r.stmts[i]) }) {
		return nil, nil
	}
	for _, i := range before {
		in.before += r.write(r.stmts[i])
	}
	if len(in.before) > repeatedTable {
		return nil, nil
	}
	return in, list
}

// returns reports whether a statement ends the function that it is in.
func returns(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		}
		return !found
	})
	return found
}

// typeOf returns the type of the module that a variable has, or points to, or that of a handler.
func (r *repeater) typeOf(v *types.Var) *types.TypeName {
	named, ok := types.Unalias(base(v.Type())).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.TypeArgs().Len() > 0 {
		return nil
	}
	_, ptr := types.Unalias(v.Type()).(*types.Pointer)
	_, isStruct := v.Type().Underlying().(*types.Struct)
	if !ptr && !isStruct && !types.IsInterface(v.Type()) {
		return nil // copied when it is passed
	}
	t := named.Obj()
	switch {
	case r.owns(t):
		t, _ = r.pkg.Types.Scope().Lookup(t.Name()).(*types.TypeName)
		if t == nil || strings.HasSuffix(r.pkg.Fset.File(t.Pos()).Name(), "_test.go") {
			return nil
		}
	case serves(v.Type()): // of any module: it is there to be shared, and what it calls is code of the package
	case r.pkg.Module == nil || !strings.HasPrefix(t.Pkg().Path(), r.pkg.Module.Path+"/"):
		return nil
	}
	return t
}

// local reports whether one of the test's own statements declares something, and not one within these.
func (r *repeater) local(o types.Object) bool {
	return slices.ContainsFunc(r.stmts, func(s ast.Stmt) bool { return slices.Contains(r.defines(s), o) })
}

// defines returns what a statement declares for those that follow.
func (r *repeater) defines(s ast.Stmt) (out []types.Object) {
	add := func(id *ast.Ident) {
		if o := r.info.Defs[id]; o != nil {
			out = append(out, o)
		}
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, l := range s.Lhs {
			if id, ok := l.(*ast.Ident); ok {
				add(id)
			}
		}
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					add(id)
				}
			case *ast.TypeSpec:
				add(spec.Name)
			}
		}
	}
	return out
}

// mentions returns what a node has in it of what the test's own statements declare.
func (r *repeater) mentions(n ast.Node) map[types.Object]bool {
	out := make(map[types.Object]bool)
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if o := r.info.Uses[id]; o != nil && r.local(o) {
				out[o] = true
			}
		}
		return true
	})
	return out
}

// value finds what a test does with a value, or returns nil where that cannot be repeated.
func (r *repeater) value(v *types.Var) *borrowed {
	t := r.typeOf(v)
	out := &borrowed{of: t.Name(), imports: make(map[string]string), outer: r.outer, table: r.table, before: r.before, row: r.row}
	if r.param != nil {
		out.param = r.param.Name
	}
	begin, made := 0, ""
	if r.local(v) {
		begin = 1 + slices.IndexFunc(r.stmts, func(s ast.Stmt) bool { return slices.Contains(r.defines(s), types.Object(v)) })
		made = r.maker(r.stmts[begin-1])
	}
	var shared []int // statements that make the value
	for i := begin; i < len(r.stmts) && len(out.calls) < repeatedOfOne; i++ {
		s := r.stmts[i]
		uses := r.uses(s, v)
		if uses == 0 {
			continue
		}
		methods, ok := r.allowed(s, v, t, made, uses)
		if !ok {
			if len(out.calls) > 0 {
				break // from here on it is something else
			}
			continue
		}
		if len(out.calls) == 0 {
			if shared, ok = r.slice(i, map[types.Object]bool{v: true}, nil); !ok {
				return nil
			}
		}
		call, ok := r.statement(s, i, v, shared)
		if !ok {
			continue
		}
		out.calls = append(out.calls, call)
		for _, m := range methods {
			if !slices.Contains(out.methods, m) {
				out.methods = append(out.methods, m)
			}
		}
	}
	if len(out.calls) == 0 {
		return nil
	}
	for _, i := range shared {
		if returns(r.stmts[i]) || r.captures(r.stmts[i], v) {
			return nil
		}
		out.setup += r.write(r.stmts[i])
	}
	if !r.takeImports(out, r.all) || len(out.setup) > repeatedText {
		return nil
	}
	return out
}

// maker returns the function of the package that a statement calls to make a value, or "".
func (r *repeater) maker(s ast.Stmt) string {
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Rhs) == 0 {
		return ""
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return ""
	}
	if fn := r.called(call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == r.pkg.PkgPath && fn.Signature().Recv() == nil {
		return fn.Name()
	}
	return ""
}

func (r *repeater) called(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	fn, _ := r.info.Uses[id].(*types.Func)
	return fn
}

// uses counts how often a statement names a variable.
func (r *repeater) uses(s ast.Stmt, v *types.Var) (n int) {
	ast.Inspect(s, func(x ast.Node) bool {
		if id, ok := x.(*ast.Ident); ok && r.info.Uses[id] == v {
			n++
		}
		return true
	})
	return n
}

// allowed reports whether all that a statement does with a value may be done by several goroutines, and the methods that it calls.
func (r *repeater) allowed(s ast.Stmt, v *types.Var, t *types.TypeName, made string, uses int) (methods []string, ok bool) {
	is := func(e ast.Expr) bool {
		if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && u.Op == token.AND {
			e = u.X
		}
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && r.info.Uses[id] == v
	}
	known := 0
	handler := serves(v.Type())
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := r.called(call)
		sel, isSel := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if handler && fn != nil && isSel && fn.Name() == "ServeHTTP" && is(sel.X) {
			known++
			methods = append(methods, t.Name()+".ServeHTTP")
			return true
		}
		if i := slices.IndexFunc(call.Args, is); handler && i >= 0 && r.onlyServes(fn, i) {
			known++
			methods = append(methods, t.Name()+".ServeHTTP")
			return true
		}
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != r.pkg.PkgPath {
			return true
		}
		if fn.Signature().Recv() != nil && isSel && is(sel.X) {
			if r.mayShare(t, fn.Name(), t.Name()+"."+fn.Name(), made) {
				known++
				methods = append(methods, t.Name()+"."+fn.Name())
			}
			return true
		}
		for _, arg := range call.Args {
			if is(arg) && fn.Signature().Recv() == nil && r.mayPass(t, fn.Name(), made) {
				known++
				methods = append(methods, fn.Name())
			}
		}
		return true
	})
	return methods, known == uses
}

// onlyServes reports whether all that a function of the tests does with a parameter is to have it serve a request.
func (r *repeater) onlyServes(fn *types.Func, param int) bool {
	if fn == nil || fn.Signature().Recv() != nil || param >= fn.Signature().Params().Len() {
		return false
	}
	v := fn.Signature().Params().At(param)
	for _, t := range r.testFiles() {
		for _, d := range t.file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil || t.info.Defs[d.Name] != types.Object(fn) {
				continue
			}
			all, served := 0, 0
			ast.Inspect(d.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if t.info.Uses[n] == v {
						all++
					}
				case *ast.CallExpr:
					sel, ok := n.Fun.(*ast.SelectorExpr)
					if !ok || sel.Sel.Name != "ServeHTTP" {
						break
					}
					if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok && t.info.Uses[id] == v {
						served++
					}
				}
				return true
			})
			return served > 0 && all == served
		}
	}
	return false
}

// captures reports whether a function literal in a statement uses variables of the test, besides the value, that it or others can change:
// these are the test's own, and not made to be shared.
func (r *repeater) captures(s ast.Stmt, value types.Object) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return !found
		}
		for o := range r.mentions(lit) {
			v, ok := o.(*types.Var)
			found = found || ok && o != value && (!unchanging(v.Type()) || r.changes(lit, o))
		}
		return false
	})
	return found
}
