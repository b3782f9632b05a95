package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

var roundTrip = &Rule{
	Name: "round-trip", Rank: 26,
	Doc: "each value goes to another goroutine, and the answer is waited for",

	NoFix: "what the other goroutine keeps to itself would need a mutex",
	Find: func(p *Pass) {
		each(p, func(send *ast.SendStmt) {
			loop := p.loop(send)
			if loop == nil {
				return
			}
			block, ok := p.parent(send).(*ast.BlockStmt)
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
			onChannels := func(c *chain) bool {
				return c.direct() && (c.has("runtime.chansend1", "runtime.chanrecv1", "runtime.chanrecv2", "runtime.chansend", "runtime.chanrecv"))
			}
			c := p.cost(send, onChannels)
			back := p.cost(receive, onChannels)
			c.add(&back)
			p.report(send, c, finding{
				title:  "a round trip between goroutines for each value",
				claim:  fmt.Sprintf("each round sends to %s, and waits for %s at once: only one of the two goroutines ever works, and each value costs two switches between them", p.src(send.Chan), p.src(receive.X)),
				advice: "call what the other goroutine does directly, or send many values at a time; a channel with room helps only where the sender need not wait for the answer",
				risk:   "what the other goroutine keeps to itself needs a mutex when it is called from several",
				also:   []ast.Node{receive},
				noFix:  fmt.Sprintf("the goroutine that receives from %s may keep something to itself, which would need a mutex", p.src(send.Chan)),
			})
		})
	},
}

var leakedGoroutine = &Rule{
	Name: "leaked-goroutine", Rank: 0,
	Doc: "goroutines wait for ever on a channel that nobody looks at any more",

	NoFix: "how many goroutines send is not known where the channel is made",
	Find: func(p *Pass) {
		if p.costs.total[goroutines] == 0 {
			return
		}
		each(p, func(n *ast.GoStmt) {
			lit, ok := n.Call.Fun.(*ast.FuncLit)
			if !ok {
				return
			}
			each(p, func(send *ast.SendStmt) {
				if within(send, lit) {
					p.stuck(n, send)
				}
			})
		})
	},
}

// leastStuck is how many goroutines have to wait at one place to be worth a word.
const leastStuck = 10

func (p *Pass) stuck(start *ast.GoStmt, send *ast.SendStmt) {
	ch := p.local(send.Chan)
	if ch == nil {
		return
	}
	c := p.cost(send, func(c *chain) bool { return c.v[goroutines] > 0 && c.direct() })
	decl, value := p.declared(ch)
	made := p.builtin(value, "make")
	if c[goroutines] < leastStuck || made == nil || decl == nil || p.literal(decl) != nil {
		return
	}
	f := finding{
		title:  "goroutines that wait for ever",
		claim:  fmt.Sprintf("%d goroutines wait to send to %s, which %s makes for each call, and from which it receives less often than they send: what is sent later is received by nobody", c[goroutines], ch.Name(), p.decl.Name.Name),
		advice: fmt.Sprintf("give %s room for all that is sent, or let the goroutines end when nobody wants the answer, with a context", ch.Name()),
		risk:   "with room nobody waits, and what comes late is thrown away with the channel",
	}
	if f.noFix = fmt.Sprintf("%s has room already, and too little of it", ch.Name()); len(made.Args) == 1 {
		f.noFix = fmt.Sprintf("how many goroutines send to %s is not known where it is made", ch.Name())
		if n, ok := p.sendersOf(start, send, decl); ok {
			f.fixes = p.fix(report.Ownership, "make room for all that is sent", newEdit(made.Args[0].End(), made.Args[0].End(), ", "+n))
		}
	}
	p.report(send, cost{goroutines: c[goroutines]}, f)
}

// sendersOf returns how many goroutines send, as an expression at the statement that makes the channel.
func (p *Pass) sendersOf(start *ast.GoStmt, send *ast.SendStmt, made ast.Stmt) (string, bool) {
	sends := 0
	each(p, func(s *ast.SendStmt) {
		if p.local(s.Chan) == p.local(send.Chan) {
			sends++
		}
	})
	if sends != 1 || p.loop(send) != nil {
		return "", false
	}
	loop := p.loop(start)
	if loop == nil {
		return "1", true
	}
	r, ok := loop.(*ast.RangeStmt)
	if !ok || p.loop(r) != nil {
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
	n, ok := p.rounds(r)
	return n, ok && p.between(made, r, r.X)
}
