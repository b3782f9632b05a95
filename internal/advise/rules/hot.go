package rules

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// The rules of this file come last. They speak of lines of which no other rule does, and only where what is allocated there
// shows: as a large share of all that is, and in the CPU time that it takes. There is no patch for what is only known to cost.
// Shares are multiples of what is worth a word, which is a hundredth when nobody asks for another.
const (
	hotShare = 15 // of all objects, or of all bytes
	hotCPU   = 5  // of all CPU, spent on allocating and collecting them
)

// A leaf is a function of the runtime that allocates, and what it says about the code above it.
type leaf struct {
	prefix               string // after runtime.
	title, claim, advice string
}

// hotLines shows lines that cost something, and of which no other rule has spoken.
func hotLines(p *advise.Pass, look func(n ast.Node, l *cost.Line)) {
	if p.Pkg.Module != nil && !p.Pkg.Module.Main {
		return // nothing can be done there
	}
	at := make([]int, 0, len(p.Lines))
	for n := range p.Lines {
		at = append(at, n)
	}
	slices.Sort(at)
	for _, number := range at {
		n := nodeOn(p.Func, number, p.Lines[number])
		if n == nil {
			continue
		}
		from, to := number, number
		if st := simpleStatement(p.Func, n); st != nil {
			from, to = p.Line(st.Pos()), p.Line(st.End())
		}
		if !p.Told(from, to) {
			look(n, p.Lines[number])
		}
	}
}

// nodeOn returns the first node on a line, in the function literal that it begins where the samples are of that.
func nodeOn(f *code.Func, number int, l *cost.Line) ast.Node {
	first := firstOn(f, number)
	if first == nil || !symbol.InLiteral(l.Func) || f.Literal(first) != nil {
		return first
	}
	var inside ast.Node
	ast.Inspect(first, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && inside == nil {
			for _, st := range lit.Body.List {
				if inside == nil && f.Line(st.Pos()) == number {
					inside = st
				}
			}
		}
		return inside == nil
	})
	if inside == nil {
		return first
	}
	return inside
}

// firstOn returns the first node that begins on a line.
func firstOn(f *code.Func, line int) (first ast.Node) {
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		if n == nil || first != nil {
			return false
		}
		if _, isBlock := n.(*ast.BlockStmt); !isBlock && f.Line(n.Pos()) == line {
			first = n
		}
		return first == nil
	})
	return first
}

// simpleStatement returns the statement that a node is in, when that has no others in it.
func simpleStatement(f *code.Func, n ast.Node) ast.Stmt {
	st := f.Statement(n)
	switch st.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.BlockStmt, *ast.LabeledStmt:
		return nil
	}
	return st
}

// Several are findings of one kind in a function. They are told once, at the place that costs most, so that what a function is about does
// not fill the list. That place alone decides their rank: each of them may have another remedy.
type several struct {
	nodes []ast.Node
	said  advise.Finding
	most  int // of nodes
	worst float64
	cost  cost.Cost
	end   int // last line of them, which the next one may share
}

func (s *several) add(p *advise.Pass, n ast.Node, c cost.Cost, f advise.Finding) {
	if w := p.Costs.Weight(&c); len(s.nodes) == 0 || w > s.worst {
		s.said, s.most, s.worst = f, len(s.nodes), w
		s.said.Most = c
	}
	s.nodes = append(s.nodes, n)
	if p.Line(n.Pos()) > s.end {
		s.cost.Add(&c)
	}
	s.end = max(s.end, p.Line(n.End()))
}

func (s *several) report(p *advise.Pass) {
	if len(s.nodes) == 0 {
		return
	}
	s.said.Also = s.nodes
	p.Report(s.nodes[s.most], s.cost, s.said)
}

// shows reports whether what a node allocates is worth a word.
func shows(p *advise.Pass, n ast.Node, c *cost.Cost) bool {
	if max(p.Costs.Surely(c, cost.ObjectsMade), p.Costs.Surely(c, cost.BytesMade)) < hotShare*p.Least {
		return false
	}
	if p.Costs.Total[cost.CPU] > 0 && !takesCPU(p, c) {
		p.LeaveOut(n, *c)
		return false
	}
	return true
}

// takesCPU reports whether allocating takes much CPU time, with what the collector needs for it.
func takesCPU(p *advise.Pass, c *cost.Cost) bool {
	spared := p.Costs.WithCollector(*c)
	return p.Costs.Part(&spared, cost.CPU) >= hotCPU*p.Least
}

