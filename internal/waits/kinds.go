package waits

import (
	"cmp"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/order"
)

// A KindSum is all goroutines that were started with one function at one place. Times are in nanoseconds.
type KindSum struct {
	Kind    string
	Created exectrace.Frame // where; not known of those from before the trace

	Count int64 // goroutines
	Born  int64 // of them, in the time that is asked for
	Ended int64
	Life  Latency // of those that were created and ended

	Running, Ready, Syscall, Blocked, Idle int64

	Waiting Cause // what most of those that are left wait for
	Since   int64 // when the one that waits for the longest time began to
}

// Kinds returns the goroutines of the program by what they are for, those with most goroutines first, and the length of the time that was looked at.
func Kinds(t *exectrace.Trace, w Window) ([]KindSum, int64, error) {
	type key struct {
		kind uint32
		at   exectrace.Stack
	}
	type of struct {
		KindSum
		life latency.Histogram
		left [len(causes)]int64
	}
	type goroutine struct {
		of   *of
		from int64
	}
	names := NewNames(t)
	all := map[key]*of{}
	seen := map[int64]*goroutine{}
	walk := &Walk{Window: w, Names: names}
	walk.Named = func(s *Span) {
		g := seen[s.Goroutine.ID]
		if g == nil {
			kind := names.kind(s.Goroutine, s.Stack)
			if names.ours[kind] {
				return
			}
			k := key{kind, s.Goroutine.Created}
			sum := all[k]
			if sum == nil {
				sum = &of{}
				sum.Kind = names.list[kind]
				sum.Created, _ = names.Place(s.Goroutine.Created)
				all[k] = sum
			}
			sum.Count++
			g = &goroutine{of: sum, from: -1}
			if !s.Begun {
				sum.Born++
				g.from = s.From
			}
			seen[s.Goroutine.ID] = g
		}
		d := s.Length()
		switch s.State {
		case exectrace.Running:
			g.of.Running += d
		case exectrace.Ready:
			g.of.Ready += d
		case exectrace.Syscall:
			g.of.Syscall += d
		case exectrace.Waiting:
			if names.Idle(s) {
				g.of.Idle += d
			} else {
				g.of.Blocked += d
			}
			if s.Open {
				g.of.left[names.Cause(s)]++
				if g.of.Since == 0 || s.From < g.of.Since {
					g.of.Since = max(s.From, 1)
				}
			}
		}
		if s.Last {
			g.of.Ended++
			if g.from >= 0 {
				g.of.life.Add(time.Duration(s.To - g.from))
			}
			delete(seen, s.Goroutine.ID)
		}
	}
	if err := walk.Run(t); err != nil {
		return nil, 0, err
	}
	list := make([]KindSum, 0, len(all))
	for _, sum := range all {
		sum.Life = latencyOf(&sum.life)
		for c, n := range sum.left {
			if n > sum.left[sum.Waiting] {
				sum.Waiting = Cause(c)
			}
		}
		list = append(list, sum.KindSum)
	}
	order.Stable(list, func(a, b KindSum) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Created.Func, b.Created.Func), cmp.Compare(a.Created.Line, b.Created.Line))
	})
	return list, walk.End - walk.Begin, nil
}
