package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var channelUpFront = &Rule{
	Name: "channel-up-front", Rank: 45,
	Doc: "all jobs are made and put into a channel before anybody works on them",

	NoFix: "how the jobs are made may depend on when they are received",
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
			for i := slices.Index(block.List, ast.Stmt(st)) + 1; i < len(block.List); i++ {
				s := block.List[i]
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
				f := finding{
					title:  "all jobs made before the first is begun",
					claim:  fmt.Sprintf("the loop makes %s jobs and puts them into %s, which has room for all of them, before anybody receives: all of them are in memory at the same time, and the collector looks at them again and again", p.src(made.Args[1]), ch.Name()),
					advice: "let those who work make each job when it is its turn, from a counter; or start them first, and send through a channel with little room",
					risk:   "what is wrong with a job then shows when others are done already; what panics while a job is made ends the program, whoever would have recovered from it",
					also:   []ast.Node{st}, live: true,
				}
				u := &upFront{Pass: p, ch: ch, room: made.Args[1], loop: s, list: block.List, at: i}
				f.fixes = u.streamed()
				p.report(s, c, f)
				return
			}
		})
	},
}

// An upFront is a loop that fills a channel before those are started who receive from it.
type upFront struct {
	*Pass
	ch   *types.Var
	room ast.Expr // how many there are to be
	loop ast.Stmt
	list []ast.Stmt // of the block that the loop is in
	at   int        // of it in there
	wait int        // of the statement that waits for those who receive

	workers *types.Var // the WaitGroup that they are in
}

// fewJobs is how many may wait for their turn when they are made as they are needed: so many that making and working need not
// take turns job by job.
const fewJobs = 64

// streamed is a fix that makes the jobs in a goroutine, while others work on them. The goroutine comes to its end as the loop did,
// whether somebody wants the jobs or not: when all who work are done, what is left is received by the function, which knows then
// that nothing the loop does happens any more.
func (u *upFront) streamed() []report.Fix {
	for _, check := range []func() string{u.order, u.received, u.plain, u.apart, u.state} {
		if u.why = check(); u.why != "" {
			return nil
		}
	}
	results, returns, why := u.failures()
	if why != "" {
		u.why = why
		return nil
	}
	closing := u.list[u.at+1]
	begin, end := "go func() {\ndefer close("+u.ch.Name()+")\n", "\nfor range "+u.ch.Name()+" { // what nobody took\n}"
	edits := []edit{replace(u.room, fmt.Sprintf("min(%s, %d)", u.src(u.room), fewJobs))}
	if len(returns) > 0 {
		failed := u.localName("failed")
		begin = "var " + failed + " error\n" + begin
		end += fmt.Sprintf("\nif %s != nil {\nreturn %s%s\n}", failed, results, failed)
		for _, r := range returns {
			edits = append(edits, replace(r, fmt.Sprintf("%s = %s\nreturn", failed, u.src(r.Results[len(r.Results)-1]))))
		}
	}
	edits = append(edits, before(u.loop, begin))
	between := u.file.text[u.file.tok.Offset(u.loop.End()):u.file.tok.Offset(closing.Pos())]
	if strings.TrimSpace(string(between)) == "" {
		edits = append(edits, newEdit(u.loop.End(), closing.End(), "\n}()"))
	} else { // a comment
		edits = append(edits, after(u.loop, "\n}()"), replace(closing, ""))
	}
	edits = append(edits, after(u.list[u.wait], end))
	return u.fix(report.Ownership, "make each when it is its turn", edits...)
}

// order finds the statements that there have to be: the loop, close, and the one that waits for all who work. Between them nothing may
// end the function.
func (u *upFront) order() string {
	if !u.unit.atLeast(22) {
		return "the version of Go in go.mod is older than loops whose variables are new in each round"
	}
	if u.at+1 == len(u.list) || !u.closes(u.list[u.at+1]) {
		return "the channel is not closed right behind the loop"
	}
	for i := u.at + 2; i < len(u.list); i++ {
		if st, ok := u.list[i].(*ast.ExprStmt); ok {
			if call := u.calls(st.X, "(*sync.WaitGroup).Wait"); call != nil {
				u.wait = i
				if u.workers = u.local(call.Fun.(*ast.SelectorExpr).X); u.workers == nil {
					return "who works is not in a WaitGroup of the function"
				}
				return ""
			}
		}
		if u.mayEnd(u.list[i]) {
			return "the function may end before all who work are waited for"
		}
	}
	return "the block does not wait for all who work, with a WaitGroup"
}

func (u *upFront) closes(s ast.Stmt) bool {
	st, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call := u.builtin(st.X, "close")
	return call != nil && u.local(call.Args[0]) == u.ch
}

