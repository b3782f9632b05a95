package duel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/recording"
)

// A found benchmark is one that a program has.
type found struct {
	name string
	err  error // it fails
}

// list adds the benchmarks of two programs, and says which only one of them has.
func (d *duel) list(ctx context.Context, pkg string, old, new []*program) error {
	var names [2][]found
	for i, progs := range [][]*program{old, new} {
		d.say("listing the benchmarks of %s, %s", pkg, []string{d.opt.Old.Name, d.opt.New.Name}[i])
		var err error
		if names[i], err = d.find(ctx, progs[0], d.opt.Bench); err != nil {
			return fmt.Errorf("%s: %w", []string{d.opt.Old.Name, d.opt.New.Name}[i], err)
		}
	}
	at := func(list []found, name string) *found {
		if i := slices.IndexFunc(list, func(f found) bool { return f.name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	if d.opt.Skip != nil {
		for i := range names {
			names[i] = slices.DeleteFunc(names[i], func(f found) bool { return d.opt.Skip(f.name) })
		}
	}
	for _, f := range names[0] {
		r := &row{old: old, new: new, bench: Exactly("Benchmark" + f.name)}
		r.Pkg, r.Name = pkg, f.name
		other := at(names[1], f.name)
		switch {
		case f.err != nil:
			r.fail(oldSide, f.err)
		case other == nil && d.skips(ctx, new[0], r.bench):
			r.fail(newSide, errSkipped)
		case other == nil:
			r.Only = "old"
		case other.err != nil:
			r.fail(newSide, other.err)
		}
		d.rows = append(d.rows, r)
	}
	for _, f := range names[1] {
		if at(names[0], f.name) == nil {
			r := &row{}
			r.Pkg, r.Name, r.Only = pkg, f.name, "new"
			if f.err == nil && d.skips(ctx, old[0], Exactly("Benchmark"+f.name)) {
				r.fail(oldSide, errSkipped)
				r.Only = ""
			}
			if f.err != nil {
				r.fail(newSide, f.err)
				r.Only = ""
			}
			d.rows = append(d.rows, r)
		}
	}
	return nil
}

// skips reports whether a benchmark says that it is not to run.
func (d *duel) skips(ctx context.Context, p *program, bench string) bool {
	results, err := d.do(ctx, run{prog: p, bench: bench, time: "1x", alone: true, cpu: d.courts[0], args: []string{"-test.v"}})
	return err == nil && skipped().MatchString(results[0].stdout)
}

var skipped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*--- SKIP: Benchmark`) })

var failed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^--- FAIL: Benchmark(\S+)`) })

// find runs each benchmark that matches once, which is how Go lists those within others.
func (d *duel) find(ctx context.Context, p *program, pattern string) ([]found, error) {
	all, err := d.once(ctx, p, pattern)
	if err == nil || ctx.Err() != nil {
		return all, err
	}
	// One of them took all others down. Try them one by one.
	cmd := exec.CommandContext(ctx, p.file, "-test.list=^Benchmark")
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	var stderr capped
	stderr.limit = maxOutput
	cmd.Stderr = &stderr
	out, listErr := cmd.Output()
	if exit := (*exec.ExitError)(nil); listErr != nil && !errors.As(listErr, &exit) {
		return nil, err // it does not even start
	}
	if listErr != nil {
		return nil, fmt.Errorf("listing the benchmarks: %w", bench.WhyFailed(listErr, out, stderr.text.Bytes()))
	}
	first, rest, nested := strings.Cut(pattern, "/")
	rx, err := regexp.Compile(first)
	if err != nil {
		return nil, err
	}
	all = nil
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "Benchmark") || !rx.MatchString(name) {
			continue
		}
		one := Exactly(name)
		if nested {
			one += "/" + rest
		}
		found1, err := d.once(ctx, p, one)
		if err != nil {
			found1 = append(found1, found{strings.TrimPrefix(name, "Benchmark"), err})
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, found1...)
	}
	return all, nil
}

// once runs what matches once. An error is that the program came to no good end.
func (d *duel) once(ctx context.Context, p *program, pattern string) ([]found, error) {
	results, err := d.do(ctx, run{prog: p, bench: pattern, time: "1x", alone: true, cpu: d.courts[0]})
	if err != nil {
		return nil, err
	}
	res := &results[0]
	var out []found
	for i := range res.lines {
		out = append(out, found{name: res.lines[i].Name})
	}
	if res.failed == nil {
		return out, nil
	}
	some := failed().FindAllStringSubmatch(res.stdout, -1)
	if len(some) == 0 || strings.Contains(res.stdout+res.stderr, "\ngoroutine ") {
		return out, res.failed
	}
	for _, m := range some {
		why := res.failed
		if _, text, ok := strings.Cut(res.stdout, m[0]+"\n"); ok {
			text, _, _ = strings.Cut(text, "\n--- ")
			if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
				why = errors.New(line)
			}
		}
		out = append(out, found{m[1], why})
	}
	return out, nil
}

