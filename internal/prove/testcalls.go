package prove

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
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

// typeOf returns the type of the module that a variable has, or points to.
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
		if returns(r.stmts[i]) {
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
	ast.Inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := r.called(call)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != r.pkg.PkgPath {
			return true
		}
		sel, isSel := ast.Unparen(call.Fun).(*ast.SelectorExpr)
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

// slice returns the statements before one that make variables, without those about some others.
func (r *repeater) slice(before int, need map[types.Object]bool, without map[types.Object]bool) (out []int, ok bool) {
	for i := before - 1; i >= 0; i-- {
		s := r.stmts[i]
		mentioned := r.mentions(s)
		defined := r.defines(s)
		needed := slices.ContainsFunc(defined, func(o types.Object) bool { return need[o] })
		for v := range mentioned {
			needed = needed || need[v]
		}
		if _, deferred := s.(*ast.DeferStmt); !needed || deferred {
			continue
		}
		for v := range mentioned {
			if without[v] {
				return nil, false
			}
			need[v] = true
		}
		if slices.ContainsFunc(defined, func(o types.Object) bool { return without[o] }) || !r.repeatable(s) {
			return nil, false
		}
		out = append(out, i)
	}
	slices.Reverse(out)
	return out, true
}

// statement writes a statement that several goroutines can do at the same time, with all that it needs for that besides the value.
func (r *repeater) statement(s ast.Stmt, at int, v *types.Var, shared []int) (string, bool) {
	if !r.repeatable(s) {
		return "", false
	}
	need := make(map[types.Object]bool)
	for w := range r.mentions(s) {
		if w != v {
			need[w] = true
		}
	}
	assigned := make(map[types.Object]bool)
	if a, ok := s.(*ast.AssignStmt); ok { // its results are for what follows
		for _, l := range a.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok {
				return "", false
			}
			if w, ok := r.info.Uses[id].(*types.Var); ok && !slices.ContainsFunc(a.Rhs, func(e ast.Expr) bool { return r.mentions(e)[w] }) {
				delete(need, w)
				assigned[w] = true
			}
		}
	}
	// What made the shared value is there once. Where others would change it or what it leads to, they may not have it.
	common := make(map[types.Object]bool)
	for _, i := range shared {
		for _, w := range r.defines(r.stmts[i]) {
			common[w] = true
			if need[w] && w != v {
				if _, isType := w.(*types.TypeName); isType {
					continue // it is declared again
				}
				if !unchanging(w.Type()) || r.changes(s, w) {
					return "", false
				}
				delete(need, w)
			}
		}
	}
	without := map[types.Object]bool{v: true}
	for w := range common {
		if _, isVar := w.(*types.Var); isVar && !unchanging(w.Type()) {
			without[w] = true
		}
	}
	own, ok := r.slice(at, need, without)
	if !ok || r.changesOuter(s, own) {
		return "", false
	}
	var b strings.Builder
	for _, i := range own {
		b.WriteString(r.write(r.stmts[i]))
	}
	if a, ok := s.(*ast.AssignStmt); ok {
		names := make([]string, len(a.Lhs))
		for i := range names {
			names[i] = "_"
		}
		rhs := make([]string, len(a.Rhs))
		for i, e := range a.Rhs {
			rhs[i] = r.source(e)
		}
		b.WriteString(strings.Join(names, ", ") + " = " + strings.Join(rhs, ", ") + "\n")
	} else {
		b.WriteString(r.write(s))
	}
	return b.String(), b.Len() < repeatedText
}

// unchanging reports whether nobody can change a value of a type that others have, too.
func unchanging(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Struct:
		for f := range u.Fields() {
			if !unchanging(f.Type()) {
				return false
			}
		}
		return true
	case *types.Array:
		return unchanging(u.Elem())
	}
	return isErrorType(t)
}

// changes reports whether a statement sets a variable, or takes its address.
func (r *repeater) changes(s ast.Node, v types.Object) bool {
	found := false
	is := func(e ast.Expr) {
		for {
			switch x := ast.Unparen(e).(type) {
			case *ast.SelectorExpr:
				e = x.X
				continue
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.Ident:
				found = found || r.info.Uses[x] == v
			}
			return
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				is(l)
			}
		case *ast.IncDecStmt:
			is(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				is(n.X)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				is(n.Key)
				is(n.Value)
			}
		}
		return !found
	})
	return found
}

