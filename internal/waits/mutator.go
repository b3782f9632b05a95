package waits

import (
	"math"

	"github.com/hone-perf/hone/internal/exectrace"
)

// A MutatorUse is the least share of the Ps that the program had, and not the collector, in any stretch of time of some length.
type MutatorUse struct {
	Window int64 // nanoseconds
	Least  float64
}

// mutatorWindows are the lengths that are asked for, as far as the trace is longer.
var mutatorWindows = []int64{1e6, 10e6, 100e6, 1e9}

// A mutator follows how many Ps the collector has: with its workers, but for those that only use idle Ps, with goroutines that
// help it, and with all of them while the program is stopped.
type mutator struct {
	steps []step
	parts map[int64]part // of goroutines
	stops int
}

// A part is what a goroutine has in the work of the collector.
type part uint8

const (
	works   part = 1 << iota // a worker that counts
	helps                    // before it may allocate
	runs                     // one of these, or another worker
	nothing part = 0
)

// A step is from when on the program had a share of the Ps.
type step struct {
	at    int64
	share float64
}

// maxSteps bounds what is kept of a trace; of one that has more, nothing is said.
const maxSteps = 1 << 22

func newMutator() *mutator {
	return &mutator{parts: map[int64]part{}}
}

func (m *mutator) event(e *exectrace.Event, procs int) {
	switch e.Kind {
	case exectrace.Label:
		p := m.parts[e.Goroutine]&helps | runs // it says so itself
		if e.Name != "GC (idle)" {
			p |= works
		}
		m.parts[e.Goroutine] = p
	case exectrace.Change:
		p := m.parts[e.Goroutine]
		switch {
		case p == nothing:
			return
		case e.To == exectrace.Running:
			p |= runs
		case e.To == exectrace.Absent:
			p = nothing
		default:
			p &= helps // a worker says anew what it is when it runs again
		}
		m.set(e.Goroutine, p)
	case exectrace.RangeBegin, exectrace.RangeActive:
		switch {
		case e.Name == assistRange:
			m.parts[e.Goroutine] |= helps | runs
		case isCollectorStop(e.Name):
			m.stops++
		default:
			return
		}
	case exectrace.RangeEnd:
		switch {
		case e.Name == assistRange:
			m.set(e.Goroutine, m.parts[e.Goroutine]&works)
		case isCollectorStop(e.Name) && m.stops > 0:
			m.stops--
		default:
			return
		}
	default:
		return
	}
	m.step(e.Time, procs)
}

func (m *mutator) set(goroutine int64, p part) {
	if p == nothing {
		delete(m.parts, goroutine)
	} else {
		m.parts[goroutine] = p
	}
}

func isCollectorStop(name string) bool {
	return name == "stop-the-world (GC mark termination)" || name == "stop-the-world (GC sweep termination)"
}

func (m *mutator) step(at int64, procs int) {
	if procs == 0 || len(m.steps) >= maxSteps {
		return
	}
	n := 0
	for _, p := range m.parts {
		if p&runs != 0 && p&(works|helps) != 0 {
			n++
		}
	}
	if m.stops > 0 {
		n = procs
	}
	share := 1 - float64(min(n, procs))/float64(procs)
	switch last := len(m.steps) - 1; {
	case last >= 0 && m.steps[last].share == share:
	case last >= 0 && m.steps[last].at == at:
		m.steps[last].share = share
	default:
		m.steps = append(m.steps, step{at, share})
	}
}

// uses returns the least shares between two times.
func (m *mutator) uses(begin, end int64) []MutatorUse {
	if len(m.steps) == 0 || len(m.steps) >= maxSteps || end <= begin {
		return nil
	}
	// The area below the steps, at each of them and at the end.
	steps := append([]step{{begin, 1}}, m.steps...)
	steps = append(steps, step{end, 0})
	area := make([]float64, len(steps))
	for i := 1; i < len(steps); i++ {
		area[i] = area[i-1] + steps[i-1].share*float64(steps[i].at-steps[i-1].at)
	}
	at := func(i int, t int64) float64 { return area[i] + steps[i].share*float64(t-steps[i].at) }
	var out []MutatorUse
	for _, w := range mutatorWindows {
		if w > end-begin {
			break
		}
		least := math.Inf(1)
		first, last := 0, 0 // the steps in which the stretch begins and ends
		look := func(from int64) {
			from = min(max(from, begin), end-w)
			for first+1 < len(steps)-1 && steps[first+1].at <= from {
				first++
			}
			for last+1 < len(steps)-1 && steps[last+1].at <= from+w {
				last++
			}
			least = min(least, (at(last, from+w)-at(first, from))/float64(w))
		}
		// It is least where a stretch begins or ends with a step.
		for _, s := range steps {
			look(s.at)
		}
		first, last = 0, 0
		for _, s := range steps {
			look(s.at - w)
		}
		out = append(out, MutatorUse{w, max(0, least)})
	}
	return out
}
