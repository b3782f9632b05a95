package advise

import (
	"cmp"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/once"
	"github.com/hone-perf/hone/internal/advise/facts/pool"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

// LeastStuck is how many goroutines have to wait at one place to be worth a word.
const LeastStuck = 10

// A Finding is what a rule has to say. The rest is filled in.
type Finding struct {
	Title, Claim, Advice, Risk string
	Safe                       bool // nothing can go wrong with a fix: Risk says none, and why
	Fixes                      []report.Fix
	NoFix                      missing.Reason // why there are none, where no check says more
	Also                       []ast.Node
	Callee                     string    // where the cost is, to be asked about
	Live                       bool      // what is saved is held, not made
	Vague                      bool      // see Rule.Vague
	Most                       cost.Cost // by which it is ranked, and has to be worth a word, where that is not all that it costs
	last                       bool      // see Rule.Last
	hoists                     bool      // see Rule.Hoists
	OnHeap                     bool      // it is asked what is on the heap, and why
	Inside                     bool      // only values in the code of the finding are on the heap because of it, and not others on its lines
	within                     []extent  // which code that is
}

// Report reports that something at a node costs something.
func (p *Pass) Report(n ast.Node, c cost.Cost, f Finding) {
	if p.Rule.PerCall && (p.Once(n) != once.Often || pool.InNew(p.Func, n) != nil || pool.OnlyNew(p.Func)) {
		p.imports, p.Why = nil, missing.Reason{}
		return // it runs once, or as often as a pool is empty
	}
	if c[cost.Goroutines] < LeastStuck {
		c[cost.Goroutines] = 0 // they were at work there at that moment
	}
	at := p.File.Tok.Position(n.Pos())
	out := &report.Finding{
		Rule: p.Rule.Name, Title: f.Title, Claim: f.Claim, Advice: f.Advice, Risk: f.Risk, Safe: f.Safe, Fixes: f.Fixes,
		Where: spot(p.Func, at.Line, at.Column), Live: f.Live,
	}
	order.Stable(out.Fixes, func(a, b report.Fix) int { return a.Lines() - b.Lines() })
	if len(f.Fixes) == 0 { // a finding has a patch, or the reason why there is none
		out.Missing = missing.First(p.noFix(), p.Why, f.NoFix, p.Rule.NoFix.Of())
	}
	for _, a := range f.Also {
		if l := p.Line(a.Pos()); l != at.Line {
			out.Also = append(out.Also, spot(p.Func, l, p.File.Tok.Position(a.Pos()).Column))
		}
	}
	out.Savings = p.Costs.Savings(c)
	if p.doubt != "" {
		out.Claim += "; " + p.doubt
	}
	out.Evidence = p.evidence(c, f.Callee)
	out.Proof = proofOf(out)
	if f.OnHeap {
		out.Ask = append(out.Ask, hint.Ask("why-alloc", out.Where.String()).For("which values escape to the heap here, and why"))
	}
	foreign := p.Pkg.Module != nil && !p.Pkg.Module.Main // who is asked for advice can change little there
	if f.Inside {
		for _, n := range append([]ast.Node{n}, f.Also...) {
			f.within = append(f.within, extent{p.File.Tok.Position(n.Pos()), p.File.Tok.Position(n.End())})
		}
	}
	f.Vague, f.last, f.hoists = p.Rule.Vague || f.Vague || foreign, p.Rule.Last, p.Rule.Hoists && len(f.Fixes) > 0
	if f.Most != (cost.Cost{}) {
		c = f.Most
	}
	p.said.add(out, c, f)
	p.imports, p.Why = nil, missing.Reason{}
}

func spot(f *code.Func, line, column int) report.Spot {
	text := ""
	lines := strings.Split(string(f.File.Text), "\n")
	if line-1 < len(lines) {
		text = strings.TrimRight(lines[line-1], "\r")
	}
	return report.Spot{File: f.File.Name, Line: line, Column: column, Function: f.Name, Text: text}
}

// evidence returns questions that show what a finding claims, about what it costs most of first.
func (p *Pass) evidence(c cost.Cost, callee string) (out []report.Evidence) {
	shown := []cost.Metric{}
	for m := range cost.Metric(cost.NumMetrics) {
		if p.Costs.Part(&c, m) >= cost.LeastShown {
			shown = append(shown, m)
		}
	}
	slices.SortStableFunc(shown, func(a, b cost.Metric) int { return cmp.Compare(p.Costs.Part(&c, b), p.Costs.Part(&c, a)) })
	for i, m := range shown {
		if i == 2 {
			break
		}
		for _, in := range p.Costs.Inputs {
			if in.Column[m] < 0 {
				continue
			}
			name := cost.Metrics[m].Name
			if in.Spelled != "" {
				name = in.Profile.SampleTypes[in.Column[m]].Type
			}
			q := query.Query{View: "list", Arg: "^" + regexp.QuoteMeta(p.Name) + `([.[-]|$)`, Refs: []string{in.Ref}, Metric: name}
			out = append(out, report.Evidence{Says: cost.Metrics[m].Long + " of each line", Query: q})
			if callee != "" && i == 0 {
				q := query.Query{View: "peek", Arg: "^" + regexp.QuoteMeta(callee) + "$", Refs: []string{in.Ref}, Metric: name}
				out = append(out, report.Evidence{Says: "who calls " + callee + ", and what it calls", Query: q})
			}
			break
		}
	}
	return out
}

// proofOf says how a fix is to be proven.
func proofOf(f *report.Finding) hint.Text {
	const compiles = "the patched package compiles; "
	switch prove := hint.Ask("prove"); {
	case len(f.Fixes) == 0:
		return hint.Text{"none yet: there is no patch to try"}
	case f.Live:
		return hint.Text{compiles, prove, " says whether it does the same, and ", hint.Ask("compare").With("live", ""), " how much of the heap it has in use"}
	default:
		return hint.Text{compiles, prove.With("faster", ""), " says whether it does the same, and whether it is faster"}
	}
}
