package tour

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/fix"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/race"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/benchview"
	"github.com/hone-perf/hone/internal/view/loadview"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// loadCommand is how a user does what underLoad does.
func loadCommand(file string) string {
	return fmt.Sprintf("hone load --record . -o %s -t %v -c %d --warmup %v '%s' -- -addr '%s'", file, loadTime, conns, warmup, ask, listen)
}

const (
	conns  = 4
	warmup = time.Second / 2
)

// record records the program under load.
func (g *guide) record(ctx context.Context) error {
	done := g.begin("record a server under load", loadCommand("hi.hone"),
		"A page that welcomes its visitors and counts them, in its first version. It is built with the recorder, and gets requests as fast as it answers.")
	limited, cancel := g.within(ctx, 0)
	defer cancel()
	rec, cost, err := g.underLoad(limited, "hi.hone")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limited.Err() != nil {
		return fmt.Errorf("recording the practice program under load: %w", context.Cause(limited))
	}
	if err != nil {
		return fmt.Errorf("recording the practice program under load: %w", err)
	}
	g.first = rec
	if g.out.Before, err = picture(rec, cost); err != nil {
		return err
	}
	done(cost, costOf(cost))
	return nil
}

// underLoad records what is in the package now, and says what a request costs.
func (g *guide) underLoad(ctx context.Context, name string) (*recording.Recording, *report.Load, error) {
	words, err := load.WithPort([]string{ask, listen})
	if err != nil {
		return nil, nil, err
	}
	target, err := url.Parse(words[0])
	if err != nil {
		return nil, nil, err
	}
	say := func(doing string) {
		if doing == "recording" {
			doing = fmt.Sprintf("sending requests for %v", g.opt.load)
		}
		g.opt.Say(doing)
	}
	done, err := load.Record(ctx, capture.Options{
		Out: filepath.Join(g.dir, name), Dir: g.pkg, Hone: g.opt.Hone, Say: say,
		Build: &capture.Build{Targets: []string{"."}, Dir: g.pkg}, Program: capture.Program{Args: []string{"-addr", words[1]}},
	}, load.Plan{Targets: []load.Target{{URL: target}}, Conns: conns, Duration: g.opt.load, Warmup: warmup})
	if err != nil {
		return nil, nil, err
	}
	rec, err := recording.Open(done.File)
	if err != nil {
		return nil, nil, err
	}
	rec = rec.Named(name)
	err = rec.Check()
	if err == nil {
		var cost report.Report
		if cost, err = loadview.Load([]*recording.Recording{rec}, query.Query{}); err == nil {
			return rec, cost.(*report.Load), nil
		}
	}
	rec.Close()
	return nil, nil, err
}

// look shows what costs most, from the handler down.
func (g *guide) look(ctx context.Context) error {
	done := g.begin("look where the time goes", fmt.Sprintf("hone top --cum -n 8 --show-from '%s' hi.hone; hone flame --show-from '%[1]s' hi.hone", handler),
		"The handler, and what it calls:")
	top, err := asked(g.first, profileview.Top, "top sort=cum limit=8 show-from="+handler)
	if err != nil {
		return err
	}
	flame, err := asked(g.first, profileview.Flame, "flame show-from="+handler)
	if err != nil {
		return err
	}
	done(nil, few(top, isTable), flame)
	return nil
}

// asked asks a recording about its CPU time.
func asked(rec *recording.Recording, ask func([]*recording.Recording, query.Query) (report.Report, error), text string) (report.Report, error) {
	picked, metric, err := rec.Pick("cpu", 0, 0)
	if err != nil {
		return nil, err
	}
	q, err := query.Parse(text)
	if err != nil {
		return nil, err
	}
	q.Metric = metric
	return ask([]*recording.Recording{picked}, q)
}

// picture draws all that the server did.
func picture(rec *recording.Recording, cost *report.Load) (*Picture, error) {
	flame, err := asked(rec, profileview.Flame, "flame")
	if err != nil {
		return nil, err
	}
	p := &Picture{Flame: flame.(*report.Flame)}
	if s := cost.Server; s != nil && s.CPU != nil {
		p.Request = s.CPU.All
	}
	return p, nil
}

// findRaces looks for what no profile shows.
func (g *guide) findRaces(ctx context.Context) error {
	const what = "looking for races"
	limited, cancel := g.within(ctx, againTime)
	defer cancel()
	if limited.Err() != nil {
		return g.failed(ctx, limited, what, nil)
	}
	done := g.begin("find what no profile shows: races", "hone race --for "+raceTime.String(),
		"Tests run with the race detector in many orders, and the handler gets many concurrent requests.")
	s, err := race.Find(limited, race.Options{Dir: g.pkg, Time: raceTime, Say: g.opt.Say})
	if errors.Is(err, race.ErrNoRace) {
		err = fmt.Errorf("%w; it takes a C compiler such as gcc, and CGO_ENABLED left alone or 1", err)
	}
	if err != nil {
		if s != nil { // what was found until then is not all
			s.Close()
		}
		return g.failed(ctx, limited, what, err)
	}
	g.races = s
	r := s.Report(limited)
	if limited.Err() != nil {
		return g.failed(ctx, limited, what, nil)
	}
	done(r, racesOf(r))
	return nil
}

