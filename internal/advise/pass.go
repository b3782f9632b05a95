package advise

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// A Rule knows one way in which programs do too much.
type Rule struct {
	Name string // what findings are called: regexp-per-call
	Doc  string // one line: what is wrong with it
	Rank int    // in the catalog of patterns, by how often people mend it; 0 when it is not in there

	NoFix   missing.Fact // why a finding has no patch, where no check says more
	Vague   bool         // what it costs is known, and not how much of that can be saved
	Last    bool         // it looks at functions, and is ranked, when all others have had their say
	Story   bool         // the compiler is asked why what it finds is on the heap, even far down the list
	Hoists  bool         // its patches leave nothing on the line that costs anything, so no other finding need make that faster
	Early   bool         // its patches also hold while variables of the package have no values yet
	PerCall bool         // it is about what is done anew for each call, so it has nothing to say where code runs once

	// Find looks at a function that costs something, and reports what it finds in it.
	Find func(p *Pass)
}

// A Function is one of which some line costs something.
type Function struct {
	*code.Func
	Lines map[int]*cost.Line
	doubt string // about its lines
}

// A Pass is a rule that looks at a function.
type Pass struct {
	*Function
	Rule  *Rule
	Costs *cost.Costs
	All   []*Function    // functions that are looked at
	Least float64        // share below which nothing is said
	Why   missing.Reason // why there is no fix: which check did not hold

	tree    *tree
	said    *adviser                         // what rules have found so far
	debug   func(format string, args ...any) // nil but in tests
	imports []string                         // that the fix at hand needs
}

// On returns a pass over another function that is looked at.
func (p *Pass) On(f *Function) *Pass {
	q := *p
	q.Function = f
	return &q
}

// InFile returns a pass that changes another file of the package.
func (p *Pass) InFile(f *code.File) *Pass {
	return p.On(&Function{Func: p.In(f, p.Decl), doubt: p.doubt})
}

// OfPackage returns the functions of the package that are looked at.
func (p *Pass) OfPackage() (out []*Function) {
	for _, f := range p.All {
		if f.Pkg == p.Pkg {
			out = append(out, f)
		}
	}
	return out
}

// Told reports whether a rule has spoken of lines of the file.
func (p *Pass) Told(from, to int) bool { return p.said.told(p.File.Name, from, to) }

// ToldAnything reports whether any rule has spoken.
func (p *Pass) ToldAnything() bool { return len(p.said.list) > 0 }

// ToldOf reports whether a finding counts what lines of the file cost in a metric.
func (p *Pass) ToldOf(m cost.Metric, from, to int) bool {
	return p.said.toldOf(m, p.File.Name, from, to)
}

// Knows reports whether a rule has spoken of what a function calls.
func (p *Pass) Knows(fn, callee string) bool { return p.said.knows(fn, callee) }

// No says which fact is missing, and that there is no fix.
func (p *Pass) No(fact missing.Fact, of ...any) []report.Fix { return p.Because(fact.Of(of...)) }

// LeaveOut notes the line of a node that allocates much, but gets no finding.
func (p *Pass) LeaveOut(n ast.Node, c cost.Cost) {
	if p.said.unsaid == nil {
		p.said.unsaid = map[line]report.UnsaidLine{}
	}
	at := p.File.Tok.Position(n.Pos())
	left := report.UnsaidLine{Where: spot(p.Func, at.Line, at.Column), Objects: p.Costs.Part(&c, cost.ObjectsMade), Bytes: p.Costs.Part(&c, cost.BytesMade)}
	key := line{p.File.Name, at.Line}
	if old := p.said.unsaid[key]; max(old.Objects, old.Bytes) <= max(left.Objects, left.Bytes) {
		p.said.unsaid[key] = left
	}
}

// Because says why there is no fix.
func (p *Pass) Because(why missing.Reason) []report.Fix {
	p.Why = why
	return nil
}

// Need says that the next fix needs imports.
func (p *Pass) Need(imports ...string) { p.imports = append(p.imports, imports...) }

// Cost adds up what the lines of a node cost, where what is below them matches.
func (p *Pass) Cost(n ast.Node, match func(*cost.Chain) bool) (out cost.Cost) {
	for l := p.Line(n.Pos()); l <= p.Line(n.End()); l++ {
		v := p.Lines[l].Sum(match)
		out.Add(&v)
	}
	return out
}

// Worth reports whether a cost is enough for a finding. Where it is not, there need be no patch: each is compiled, which takes as long as
// compiling the package.
func (p *Pass) Worth(c cost.Cost) bool { return p.Costs.Share(&c) >= p.Least }

// Total adds up what the function costs, where what is below a line matches. A stack counts once.
func (p *Pass) Total(match func(*cost.Chain) bool) (out cost.Cost) {
	for _, l := range p.Lines {
		v := l.Sum(func(c *cost.Chain) bool { return match(c) && !again(p.Func, c) })
		out.Add(&v)
	}
	return out
}

// again reports whether the function is once more below its line.
func again(f *code.Func, c *cost.Chain) bool {
	return slices.ContainsFunc(c.Below, func(b string) bool {
		rest, ok := strings.CutPrefix(b, f.Name)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '-')
	})
}

// Each calls look for each node of a kind in the function.
func Each[N ast.Node](p *Pass, look func(N)) {
	ast.Inspect(p.Decl, func(n ast.Node) bool {
		if x, ok := n.(N); ok {
			p.Why = missing.Reason{} // that is of another node
			look(x)
		}
		return true
	})
}

// Once says whether a node runs once in the life of a program.
func (p *Pass) Once(n ast.Node) once.Moment { return p.moment(n, false) }

// Startup reports whether a node runs before main, once or in a loop there.
func (p *Pass) Startup(n ast.Node) bool { return p.moment(n, true) == once.AtStart }

func (p *Pass) moment(n ast.Node, loops bool) once.Moment {
	if st, ok := n.(*ast.DeclStmt); ok && code.IsInitializer(p.Decl) {
		n = st.Decl
	}
	const deep = 4 // calls that are looked up
	for _, l := range p.Lines {
		if !l.StartsOnly() {
			return once.Of(p.Pkg, n, once.Runs{Loops: loops})
		}
	}
	return once.Of(p.Pkg, n, once.Runs{Loops: loops, Depth: deep})
}