// changesOuter reports whether a statement uses a variable of the tests' own that all goroutines would have, in a way that is not only
// reading what nobody changes.
func (r *repeater) changesOuter(s ast.Stmt, own []int) bool {
	bad := false
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return !bad
			}
			v, ok := r.info.Uses[id].(*types.Var)
			if ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() && r.ofTests(v) {
				bad = bad || !unchanging(v.Type()) || r.changes(s, v)
			}
			return !bad
		})
	}
	look(s)
	for _, i := range own {
		look(r.stmts[i])
	}
	return bad
}

// ofTests reports whether a file with tests declares a variable.
func (r *repeater) ofTests(v *types.Var) bool {
	f := r.pkg.Fset.File(v.Pos())
	return f != nil && strings.HasSuffix(f.Name(), "_test.go") && r.typeOf(v) == nil
}

// repeatable reports whether a statement can be done again and again without anything that waits, ends the test or leaves something behind.
func (r *repeater) repeatable(s ast.Stmt) bool {
	ok := true
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.LabeledStmt:
			ok = false
		case *ast.BranchStmt:
			ok = ok && n.Label == nil
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.SelectorExpr:
			obj := r.info.Uses[n.Sel]
			if obj == nil || obj.Pkg() == nil {
				return ok
			}
			name := obj.Name()
			switch p := obj.Pkg().Path(); {
			case p == "testing" && slices.Contains([]string{"Parallel", "Setenv", "Chdir", "Skip", "SkipNow", "Skipf", "Cleanup", "TempDir", "Run"}, name),
				p == "time" && slices.Contains([]string{"Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}, name),
				p == "net/http" && slices.Contains([]string{"Get", "Post", "PostForm", "Head", "ListenAndServe", "Serve", "DefaultClient"}, name),
				p == "net/http/httptest" && strings.HasPrefix(name, "New") && strings.HasSuffix(name, "Server"),
				p == "sync" && name == "Wait",
				slices.Contains(outside, p) && name != "Stdout" && name != "Stderr":
				ok = false
			}
		}
		return ok
	})
	return ok
}

// write writes a statement; what it declares need not be used.
func (r *repeater) write(s ast.Stmt) string {
	text := r.source(s) + "\n"
	for _, o := range r.defines(s) {
		if v, ok := o.(*types.Var); ok && v.Name() != "_" {
			text += "_ = " + v.Name() + "\n"
		}
	}
	return text
}

// takeImports notes the packages that the statements name.
func (r *repeater) takeImports(out *borrowed, nodes []ast.Node) bool {
	ok := true
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			id, isIdent := n.(*ast.Ident)
			if !isIdent {
				return true
			}
			switch obj := r.info.Uses[id].(type) {
			case *types.PkgName:
				out.imports[obj.Name()] = obj.Imported().Path()
			case nil:
			default: // from a package that is imported with a dot
				if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && obj.Pkg().Path() != r.pkgPath() {
					if !r.qualified(id) {
						ok = false
					}
				}
			}
			return true
		})
	}
	return ok
}

func (r *repeater) pkgPath() string {
	if r.outer {
		return r.guards.outer.Types.Path()
	}
	return r.pkg.Types.Path()
}

// qualified reports whether an identifier is behind the name of a package.
func (r *repeater) qualified(id *ast.Ident) bool {
	f := r.pkg.Fset.File(id.Pos())
	at := f.Offset(id.Pos())
	return at > 0 && at <= len(r.text) && r.text[at-1] == '.'
}

// writeRepeated writes the files that repeat tests: one in the package and one outside of it.
func (g *guards) writeRepeated(all []*borrowed) (files []ParallelFile, calls []ParallelCall, err error) {
	for _, outer := range []bool{false, true} {
		name, pkg, test := insideFile, g.pkg.Types.Name(), parallelInside
		if outer {
			name, pkg, test = outsideFile, pkg+"_test", parallelOutside
		}
		w := callsWriter{name: name, imports: map[string]string{}}
		var body strings.Builder
		var mine []*borrowed
		named := map[string]string{}
	each:
		for _, r := range all {
			if r.outer != outer {
				continue
			}
			for local, path := range r.imports {
				if was, ok := named[local]; ok && was != path {
					continue each
				}
			}
			for local, path := range r.imports {
				named[local] = path
			}
			mine = append(mine, r)
		}
		if len(mine) == 0 {
			continue
		}
		for _, r := range mine {
			r.writeTo(&body, len(mine), &w)
		}
		text := w.source(pkg, test, body.String(), named)
		file, list, err := w.finish(text)
		if err != nil {
			return nil, nil, fmt.Errorf("repeating tests of %s: %w", g.pkg.PkgPath, err)
		}
		files, calls = append(files, file), append(calls, list...)
	}
	return files, calls, nil
}

