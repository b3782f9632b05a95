package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
)

// A disguise is a function of the package, which nobody else can call, that returns objects of one type as an interface. The compiler does not see
// then what their methods do, so it has the objects, and what the methods are given, on the heap.
type disguise struct {
	of    *code.Func
	as    ast.Expr // the interface, in the types of the results
	typ   string   // of the objects
	index int      // of the result
}

// disguiseOf returns what a function does with the first result that is such an object, or nil.
func disguiseOf(f *code.Func) *disguise {
	fn, ok := f.Info().Defs[f.Decl.Name].(*types.Func)
	if !ok || fn.Exported() || f.Decl.Body == nil || f.Decl.Recv != nil || f.Decl.Type.Results == nil || f.Pkg.NamedElsewhere(fn.Name()) {
		return nil
	}
	for i, field := range f.Decl.Type.Results.List {
		if len(field.Names) > 0 {
			return nil
		}
		if !types.IsInterface(f.TypeOf(field.Type)) {
			continue
		}
		if t := onlyObject(f, i, len(f.Decl.Type.Results.List)); t != nil {
			if d := (&disguise{f, field.Type, types.TypeString(t, f.Qualifier()), i}); d.unseen() {
				return d
			}
		}
	}
	return nil
}

// onlyObject returns the type of the new objects that a function returns as a result, if they are all of one.
func onlyObject(f *code.Func, i, results int) (only types.Type) {
	ok := true
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) != results {
				ok = false // of another function
				return false
			}
			u, isAddress := ast.Unparen(n.Results[i]).(*ast.UnaryExpr)
			if !isAddress || u.Op != token.AND {
				ok = false
				return false
			}
			t := f.TypeOf(u)
			ok = ok && (only == nil || types.Identical(only, t))
			only = t
		}
		return true
	})
	if !ok {
		return nil
	}
	return only
}

// onlyAsked reports whether some caller does nothing with the object but call its methods, so that it need not be on the heap.
func (d *disguise) onlyAsked() bool {
	above := d.of.Pkg.Above()
	fn := d.of.Info().Defs[d.of.Decl.Name]
	for _, id := range d.of.Pkg.UsesOf(fn) {
		callee := ast.Node(id)
		if x, ok := above[callee].(*ast.IndexExpr); ok {
			callee = x
		}
		call, ok := above[callee].(*ast.CallExpr)
		if !ok || ast.Node(call.Fun) != callee {
			continue
		}
		st, ok := above[call].(*ast.AssignStmt)
		if !ok || st.Tok != token.DEFINE || len(st.Rhs) != 1 || d.index >= len(st.Lhs) {
			continue
		}
		name, ok := st.Lhs[d.index].(*ast.Ident)
		if ok && d.asked(d.of.Info().Defs[name]) {
			return true
		}
	}
	return false
}

// unseen reports whether nothing that the package does with the objects depends on the type that the result is declared with, as type arguments that the
// compiler infers from it do, and a pointer to a variable that gets it. What does not compile with another type is no matter.
func (d *disguise) unseen() bool {
	above := d.of.Pkg.Above()
	for _, id := range d.of.Pkg.UsesOf(d.of.Info().Defs[d.of.Decl.Name]) {
		callee := ast.Node(id)
		if x, ok := above[callee].(*ast.IndexExpr); ok {
			callee = x
		}
		call, ok := above[callee].(*ast.CallExpr)
		if !ok || ast.Node(call.Fun) != callee || !d.typeUnseen(call, d.index, map[types.Object]bool{}) {
			return false
		}
	}
	return true
}

// typeUnseen reports whether nothing depends on the type of an expression, or of one of the values that it has.
func (d *disguise) typeUnseen(e ast.Expr, index int, looked map[types.Object]bool) bool {
	above := d.of.Pkg.Above()
	given := func(to ast.Expr) bool {
		id := code.AsIdent(to)
		if id == nil || d.of.Info().Defs[id] == nil {
			return true // it has a type of its own
		}
		v := d.of.Info().Defs[id]
		if looked[v] {
			return true
		}
		looked[v] = true
		if v.Parent() == d.of.Pkg.Types.Scope() {
			return false
		}
		for use, o := range d.of.Info().Uses {
			if o == v && !d.typeUnseen(use, 0, looked) {
				return false
			}
		}
		return true
	}
	switch up := above[e].(type) {
	case *ast.ParenExpr:
		return d.typeUnseen(up, index, looked)
	case *ast.ExprStmt, *ast.SelectorExpr, *ast.ReturnStmt, *ast.BinaryExpr, *ast.SendStmt, *ast.CompositeLit, *ast.KeyValueExpr, *ast.IndexExpr, *ast.CaseClause, *ast.DeferStmt, *ast.GoStmt:
		return true
	case *ast.CallExpr:
		fun := ast.Unparen(up.Fun)
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			fun = sel.Sel
		}
		id := code.AsIdent(fun)
		_, infers := d.of.Info().Instances[id]
		return id == nil || !infers
	case *ast.AssignStmt:
		i := slices.Index(up.Rhs, e)
		if i < 0 {
			return true
		}
		if len(up.Rhs) == 1 {
			i = index
		}
		return given(up.Lhs[i])
	case *ast.ValueSpec:
		i := slices.Index(up.Values, e)
		if len(up.Values) == 1 {
			i = index
		}
		return up.Type != nil || i >= 0 && given(up.Names[i])
	}
	return false
}

// asked reports whether only methods of a variable are called.
func (d *disguise) asked(v types.Object) bool {
	if v == nil {
		return false
	}
	above := d.of.Pkg.Above()
	for id, o := range d.of.Info().Uses {
		if o != v {
			continue
		}
		sel, ok := above[id].(*ast.SelectorExpr)
		if !ok {
			return false
		}
		if call, ok := above[sel].(*ast.CallExpr); !ok || call.Fun != ast.Expr(sel) {
			return false
		}
	}
	return true
}

// shed is a fix that returns the objects as what they are. There is none where callers give their variables other objects, too.
func (d *disguise) shed(p *advise.Pass) []report.Fix {
	return p.InFile(d.of.File).Fix(report.Mechanical, fmt.Sprintf("return %s from %s", d.typ, d.of.Decl.Name.Name), edit.Replace(d.as, d.typ))
}

// undisguised returns the function that made the object whose method a function literal is given to, as an interface, or nil.
func undisguised(p *advise.Pass, lit *ast.FuncLit) *disguise {
	call, ok := p.Parent(lit).(*ast.CallExpr)
	if !ok {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	v := p.Local(sel.X)
	if v == nil || !types.IsInterface(v.Type()) {
		return nil
	}
	_, value := p.Declared(v)
	made, ok := value.(*ast.CallExpr)
	if !ok {
		return nil
	}
	maker := p.Callee(made)
	if maker == nil || maker.Pkg() != p.Pkg.Types {
		return nil
	}
	decl, file := p.DeclOf(maker)
	if decl == nil {
		return nil
	}
	return disguiseOf(p.In(file, decl))
}
