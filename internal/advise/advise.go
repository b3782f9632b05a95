// Package advise finds what a program does without need, where that costs something.
//
// It begins with profiles, not with code: Run looks up the lines that cost at least Options.Least of anything, loads the
// packages that own them, and shows each function with such lines to the rules. A Rule knows one way in which programs do
// too much, and how a profile shows it: what lies between the line and the leaf of the stack is the best sign of a cause. A
// finding says what mending it could save at most, and has a patch where types, or who owns a value, show that the program
// then does the same. Every patch is compiled before it is offered.
//
// This package is the framework: it loads, runs rules, ranks what they find, and makes patches. What rules know of code and of
// profiles is in packages below facts, one for each subject: functions that take a function of the program and say something
// about it. The rules are in package rules, one in each file. Rules import the framework and facts, the framework imports some
// facts, and facts import neither: the framework is given the list of rules by whoever calls Run, so that it needs to know none of
// them, and tests can run one alone. CONTRIBUTING.md says how to add a rule.
package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Options tune Run. The zero Options look at the module of the current folder.
type Options struct {
	Dir   string   // in the module that the profiles are of
	Flags []string // for the go command, behind those in GOFLAGS
	Least float64  // share below which nothing is said; 0 is a hundredth

	CoreHour report.Price // of profiles out of a store; zero is not known

	Progress func(Progress)                   // is told how far it is; may be nil
	Debug    func(format string, args ...any) // is told why patches were given up; may be nil
}

// A Progress is how far Run is.
type Progress struct {
	Done int `json:"done"` // functions
	Of   int `json:"of"`   // 0 while packages are being loaded
}

// ErrNothing says that profiles hold nothing that findings could be about.
var ErrNothing = errors.New("it shows no cost in CPU, memory or waiting")

// ErrForeign says that profiles have no metric that findings are about.
var ErrForeign = errors.New("it has none of the metrics that findings are about: CPU time, allocations, waiting and goroutines of Go programs")

// Run has rules look for what the program of some recordings does without need, in their order.
func Run(ctx context.Context, rules []*Rule, in []*recording.Recording, opt Options) (*report.Advice, error) {
	opt.Least = cmp.Or(opt.Least, 0.01)
	inputs, damaged := cost.InputsOf(in)
	profiled := len(inputs) > 0 || slices.ContainsFunc(in, func(r *recording.Recording) bool { return len(r.Profiled()) > 0 })
	if profiled && len(damaged) == 0 && !slices.ContainsFunc(inputs, cost.Input.Counts) {
		return nil, ErrForeign
	}
	t, err := openTree(ctx, cmp.Or(opt.Dir, "."), opt.Flags, in)
	if err != nil {
		return nil, err
	}
	c := cost.Collect(ctx, inputs, cost.Whose{Class: t.class, Untimed: t.untimed}, opt.Least, func(l *cost.Line) bool { return t.place(l.Func, l.Key.File, l.Key.Line) != "" })
	t.sayMissing()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Total == (cost.Cost{}) {
		return nil, errors.Join(append([]error{ErrNothing}, asErrors(damaged)...)...)
	}
	t.notes.Texts = append(t.notes.Texts, hint.Said(damaged...)...)
	fns, err := t.functions(c)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err // interrupted, the packages seem not to build, and nothing seems to be found
	}
	a := &adviser{costs: c, least: opt.Least, fleet: fleetOf(in, opt.CoreHour)}
	if a.fleet != nil {
		a.loads = in[0].Manifest.Fleet
		a.fleet.Cores = a.loads[recording.CPU].PerSecond(c.Total[cost.CPU]) / 1e9
	} else if opt.CoreHour.Value > 0 {
		t.notes.add("the price of cores is of no use here: that takes one selection of a store, such as store:api@-1d")
	}
	type turn struct {
		r *Rule
		f *Function
	}
	var turns, last []turn
	for _, f := range fns {
		for _, r := range rules {
			if r.Last {
				last = append(last, turn{r, f})
			} else {
				turns = append(turns, turn{r, f})
			}
		}
	}
	turns = append(turns, last...)
	for i, now := range turns {
		if opt.Progress != nil {
			opt.Progress(Progress{Done: i * len(fns) / len(turns), Of: len(fns)})
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, f := now.r, now.f
		if err := look(r, &Pass{
			Function: f, Rule: r, Costs: c, All: fns, Least: opt.Least, tree: t, said: a, debug: opt.Debug,
		}); err != nil {
			t.notes.add("%v", err)
		}
	}
	out, within := a.ranked()
	t.explain(out, within, rules)
	if err := ctx.Err(); err != nil {
		return nil, err // patches that could not be compiled any more are missing
	}
	out.Functions, out.Least, out.Root, out.Fleet = len(fns), opt.Least, t.dir, a.fleet
	if most := c.Most; most != nil && c.Share(&most.Cum) < opt.Least {
		out.Most = &report.Hottest{Function: most.Func, Line: most.Key.Line, Share: c.Share(&most.Cum)}
	}
	for _, r := range in {
		out.Refs = append(out.Refs, r.Ref)
	}
	for _, m := range []cost.Metric{cost.CPU, cost.BytesMade} {
		if share := c.Part(&c.Tests, m); share > 0.5 && (m == cost.CPU || c.Total[cost.CPU] == 0) {
			t.notes.add("%s of %s is in test and benchmark code, which hone does not examine", unit.Share(share), cost.Metrics[m].Short)
		}
		if all := c.Total[m] + c.Untimed[m]; all > 0 && float64(c.Untimed[m]) > 0.1*float64(all) && (m == cost.CPU || c.Total[cost.CPU] == 0) {
			t.notes.add("%s of %s is what benchmarks do while their timer does not run; it is left out", unit.Share(float64(c.Untimed[m])/float64(all)), cost.Metrics[m].Short)
		}
	}
	out.Notes = append(append(out.Notes, hint.Said(c.Notes...)...), t.notes.Texts...)
	return out, nil
}

// look lets a rule look at a function. One that fails on code that nobody thought of is no reason to keep what others find.
func look(r *Rule, p *Pass) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("rule %s failed on %s, which is a bug in hone: %v", r.Name, p.Name, x)
		}
	}()
	r.Find(p)
	return nil
}

func asErrors(texts []string) (out []error) {
	for _, s := range texts {
		out = append(out, errors.New(s))
	}
	return out
}
