package cli

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

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/load"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/loadview"
)

// compareLoadRuns compares two load runs that were recorded.
func compareLoadRuns(sys *System, out output, f *compareFlags, old, new string) error {
	var in []*recording.Recording
	for _, ref := range []string{new, old} {
		rec, _, err := openPart(sys, view.LoadRun, ref)
		var none *open.NoPartError
		if errors.As(err, &none) {
			return &hinted{fmt.Errorf("%s: %w", ref, loadview.ErrNoLoad), "hone compare takes two load runs, or one recording that it made itself"}
		}
		if err != nil {
			return err
		}
		defer rec.Close()
		if err := rec.Check(); err != nil {
			return err
		}
		in = append(in, rec)
	}
	return showCompare(sys, out, f, in...)
}

// Of a comparison under load.
const (
	loadBudget = 5 * time.Minute // in all, when nothing is said
	loadLeast  = 3               // pairs, however little time there is
	loadWithin = 0.05            // a change below this share counts as none, when nothing is said: runs of servers differ by that
	loadUnit   = "cpu-ns/op"     // that decides when to stop
)

// A loadSide is a version of a server.
type loadSide struct {
	duel.Side
	build    *capture.Build
	cpu      profile.Merger
	requests float64 // that were answered in the time of cpu
}

// A loading is a load for a server that is built: the words of hone load, and the arguments of the server.
type loading struct {
	words  string
	server []string
}

// duel runs both versions of a server under the load, in turns, until it is known whether requests cost more. However little time there is,
// there are so many pairs at least.
func (w *loading) duel(ctx context.Context, sys *System, opt *duel.Options, least int) (*recording.Duel, error) {
	if len(opt.Packages) != 1 || opt.Commands != nil || opt.Bench != "" || opt.Old.File != "" || opt.NewTests || opt.Layouts > 1 || opt.How != "" {
		return nil, usagef("for example: hone compare --load '127.0.0.1:{port}/' main..HEAD ./cmd/server -- -addr 127.0.0.1:{port}",
			"--load compares two versions of one package, and has no benchmarks, commands, layouts nor ways")
	}
	opt.Plan.Alpha, opt.Plan.Within = cmp.Or(opt.Plan.Alpha, stat.DefaultAlpha), cmp.Or(opt.Plan.Within, loadWithin)
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	d := &recording.Duel{
		Old: opt.Old.DuelSide, New: opt.New.DuelSide, Alpha: opt.Plan.Alpha, Within: opt.Plan.Within,
		BuiltOnce: opt.Old.BuiltAs(&opt.New), Notes: slices.Clone(opt.Notes),
	}
	b := recording.DuelBenchmark{Pkg: opt.Packages[0], Name: w.words, How: recording.Alternate, Unit: loadUnit}
	work, err := scratch.Dir("load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	sides := [2]*loadSide{{Side: opt.Old}, {Side: opt.New}}
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
		if len(b.Pairs) >= least && time.Since(began) > cmp.Or(opt.Budget, loadBudget) {
			b.Stop = "time"
			break
		}
		opt.Say(fmt.Sprintf("%s of servers under load", counted(len(b.Pairs), "pair")))
		var pair recording.DuelPair
		values := [2]*map[string]float64{&pair.Old, &pair.New}
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			if *values[i], err = w.once(ctx, sys, sides[i], work); err != nil {
				err = fmt.Errorf("%s: %w", sides[i].Name, err)
				break
			}
		}
		if err != nil {
			break
		}
		b.Pairs = append(b.Pairs, pair)
		if len(b.Pairs) >= want {
			_, want = opt.Plan.Judge(duel.Ratios(b.Pairs, loadUnit))
			b.Stop = "decided"
		}
	}
	b.Took = time.Since(began)
	d.Benchmarks = []recording.DuelBenchmark{b}
	if len(b.Pairs) > 0 && !opt.NoWhy {
		if why, whyErr := loadWhy(w.words, sides); whyErr == nil && why != nil {
			d.Why = append(d.Why, *why)
		}
	}
	return d, err
}

// plan returns what to send in a run, and the arguments of the server, with a free port in both.
func (w *loading) plan(sys *System) (*load.Plan, []string, error) {
	words, err := load.WithPort(slices.Concat(promptWords(w.words), w.server))
	if err != nil {
		return nil, nil, err
	}
	n := len(words) - len(w.server)
	cmd := &cobra.Command{}
	lf, ask := loadFlagsOf(cmd)
	if err := cmd.ParseFlags(words[:n]); err != nil {
		return nil, nil, usagef("", "--load: %w", err)
	}
	if lf.record != "" || lf.pprof != "" || lf.findMax || lf.ndjson || lf.hgrm != "" || lf.slo != "" {
		return nil, nil, usagef("", "--load says what is sent, and how: there is no --record, --pprof, --find-max, --slo, --hgrm nor --ndjson in it")
	}
	p, err := lf.plan(cmd, sys, ask, cmd.Flags().Args())
	if err != nil {
		return nil, nil, err
	}
	if lf.duration == 0 && lf.number == 0 && lf.stages == "" {
		p.Duration = 3 * time.Second
	}
	if !cmd.Flags().Changed("warmup") {
		p.Warmup = time.Second
	}
	return p, words[n:], nil
}

// record records a run of a server under the load, and what answered.
func (w *loading) record(ctx context.Context, sys *System, opt capture.Options) (*capture.Recorded, *report.Load, error) {
	p, args, err := w.plan(sys)
	if err != nil {
		return nil, nil, err
	}
	opt.Program.Args = args
	done, err := load.Record(ctx, opt, *p)
	if done == nil || err != nil {
		return nil, nil, loadFailed(ctx, sys, done, err)
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
	l := r.(*report.Load)
	switch {
	case l.Stopped == load.ServerEnded:
		return nil, nil, fmt.Errorf("the server ended during the run with exit code %d", done.Code)
	case l.Answered == 0:
		return nil, nil, cmp.Or(noAnswer(recording.LoadRun.In(rec)), errors.New("no request was answered in the time that counts: let each run take longer, with -t in the words of --load"))
	case l.Good < l.Answered:
		return nil, nil, fmt.Errorf("%d of %d answers were not what was expected: --expect says what is", l.Answered-l.Good, l.Answered)
	}
	return done, l, nil
}

// once runs a version under the load, and returns what was measured.
func (w *loading) once(ctx context.Context, sys *System, s *loadSide, work string) (map[string]float64, error) {
	file := filepath.Join(work, "run.hone")
	defer os.RemoveAll(file)
	opt := capture.Options{Out: file, Dir: s.Dir, Hone: version(), KeepSecrets: true, Build: s.build}
	if len(s.Env) > 0 {
		opt.Program.Env = append(os.Environ(), s.Env...)
	}
	done, l, err := w.record(ctx, sys, opt)
	if err != nil {
		return nil, err
	}
	if l.Server == nil || l.Server.CPU == nil {
		return nil, errors.New("there is no CPU profile of the time that counts: let each run take longer, with -t in the words of --load")
	}
	rec, err := recording.Open(done.File)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	picked, _, err := rec.Pick(recording.CPU, l.Server.CPU.From, l.Server.CPU.To)
	if err == nil {
		err = s.cpu.Add(picked.Profile)
	}
	s.requests += l.Server.CPU.Requests
	return loadview.LoadMeasures(l), err
}

// loadWhy puts the CPU profiles of all runs of both sides together, so that both are of as many requests.
func loadWhy(name string, sides [2]*loadSide) (*recording.DuelWhy, error) {
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
