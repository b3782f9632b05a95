package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/report"
)

var roundTrip = &Rule{
	Name: "round-trip", Rank: 26,
	Doc: "each value goes to another goroutine, and the answer is waited for",
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
			})
		})
	},
}

var leakedGoroutine = &Rule{
	Name: "leaked-goroutine", Rank: 0,
	Doc: "goroutines wait for ever on a channel that nobody looks at any more",
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
	if len(made.Args) == 1 {
		if n, ok := p.sendersOf(start, send, decl); ok {
			f.fixes = p.fix(report.Ownership, "make room for all that is sent", edit{made.Args[0].End(), made.Args[0].End(), ", " + n})
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

var channelUpFront = &Rule{
	Name: "channel-up-front", Rank: 45,
	Doc: "all jobs are made and put into a channel before anybody works on them",
	Find: func(p *Pass) {
		each(p, func(st *ast.AssignStmt) {
			if len(st.Rhs) != 1 || len(st.Lhs) != 1 {
				return
			}
			made := p.builtin(st.Rhs[0], "make")
			ch := p.local(st.Lhs[0])
			if made == nil || ch == nil || len(made.Args) != 2 || p.isConst(made.Args[1]) {
				return
			}
			if _, ok := ch.Type().Underlying().(*types.Chan); !ok {
				return
			}
			block, ok := p.parent(st).(*ast.BlockStmt)
			if !ok {
				return
			}
			for _, s := range block.List[slices.Index(block.List, ast.Stmt(st))+1:] {
				if p.starts(s) {
					return // somebody may receive already
				}
				body := loopBody(s)
				if body == nil || !p.sendsTo(body, ch) {
					continue
				}
				c := p.cost(s, func(*chain) bool { return true })
				own := p.cost(st, allocates("makechan", "mallocgc"))
				c.add(&own)
				p.report(s, c, finding{
					title:  "all jobs made before the first is begun",
					claim:  fmt.Sprintf("the loop makes %s jobs and puts them into %s, which has room for all of them, before anybody receives: all of them are in memory at the same time, and the collector looks at them again and again", p.src(made.Args[1]), ch.Name()),
					advice: "let those who work make each job when it is its turn, from a counter; or start them first, and send through a channel with little room",
					risk:   "what is wrong with a job then shows when others are done already",
					also:   []ast.Node{st},
				})
				return
			}
		})
	},
}

// starts reports whether a statement may start a goroutine.
func (p *Pass) starts(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			found = found || p.calls(n, "(*sync.WaitGroup).Go") != nil
		}
		return !found
	})
	return found
}

func loopBody(s ast.Stmt) *ast.BlockStmt {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.Body
	case *ast.RangeStmt:
		return s.Body
	}
	return nil
}

func (p *Pass) sendsTo(n ast.Node, ch *types.Var) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SendStmt); ok && p.local(s.Chan) == ch {
			found = true
		}
		return !found
	})
	return found
}
