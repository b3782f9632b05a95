package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report/missing"
	"github.com/hone-perf/hone/internal/unit"
)

// hotObjects speaks where all other rules are silent: whoever looks for what allocates must not be told that there is nothing, when one
// line makes more objects than all others together, or more than any other and a quarter of them, or more than half of all bytes.
var hotObjects = &advise.Rule{
	Name: "hot-objects", Rank: 0, Last: true, Story: true,
	Doc: "one line makes most of the objects, or more than any other, or allocates most of the bytes",

	NoFix: missing.WhyOnHeap,
	Find: func(p *advise.Pass) {
		if !p.Costs.Telling() {
			return
		}
		for _, at := range slices.Sorted(maps.Keys(p.Lines)) {
			l := p.Lines[at]
			most, large := 2*l.Made[0] > p.Costs.Total[cost.ObjectsMade], 2*l.Made[1] > p.Costs.Total[cost.BytesMade]
			if !most && !large && (manyShare*l.Made[0] <= p.Costs.Total[cost.ObjectsMade] || !makesMore(p, l)) {
				continue
			}
			n := nodeOn(p.Func, at, l)
			if !most && (n == nil || p.Once(n) != once.Often || pool.InNew(p.Func, n) != nil || !large && copyForCaller(p.Func, n)) {
				continue // a start-up, a pool or tuned code has such lines, too
			}
			from, to := at, at
			if n == nil {
				n = &ast.BadStmt{From: p.File.Tok.LineStart(at), To: p.File.Tok.LineStart(at)} // in the middle of something
			} else if st := simpleStatement(p.Func, n); st != nil && !code.IsInitializer(p.Decl) {
				from, to = p.Line(st.Pos()), p.Line(st.End())
			}
			of := cost.ObjectsMade
			if large && !most {
				of = cost.BytesMade
			}
			if p.ToldOf(of, from, to) || pool.InNew(p.Func, n) != nil && slices.ContainsFunc(getters(p, l), func(fn string) bool { return p.Knows(fn, "sync.(*Pool).Get") }) {
				continue
			}
			makesMost(p, n, at, l, of)
		}
	},
}

// manyShare is the part of all objects, a quarter, from which on the line that makes more than any other is told of where it runs often.
const manyShare = 4

// makesMore reports whether a line makes more objects than any other.
func makesMore(p *advise.Pass, l *cost.Line) bool {
	for _, f := range p.All {
		for _, other := range f.Lines {
			if other != l && other.Made[0] >= l.Made[0] {
				return false
			}
		}
	}
	return true
}

// makesMost adds a finding about a line that allocates a large share of all objects or of all bytes.
func makesMost(p *advise.Pass, n ast.Node, at int, l *cost.Line, of cost.Metric) {
	c := l.Sum(func(c *cost.Chain) bool {
		return !slices.ContainsFunc(c.Below, func(fn string) bool { return p.Mine(fn) }) && (!c.OnCPU || allocating(c))
	})
	c = cost.Cost{cost.CPU: c[cost.CPU], cost.ObjectsMade: l.Made[0], cost.BytesMade: l.Made[1]}
	made, callee := madeOn(p.Func, at, l)
	if callee != "" && p.ToldAnything() && !takesCPU(p, &c) && manyShare*c[cost.BytesMade] < p.Costs.Total[cost.BytesMade] {
		p.LeaveOut(n, c) // a call that the code may need makes many small objects, beside what takes more memory and time
		return
	}
	f := advise.Finding{
		Title:  "most objects are made on one line",
		Claim:  unit.Share(p.Costs.Part(&c, cost.ObjectsMade)) + " of all objects come from here",
		Advice: "a value that stays in the function, is used again, or is part of a larger one needs no object of its own",
		OnHeap: true,
		Risk:   "code that keeps a reused value sees its later content",
	}
	switch {
	case of == cost.BytesMade:
		f.Title, f.Claim = "most bytes are allocated on one line", unit.Share(p.Costs.Part(&c, of))+" of all bytes come from here"
	case 2*l.Made[0] <= p.Costs.Total[cost.ObjectsMade]:
		f.Title = "more objects are made on this line than on any other"
	}
	switch {
	case c[cost.ObjectsMade] == 0:
	case of == cost.BytesMade:
		f.Claim += fmt.Sprintf(", in objects of %d bytes each on average", c[cost.BytesMade]/c[cost.ObjectsMade])
	case c[cost.BytesMade] > 0:
		f.Claim += fmt.Sprintf(", of %d bytes each on average", c[cost.BytesMade]/c[cost.ObjectsMade])
	}
	if made != "" {
		f.Claim += ": " + made
	}
	f.Callee = callee
	when := p.Once(n)
	if p.Startup(n) {
		f.Claim += "; the line runs " + map[bool]string{true: "once, "}[when != once.Often] + "when the program starts"
		f.Advice += "; what is not always needed can be made when it is first asked for, with sync.OnceValue"
	} else if when != once.Often {
		f.Claim += "; the line runs once"
	}
	if pool := pool.InNew(p.Func, n); pool != nil {
		f.Claim += "; it is in the New of a sync.Pool, which Get calls when the pool is empty"
		if list := getters(p, l); list != nil {
			f.Claim += ", here in " + symbol.ShortNames(list)
		}
		f.Advice = "make sure that everything from Get goes back with Put, on every return path"
	}
	p.No(missing.WhoNeedsObjects)
	p.Report(n, c, f)
}