// window returns the statements that run while the loop does, once it has a goroutine of its own.
func (u *upFront) window() []ast.Stmt { return u.list[u.at+2 : u.wait+1] }

func (u *upFront) inWindow(n ast.Node) bool {
	w := u.window()
	return n.Pos() >= w[0].Pos() && n.End() <= w[len(w)-1].End()
}

// received says what else is done with the channel than to send in the loop, to close it, and to receive until there is no more. How full
// it is must not matter to anybody, and all who receive have to be waited for.
func (u *upFront) received() string {
	for _, id := range u.uses(u.ch) {
		switch {
		case within(id, u.list[u.at+1]): // close
		case within(id, u.loop):
			send, ok := u.parent(id).(*ast.SendStmt)
			if !ok || send.Chan != id {
				return "the loop does more with the channel than to send"
			}
		case !u.inWindow(id):
			return "the channel is used elsewhere, too"
		default:
			if why := u.receiver(id); why != "" {
				return why
			}
		}
	}
	return ""
}

// receiver says what is wrong with a use of the channel by somebody who works.
func (u *upFront) receiver(id *ast.Ident) string {
	worker := u.literal(id)
	if worker == nil || !u.waitedFor(worker) {
		return "somebody receives who is not started with a function literal in the WaitGroup that is waited for"
	}
	switch up := u.parent(id).(type) {
	case *ast.RangeStmt:
		if up.X == id {
			return ""
		}
	case *ast.UnaryExpr:
		if up.Op == token.ARROW && u.alwaysReceives(up) {
			return ""
		}
	case *ast.CallExpr:
		i := slices.Index(up.Args, ast.Expr(id))
		if fn := u.callee(up); fn != nil && i >= 0 && u.onlyReceives(fn, i) {
			return ""
		}
	}
	return "how many jobs are waiting may matter to who receives"
}

// waitedFor reports whether a function literal is a goroutine of the WaitGroup.
func (u *upFront) waitedFor(lit *ast.FuncLit) bool {
	call, ok := u.parent(lit).(*ast.CallExpr)
	if !ok {
		return false
	}
	if u.calls(call, "(*sync.WaitGroup).Go") != nil {
		return u.local(call.Fun.(*ast.SelectorExpr).X) == u.workers && u.literal(call) == u.literal(u.loop)
	}
	start, ok := u.parent(call).(*ast.GoStmt)
	if !ok || call.Fun != lit || len(lit.Body.List) == 0 || u.literal(start) != u.literal(u.loop) {
		return false
	}
	done, ok := lit.Body.List[0].(*ast.DeferStmt)
	return ok && u.calls(done.Call, "(*sync.WaitGroup).Done") != nil && u.local(done.Call.Fun.(*ast.SelectorExpr).X) == u.workers
}

// alwaysReceives reports whether a receive operation waits for a value, or for the end of a context.
func (p *function) alwaysReceives(receive *ast.UnaryExpr) bool {
	var n ast.Node = receive
	for {
		switch up := p.parent(n).(type) {
		case *ast.AssignStmt, *ast.ExprStmt, *ast.ParenExpr:
			n = up
			continue
		case *ast.CommClause:
			if up.Comm != n {
				return true
			}
			for _, s := range p.parent(up).(*ast.BlockStmt).List {
				if c := s.(*ast.CommClause); c != up && !p.untilDone(c.Comm) {
					return false
				}
			}
		}
		return true
	}
}

