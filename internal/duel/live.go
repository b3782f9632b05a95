package duel

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// What a program holds at a time is another thing than what it allocates: jobs that are all made before the first is begun are as
// many bytes as those that are made one by one, and a heap as large as all of them. Each collection of garbage knows what is alive,
// so runs of their own do one after the other, and the most that any of them found is what counts. The world is stopped for all of
// each, since what is allocated meanwhile would count as alive.
const (
	lives      = 3  // runs of each side
	leastLooks = 10 // in a run; a busy machine may look at a short one not at all
	liveTries  = 4  // to have so many, each with more operations
)

// liveEnv makes a benchmark watch its heap.
func liveEnv(prog *program) []string {
	debug, more := "gcstoptheworld=1", os.Getenv("GODEBUG")
	for _, e := range prog.env {
		if own, ok := strings.CutPrefix(e, "GODEBUG="); ok {
			more = own
		}
	}
	if more != "" {
		debug = more + "," + debug
	}
	return []string{"HONE_LIVE=1", "GODEBUG=" + debug}
}

// live watches the heap of both sides of all benchmarks.
func (d *duel) live(ctx context.Context) error {
	var rows []*row
	for _, r := range d.rows {
		if r.Error == "" && r.Only == "" && r.commands == nil && len(r.Pairs) > 0 {
			rows = append(rows, r)
		}
	}
	i := 0
	return d.work(ctx, func() *job {
		if i == lives*len(rows) {
			return nil
		}
		r := rows[i/lives]
		i++
		d.say("%s: watching the heap, %d of %d", r.Name, i, lives*len(rows))
		lots := d.draw(r)
		var p recording.DuelPair
		var wrong error
		return &job{
			alone: true,
			do: func(int) (err error) {
				p, wrong, err = d.watched(ctx, r, lots)
				return err
			},
			done: func(time.Duration) {
				if wrong != nil {
					d.note("the live heap of %s could not be measured: %v", r.Name, wrong)
					return
				}
				r.Live = append(r.Live, p)
			},
		}
	})
}

// watched runs both sides of a benchmark and says how much was alive at most.
func (d *duel) watched(ctx context.Context, r *row, lots draw) (p recording.DuelPair, wrong, err error) {
	n := max(r.Iters, 1)
	for i, prog := range []*program{r.old[lots.old%len(r.old)], r.new[lots.new%len(r.new)]} {
		for range liveTries {
			alive, looks, wrong, err := d.watch(ctx, r, prog, n)
			if wrong != nil || err != nil {
				return p, wrong, err
			}
			*[]*map[string]float64{&p.Old, &p.New}[i] = map[string]float64{recording.LiveHeap: alive}
			if looks >= leastLooks {
				break
			}
			n = min(4*n, 1e9)
		}
	}
	return p, nil, nil
}

// watch runs a benchmark n times, and says how much was alive at most, and how often that was looked at.
func (d *duel) watch(ctx context.Context, r *row, prog *program, n int) (alive, looks float64, wrong, err error) {
	results, err := d.do(ctx, run{prog: prog, bench: r.bench, time: fmt.Sprintf("%dx", n), env: liveEnv(prog)})
	if err != nil {
		return 0, 0, nil, err
	}
	res := &results[0]
	switch {
	case res.failed != nil:
		return 0, 0, res.failed, nil
	case len(res.lines) != 1:
		return 0, 0, fmt.Errorf("it printed %d lines of results", len(res.lines)), nil
	}
	alive, ok := res.lines[0].Value(liveUnit)
	if !ok {
		return 0, 0, fmt.Errorf("%s does not report it", d.out.Old.Go), nil
	}
	looks, _ = res.lines[0].Value(looksUnit)
	return alive, looks, nil, nil
}