// madeOn says in a few words what a line makes, and what it calls that makes most of it, or "" when that is the line itself.
func madeOn(f *code.Func, at int, l *cost.Line) (what, callee string) {
	by := map[string]int64{}
	for _, c := range l.Chains {
		if c.Cost[cost.ObjectsMade] > 0 && !slices.ContainsFunc(c.Below, func(fn string) bool { return f.Mine(fn) }) {
			by[c.First()] += c.Cost[cost.ObjectsMade]
		}
	}
	most := ""
	for fn, v := range by {
		if v > by[most] || v == by[most] && fn < most {
			most = fn
		}
	}
	if most != "" && !symbol.IsRuntime(most) {
		return symbol.Short(most) + " makes them", most
	}
	var list []string
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if text := allocation(f, e); text != "" && f.Line(e.Pos()) <= at && at <= f.Line(e.End()) && f.Line(allocatesAt(e)) == at && !slices.Contains(list, text) {
			list = append(list, text)
			if u, isRef := e.(*ast.UnaryExpr); isRef {
				return u.Op != token.AND
			}
		}
		return true
	})
	const most2 = 3
	if len(list) > most2 {
		list = append(list[:most2], "…")
	}
	return strings.Join(list, ", "), ""
}

// allocatesAt returns where profiles say that an expression allocates.
func allocatesAt(e ast.Expr) token.Pos {
	switch e := e.(type) {
	case *ast.CallExpr:
		return e.Lparen
	case *ast.BinaryExpr:
		return e.OpPos
	}
	return e.Pos()
}

// allocation returns the text of an expression that may allocate, shortened, or "".
func allocation(f *code.Func, e ast.Expr) string {
	may := false
	switch e := e.(type) {
	case *ast.CallExpr:
		arg, to := f.Conversion(e)
		switch {
		case arg != nil:
			from := f.TypeOf(arg)
			may = kind.IsString(to) != kind.IsString(from) && from != nil && !f.IsConst(e) || types.IsInterface(to) && calls.Boxes(f, arg)
		default:
			may = f.Builtin(e, "make") != nil || f.Builtin(e, "new") != nil || f.Builtin(e, "append") != nil
		}
	case *ast.BinaryExpr:
		may = e.Op == token.ADD && kind.IsString(f.TypeOf(e)) && !f.IsConst(e) && flow.OutermostSum(f, e)
	case *ast.UnaryExpr:
		_, isLit := ast.Unparen(e.X).(*ast.CompositeLit)
		may = e.Op == token.AND && isLit
	case *ast.CompositeLit:
		switch f.TypeOf(e).Underlying().(type) {
		case *types.Slice, *types.Map:
			may = true
		}
	case *ast.FuncLit:
		if may = len(flow.CapturedBy(f, e)) > 0; may {
			return "a function literal"
		}
	}
	if !may {
		return ""
	}
	const long = 50
	text := strings.Join(strings.Fields(types.ExprString(e)), " ")
	if len(text) > long {
		text = strings.ToValidUTF8(text[:long], "") + "…"
	}
	return text
}