// untilDone reports whether a case of a select waits for the end of a context.
func (p *function) untilDone(s ast.Stmt) bool {
	st, ok := s.(*ast.ExprStmt)
	if !ok {
		return false // default, or something else
	}
	u, ok := ast.Unparen(st.X).(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW && p.calls(u.X, "(context.Context).Done") != nil
}

// onlyReceives reports whether a function of the package only receives from its argument i.
func (p *function) onlyReceives(fn *types.Func, i int) bool {
	decl, f := p.declOf(fn)
	sig := fn.Origin().Signature()
	if decl == nil || decl.Body == nil || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	q := p.in(f, decl)
	v := sig.Params().At(i)
	return !q.captured(v, decl.Body) && !slices.ContainsFunc(q.uses(v), func(id *ast.Ident) bool {
		switch up := q.parent(id).(type) {
		case *ast.RangeStmt:
			return up.X != id
		case *ast.UnaryExpr:
			return up.Op != token.ARROW || !q.alwaysReceives(up)
		}
		return true
	})
}

// plain says what the loop does that would be something else in a goroutine of its own.
func (u *upFront) plain() (why string) {
	if u.goesOut(u.loop) {
		return "the loop goes on elsewhere"
	}
	var recovers bool
	ast.Inspect(u.decl, func(n ast.Node) bool {
		recovers = recovers || u.builtin(n, "recover") != nil
		return !recovers
	})
	if recovers {
		return "the function recovers from panics, and the loop may be where they come from"
	}
	ast.Inspect(u.loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			why = "the loop makes functions, which may use what others change"
		case *ast.DeferStmt:
			why = "the loop defers something until the function ends"
		case *ast.GoStmt:
			why = "the loop starts goroutines"
		case *ast.CallExpr:
			fn := u.callee(n)
			switch {
			case u.builtin(n, "panic") != nil:
				why = "the loop panics, from which a caller may recover"
			case fn == nil && !u.info().Types[n.Fun].IsType() && !u.info().Types[n.Fun].IsBuiltin():
				why = "the loop calls what is only known at run time"
			case fn == nil:
			case fn.FullName() == "runtime.Goexit", fn.Pkg() != nil && fn.Pkg().Path() == "testing" && strings.HasPrefix(fn.Name(), "Fa"), strings.HasSuffix(fn.Name(), "FailNow"):
				why = "the loop may end the goroutine that it is in"
			case fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()) && !isContext(fn.Signature().Recv().Type()) && fn.Name() != "Error":
				why = "the loop calls what is only known at run time"
			}
		}
		return why == ""
	})
	if why != "" {
		return why
	}
	// What is sent belongs to who receives it.
	ast.Inspect(u.loop, func(n ast.Node) bool {
		send, ok := n.(*ast.SendStmt)
		if !ok || u.local(send.Chan) != u.ch {
			return true
		}
		ast.Inspect(u.loop, func(m ast.Node) bool {
			id, ok := m.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := u.info().Uses[id].(*types.Var)
			if ok && !v.IsField() && declaredIn(v, u.loop) && refers(v.Type()) && !within(id, send) && (id.Pos() > send.End() || u.advances(id)) {
				why = fmt.Sprintf("%s is used when it may have been sent", v.Name())
			}
			return true
		})
		return true
	})
	return why
}

// advances reports whether a node is in the part of a loop that goes on to the next round.
func (u *upFront) advances(n ast.Node) bool {
	l, ok := u.loop.(*ast.ForStmt)
	return ok && (l.Post != nil && within(n, l.Post) || l.Cond != nil && within(n, l.Cond))
}

// failures returns the statements that end the loop and the function with an error, and what they return before it, which has to be
// the same for all.
func (u *upFront) failures() (results string, returns []*ast.ReturnStmt, why string) {
	var sig *types.Signature
	if lit := u.literal(u.loop); lit != nil {
		sig = u.typeOf(lit).(*types.Signature)
	} else {
		sig = u.info().TypeOf(u.decl.Name).(*types.Signature)
	}
	ast.Inspect(u.loop, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok || why != "" {
			return why == ""
		}
		k := len(r.Results)
		if k == 0 || k != sig.Results().Len() || !types.Identical(sig.Results().At(k-1).Type(), types.Universe.Lookup("error").Type()) || !u.isFailure(r) {
			why = "the loop may end the function before any job is begun, and not for an error"
			return false
		}
		text := ""
		for _, e := range r.Results[:k-1] {
			lit, isLit := e.(*ast.CompositeLit)
			if !u.isConst(e) && !u.info().Types[e].IsNil() && !(isLit && len(lit.Elts) == 0) {
				why = "what the loop returns with an error would have to be kept"
				return false
			}
			text += u.src(e) + ", "
		}
		if returns = append(returns, r); len(returns) > 1 && text != results {
			why = "the loop returns this with one error, and that with another"
		}
		results = text
		return true
	})
	return results, returns, why
}

// isFailure reports whether a return statement is for an error that is one: it is made there, or was compared with nil.
func (u *upFront) isFailure(r *ast.ReturnStmt) bool {
	last := ast.Unparen(r.Results[len(r.Results)-1])
	if u.calls(last, "fmt.Errorf", "errors.New") != nil {
		return true
	}
	err := u.local(last)
	block, ok := u.parent(r).(*ast.BlockStmt)
	if !ok || err == nil {
		return false
	}
	test, ok := u.parent(block).(*ast.IfStmt)
	if !ok || test.Body != block || u.assigns(block, func(o types.Object) bool { return o == err }) {
		return false
	}
	cond, ok := ast.Unparen(test.Cond).(*ast.BinaryExpr)
	return ok && cond.Op == token.NEQ && u.local(cond.X) == err && u.info().Types[cond.Y].IsNil()
}

// starts reports whether a statement may start a goroutine.
func (p *function) starts(s ast.Stmt) bool {
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

func (p *function) sendsTo(n ast.Node, ch *types.Var) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SendStmt); ok && p.local(s.Chan) == ch {
			found = true
		}
		return !found
	})
	return found
}
