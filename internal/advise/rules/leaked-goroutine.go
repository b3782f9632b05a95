package rules

import (
	"fmt"
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var leakedGoroutine = &advise.Rule{
	Name: "leaked-goroutine", Rank: 0,
	Doc: "goroutines are blocked forever on a channel that nothing reads",

	NoFix: missing.SendersUnknown,
	Find: func(p *advise.Pass) {
		if p.Costs.Total[cost.Goroutines] == 0 {
			return
		}
		advise.Each(p, func(n *ast.GoStmt) {
			lit, ok := n.Call.Fun.(*ast.FuncLit)
			if !ok {
				return
			}
			advise.Each(p, func(send *ast.SendStmt) {
				if code.Within(send, lit) {
					stuck(p, n, send)
				}
			})
		})
	},
}

func stuck(p *advise.Pass, start *ast.GoStmt, send *ast.SendStmt) {
	ch := p.Local(send.Chan)
	if ch == nil {
		return
	}
	c := p.Cost(send, func(c *cost.Chain) bool { return c.Cost[cost.Goroutines] > 0 && c.Direct() })
	decl, value := p.Declared(ch)
	made := p.Builtin(value, "make")
	if c[cost.Goroutines] < advise.LeastStuck || made == nil || decl == nil || p.Literal(decl) != nil {
		return
	}
	f := advise.Finding{
		Title:  "goroutines blocked forever",
		Claim:  fmt.Sprintf("%d goroutines wait to send to %s, which %s makes for each call, and from which it receives less often than they send: what is sent later is received by nobody", c[cost.Goroutines], ch.Name(), p.Decl.Name.Name),
		Advice: fmt.Sprintf("give %s room for all that is sent, or let the goroutines end when nobody wants the answer, with a context", ch.Name()),
		Risk:   "with room nobody waits, and what comes late is thrown away with the channel",
	}
	if f.NoFix = missing.TooLittleRoom.Of(ch.Name()); len(made.Args) == 1 {
		f.NoFix = missing.SendersToUnknown.Of(ch.Name())
		if n, ok := sendersOf(p, start, send, decl); ok {
			f.Fixes = p.Fix(report.Ownership, "make room for all that is sent", edit.New(made.Args[0].End(), made.Args[0].End(), ", "+n))
		}
	}
	p.Report(send, cost.Cost{cost.Goroutines: c[cost.Goroutines]}, f)
}

// sendersOf returns how many goroutines send, as an expression at the statement that makes the channel.
func sendersOf(p *advise.Pass, start *ast.GoStmt, send *ast.SendStmt, made ast.Stmt) (string, bool) {
	sends := 0
	advise.Each(p, func(s *ast.SendStmt) {
		if p.Local(s.Chan) == p.Local(send.Chan) {
			sends++
		}
	})
	if sends != 1 || p.Loop(send) != nil {
		return "", false
	}
	loop := p.Loop(start)
	if loop == nil {
		return "1", true
	}
	r, ok := loop.(*ast.RangeStmt)
	if !ok || p.Loop(r) != nil {
		return "", false
	}
	if lit, ok := r.X.(*ast.CompositeLit); ok {
		for _, e := range lit.Elts {
			if _, isKey := e.(*ast.KeyValueExpr); isKey {
				return "", false
			}
		}
		return fmt.Sprint(len(lit.Elts)), true
	}
	n, ok := loops.Rounds(p.Func, r)
	return n, ok && flow.Between(p.Func, made, r, r.X)
}