// allocating is what a line allocates, with what growing and copying takes.
var allocating = cost.Either(cost.Allocates(), cost.Allocates("growslice", "mapassign", "concatstring", "slicebytetostring", "rawstring"))

// mostly reports whether a cost is more than half of all objects, or of all bytes.
func mostly(p *advise.Pass, c *cost.Cost) bool {
	return 2*c[cost.ObjectsMade] > p.Costs.Total[cost.ObjectsMade] || 2*c[cost.BytesMade] > p.Costs.Total[cost.BytesMade]
}

// copyForCaller reports whether a statement makes a slice of just the right size, into which the function copies memory that it did not
// allocate, and which it returns. That memory is a parameter, a field, or the result of a call, such as the bytes of a pooled buffer. This
// one allocation is what is left in tuned code.
func copyForCaller(f *code.Func, n ast.Node) bool {
	st, ok := f.Statement(n).(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return false
	}
	made, result := f.Builtin(st.Rhs[0], "make"), f.Local(st.Lhs[0])
	if made == nil || len(made.Args) != 2 || result == nil || !f.IsParamResult(result) && f.IsParam(result) {
		return false
	}
	size := f.Builtin(made.Args[1], "len")
	if size == nil || ownMemory(f, size.Args[0]) {
		return false
	}
	copied, returned := false, f.IsParamResult(result)
	for _, id := range f.Uses(result) {
		switch up := f.Parent(id).(type) {
		case *ast.CallExpr:
			copied = copied || f.Builtin(up, "copy") != nil && up.Args[0] == id && f.Src(up.Args[1]) == f.Src(size.Args[0])
		case *ast.ReturnStmt:
			returned = true
		}
	}
	return copied && returned
}

// ownMemory reports whether an expression is memory that the function allocates, or part of a variable that it declares with such memory
// or without a value.
func ownMemory(f *code.Func, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		return ownMemory(f, e.X)
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		return f.Callee(e) == nil // append, make, a conversion
	}
	v := f.Local(e)
	if v == nil || f.IsParam(v) {
		return false
	}
	st, value := f.Declared(v)
	if value == nil {
		_, assigned := st.(*ast.AssignStmt) // of what a call returns with others
		return !assigned
	}
	return ownMemory(f, value)
}

// calledHere reports whether a line of another function that is looked at calls this one.
func calledHere(p *advise.Pass) bool {
	return slices.ContainsFunc(p.All, func(f *advise.Function) bool {
		for _, l := range f.Lines {
			if f.Decl != p.Decl && slices.ContainsFunc(l.Chains, func(c *cost.Chain) bool { return c.First() == p.Name }) {
				return true
			}
		}
		return false
	})
}

// laterAdvice is for what runs before main.
const laterAdvice = "make it when it is first asked for, with sync.OnceValue, or keep it in a form that needs no such work"

// emptyPool is about what the New of a pool makes.
var emptyPool = leaf{title: "sync.Pool that is often empty", claim: "Get calls New when the pool is empty",
	advice: "make sure that everything from Get goes back with Put, on every return path"}

// getters returns the functions whose calls of Get have a line called that is in the New of a pool.
func getters(p *advise.Pass, l *cost.Line) []string {
	var list []string
	for _, f := range p.All {
		for _, line := range f.Lines {
			if code.IsInitializer(f.Decl) {
				continue // the New of another pool, which has a caller of its own
			}
			if slices.ContainsFunc(line.Chains, func(c *cost.Chain) bool {
				return c.First() == "sync.(*Pool).Get" && c.Has(l.Func)
			}) && !slices.Contains(list, f.Name) {
				list = append(list, f.Name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// lookedAt returns a function of the package, or one of another that costs something, or nil.
func lookedAt(p *advise.Pass, fn *types.Func) *code.Func {
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	if decl, file := p.DeclOf(fn); decl != nil {
		if decl.Body == nil {
			return nil
		}
		return p.In(file, decl)
	}
	name := p.ProfileName(fn)
	for _, f := range p.All {
		if f.Name == name {
			return f.Func
		}
	}
	return nil
}

// results returns what a function with one result returns, or nil where a return statement names no value.
func results(f *code.Func) (out []ast.Expr) {
	ok := true
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if ok = ok && len(n.Results) == 1; ok {
				out = append(out, ast.Unparen(n.Results[0]))
			}
		}
		return ok
	})
	if !ok {
		return nil
	}
	return out
}
