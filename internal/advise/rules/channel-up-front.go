package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/loops"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var channelUpFront = &advise.Rule{
	Name: "channel-up-front", Rank: 45,
	Doc: "all jobs are made and put into a channel before anybody works on them",

	NoFix: missing.JobsDepend,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(st *ast.AssignStmt) {
			if len(st.Rhs) != 1 || len(st.Lhs) != 1 {
				return
			}
			made := p.Builtin(st.Rhs[0], "make")
			ch := p.Local(st.Lhs[0])
			if made == nil || ch == nil || len(made.Args) != 2 || p.IsConst(made.Args[1]) {
				return
			}
			if _, ok := ch.Type().Underlying().(*types.Chan); !ok {
				return
			}
			block, ok := p.Parent(st).(*ast.BlockStmt)
			if !ok {
				return
			}
			for i := slices.Index(block.List, ast.Stmt(st)) + 1; i < len(block.List); i++ {
				s := block.List[i]
				if starts(p.Func, s) {
					return // somebody may receive already
				}
				body := loops.BodyOf(s)
				if body == nil || !sendsTo(p.Func, body, ch) {
					continue
				}
				c := p.Cost(s, func(*cost.Chain) bool { return true })
				own := p.Cost(st, cost.Allocates("makechan", "mallocgc"))
				c.Add(&own)
				f := advise.Finding{
					Title:  "all jobs made before the first is begun",
					Claim:  fmt.Sprintf("the loop makes %s jobs and puts them into %s, which has room for all of them, before anybody receives: all of them are in memory at the same time, and the collector looks at them again and again", p.Src(made.Args[1]), ch.Name()),
					Advice: "let those who work make each job when it is its turn, from a counter; or start them first, and send through a channel with little room",
					Risk:   "what is wrong with a job then shows when others are done already; what panics while a job is made ends the program, whoever would have recovered from it",
					Also:   []ast.Node{st}, Live: true,
				}
				u := &upFront{Pass: p, ch: ch, room: made.Args[1], loop: s, list: block.List, at: i}
				f.Fixes = u.streamed()
				p.Report(s, c, f)
				return
			}
		})
	},
}

// What a loop shares with others, who run at the same time once it has a goroutine of its own. Variables are looked at, and what of the
// package is changed; that others change what an argument leads to is left to the race detector.

// declaredIn reports whether a variable is declared in a node.
func declaredIn(v *types.Var, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

// apart says which variable both the loop and those who work use, in a way that one of them could notice.
func (u *upFront) apart() missing.Reason {
	var seen []*types.Var
	var why missing.Reason
	ast.Inspect(u.loop, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return why.Fact == ""
		}
		v, ok := u.Info().Uses[id].(*types.Var)
		if !ok || v.IsField() || v == u.ch || u.Local(id) == nil || declaredIn(v, u.loop) || slices.Contains(seen, v) {
			return why.Fact == ""
		}
		seen = append(seen, v)
		if why = u.shared(v); why.Fact != "" {
			return false
		}
		return true
	})
	return why
}

// shared says what speaks against a variable that is declared outside of the loop and used in it.
func (u *upFront) shared(v *types.Var) missing.Reason {
	is := func(o types.Object) bool { return o == v }
	if kind.IsSync(v.Type()) {
		return missing.LoopWaits.Of(v.Name())
	}
	written := flow.Assigns(u.Func, u.loop, is)
	if written && kind.Refers(v.Type()) {
		return missing.LoopChangesSent.Of(v.Name())
	}
	for _, id := range u.Uses(v) {
		if code.Within(id, u.loop) {
			continue
		}
		// Other literals may be called by those who work.
		lit := u.Literal(id)
		if elsewhere := lit != nil && lit != u.Literal(u.loop) && !code.Within(u.loop, lit); !u.inWindow(id) && !elsewhere {
			continue
		}
		switch {
		case written:
			return missing.LoopChangesUsed.Of(v.Name())
		case owner.ChangedAt(u.Func, id):
			return missing.OthersChange.Of(v.Name())
		case kind.IsShareable(v.Type()), owner.OwnPart(u.Func, id):
		case !owner.OnlyReads(u.Func, id):
			return missing.OthersMayChange.Of(v.Name())
		default:
			for _, other := range u.Uses(v) {
				if code.Within(other, u.loop) && !owner.OnlyReads(u.Func, other) && !owner.OwnPart(u.Func, other) {
					return missing.LoopMayChange.Of(v.Name())
				}
			}
		}
	}
	return missing.Reason{}
}

