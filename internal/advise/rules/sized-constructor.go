package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var sizedConstructor = &advise.Rule{
	Name: "sized-constructor", Rank: 4,
	Doc: "something that grows step by step is made by a function that has a twin which makes room",

	NoFix: missing.EntriesUnknown,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(st *ast.AssignStmt) {
			if st.Tok != token.DEFINE || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
				return
			}
			call, ok := ast.Unparen(st.Rhs[0]).(*ast.CallExpr)
			x := p.Local(st.Lhs[0])
			if !ok || x == nil || call.Ellipsis.IsValid() {
				return
			}
			twin := sizedTwin(p.Func, call)
			block, isBlock := p.Parent(st).(*ast.BlockStmt)
			if twin == "" || !isBlock {
				return
			}
			for _, next := range block.List {
				loop, ok := next.(*ast.RangeStmt)
				if !ok || next.Pos() < st.Pos() || !p.MentionsVar(loop.Body, x) {
					continue
				}
				filled(p, st, call, x, loop, twin)
				return
			}
		})
	},
}

// filled is about a loop that fills what a call makes.
func filled(p *advise.Pass, st *ast.AssignStmt, call *ast.CallExpr, x *types.Var, loop *ast.RangeStmt, twin string) {
	var c cost.Cost
	var worst *ast.CallExpr
	var most cost.Cost
	for _, id := range p.Uses(x) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || !code.Within(sel, loop.Body) {
			continue
		}
		add, ok := p.Parent(sel).(*ast.CallExpr)
		if !ok || add.Fun != ast.Expr(sel) || len(add.Args) == 0 {
			continue
		}
		if _, isStmt := p.Parent(add).(*ast.ExprStmt); !isStmt || p.Loop(add) != ast.Stmt(loop) {
			continue
		}
		one := p.Cost(add, func(c *cost.Chain) bool {
			return strings.HasSuffix(c.First(), "."+sel.Sel.Name) && (!c.OnCPU || c.Has("runtime.growslice") || c.Has(mapGrowth...))
		})
		c.Add(&one)
		if worst == nil || p.Costs.Weight(&one) > p.Costs.Weight(&most) {
			worst, most = add, one
		}
	}
	if worst == nil {
		return
	}
	f := advise.Finding{
		Title:  "filled step by step, though there is a function that makes room",
		Claim:  fmt.Sprintf("%s begins small, and grows again and again while the loop fills it", x.Name()),
		Advice: fmt.Sprintf("make it with %s", twin),
		Risk:   "where few rounds add something, some of the room is not needed",
		Also:   []ast.Node{st},
	}
	n, known := loops.Rounds(p.Func, loop)
	over := loop.X
	if star, ok := ast.Unparen(over).(*ast.StarExpr); ok && !known && p.Local(star.X) != nil {
		n, known = "len("+p.Src(over)+")", true
	}
	here := flow.Follows(p.Func, loop, st) || flow.Between(p.Func, st, loop, over)
	switch {
	case !known || !strings.HasPrefix(n, "len("):
		f.NoFix = missing.EntriesUnknown.Of()
	case emptied(p.Func, loop.Body, x):
		f.NoFix = missing.LoopRestarts.Of(x.Name())
	case !here:
		f.NoFix = missing.CountMayDiffer.Of(n, x.Name())
	case p.Worth(c):
		args := n
		if len(call.Args) > 0 {
			args = p.Src(call.Args[0])
			for _, a := range call.Args[1:] {
				args += ", " + p.Src(a)
			}
			args += ", " + n
		}
		fun := strings.TrimSuffix(p.Src(call.Fun), bareName(call.Fun)+typeArgs(p.Func, call.Fun)) + twin + typeArgs(p.Func, call.Fun)
		f.Fixes = p.Fix(report.Ownership, "make it with room", edit.Replace(call, fmt.Sprintf("%s(%s)", fun, args)))
	}
	p.Report(worst, c, f)
}

// bareName returns the name of a function that is called, without its package and types.
func bareName(fun ast.Expr) string {
	switch e := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return bareName(e.X)
	case *ast.IndexListExpr:
		return bareName(e.X)
	}
	return ""
}

// typeArgs returns the text of the types that a function is called with: [K, V].
func typeArgs(f *code.Func, fun ast.Expr) string {
	switch e := ast.Unparen(fun).(type) {
	case *ast.IndexExpr:
		return string(f.File.Text[f.File.Tok.Offset(e.X.End()):f.File.Tok.Offset(e.End())])
	case *ast.IndexListExpr:
		return string(f.File.Text[f.File.Tok.Offset(e.X.End()):f.File.Tok.Offset(e.End())])
	}
	return ""
}

// sizedSuffixes are how functions are called that make the same with room.
var sizedSuffixes = []string{"WithSize", "WithCapacity", "WithCap", "Sized", "Size", "Cap"}

// sizedTwin returns the name of a function that is like the one which is called, and takes how much room to make behind the same arguments, or "".
func sizedTwin(f *code.Func, call *ast.CallExpr) string {
	fn := f.Callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Signature().Recv() != nil || fn.Signature().Variadic() {
		return ""
	}
	fn = fn.Origin()
	sig := fn.Signature()
	for _, suffix := range sizedSuffixes {
		twin, ok := fn.Pkg().Scope().Lookup(fn.Name() + suffix).(*types.Func)
		if !ok || fn.Pkg() != f.Pkg.Types && !twin.Exported() {
			continue
		}
		other := twin.Signature()
		n := sig.Params().Len()
		if other.Variadic() || other.Params().Len() != n+1 || other.Results().Len() != sig.Results().Len() || !types.Identical(other.Params().At(n).Type(), types.Typ[types.Int]) || other.TypeParams().Len() != sig.TypeParams().Len() {
			continue
		}
		same := true
		for i := range n {
			same = same && types.TypeString(other.Params().At(i).Type(), nil) == types.TypeString(sig.Params().At(i).Type(), nil)
		}
		for i := range sig.Results().Len() {
			same = same && types.TypeString(other.Results().At(i).Type(), nil) == types.TypeString(sig.Results().At(i).Type(), nil)
		}
		if same && !isLength(f, twin) {
			return twin.Name()
		}
	}
	return ""
}

// isLength reports whether a function of the package makes a list that has as many elements as its last parameter says, and not only room for them.
func isLength(f *code.Func, fn *types.Func) (found bool) {
	decl, file := f.DeclOf(fn)
	if decl == nil || decl.Body == nil {
		return false
	}
	q := f.In(file, decl)
	n := fn.Signature().Params().At(fn.Signature().Params().Len() - 1)
	ast.Inspect(decl.Body, func(x ast.Node) bool {
		if made := q.Builtin(x, "make"); made != nil && len(made.Args) == 2 {
			_, isSlice := q.TypeOf(made).Underlying().(*types.Slice)
			found = found || isSlice && q.MentionsVar(made.Args[1], n)
		}
		return !found
	})
	return found
}
