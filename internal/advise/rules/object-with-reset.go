package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var objectWithReset = &advise.Rule{
	Name: "object-with-reset", Rank: 7, PerCall: true,
	Doc: "an object is made for every call, though it has a method that makes it as good as new",

	NoFix: missing.ResetLeaves,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(st *ast.AssignStmt) {
			if st.Tok != token.DEFINE || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
				return
			}
			call, ok := ast.Unparen(st.Rhs[0]).(*ast.CallExpr)
			if !ok || p.Callee(call) == nil {
				return
			}
			fn, x := p.Callee(call), p.Local(st.Lhs[0])
			if x == nil || fn.Pkg() == nil || !strings.HasPrefix(strings.ToLower(fn.Name()), "new") || slices.Contains([]string{"time", "testing", "sync"}, fn.Pkg().Path()) {
				return
			}
			again := resetOf(p.Pkg.Types, x.Type())
			if again == nil || p.Told(p.Line(st.Pos()), p.Line(st.End())) || !owner.StaysInside(p.Func, x) {
				return
			}
			c := p.Cost(call, calls.Calling(p.Func, call))
			own := strings.TrimPrefix(p.ProfileName(again), "*")
			own = own[:strings.LastIndexByte(own, '.')+1]
			if !types.IsInterface(x.Type()) { // what it allocates when it is used first is paid on other lines
				rest := p.Total(func(c *cost.Chain) bool {
					return strings.HasPrefix(c.First(), own) && (!c.OnCPU || c.Has("runtime.mallocgc")) && !strings.HasPrefix(c.First(), p.ProfileName(fn))
				})
				c.Add(&rest)
			}
			if c[cost.ObjectsMade]+c[cost.BytesMade] == 0 && c[cost.CPU] == 0 {
				return
			}
			name := types.TypeString(x.Type(), p.Qualifier())
			f := advise.Finding{
				Title:  fmt.Sprintf("%s made for every call", name),
				Claim:  fmt.Sprintf("%s makes a %s on each call of %s, which keeps it no longer than that; one that was used can be used again, after %s", p.Src(call.Fun), name, p.Callable(st), again.Name()),
				Advice: fmt.Sprintf("keep it, or take it from a sync.Pool, and call %s before it is used", again.Name()),
				Risk:   fmt.Sprintf("%s has to make it as good as new; concurrent calls need one each", again.Name()),
				Callee: p.ProfileName(fn),
			}
			switch {
			case len(call.Args) > 0 || again.Signature().Params().Len() > 0:
				f.NoFix = missing.ResetTakesAll.Of(again.Name(), p.Src(call.Fun))
			case p.Loop(st) != nil:
				f.NoFix = missing.PutPerRound.Of()
			case again.Name() != "Reset" || again.Pkg() == p.Pkg.Types:
				f.NoFix = missing.ResetAsGood.Of(again.Name())
			case p.Decl.Name.Name == "main" || p.Statement(st) != st || !flow.OnlyRead(p.Func, x, st):
				f.NoFix = missing.MayBeOtherAtReturn.Of(x.Name())
			case p.Worth(c):
				base := x.Name()
				p.Need("sync")
				if named, ok := types.Unalias(deref(x.Type())).(*types.Named); ok && named.Obj().Pkg() != p.Pkg.Types {
					base = named.Obj().Name()
					p.Need(named.Obj().Pkg().Path())
				}
				decl := "var %s = sync.Pool{New: func() " + p.Pkg.Any() + " { return " + strings.ReplaceAll(p.Src(call), "%", "%%") + " }}"
				pool, declared := p.SharedName(text.LowerFirst(base)+"Pool", decl)
				edits := []edit.Edit{edit.Replace(st, fmt.Sprintf("%s := %s.Get().(%s)\ndefer %s.Put(%s)\n%s.Reset()", x.Name(), pool, name, pool, x.Name(), x.Name()))}
				if !declared {
					edits = append(edits, edit.Declare(p.Func, fmt.Sprintf(decl, pool)))
				}
				f.Fixes = p.Fix(report.Ownership, "take it from a pool", edits...)
			}
			p.Report(st, c, f)
		})
	},
}

func deref(t types.Type) types.Type {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

// resetOf returns the method of a type that makes a value as good as new: Reset or Init, without results.
func resetOf(from *types.Package, t types.Type) *types.Func {
	for _, name := range []string{"Reset", "Init"} {
		o, _, _ := types.LookupFieldOrMethod(t, true, from, name)
		if m, ok := o.(*types.Func); ok && m.Signature().Results().Len() == 0 {
			return m
		}
	}
	return nil
}