// state says which variable of the package the loop uses, by itself or in functions of the package that it calls, that is ever changed.
func (u *upFront) state() missing.Reason {
	seen := map[*types.Func]bool{}
	var look func(p *code.Func, n ast.Node, depth int) missing.Reason
	look = func(p *code.Func, n ast.Node, depth int) (why missing.Reason) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				v, ok := p.Info().Uses[n].(*types.Var)
				if ok && !v.IsField() && v.Parent() == p.Pkg.Types.Scope() && !kind.IsShareable(v.Type()) && (v.Exported() && p.Pkg.Name != "main" || changed(p, v)) {
					why = missing.JobUses.Of(v.Name())
				}
			case *ast.CallExpr:
				fn := p.Callee(n)
				if fn == nil || fn.Pkg() != p.Pkg.Types || seen[fn.Origin()] {
					return why.Fact == ""
				}
				seen[fn.Origin()] = true
				decl, f := p.DeclOf(fn)
				if decl == nil || decl.Body == nil || depth == 0 {
					if recv := fn.Signature().Recv(); recv == nil || !types.IsInterface(recv.Type()) {
						why = missing.WhatItDoes.Of(fn.Name())
					}
					return why.Fact == ""
				}
				q := p.In(f, decl)
				why = look(q, decl.Body, depth-1)
			}
			return why.Fact == ""
		})
		return why
	}
	const deep = 8
	return look(u.Func, u.loop, deep)
}

// changed reports whether any function of the package changes a variable of it.
func changed(of *code.Func, v *types.Var) bool {
	for _, f := range of.Pkg.Files {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && flow.Assigns(of, fn, func(o types.Object) bool { return o == v }) {
				return true
			}
		}
	}
	return false
}

// An upFront is a loop that fills a channel before those are started who receive from it.
type upFront struct {
	*advise.Pass
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
	for _, check := range []func() missing.Reason{u.order, u.received, u.plain, u.apart, u.state} {
		if why := check(); why.Fact != "" {
			return u.Because(why)
		}
	}
	results, returns, why := u.failures()
	if why.Fact != "" {
		return u.Because(why)
	}
	closing := u.list[u.at+1]
	begin, end := "go func() {\ndefer close("+u.ch.Name()+")\n", "\nfor range "+u.ch.Name()+" { // what nobody took\n}"
	edits := []edit.Edit{edit.Replace(u.room, fmt.Sprintf("min(%s, %d)", u.Src(u.room), fewJobs))}
	if len(returns) > 0 {
		failed := u.LocalName("failed")
		begin = "var " + failed + " error\n" + begin
		end += fmt.Sprintf("\nif %s != nil {\nreturn %s%s\n}", failed, results, failed)
		for _, r := range returns {
			edits = append(edits, edit.Replace(r, fmt.Sprintf("%s = %s\nreturn", failed, u.Src(r.Results[len(r.Results)-1]))))
		}
	}
	edits = append(edits, edit.Before(u.loop, begin))
	between := u.File.Text[u.File.Tok.Offset(u.loop.End()):u.File.Tok.Offset(closing.Pos())]
	if strings.TrimSpace(string(between)) == "" {
		edits = append(edits, edit.New(u.loop.End(), closing.End(), "\n}()"))
	} else { // a comment
		edits = append(edits, edit.After(u.loop, "\n}()"), edit.Replace(closing, ""))
	}
	edits = append(edits, edit.After(u.list[u.wait], end))
	return u.Fix(report.Ownership, "make each when it is its turn", edits...)
}

// order finds the statements that there have to be: the loop, close, and the one that waits for all who work. Between them nothing may
// end the function.
func (u *upFront) order() missing.Reason {
	if !u.Pkg.AtLeast(22) {
		return missing.OlderGo.Of(22, "loops whose variables are new in each round")
	}
	if u.at+1 == len(u.list) || !u.closes(u.list[u.at+1]) {
		return missing.NotClosedBehind.Of()
	}
	for i := u.at + 2; i < len(u.list); i++ {
		if st, ok := u.list[i].(*ast.ExprStmt); ok {
			if call := u.Calls(st.X, "(*sync.WaitGroup).Wait"); call != nil {
				u.wait = i
				if u.workers = u.Local(call.Fun.(*ast.SelectorExpr).X); u.workers == nil {
					return missing.NoGroupOfFunction.Of()
				}
				return missing.Reason{}
			}
		}
		if flow.MayEnd(u.Func, u.list[i]) {
			return missing.EndsBeforeWait.Of()
		}
	}
	return missing.NoWait.Of()
}

func (u *upFront) closes(s ast.Stmt) bool {
	st, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call := u.Builtin(st.X, "close")
	return call != nil && u.Local(call.Args[0]) == u.ch
}

// window returns the statements that run while the loop does, once it has a goroutine of its own.
func (u *upFront) window() []ast.Stmt { return u.list[u.at+2 : u.wait+1] }

