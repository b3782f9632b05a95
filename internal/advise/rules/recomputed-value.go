package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/steady"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var recomputedValue = &advise.Rule{
	Name: "recomputed-value", Rank: 3, PerCall: true,
	Doc: "a result is recomputed from a field that never changes",

	NoFix: missing.FieldUsedOtherwise,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil || fn.Pkg() != p.Pkg.Types || fn.Signature().Recv() != nil || len(call.Args) != 1 || fn.Signature().Results().Len() != 1 {
				return
			}
			sel, ok := ast.Unparen(call.Args[0]).(*ast.SelectorExpr)
			if !ok || !kind.IsString(p.TypeOf(sel)) || !kind.IsString(fn.Signature().Results().At(0).Type()) {
				return
			}
			field, ok := p.Object(sel).(*types.Var)
			if !ok || !field.IsField() || field.Exported() || !steady.Field(p.Func, field) || steady.ReadsState(p.Func, fn, 3) {
				return
			}
			// Calls of the same function on the same lines cannot be told apart.
			same := int64(0)
			st := p.Statement(call)
			if st == nil {
				return
			}
			ast.Inspect(st, func(n ast.Node) bool {
				if other, ok := n.(*ast.CallExpr); ok && p.Callee(other) == fn {
					same++
				}
				return true
			})
			c := p.Cost(call, calls.Calling(p.Func, call))
			for m := range c {
				c[m] /= same
			}
			p.Report(call, c, advise.Finding{
				Fixes:  workedOut(p, fn, field),
				Title:  fmt.Sprintf("%s of a field that never changes", fn.Name()),
				Claim:  fmt.Sprintf("%s is only set when its struct is made, so %s gives the same each time", p.Src(sel), p.Src(call)),
				Advice: "keep the result in the struct, from when it is made",
				Callee: p.ProfileName(fn),
				Risk:   fmt.Sprintf("%s must look at nothing but its argument", fn.Name()),
			})
		})
	},
}

// workedOut makes a field hold what a function makes of it, from when its struct is made: where all that uses the field asks that
// function, which looks at nothing else, and each value of the type comes from a literal that sets the field.
func workedOut(p *advise.Pass, fn *types.Func, field *types.Var) []report.Fix {
	owner := p.OwnerOf(field)
	switch {
	case !steady.Pure(p.Func, fn, 3):
		p.No(missing.NotPure)
		return nil
	case owner == nil || p.Shown(owner):
		p.No(missing.FieldSeen)
		return nil
	case p.Pkg.NamedElsewhere(owner.(*types.Named).Obj().Name()):
		return p.No(missing.StatesElsewhere, owner.(*types.Named).Obj().Name())
	case comparesAll(p.Func, owner):
		return p.No(missing.FieldUsedOtherwise)
	case !neverFails(p.Func, fn):
		return p.No(missing.MayPanicUnused, fn.Name())
	case p.Pkg.Name != "main" && owner.(*types.Named).Obj().Exported():
		p.No(missing.FieldLeftOut)
		return nil
	}
	above := p.Pkg.Above()
	var edits []edit.Edit
	good := true
	at := func(n ast.Node) {
		good = good && p.File.AST.FileStart <= n.Pos() && n.Pos() < p.File.AST.FileEnd
	}
	wrap := func(e ast.Expr) {
		at(e)
		edits = append(edits, edit.Before(e, fn.Name()+"("), edit.After(e, ")"))
	}
	for id, o := range p.Info().Uses {
		switch {
		case o == field:
			if kv, ok := above[id].(*ast.KeyValueExpr); ok && kv.Key == id {
				wrap(kv.Value)
				continue
			}
			sel, ok := above[id].(*ast.SelectorExpr)
			if !ok {
				continue
			}
			call, ok := above[sel].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || call.Args[0] != sel || p.Callee(call) != fn {
				good = false
				continue
			}
			at(call)
			edits = append(edits, edit.New(call.Pos(), sel.Pos(), ""), edit.New(sel.End(), call.End(), ""))
		case o == owner.(*types.Named).Obj():
			switch up := above[id].(type) {
			case *ast.StarExpr:
			case *ast.CompositeLit:
				good = good && up.Type == id
			default:
				good = false // there may be values whose field was never set
			}
		}
	}
	index := slices.Index(slices.Collect(owner.Underlying().(*types.Struct).Fields()), field)
	for e, tv := range p.Info().Types {
		lit, ok := e.(*ast.CompositeLit)
		if !ok || !types.Identical(tv.Type, owner) {
			continue
		}
		if len(lit.Elts) > 0 {
			if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); !keyed {
				wrap(lit.Elts[index])
				continue
			}
		}
		good = good && slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
			id, ok := e.(*ast.KeyValueExpr).Key.(*ast.Ident)
			return ok && p.Info().Uses[id] == field
		})
	}
	if !good {
		p.No(missing.FieldNotAlwaysSet)
		return nil
	}
	order.Stable(edits, func(a, b edit.Edit) int { return int(a.From - b.From) })
	return p.Fix(report.Mechanical, fmt.Sprintf("keep the result of %s in the field", fn.Name()), edits...)
}

// comparesAll reports whether values of a struct are compared as a whole, or may be: where they are, or are part of, an interface, a key or an operand of ==.
func comparesAll(f *code.Func, owner types.Type) bool {
	above := f.Pkg.Above()
	for e, tv := range f.Info().Types {
		if tv.IsType() || tv.Type == nil || !types.Identical(tv.Type, owner) {
			continue
		}
		var at ast.Node = e
		for paren, ok := above[at].(*ast.ParenExpr); ok; paren, ok = above[at].(*ast.ParenExpr) {
			at = paren
		}
		switch up := above[at].(type) {
		case *ast.UnaryExpr:
			if up.Op == token.AND {
				continue
			}
		case *ast.SelectorExpr, *ast.StarExpr:
			continue
		case *ast.ExprStmt:
			continue
		}
		return true
	}
	return false
}

// neverFails reports whether a function of the package ends without a panic, whatever text it is given: it has no loop, takes nothing apart, and calls
// nothing but functions that are known for that.
func neverFails(f *code.Func, fn *types.Func) bool {
	decl, file := f.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return false
	}
	q := f.In(file, decl)
	ok := true
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.LabeledStmt, *ast.IndexExpr, *ast.SliceExpr, *ast.TypeAssertExpr, *ast.StarExpr, *ast.FuncLit:
			ok = false
		case *ast.RangeStmt:
			t := q.TypeOf(n.X)
			ok = ok && t != nil && (kind.IsString(t) || isList(t)) // not a function
		case *ast.BinaryExpr:
			ok = ok && n.Op != token.QUO && n.Op != token.REM && n.Op != token.SHL && n.Op != token.SHR
		case *ast.CallExpr:
			callee := q.Callee(n)
			switch {
			case q.Info().Types[n.Fun].IsType():
				_, isArray := q.TypeOf(n).Underlying().(*types.Array)
				ok = ok && !isArray
			case callee == nil:
				ok = ok && (q.Builtin(n, "len") != nil || q.Builtin(n, "append") != nil || q.Builtin(n, "min") != nil || q.Builtin(n, "max") != nil)
			case callee.Pkg() == f.Pkg.Types:
				ok = ok && callee != fn && neverFails(f, callee)
			default:
				ok = ok && !slices.Contains(canPanic, callee.FullName())
			}
		}
		return ok
	})
	return ok
}

func isList(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}