// advise says what could be better.
func (g *guide) advise(ctx context.Context) error {
	const what = "advice"
	limited, cancel := g.within(ctx, againTime)
	defer cancel()
	if limited.Err() != nil {
		return g.failed(ctx, limited, what, nil)
	}
	done := g.begin("be advised", "hone advise hi.hone", "The lines that cost something needlessly, and the most that fixing each could save:")
	g.opt.Say("looking for needless cost")
	a, err := advise.Run(limited, rules.All, []*recording.Recording{g.first}, advise.Options{Dir: g.pkg})
	if err != nil {
		return g.failed(ctx, limited, what, err)
	}
	done(a, few(a, isTable))
	return nil
}

// fixRaces proves the patches of races, and keeps those that are proven.
func (g *guide) fixRaces(ctx context.Context) error {
	const what = "fixing the race"
	if g.races == nil {
		return nil // it is said why
	}
	limited, cancel := g.within(ctx, againTime)
	defer cancel()
	if limited.Err() != nil {
		return g.failed(ctx, limited, what, nil)
	}
	done := g.begin("fix the race, and prove it", "hone race --fix",
		"On a copy with the patch, everything that showed the race runs again, twice as much. Proven patches are written.")
	fixed, err := g.races.Fix(limited)
	for i := range fixed {
		g.kept = g.kept || len(fixed[i].Written) > 0 // also when there was no time for the next
	}
	if err != nil {
		return g.failed(ctx, limited, what, err)
	}
	done(nil, racesFixed(fixed))
	return nil
}

// fix tries patches, and keeps those that are proven.
func (g *guide) fix(ctx context.Context) error {
	const what = "fixing expensive code"
	if g.left(fixedTime) < leastFix {
		g.leaveOut(what, errBudget)
		return nil
	}
	budget := max(time.Until(g.soft)-fixedTime, time.Second)
	limited, cancel := g.within(ctx, againTime)
	defer cancel()
	done := g.begin("fix expensive code step by step, and prove each step", fmt.Sprintf("hone fix --each %v . -bench '%s'", eachTime, bench),
		"A patch has to build, to pass vet and the tests, to do the same as before in made-up calls, and to be faster or allocate less.")
	f, err := fix.Run(limited, fix.Options{
		Dir: g.pkg, Benchmarks: &capture.Benchmarks{Bench: bench, Args: []string{"-test.benchtime=300ms"}, Count: 1}, Refs: []string{"."},
		Budget: budget, Extra: g.left(fixedTime) - budget, Each: eachTime, Hone: g.opt.Hone, Say: g.opt.Say, Done: g.opt.Tried,
	})
	if f == nil || ctx.Err() != nil {
		return g.failed(ctx, limited, what, err)
	}
	if limited.Err() != nil {
		f.Ended = hint.Text{errBudget.Error()}
	}
	for i := range f.Left {
		if x := &f.Left[i]; x.Patch != "" {
			g.leaveOut(fmt.Sprintf("the patch of %s, %s", x.Where, x.Title), errors.New(x.Reason))
		}
	}
	g.kept = g.kept || len(f.Kept) > 0
	done(f, fixesOf(f)...)
	return nil
}

// again records what became of it, and compares.
func (g *guide) again(ctx context.Context) error {
	const what = "recording it again"
	if !g.kept {
		return nil
	}
	limited, cancel := g.within(ctx, 0)
	defer cancel()
	if g.left(0) < loadTime {
		g.leaveOut(what, errBudget)
		return nil
	}
	done := g.begin("record it again", loadCommand("fixed.hone")+"; hone compare hi.hone fixed.hone", "The same load on what is left of it:")
	rec, cost, err := g.underLoad(limited, "fixed.hone")
	if err != nil {
		return g.failed(ctx, limited, what, err)
	}
	defer rec.Close()
	r, err := benchview.Compare([]*recording.Recording{rec, g.first}, query.Query{View: "compare"})
	if err != nil {
		return g.failed(ctx, limited, what, err)
	}
	change := r.(*report.Compare)
	if g.out.After, err = picture(rec, cost); err != nil {
		return g.failed(ctx, limited, what, err)
	}
	g.out.After.Changed = slices.ContainsFunc(change.Rows, func(r report.CompareRow) bool {
		return r.What == report.CPUTime && (r.Verdict == report.Better || r.Verdict == report.Worse)
	})
	done(change, changeOf(change))
	return nil
}
