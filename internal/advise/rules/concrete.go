package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

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
	if !ok || fn.Exported() || f.Decl.Body == nil || f.Decl.Recv != nil || f.Decl.Type.Results == nil {
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
			return &disguise{f, field.Type, types.TypeString(t, f.Qualifier()), i}
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
