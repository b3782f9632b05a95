package fleetview

import (
	"maps"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// A Window is a time in steps.
type Window struct {
	From, To time.Time
	Step     time.Duration
}

// steps are round step lengths.
var steps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// NewWindow cuts a time into at most so many steps, of a minute or more.
func NewWindow(from, to time.Time, most int) Window {
	least := to.Sub(from) / time.Duration(most)
	for _, s := range steps {
		if s >= least {
			return Window{from, to, s}
		}
	}
	const day = 24 * time.Hour
	return Window{from, to, (least + day - 1) / day * day}
}

// An amount is what processes did in a step.
type amount struct {
	v   float64       // in the unit of a measure, times seconds
	of  time.Duration // the time in which it is known
	any time.Duration // the time in which there was anything of the whole of which the line is a part
}

// A line is what processes did, by step.
type line map[int64]amount

// add adds a line of a store, of which only what a measure is about counts.
func (l line) add(in store.Line, m *Measure) {
	k := m.index(in.Types)
	if k < 0 {
		return
	}
	level := store.NatureOf(m.Kind, m.Type, false) == store.Level
	for _, p := range in.Means {
		of := p.Told
		if level {
			of = p.Ran
		}
		if of <= 0 {
			continue
		}
		v := p.Values[k]
		if m.Unit == "cores" {
			v /= 1e9
		}
		l.put(p.Time.UnixMilli(), amount{v, of, p.Any})
	}
}

// put adds an amount to that of a step.
func (l line) put(at int64, a amount) {
	l[at] = amount{l[at].v + a.v, l[at].of + a.of, max(l[at].any, a.any)}
}

// known returns for how long it is known what processes of a line did in a step: no longer than the part of the step that is in the window, since lines of
// a store that differ in their sample types may be of the same time.
func (l line) known(at int64, w Window) time.Duration {
	return min(l[at].of, w.part(time.UnixMilli(at)))
}

// part returns how much of the step at a time is in the window.
func (w Window) part(at time.Time) time.Duration {
	end := at.Add(w.Step)
	if end.After(w.To) {
		end = w.To
	}
	if at.Before(w.From) {
		at = w.From
	}
	return max(end.Sub(at), time.Second)
}

// points returns a line as it is drawn: each value in the middle of its step. That of a line among other parts of a whole is the mean over the time in which
// there was anything of it, so that the parts add up.
func (l line) points(parts bool, w Window) [][]float64 {
	out := make([][]float64, 0, len(l))
	for _, at := range slices.Sorted(maps.Keys(l)) {
		start := time.UnixMilli(at)
		first := start
		if first.Before(w.From) {
			first = w.From
		}
		of := l.known(at, w)
		if parts {
			of = max(of, l[at].any)
		}
		out = append(out, []float64{float64(first.Add(w.part(start) / 2).UnixMilli()), l[at].v / of.Seconds()})
	}
	return out
}

func (l line) sum() (sum float64) {
	for _, a := range l {
		sum += a.v
	}
	return sum
}

// time returns for how long it is known what processes of a line did.
func (l line) time(w Window) (of time.Duration) {
	for at := range l {
		of += l.known(at, w)
	}
	return of
}

// mean returns the mean over the time for which it is known what processes did; 0 if there is none.
func (l line) mean(w Window) float64 {
	of := l.time(w)
	if of <= 0 {
		return 0
	}
	return l.sum() / of.Seconds()
}

// Processes returns how many processes ran at the same time, on average, by totals in the steps of a window.
func Processes(lines []store.Line, w Window) float64 {
	all := line{}
	for _, l := range lines {
		for _, p := range l.Means {
			all.put(p.Time.UnixMilli(), amount{v: p.Alive.Seconds(), of: p.Ran})
		}
	}
	return all.mean(w)
}

// linesOf returns what services did of a measure.
func linesOf(lines []store.Line, m *Measure) map[string]line {
	out := map[string]line{}
	for _, l := range lines {
		name := l.Labels.Get(store.ServiceLabel)
		if out[name] == nil {
			out[name] = line{}
		}
		out[name].add(l, m)
	}
	return out
}

// byService returns the lines of each service.
func byService(lines []store.Line) map[string][]store.Line {
	out := map[string][]store.Line{}
	for _, l := range lines {
		name := l.Labels.Get(store.ServiceLabel)
		out[name] = append(out[name], l)
	}
	return out
}
