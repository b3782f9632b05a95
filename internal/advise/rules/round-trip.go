package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/report/missing"
)

var roundTrip = &advise.Rule{
	Name: "round-trip", Rank: 26,
	Doc: "each value goes to another goroutine, and the sender waits for the answer",

	NoFix: missing.StateOfOther,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(send *ast.SendStmt) {
			loop := p.Loop(send)
			if loop == nil {
				return
			}
			block, ok := p.Parent(send).(*ast.BlockStmt)
			if !ok {
				return
			}
			i := slices.Index(block.List, ast.Stmt(send))
			if i+1 >= len(block.List) {
				return
			}
			var receive *ast.UnaryExpr
			ast.Inspect(block.List[i+1], func(n ast.Node) bool {
				if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
					receive = u
				}
				return receive == nil
			})
			if receive == nil {
				return
			}
			onChannels := func(c *cost.Chain) bool {
				return c.Direct() && (c.Has("runtime.chansend1", "runtime.chanrecv1", "runtime.chanrecv2", "runtime.chansend", "runtime.chanrecv"))
			}
			c := p.Cost(send, onChannels)
			back := p.Cost(receive, onChannels)
			c.Add(&back)
			p.Report(send, c, advise.Finding{
				Title:  "a round trip between goroutines for each value",
				Claim:  fmt.Sprintf("each iteration sends to %s and immediately waits for %s: only one of the two goroutines ever works, and each value costs two switches between them", p.Src(send.Chan), p.Src(receive.X)),
				Advice: "call the other goroutine's work directly, or send many values at a time; a buffered channel helps only where the sender need not wait for the answer",
				Risk:   "what the other goroutine keeps to itself needs a mutex when it is called from several",
				Also:   []ast.Node{receive},
				NoFix:  missing.StateOfReceiver.Of(p.Src(send.Chan)),
			})
		})
	},
}