// calibrate finds out how to run a benchmark, and how often in a run. Both sides run it equally often.
func (d *duel) calibrate(ctx context.Context, r *row, cpu int) error {
	r.How, r.Unit = d.opt.How, cpuUnit
	const try, tries, mostIdle = "20ms", 3, 0.5
	const knownIdle, knownBusy = 0.25, 0.05 // when the runtime says it
	var cost [2]float64                     // of one iteration, in nanoseconds of CPU time
	var wall [2]float64
	waits, parallel := false, d.opt.Old.sets("GOMAXPROCS") || d.opt.New.sets("GOMAXPROCS")
	goal, turns := chunk, mostTurns
	for i, progs := range [][]*program{r.old, r.new} {
		p := progs[0]
		side := []string{"old", "new"}[i]
		if !p.turns {
			turns = 0
		}
		if !p.clocked {
			goal = chunkApart
			starts := make([]float64, 3)
			for k := range starts {
				results, err := d.do(ctx, run{prog: p, bench: r.bench, time: "1x", alone: true, cpu: cpu})
				if err != nil {
					return err
				}
				starts[k] = float64(results[0].cpu)
			}
			r.start[i] = time.Duration(slices.Min(starts))
		}
		for range tries {
			results, err := d.do(ctx, run{prog: p, bench: r.bench, time: try, alone: true, cpu: cpu})
			if err != nil {
				return err
			}
			values, err := r.values(&results[0], r.start[i])
			if err != nil {
				r.fail(side, err)
				return nil
			}
			cost[i], wall[i] = values[cpuUnit], values["ns/op"]
			_, loops := results[0].lines[0].Value(loopUnit)
			setup, _ := results[0].lines[0].Value(setupUnit)
			turns = min(turns, turnsOf(loops, setup))
			_, several := results[0].lines[0].Value(parallelUnit)
			parallel = parallel || several
			idle, known := results[0].lines[0].Value(idleUnit)
			if !known {
				// A busy machine makes all programs look idle, so the best try counts.
				idle = 1 - cost[i]/wall[i]
			}
			if known {
				// On a busy machine what waits looks less idle, since it waits for the core, too.
				if waits = waits || idle > knownIdle; waits || idle < knownBusy {
					break
				}
				continue
			}
			if waits = idle > mostIdle; !waits {
				break
			}
		}
	}
	one, most := math.Sqrt(cost[0]*cost[1]), max(cost[0], cost[1])
	if (parallel || waits) && d.opt.How != recording.Duet { // whoever asks for duets knows better
		r.Unit = "ns/op"
		r.How = recording.Alternate
		one, most = math.Sqrt(wall[0]*wall[1]), max(wall[0], wall[1])
	}
	if r.How == "" {
		r.How = recording.Duet
		if !canShare {
			r.How = recording.Alternate
		}
	}
	n := float64(goal) / max(one, 0.01)
	// The slower side shall not take much longer than it has to, however fast the other one is.
	n = min(n, 10*float64(goal)/max(most, 0.01))
	r.Iters = int(min(1e9, max(1, n)))
	if r.Unit == cpuUnit {
		if err := d.lengthen(ctx, r, goal, cpu); err != nil || r.Error != "" {
			return err
		}
	}
	if r.How == recording.Duet && d.opt.How == "" && apart(cost) {
		if err := d.apart(ctx, r, cpu); err != nil || r.Error != "" {
			return err
		}
	}
	if r.turns = min(turns, r.Iters); r.turns < fewestTurns {
		r.turns = 0
	}
	return nil
}

// apart reports whether what two versions take is so far apart that they take turns. What is alike on both sides of a duet, caches that
// they share and what the first operation of a process does, makes a large factor look smaller: see docs/decisions/0010. What a
// duet is good for is to tell small differences from noise, and this is none.
func apart(cost [2]float64) bool {
	const far = 3
	return slices.Max(cost[:]) > far*slices.Min(cost[:])
}

// apart has versions that look far apart take turns if that is so in runs of the length that counts, too. In short ones a
// collection of garbage makes as much of a difference.
func (d *duel) apart(ctx context.Context, r *row, cpu int) error {
	var cost [2]float64
	for i, progs := range [][]*program{r.old, r.new} {
		results, err := d.do(ctx, run{prog: progs[0], bench: r.bench, time: fmt.Sprintf("%dx", r.Iters), alone: true, cpu: cpu})
		if err != nil {
			return err
		}
		values, err := r.values(&results[0], r.start[i])
		if err != nil {
			r.fail(sideNames[i], err)
			return nil
		}
		cost[i] = values[r.Unit]
	}
	if !apart(cost) {
		return nil
	}
	// Each runs for as long as the other, as package testing has it: the first operation of a process has to get memory, which is
	// little of what the slow version takes and as much as all else that the fast one does.
	r.How = recording.Alternate
	r.Iters = max(r.Iters, 2)
	for i := range cost {
		r.Apart[i] = int(min(1e9, float64(r.Iters)*slices.Max(cost[:])/max(cost[i], 0.01)))
	}
	return nil
}

// lengthen makes runs as long as they should be. On a busy machine a benchmark that runs for some time by the clock does not
// come far, and the few operations that it does take longer than many do.
func (d *duel) lengthen(ctx context.Context, r *row, goal time.Duration, cpu int) error {
	for range 3 {
		results, err := d.do(ctx, run{prog: r.old[0], bench: r.bench, time: fmt.Sprintf("%dx", r.Iters), alone: true, cpu: cpu})
		if err != nil {
			return err
		}
		values, err := r.values(&results[0], r.start[0])
		if err != nil {
			r.fail(oldSide, err)
			return nil
		}
		took := values[cpuUnit] * float64(r.Iters)
		if took > float64(goal)/2 || r.Iters >= 1e9 {
			return nil
		}
		r.Iters = int(min(1e9, float64(r.Iters)*min(10, float64(goal)/max(took, 1))) + 1)
	}
	return nil
}
