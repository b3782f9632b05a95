package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var listPerRound = &advise.Rule{
	Name: "list-per-round", Rank: 5,
	Doc: "a slice is started from empty in each iteration of a loop",

	NoFix: missing.NameOrLabel,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(st *ast.DeclStmt) {
			g := st.Decl.(*ast.GenDecl)
			if g.Tok != token.VAR || len(g.Specs) != 1 {
				return
			}
			spec := g.Specs[0].(*ast.ValueSpec)
			if len(spec.Names) != 1 || len(spec.Values) > 0 || spec.Type == nil {
				return
			}
			v, ok := p.Info().Defs[spec.Names[0]].(*types.Var)
			if !ok {
				return
			}
			elem, ok := v.Type().Underlying().(*types.Slice)
			if !ok || !grownInside(p.Func, v) {
				return
			}
			var c cost.Cost
			advise.Each(p, func(a *ast.AssignStmt) {
				if len(a.Lhs) == 1 && p.Local(a.Lhs[0]) == v {
					x := p.Cost(a, cost.Growing())
					c.Add(&x)
				}
			})
			loop := p.Loop(st)
			if loop == nil {
				smallList(p, st, spec, v, elem.Elem(), c)
				return
			}
			f := advise.Finding{
				Title:  "slice grown from empty in every iteration",
				Claim:  fmt.Sprintf("%s is empty at the start of each iteration and grows again, and the array of the previous iteration is garbage", v.Name()),
				Advice: "declare it before the loop, and start each iteration with [:0]",
				Risk:   "the longest iteration decides how much memory stays, and what its elements point to lives until they are overwritten",
			}
			if p.Statement(loop) == loop && p.LocalName(v.Name()) == v.Name()+"2" && onlyOneNamed(p.Func, v) {
				f.Fixes = p.Fix(report.Ownership, "reuse the array", edit.Before(loop, p.Src(st)+"\n"), edit.Replace(st, fmt.Sprintf("%s = %s[:0]", v.Name(), v.Name())))
			}
			p.Report(st, c, f)
		})
	},
}

// onlyOneNamed reports whether no other variable of the function has the name.
func onlyOneNamed(f *code.Func, v *types.Var) bool {
	only := true
	ast.Inspect(f.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == v.Name() && f.Info().ObjectOf(id) != v {
			only = false
		}
		return only
	})
	return only
}

// grownInside reports whether a slice is appended to and looked at, and nothing else: it does not matter which array it has, nor
// whether it is nil.
func grownInside(f *code.Func, v *types.Var) bool {
	if flow.Captured(f, v, f.Decl.Body) {
		return false
	}
	grown := false
	for _, id := range f.Uses(v) {
		switch up := f.Parent(id).(type) {
		case *ast.AssignStmt:
			if len(up.Lhs) != 1 || up.Lhs[0] != id || len(up.Rhs) != 1 {
				return false
			}
			call := f.Builtin(up.Rhs[0], "append")
			if call == nil || f.Local(call.Args[0]) != v {
				return false
			}
		case *ast.CallExpr:
			i := slices.Index(up.Args, ast.Expr(id))
			switch {
			case f.Builtin(up, "append") != nil && i == 0:
				st, ok := f.Parent(up).(*ast.AssignStmt)
				if !ok || len(st.Lhs) != 1 || f.Local(st.Lhs[0]) != v {
					return false // two would have one array
				}
				grown = true
			case f.Builtin(up, "append") != nil && up.Ellipsis.IsValid() && i == 1: // copied
			case f.Builtin(up, "len") != nil:
			default:
				fn := f.Callee(up)
				if fn == nil || i < 0 || !owner.Forgets(f, fn, i, 2) || fn.Pkg() != f.Pkg.Types || !looksOnly(f, fn, i, 2) {
					return false
				}
			}
		case *ast.IndexExpr:
			if up.X != id {
				return false
			}
			if u, ok := f.Parent(up).(*ast.UnaryExpr); ok && u.Op == token.AND {
				return false
			}
		case *ast.RangeStmt:
			if up.X != id {
				return false
			}
		default:
			return false
		}
	}
	return grown
}

// looksOnly reports whether a function of the package cannot tell whether a slice that it is given is nil, or how much room it has.
func looksOnly(f *code.Func, fn *types.Func, i, depth int) bool {
	decl, file := f.DeclOf(fn)
	sig := fn.Origin().Signature()
	if decl == nil || decl.Body == nil || depth == 0 || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	q := f.In(file, decl)
	return !slices.ContainsFunc(q.Uses(sig.Params().At(i)), func(id *ast.Ident) bool {
		switch up := q.Parent(id).(type) {
		case *ast.RangeStmt, *ast.IndexExpr:
			return false
		case *ast.CallExpr:
			if q.Builtin(up, "len") != nil {
				return false
			}
			next, at := q.Callee(up), slices.Index(up.Args, ast.Expr(id))
			return next == nil || at < 0 || next.Pkg() != q.Pkg.Types || !looksOnly(q, next, at, depth-1)
		}
		return true
	})
}

// smallList is about a list that is made once for each call: a few elements fit on the stack.
func smallList(p *advise.Pass, st *ast.DeclStmt, spec *ast.ValueSpec, v *types.Var, elem types.Type, c cost.Cost) {
	if p.Literal(st) != nil || p.Once(st) != once.Often {
		return
	}
	size, _ := p.SizeOf(elem)
	n := int64(16)
	for n > 1 && n*size > 512 {
		n /= 2
	}
	if n < 4 || size == 0 {
		return
	}
	f := advise.Finding{
		Title:  "short slice grown on the heap",
		Claim:  fmt.Sprintf("%s never leaves the function, but append does not know how long it will be, so each array that it makes is on the heap", v.Name()),
		Advice: "begin with room for a few elements: an array of constant size that does not leave the function is on the stack, and only longer lists need the heap",
		Risk:   "the stack of each call grows by the room",
	}
	f.Fixes = p.Fix(report.Mechanical, fmt.Sprintf("begin with room for %d on the stack", n), edit.Replace(st, fmt.Sprintf("%s := make(%s, 0, %d)", v.Name(), p.Src(spec.Type), n)))
	p.Report(st, c, f)
}