func (u *upFront) inWindow(n ast.Node) bool {
	w := u.window()
	return n.Pos() >= w[0].Pos() && n.End() <= w[len(w)-1].End()
}

// received says what else is done with the channel than to send in the loop, to close it, and to receive until there is no more. How full
// it is must not matter to anybody, and all who receive have to be waited for.
func (u *upFront) received() missing.Reason {
	for _, id := range u.Uses(u.ch) {
		switch {
		case code.Within(id, u.list[u.at+1]): // close
		case code.Within(id, u.loop):
			send, ok := u.Parent(id).(*ast.SendStmt)
			if !ok || send.Chan != id {
				return missing.LoopUsesChannel.Of()
			}
		case !u.inWindow(id):
			return missing.ChannelElsewhere.Of()
		default:
			if why := u.receiver(id); why.Fact != "" {
				return why
			}
		}
	}
	return missing.Reason{}
}

// receiver says what is wrong with a use of the channel by somebody who works.
func (u *upFront) receiver(id *ast.Ident) missing.Reason {
	worker := u.Literal(id)
	if worker == nil || !u.waitedFor(worker) {
		return missing.ReceiverNotWaited.Of()
	}
	switch up := u.Parent(id).(type) {
	case *ast.RangeStmt:
		if up.X == id {
			return missing.Reason{}
		}
	case *ast.UnaryExpr:
		if up.Op == token.ARROW && alwaysReceives(u.Func, up) {
			return missing.Reason{}
		}
	case *ast.CallExpr:
		i := slices.Index(up.Args, ast.Expr(id))
		if fn := u.Callee(up); fn != nil && i >= 0 && onlyReceives(u.Func, fn, i) {
			return missing.Reason{}
		}
	}
	return missing.WaitingMatters.Of()
}

// waitedFor reports whether a function literal is a goroutine of the WaitGroup.
func (u *upFront) waitedFor(lit *ast.FuncLit) bool {
	call, ok := u.Parent(lit).(*ast.CallExpr)
	if !ok {
		return false
	}
	if u.Calls(call, "(*sync.WaitGroup).Go") != nil {
		return u.Local(call.Fun.(*ast.SelectorExpr).X) == u.workers && u.Literal(call) == u.Literal(u.loop)
	}
	start, ok := u.Parent(call).(*ast.GoStmt)
	if !ok || call.Fun != lit || len(lit.Body.List) == 0 || u.Literal(start) != u.Literal(u.loop) {
		return false
	}
	done, ok := lit.Body.List[0].(*ast.DeferStmt)
	return ok && u.Calls(done.Call, "(*sync.WaitGroup).Done") != nil && u.Local(done.Call.Fun.(*ast.SelectorExpr).X) == u.workers
}

// alwaysReceives reports whether a receive operation waits for a value, or for the end of a context.
func alwaysReceives(f *code.Func, receive *ast.UnaryExpr) bool {
	var n ast.Node = receive
	for {
		switch up := f.Parent(n).(type) {
		case *ast.AssignStmt, *ast.ExprStmt, *ast.ParenExpr:
			n = up
			continue
		case *ast.CommClause:
			if up.Comm != n {
				return true
			}
			for _, s := range f.Parent(up).(*ast.BlockStmt).List {
				if c := s.(*ast.CommClause); c != up && !untilDone(f, c.Comm) {
					return false
				}
			}
		}
		return true
	}
}

