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

// series are values by step.
type line map[int64]float64

// add adds a line of a store, of which only what a measure is about counts.
func (l line) add(in store.Line, m *Measure, w Window) {
	k := m.index(in.Types)
	if k < 0 {
		return
	}
	for i, p := range in.Points {
		var v float64
		switch m.Unit {
		case "cores", "bytes/s", "1/s":
			var ok bool
			if v, ok = rate(in.Points, i, k, w); !ok {
				continue
			}
			if m.Unit == "cores" {
				v /= 1e9
			}
		default:
			v = level(in.Points, i, k, w)
		}
		l[p.Time.UnixMilli()] += v
	}
}

// level returns how much all processes hold in a step. In one of which only a part is in the window, those that had no turn yet hold as much as the others.
func level(points []store.Point, i, k int, w Window) float64 {
	v := float64(points[i].Values[k])
	if n, seen := processes(points, i, w), sampled(points[i]); n > seen && seen > 0 {
		v *= n / seen
	}
	return v
}

// told returns how much time the flows and the counters of a step are of, of all processes together.
func told(p store.Point) time.Duration {
	if p.Covered > 0 {
		return p.Covered
	}
	return p.Grown
}

// rate returns how much all processes together had per second in a step: what a process had in the time that its profiles are of, times how many there
// were. The first profile of a process that only counts says nothing.
func rate(points []store.Point, i, k int, w Window) (float64, bool) {
	d := told(points[i])
	if d <= 0 {
		return 0, false
	}
	return float64(points[i].Values[k]) / d.Seconds() * processes(points, i, w), true
}

// perSecond returns what rate does for all steps.
func perSecond(points []store.Point, k int, w Window) float64 {
	sum, of := 0.0, time.Duration(0)
	for _, p := range points {
		if d := told(p); d > 0 {
			sum += float64(p.Values[k])
			of += d
		}
	}
	if of == 0 {
		return 0
	}
	return sum / of.Seconds() * meanProcesses(points, w)
}

// meanProcesses returns how many processes ran at the same time, on average over the time of the steps.
func meanProcesses(points []store.Point, w Window) float64 {
	sum, of := 0.0, time.Duration(0)
	for i, p := range points {
		d := w.part(p.Time)
		sum += processes(points, i, w) * d.Seconds()
		of += d
	}
	if of == 0 {
		return 0
	}
	return sum / of.Seconds()
}

// processes returns how many processes the profiles of a step are from that ran at the same time. In a step in which all are replaced there are
// those before and those after. In a step of which only a part is in the window, some processes may have had no turn.
func processes(points []store.Point, i int, w Window) float64 {
	beside := neighbors(points, i, w)
	if len(beside) != 1 || w.part(points[i].Time) >= w.Step {
		return running(points, i, w)
	}
	return max(sampled(points[i]), running(points, beside[0], w))
}

// running returns how many processes the profiles of a whole step are from that ran at the same time.
func running(points []store.Point, i int, w Window) float64 {
	beside := neighbors(points, i, w)
	if len(beside) < 2 {
		return sampled(points[i])
	}
	return min(sampled(points[i]), max(sampled(points[beside[0]]), sampled(points[beside[1]])))
}

// sampled returns how many processes the profiles of a step are from, on average over its time. Processes that replaced each other have more streams than that.
func sampled(p store.Point) float64 {
	if p.Processes == 0 {
		return float64(p.Streams)
	}
	return p.Processes
}

// neighbors returns which points are of the steps before and after one.
func neighbors(points []store.Point, i int, w Window) []int {
	var out []int
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(points) && points[j].Time.Sub(points[i].Time).Abs() == w.Step {
			out = append(out, j)
		}
	}
	return out
}

// since returns w without the time before the first profile of a kind of a service: of its first step, only the rest counts.
func (w Window) since(series []store.Series, kind, service string) Window {
	var first time.Time
	for _, s := range series {
		if s.Kind == kind && s.Service == service && (first.IsZero() || s.First.Before(first)) {
			first = s.First
		}
	}
	w.From = later(w.From, first)
	return w
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// part returns how much of the step at a time is in the window.
func (w *Window) part(at time.Time) time.Duration {
	end := at.Add(w.Step)
	if end.After(w.To) {
		end = w.To
	}
	if at.Before(w.From) {
		at = w.From
	}
	return max(end.Sub(at), time.Second)
}

// points returns a line as it is drawn: each value in the middle of its step.
func (l line) points(w Window) [][]float64 {
	out := make([][]float64, 0, len(l))
	for _, at := range slices.Sorted(maps.Keys(l)) {
		start := time.UnixMilli(at)
		first := start
		if first.Before(w.From) {
			first = w.From
		}
		out = append(out, []float64{float64(first.Add(w.part(start) / 2).UnixMilli()), l[at]})
	}
	return out
}

func (l line) sum() (sum float64) {
	for _, v := range l {
		sum += v
	}
	return sum
}

// mean returns the mean over the time of the steps.
func (l line) mean(w Window) float64 {
	sum, of := 0.0, time.Duration(0)
	for at, v := range l {
		d := w.part(time.UnixMilli(at))
		sum += v * d.Seconds()
		of += d
	}
	return sum / of.Seconds()
}

func (l line) max() (most float64) {
	for _, v := range l {
		most = max(most, v)
	}
	return most
}