// writeTo writes a subtest, one of several.
func (r *borrowed) writeTo(b *strings.Builder, of int, w *callsWriter) {
	own := r.before + r.row
	fmt.Fprintf(b, "%s\n", groupMark)
	if r.table != "" {
		// Loops are as in the Go of the module, which may be an old one.
		fmt.Fprintf(b, "for honeI, honeRows, honeBegan := 0, func() int {\n%s\nreturn len(%s)\n}(), hone_time.Now(); honeI < honeRows && (honeI < %d || hone_time.Since(honeBegan) < 9*hone_time.Second/%d); honeI++ {\nhoneRow := honeRowOf(honeI, honeRows)\n",
			r.before, r.table, repeatedRows, of+2)
		of = manyGroups
	}
	fmt.Fprintf(b, "t.Run(%q, func(%s *hone_testing.T) {\ndefer func() { _ = recover() }()\n", r.test, cmp.Or(r.param, "_"))
	fmt.Fprintf(b, "honeParallel(%d, func() []func() {\n%s%s\nreturn []func(){\n", of, own, r.setup)
	for _, text := range r.calls {
		fmt.Fprintf(b, "func() {\n%s%d\n%s%s\n},\n", parallelMark, len(w.calls), own, text)
		w.calls = append(w.calls, ParallelCall{Name: strings.Join(r.methods, ", "), Of: r.of, Setup: strings.TrimSpace(r.setup), Text: strings.TrimSpace(text)})
	}
	b.WriteString("}\n})\n})\n")
	if r.table != "" {
		b.WriteString("}\n")
	}
	fmt.Fprintf(b, "%s\n", groupEnd)
}

// A callsWriter writes a file with calls for goroutines.
type callsWriter struct {
	name    string
	imports map[string]string
	calls   []ParallelCall
}

// source is the text of a file that has a test with a body; named are the packages that the body may name.
func (w *callsWriter) source(pkg, test, body string, named map[string]string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n", pkg)
	used := func(name string) bool { return regexp.MustCompile(`\b` + name + `\.`).MatchString(body) }
	for _, name := range sortedKeys(named) {
		if !used(name) {
			continue
		}
		if path.Base(named[name]) == name {
			fmt.Fprintf(&b, "%s\n", strconv.Quote(named[name]))
		} else {
			fmt.Fprintf(&b, "%s %s\n", name, strconv.Quote(named[name]))
		}
	}
	for _, std := range []string{"os", "strconv", "sync", "testing", "time"} {
		fmt.Fprintf(&b, "hone_%s %q\n", std, std)
	}
	b.WriteString(")\n\n")
	fmt.Fprintf(&b, "func %s(t *hone_testing.T) {\nif hone_os.Getenv(%q) == \"\" {\nt.Skip(\"the search for races alone runs this\")\n}\n%s}\n", test, ParallelOrder, body)
	fmt.Fprintf(&b, parallelCode, "hone_strconv", "hone_os", ParallelOrder, "hone_time", "hone_sync", manyGroups, "hone_time", "hone_time", "hone_time")
	b.WriteString(rowCode)
	return strings.NewReplacer("honeParallel(", "honeRepeat(", "honeCall(", "honeRepeatOne(").Replace(b.String())
}

// rowCode chooses rows of a table, in another order in each run.
const rowCode = `
func honeRowOf(i, rows int) int {
	seed, _ := hone_strconv.Atoi(hone_os.Getenv("` + ParallelOrder + `"))
	return (i*7919 + seed*31) % rows
}
`

// finish formats the file, and notes where its calls are.
func (w *callsWriter) finish(source string) (ParallelFile, []ParallelCall, error) {
	text, err := format.Source([]byte(source))
	if err != nil {
		return ParallelFile{}, nil, err
	}
	out := ParallelFile{Name: w.name, Source: string(text)}
	at := -1
	for n, line := range strings.Split(out.Source, "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, parallelMark); ok {
			fmt.Sscan(rest, &at)
			w.calls[at].File, w.calls[at].First = w.name, n+1
		}
		if line == "}," && at >= 0 {
			w.calls[at].Last = n + 1
		}
	}
	return out, w.calls, nil
}
