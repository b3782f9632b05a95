package duel

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

// mostCourts is at how many cores there are duets at the same time. Each is between two programs on one core, and
// does not care for what others do more than for anything else that goes on; more of them would want much memory.
const mostCourts = 4

// courts returns the cores for duets. Where programs cannot be bound to one there is a single one.
func courts(r *rand.Rand) []int {
	cpus := cores()
	if len(cpus) == 0 {
		return []int{0}
	}
	r.Shuffle(len(cpus), func(i, j int) { cpus[i], cpus[j] = cpus[j], cpus[i] })
	return cpus[:min(len(cpus), mostCourts)]
}

// A draw is what chance decides about a pair.
type draw struct {
	old, new int // layouts
	swapped  bool
}

// draw draws lots for a pair of a row.
func (d *duel) draw(r *row) draw {
	return draw{old: d.deal(&r.decks[0], len(r.old)), new: d.deal(&r.decks[1], len(r.new)), swapped: d.rand.IntN(2) == 1}
}

// deal returns one of n layouts: all of them, in random order, before one comes up again. Pairs that share a layout are alike, and an interval
// counts them as if each said something new.
func (d *duel) deal(deck *[]int, n int) int {
	if len(*deck) == 0 {
		*deck = d.rand.Perm(max(n, 1))
	}
	last := len(*deck) - 1
	layout := (*deck)[last]
	*deck = (*deck)[:last]
	return layout
}

// A job is something that is done on a core of its own, and by itself when alone.
type job struct {
	alone bool
	do    func(cpu int) error
	done  func(took time.Duration) // in the order in which they end, one at a time
}

// work does jobs on all courts until next has no more: it may have some again when another one has ended. It returns the
// first error, when all that had begun have ended.
func (d *duel) work(ctx context.Context, next func() *job) error {
	type ended struct {
		job  *job
		cpu  int
		took time.Duration
		err  error
	}
	free := slices.Clone(d.courts)
	back := make(chan ended)
	flying := 0
	var failed error
	var waiting *job // to be alone
	for {
		for failed == nil && ctx.Err() == nil && len(free) > 0 {
			j := waiting
			if waiting = nil; j == nil {
				j = next()
			}
			if j == nil {
				break
			}
			if j.alone && flying > 0 {
				waiting = j
				break
			}
			cpu := free[len(free)-1]
			free = free[:len(free)-1]
			flying++
			go func() {
				began := time.Now()
				err := j.do(cpu)
				back <- ended{j, cpu, time.Since(began), err}
			}()
			if j.alone {
				break
			}
		}
		if flying == 0 {
			if failed == nil {
				failed = context.Cause(ctx)
			}
			return failed
		}
		e := <-back
		share := time.Duration(1)
		if !e.job.alone {
			share = time.Duration(flying) // as many share this time
		}
		flying--
		free = append(free, e.cpu)
		switch {
		case e.err != nil:
			if failed == nil {
				failed = e.err
			}
		case failed == nil && ctx.Err() == nil && e.job.done != nil:
			e.job.done(e.took / share)
		}
	}
}

// rounds runs pair after pair, each time in another order, until all is decided or the time is over.
func (d *duel) rounds(ctx context.Context) error {
	for _, r := range d.runnable() {
		_, r.want = d.opt.Plan.Judge(nil)
	}
	flying := make(map[*row]int)
	var queue []*row
	wanted := func(r *row) bool { return r.Error == "" && r.Stop == "" && len(r.Pairs)+flying[r] < r.want }
	return d.work(ctx, func() *job {
		for range 2 {
			for len(queue) > 0 {
				r := queue[0]
				queue = queue[1:]
				if wanted(r) {
					flying[r]++
					return d.pairing(ctx, r, func() { flying[r]-- })
				}
			}
			queue = slices.DeleteFunc(d.runnable(), func(r *row) bool { return !wanted(r) })
			if d.opt.Limit > 0 {
				queue = inTurn(queue)
			}
			d.rand.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
		}
		return nil
	})
}

// first runs one pair of each row, for somebody who may know enough then.
func (d *duel) first(ctx context.Context) error {
	if d.opt.Enough == nil {
		return nil
	}
	rows := d.runnable()
	err := d.work(ctx, func() *job {
		if len(rows) == 0 {
			return nil
		}
		r := rows[0]
		rows = rows[1:]
		return d.pairing(ctx, r, func() {})
	})
	if err == nil {
		d.enough()
	}
	return err
}

// enough ends all rows if somebody knows enough.
func (d *duel) enough() {
	if d.opt.Enough == nil || d.ended {
		return
	}
	now := *d.out
	now.Within = cmp.Or(now.Within, stat.DefaultWithin)
	now.Benchmarks = nil
	for _, r := range d.rows {
		now.Benchmarks = append(now.Benchmarks, r.DuelBenchmark)
	}
	if d.ended = d.opt.Enough(&now); !d.ended {
		return
	}
	d.out.Within = now.Within
	for _, r := range d.runnable() {
		r.Stop = "time"
	}
}

// inTurn returns the rows that took the least time so far. Where time is limited, a benchmark that runs for seconds would leave none for a dozen
// that are decided in one.
func inTurn(rows []*row) []*row {
	if len(rows) == 0 {
		return rows
	}
	least := slices.MinFunc(rows, func(a, b *row) int { return cmp.Compare(a.Took, b.Took) }).Took
	return slices.DeleteFunc(rows, func(r *row) bool { return r.Took > least+4*chunk })
}

// pairing is the next pair of a row.
func (d *duel) pairing(ctx context.Context, r *row, landed func()) *job {
	lots := d.draw(r)
	var p recording.DuelPair
	var wrong *failure
	return &job{
		alone: r.How != recording.Duet,
		do: func(cpu int) (err error) {
			p, wrong, err = d.pair(ctx, r, r.old, r.new, lots, cpu)
			return err
		},
		done: func(took time.Duration) {
			landed()
			r.Took += took
			if wrong != nil {
				r.fail(wrong.side, wrong.err)
			}
			if r.Error != "" {
				return
			}
			r.Pairs = append(r.Pairs, p)
			if d.look(r); r.Stop == "decided" || r.Stop == "clear" {
				d.enough()
			}
			d.say("%s: %s, %d of %d decided", r.Name, pairsText(len(r.Pairs)), len(d.rows)-len(d.runnable()), len(d.rows))
		},
	}
}
