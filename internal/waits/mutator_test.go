package waits

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hone-perf/hone/internal/exectrace"
)

// TestMutatorUses holds that the least shares are those that looking at every stretch finds.
func TestMutatorUses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		m := newMutator()
		at := int64(0)
		for range 1 + r.IntN(60) {
			at += int64(r.IntN(100)) * 20_000
			m.steps = append(m.steps, step{at, float64(r.IntN(5)) / 4})
		}
		end := at + 3e6
		share := func(t int64) float64 {
			s := 1.0
			for _, x := range m.steps {
				if x.at <= t {
					s = x.share
				}
			}
			return s
		}
		for _, u := range m.uses(0, end) {
			const tick = 20_000 // all steps are at one
			n := u.Window / tick
			least, sum := math.Inf(1), 0.0
			for i := int64(0); i*tick < end; i++ {
				sum += share(i * tick)
				if i >= n {
					sum -= share((i - n) * tick)
				}
				if i >= n-1 && (i+1)*tick <= end {
					least = min(least, sum/float64(n))
				}
			}
			if math.Abs(least-u.Least) > 1e-9 {
				t.Fatalf("in any %d ns of %v to %d it is %v, want %v", u.Window, m.steps, end, u.Least, least)
			}
		}
	}
}

// TestMutator holds that the collector has as much of the Ps as its workers and those that help it ran, and all of them while the program was stopped.
func TestMutator(t *testing.T) {
	for name, b := range recorded(t) {
		tr := open(t, b)
		m := newMutator()
		procs, events := 0, 0
		idle := map[int64]bool{}
		var want, got, last float64
		stops := 0
		running := map[int64]bool{}
		helps := map[int64]bool{}
		begin := int64(-1)
		for e, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if procs > 0 {
				n := 0
				for g := range running {
					if _, worker := idle[g]; worker && !idle[g] || helps[g] {
						n++
					}
				}
				if stops > 0 {
					n = procs
				}
				want += float64(min(n, procs)) / float64(procs) * (float64(e.Time) - last)
			}
			last = float64(e.Time)
			switch e.Kind {
			case exectrace.Metric:
				if e.Name == "/sched/gomaxprocs:threads" {
					procs = int(e.Value)
					if begin < 0 {
						begin = e.Time
					}
				}
			case exectrace.Label:
				idle[e.Goroutine] = e.Name == "GC (idle)"
			case exectrace.Change:
				running[e.Goroutine] = e.To == exectrace.Running
				if e.To != exectrace.Running {
					delete(running, e.Goroutine)
					delete(idle, e.Goroutine)
				}
			case exectrace.RangeBegin, exectrace.RangeActive:
				if e.Name == assistRange {
					helps[e.Goroutine] = true
				} else if isCollectorStop(e.Name) {
					stops++
				}
			case exectrace.RangeEnd:
				if e.Name == assistRange {
					delete(helps, e.Goroutine)
				} else if isCollectorStop(e.Name) {
					stops--
				}
			}
			m.event(e, procs)
			events++
		}
		for i, s := range m.steps {
			end := last
			if i+1 < len(m.steps) {
				end = float64(m.steps[i+1].at)
			}
			got += (1 - s.share) * (end - float64(s.at))
		}
		if math.Abs(got-want) > want/1000+1000 {
			t.Errorf("%s: the collector had %.0f ns of the Ps, want %.0f", name, got, want)
		}
		if want == 0 {
			t.Errorf("%s: the collector had nothing", name)
		}
	}
}