// untilDone reports whether a case of a select waits for the end of a context.
func untilDone(f *code.Func, s ast.Stmt) bool {
	st, ok := s.(*ast.ExprStmt)
	if !ok {
		return false // default, or something else
	}
	u, ok := ast.Unparen(st.X).(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW && f.Calls(u.X, "(context.Context).Done") != nil
}

// onlyReceives reports whether a function of the package only receives from its argument i.
func onlyReceives(of *code.Func, fn *types.Func, i int) bool {
	decl, f := of.DeclOf(fn)
	sig := fn.Origin().Signature()
	if decl == nil || decl.Body == nil || i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	q := of.In(f, decl)
	v := sig.Params().At(i)
	return !flow.Captured(q, v, decl.Body) && !slices.ContainsFunc(q.Uses(v), func(id *ast.Ident) bool {
		switch up := q.Parent(id).(type) {
		case *ast.RangeStmt:
			return up.X != id
		case *ast.UnaryExpr:
			return up.Op != token.ARROW || !alwaysReceives(q, up)
		}
		return true
	})
}

// plain says what the loop does that would be something else in a goroutine of its own.
func (u *upFront) plain() (why missing.Reason) {
	if flow.GoesOut(u.Func, u.loop) {
		return missing.LoopGoesOn.Of()
	}
	var recovers bool
	ast.Inspect(u.Decl, func(n ast.Node) bool {
		recovers = recovers || u.Builtin(n, "recover") != nil
		return !recovers
	})
	if recovers {
		return missing.FunctionRecovers.Of()
	}
	ast.Inspect(u.loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			why = missing.LoopMakesFunctions.Of()
		case *ast.DeferStmt:
			why = missing.LoopDefers.Of()
		case *ast.GoStmt:
			why = missing.LoopStarts.Of()
		case *ast.CallExpr:
			fn := u.Callee(n)
			switch {
			case u.Builtin(n, "panic") != nil:
				why = missing.LoopPanics.Of()
			case fn == nil && !u.Info().Types[n.Fun].IsType() && !u.Info().Types[n.Fun].IsBuiltin():
				why = missing.LoopCallsUnknown.Of()
			case fn == nil:
			case fn.FullName() == "runtime.Goexit", fn.Pkg() != nil && fn.Pkg().Path() == "testing" && strings.HasPrefix(fn.Name(), "Fa"), strings.HasSuffix(fn.Name(), "FailNow"):
				why = missing.LoopEndsGoroutine.Of()
			case fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()) && !kind.IsContext(fn.Signature().Recv().Type()) && fn.Name() != "Error":
				why = missing.LoopCallsUnknown.Of()
			}
		}
		return why.Fact == ""
	})
	if why.Fact != "" {
		return why
	}
	// What is sent belongs to who receives it.
	ast.Inspect(u.loop, func(n ast.Node) bool {
		send, ok := n.(*ast.SendStmt)
		if !ok || u.Local(send.Chan) != u.ch {
			return true
		}
		ast.Inspect(u.loop, func(m ast.Node) bool {
			id, ok := m.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := u.Info().Uses[id].(*types.Var)
			if ok && !v.IsField() && declaredIn(v, u.loop) && kind.Refers(v.Type()) && !code.Within(id, send) && (id.Pos() > send.End() || u.advances(id)) {
				why = missing.UsedWhenSent.Of(v.Name())
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
	return ok && (l.Post != nil && code.Within(n, l.Post) || l.Cond != nil && code.Within(n, l.Cond))
}

// failures returns the statements that end the loop and the function with an error, and what they return before it, which has to be
// the same for all.
func (u *upFront) failures() (results string, returns []*ast.ReturnStmt, why missing.Reason) {
	var sig *types.Signature
	if lit := u.Literal(u.loop); lit != nil {
		sig = u.TypeOf(lit).(*types.Signature)
	} else {
		sig = u.Info().TypeOf(u.Decl.Name).(*types.Signature)
	}
	ast.Inspect(u.loop, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		if !ok || why.Fact != "" {
			return why.Fact == ""
		}
		k := len(r.Results)
		if k == 0 || k != sig.Results().Len() || !types.Identical(sig.Results().At(k-1).Type(), types.Universe.Lookup("error").Type()) || !u.isFailure(r) {
			why = missing.LoopEndsFunction.Of()
			return false
		}
		text := ""
		for _, e := range r.Results[:k-1] {
			lit, isLit := e.(*ast.CompositeLit)
			if !u.IsConst(e) && !u.Info().Types[e].IsNil() && !(isLit && len(lit.Elts) == 0) {
				why = missing.ErrorResultKept.Of()
				return false
			}
			text += u.Src(e) + ", "
		}
		if returns = append(returns, r); len(returns) > 1 && text != results {
			why = missing.DifferentErrors.Of()
		}
		results = text
		return true
	})
	return results, returns, why
}

// isFailure reports whether a return statement is for an error that is one: it is made there, or was compared with nil.
func (u *upFront) isFailure(r *ast.ReturnStmt) bool {
	last := ast.Unparen(r.Results[len(r.Results)-1])
	if u.Calls(last, "fmt.Errorf", "errors.New") != nil {
		return true
	}
	err := u.Local(last)
	block, ok := u.Parent(r).(*ast.BlockStmt)
	if !ok || err == nil {
		return false
	}
	test, ok := u.Parent(block).(*ast.IfStmt)
	if !ok || test.Body != block || flow.Assigns(u.Func, block, func(o types.Object) bool { return o == err }) {
		return false
	}
	cond, ok := ast.Unparen(test.Cond).(*ast.BinaryExpr)
	return ok && cond.Op == token.NEQ && u.Local(cond.X) == err && u.Info().Types[cond.Y].IsNil()
}

// starts reports whether a statement may start a goroutine.
func starts(f *code.Func, s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			found = found || f.Calls(n, "(*sync.WaitGroup).Go") != nil
		}
		return !found
	})
	return found
}

func sendsTo(f *code.Func, n ast.Node, ch *types.Var) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SendStmt); ok && f.Local(s.Chan) == ch {
			found = true
		}
		return !found
	})
	return found
}
