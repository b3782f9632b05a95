// Package server runs two versions of a server against each other under load.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/view/loadview"
)

const (
	Least = 3 // pairs, however little time there is

	usualBudget = 5 * time.Minute // in all, when nothing is said
	usualWithin = 0.05            // a change below this share counts as none, when nothing is said: runs of servers differ by that
	decisive    = "cpu-ns/op"     // the unit that decides when to stop
)

// A side is a version of a server.
type side struct {
	duel.Side
	build    *capture.Build
	cpu      profile.Merger
	requests float64 // that were answered in the time of cpu
}

// A Load is what a server is put under.
type Load struct {
	Name    string                               // in answers
	Plan    func() (*load.Plan, []string, error) // what to send in a run, and the arguments of the server
	Explain func(context.Context, error) error   // words an error as whoever asked for the load knows it
	Hone    string                               // the version that records
}

// ErrComparable says that a comparison asks for what servers under load do not have.
var ErrComparable = errors.New("two versions of one package can be compared under load, without benchmarks, commands, layouts and ways")

// ErrNoCPU says that a run was too short for a CPU profile of the time that counts.
var ErrNoCPU = errors.New("no CPU profile after the warm-up")

// A StartError says that there was nothing to put under load.
type StartError struct {
	Done *capture.Recorded // nil where nothing was recorded
	Err  error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// A SilentError says that no request was answered in the time that counts.
type SilentError struct{ Log *latency.Log }

func (e *SilentError) Error() string { return "no request was answered after the warm-up" }

// A WrongError says that answers were not what was expected.
type WrongError struct{ Wrong, Of int64 }

func (e *WrongError) Error() string {
	return fmt.Sprintf("%d of %d answers were not as expected", e.Wrong, e.Of)
}

// Duel runs both versions of a server under the load, in turns, until it is known whether requests cost more. However little time there is,
// there are so many pairs at least.
func (l *Load) Duel(ctx context.Context, opt *duel.Options, least int) (*recording.Duel, error) {
	if len(opt.Packages) != 1 || opt.Commands != nil || opt.Bench != "" || opt.Old.File != "" || opt.NewTests || opt.Layouts > 1 || opt.How != "" {
		return nil, l.Explain(ctx, ErrComparable)
	}
	opt.Plan.Alpha, opt.Plan.Within = cmp.Or(opt.Plan.Alpha, stat.DefaultAlpha), cmp.Or(opt.Plan.Within, usualWithin)
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	d := &recording.Duel{
		Old: opt.Old.DuelSide, New: opt.New.DuelSide, Alpha: opt.Plan.Alpha, Within: opt.Plan.Within, Surely: opt.Plan.Surely,
		BuiltOnce: opt.Old.BuiltAs(&opt.New), Notes: slices.Clone(opt.Notes),
	}
	b := recording.DuelBenchmark{Pkg: opt.Packages[0], Name: l.Name, How: recording.Alternate, Unit: decisive}
	work, err := scratch.Dir("load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	sides := [2]*side{{Side: opt.Old}, {Side: opt.New}}
	for i, s := range sides {
		if i == 1 && d.BuiltOnce {
			s.build = sides[0].build
			break
		}
		opt.Say(fmt.Sprintf("building %s, %s", opt.Packages[0], s.Name))
		s.build = &capture.Build{Targets: opt.Packages, Flags: slices.Concat(opt.Flags, s.Flags), Dir: s.Dir, Env: s.BuildEnv, Tool: s.Tool}
		dir := filepath.Join(work, []string{"old", "new"}[i])
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := s.build.Once(ctx, dir); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	began := time.Now()
	_, want := opt.Plan.Judge(nil)
	for want > 0 {
		if len(b.Pairs) >= least && time.Since(began) > cmp.Or(opt.Budget, usualBudget) {
			b.Stop = "time"
			break
		}
		opt.Say(fmt.Sprintf("pairs of servers under load: %d", len(b.Pairs)))
		var pair recording.DuelPair
		values := [2]*map[string]float64{&pair.Old, &pair.New}
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			if *values[i], err = l.once(ctx, sides[i], work); err != nil {
				err = fmt.Errorf("%s: %w", sides[i].Name, err)
				break
			}
		}
		if err != nil {
			break
		}
		b.Pairs = append(b.Pairs, pair)
		if opt.Clear != nil && opt.Clear(&b) {
			b.Stop = "clear"
			break
		}
		if len(b.Pairs) >= want {
			_, want = opt.Plan.Judge(recording.Ratios(b.Pairs, decisive))
			b.Stop = "decided"
		}
	}
	b.Took = time.Since(began)
	d.Benchmarks = []recording.DuelBenchmark{b}
	if len(b.Pairs) > 0 && !opt.NoWhy {
		if why, whyErr := whyOf(l.Name, sides); whyErr == nil && why != nil {
			d.Why = append(d.Why, *why)
		}
	}
	return d, err
}

// Record records a run of a server under the load, and what answered.
func (l *Load) Record(ctx context.Context, opt capture.Options) (*capture.Recorded, *report.Load, error) {
	p, args, err := l.Plan()
	if err != nil {
		return nil, nil, err
	}
	opt.Program.Args = args
	done, err := load.Record(ctx, opt, *p)
	if done == nil || err != nil {
		return nil, nil, l.Explain(ctx, &StartError{done, err})
	}
	rec, err := recording.Open(done.File)
	if err != nil {
		return nil, nil, err
	}
	defer rec.Close()
	if err := rec.Check(); err != nil {
		return nil, nil, err
	}
	r, err := loadview.Load([]*recording.Recording{rec}, query.Query{View: "load"})
	if err != nil {
		return nil, nil, err
	}
	out := r.(*report.Load)
	switch {
	case out.Stopped == load.ServerEnded:
		return nil, nil, fmt.Errorf("the server ended during the run with exit code %d", done.Code)
	case out.Answered == 0:
		return nil, nil, l.Explain(ctx, &SilentError{recording.LoadRun.In(rec)})
	case out.Good < out.Answered:
		return nil, nil, l.Explain(ctx, &WrongError{out.Answered - out.Good, out.Answered})
	}
	return done, out, nil
}

// once runs a version under the load, and returns what was measured.
func (l *Load) once(ctx context.Context, s *side, work string) (map[string]float64, error) {
	file := filepath.Join(work, "run.hone")
	defer os.RemoveAll(file)
	opt := capture.Options{Out: file, Dir: s.Dir, Hone: l.Hone, KeepSecrets: true, Build: s.build}
	if len(s.Env) > 0 {
		opt.Program.Env = append(os.Environ(), s.Env...)
	}
	done, r, err := l.Record(ctx, opt)
	if err != nil {
		return nil, err
	}
	if r.Server == nil || r.Server.CPU == nil {
		return nil, l.Explain(ctx, ErrNoCPU)
	}
	rec, err := recording.Open(done.File)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	picked, _, err := rec.Pick(recording.CPU, r.Server.CPU.From, r.Server.CPU.To)
	if err == nil {
		err = s.cpu.Add(picked.Profile)
	}
	s.requests += r.Server.CPU.Requests
	return loadview.LoadMeasures(r), err
}

// whyOf puts the CPU profiles of all runs of both sides together, so that both are of as many requests.
func whyOf(name string, sides [2]*side) (*recording.DuelWhy, error) {
	old, err := sides[0].cpu.Profile()
	if err != nil {
		return nil, err
	}
	new, err := sides[1].cpu.Profile()
	if err != nil || sides[0].requests < 1 || sides[1].requests < 1 {
		return nil, err
	}
	ratios := make([]float64, len(new.SampleTypes))
	for i := range ratios {
		ratios[i] = sides[0].requests / sides[1].requests
	}
	return &recording.DuelWhy{Name: name, Kind: recording.CPU, Iters: int(sides[0].requests), Old: old, New: new.Scale(ratios)}, nil
}
