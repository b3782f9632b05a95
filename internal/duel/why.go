package duel

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/stat"
)

const (
	whyRows    = 3                       // changed benchmarks that are profiled, at most
	whyTime    = 1500 * time.Millisecond // of CPU time under the profiler, for each side
	sameTime   = 300 * time.Millisecond  // where it only has to show which functions run
	whyMemory  = 100 * time.Millisecond  // when allocations are noted, which makes it slow
	whySamples = 50_000                  // of them are noted
)

// explain profiles the benchmarks that changed most, both sides equally often, in runs that are not timed.
func (d *duel) explain(ctx context.Context) error {
	work, err := scratch.Dir("work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, kind := range []string{recording.CPU, recording.Heap} {
		for _, r := range d.mostChanged(kind) {
			d.say("%s: why it changed, by %s", r.Name, kind)
			why, err := d.profile(ctx, r, kind, work, whyTime)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				d.out.Notes = append(d.out.Notes, fmt.Sprintf("%s: no profile explains the change: %v", r.Name, err))
				continue
			}
			if kind == recording.CPU {
				why.Code = d.code(ctx, r, &why)
			}
			d.out.Why = append(d.out.Why, why)
		}
	}
	return nil
}

// mostChanged returns the few benchmarks whose time or memory changed most.
func (d *duel) mostChanged(kind string) []*row {
	size := make(map[*row]float64)
	var rows []*row
	for _, r := range d.rows {
		unit := r.Unit
		if kind == recording.Heap {
			unit = "B/op"
		}
		ds := recording.Ratios(r.Pairs, unit)
		if r.Error != "" || len(ds) == 0 || r.commands != nil || kind == recording.CPU && (r.SameCode || r.SameOwn) {
			continue
		}
		if c := d.opt.Plan.Conclude(ds); c.Verdict.Changed() {
			size[r] = math.Abs(math.Log(c.Ratio))
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		switch {
		case size[a] > size[b]:
			return -1
		case size[a] < size[b]:
			return 1
		}
		return 0
	})
	return rows[:min(len(rows), whyRows)]
}

// profile runs both sides of a benchmark under the profiler.
func (d *duel) profile(ctx context.Context, r *row, kind, work string, goal time.Duration) (recording.DuelWhy, error) {
	flags := []string{"-test.cpuprofile="}
	if kind == recording.Heap {
		goal = whyMemory
	}
	first := &r.Pairs[0]
	one := stat.Median([]float64{first.Old[r.Unit], first.New[r.Unit]})
	why := recording.DuelWhy{Pkg: r.Pkg, Was: r.was, Name: r.Name, Kind: kind, Iters: int(min(1e9, max(1, float64(goal)/max(one, 0.01))))}
	if kind == recording.Heap {
		rate := max(1, int(max(first.Old["B/op"], first.New["B/op"])*float64(why.Iters)/whySamples))
		flags = []string{"-test.memprofilerate=" + strconv.Itoa(rate), "-test.memprofile="}
	}
	for i, progs := range [][]*program{r.old, r.new} {
		file := filepath.Join(work, fmt.Sprintf("%d.pb.gz", i))
		args := slices.Clone(flags)
		args[len(args)-1] += file
		results, err := d.do(ctx, run{prog: progs[0], bench: r.bench, time: fmt.Sprintf("%dx", why.Iters), args: args})
		if err != nil {
			return why, err
		}
		if results[0].failed != nil {
			return why, results[0].failed
		}
		if values, err := r.values(&results[0], r.start[i]); err == nil && kind == recording.CPU {
			why.Took[i] = values[r.Unit]
		}
		f, err := os.Open(file)
		if err != nil {
			return why, err
		}
		p, err := profile.Parse(f)
		f.Close()
		if err != nil {
			return why, err
		}
		if i == 0 {
			why.Old = p
		} else {
			why.New = p
		}
	}
	return why, nil
}
