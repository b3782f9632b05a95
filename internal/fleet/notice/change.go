package notice

import (
	"math"
	"slices"
)

// How sure to be, and what is worth telling.
const (
	sure     = 5.0   // standard deviations; see docs/decisions/0020-noticing.md
	explains = 0.75  // of that, for what is behind a change that is sure
	worth    = 0.003 // of the cost of the service
	apart    = 0.1   // how differently functions may move below one entry, when its scale is measured
	suspects = 3.0   // standard deviations from which on a function does not measure the scale
)

// An alarm is a change that a track shows.
type alarm struct {
	key   wanderKey
	since int     // step in which it began
	z     float64 // below zero for less
	delta float64 // per step
}

// A track is the cost of a function over time, and what it should be: what it cost before, for as much work as there is.
type track struct {
	wanderKey
	over   []float64 // what it cost beyond that, by step
	should []float64
}

// base returns the steps that say what is usual.
func (m *memory) base() (from, to int) {
	n := len(m.steps)
	return 0, n - min(recent, n-fewest)
}

// scales returns how much work there was below each entry, by row and step: 1 is what is usual. It is measured by how most functions
// below the entry move together, so one that changed does not count. It is nil for rows without work before.
func (m *memory) scales() [][]float64 {
	from, to := m.base()
	n := len(m.steps)
	out := make([][]float64, len(m.entries))
	byRow := make([][]*series, len(m.entries))
	for _, x := range m.series {
		if !x.cum {
			byRow[x.row] = append(byRow[x.row], x)
		}
	}
	for row, list := range byRow {
		sums := make([]float64, n)
		for _, x := range list {
			for t, v := range x.values {
				sums[t] += float64(v)
			}
		}
		all := 0.0
		for _, v := range sums[from:to] {
			all += v
		}
		if all <= 0 {
			continue
		}
		mean := all / float64(to-from)
		scale := make([]float64, n)
		for t, v := range sums {
			scale[t] = v / mean
		}
		for range 2 {
			scale = refined(list, scale, from, to, m.unit)
		}
		out[row] = scale
	}
	return out
}

// usual returns what x cost per step where the scale is 1.
func (x *series) usual(scale []float64, from, to int) float64 {
	v, s := 0.0, 0.0
	for t := from; t < to; t++ {
		v += float64(x.values[t])
		s += scale[t]
	}
	if s <= 0 {
		return 0
	}
	return v / s
}

func refined(list []*series, scale []float64, from, to int, unit float64) []float64 {
	n := len(scale)
	usual := make([]float64, len(list))
	weight := make([]float64, len(list))
	for i, x := range list {
		usual[i] = x.usual(scale, from, to)
		weight[i] = usual[i] / (sampleSpread*unit + apart*apart*usual[i])
	}
	// What moves otherwise than the rest in one of several times is left out, but never more than half.
	far := make([]float64, len(list))
	for _, length := range []int{3, 6, recent} {
		at := max(n-length, to)
		if at == n {
			continue
		}
		ratios, weights := make([]float64, len(list)), make([]float64, len(list))
		for i, x := range list {
			v, s := 0.0, 0.0
			for t := at; t < n; t++ {
				v += float64(x.values[t])
				s += scale[t] * usual[i]
			}
			if s > 0 {
				ratios[i], weights[i] = v/s, s/(sampleSpread*unit+apart*apart*s)
			}
		}
		mid := middle(ratios, weights)
		for i := range list {
			s := 0.0
			for t := at; t < n; t++ {
				s += scale[t] * usual[i]
			}
			if s > 0 {
				z := math.Abs(ratios[i]-mid) / math.Sqrt(sampleSpread*unit/s+usualWander*usualWander)
				far[i] = max(far[i], z)
			}
		}
	}
	keep := nearest(far, weight)
	out := make([]float64, n)
	for t := range n {
		top, bottom := 0.0, 0.0
		for i, x := range list {
			if keep[i] && usual[i] > 0 {
				w := 1 / (sampleSpread*unit + apart*apart*usual[i])
				top += w * float64(x.values[t])
				bottom += w * usual[i]
			}
		}
		if bottom > 0 {
			out[t] = top / bottom
		}
	}
	return out
}

// nearest returns which may be used: all that are not far, or the nearest half by weight.
func nearest(far, weight []float64) []bool {
	order := make([]int, len(far))
	all := 0.0
	for i := range order {
		order[i] = i
		all += weight[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case far[a] < far[b]:
			return -1
		case far[a] > far[b]:
			return 1
		}
		return 0
	})
	keep := make([]bool, len(far))
	used := 0.0
	for _, i := range order {
		if far[i] > suspects && used >= all/2 {
			break
		}
		keep[i] = true
		used += weight[i]
	}
	return keep
}

// middle returns the weighted median.
func middle(values, weights []float64) float64 {
	order := make([]int, 0, len(values))
	all := 0.0
	for i := range values {
		if weights[i] > 0 {
			order = append(order, i)
			all += weights[i]
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return a - b
	})
	sum := 0.0
	for _, i := range order {
		if sum += weights[i]; sum >= all/2 {
			return values[i]
		}
	}
	return 1
}

// tracks returns what functions cost and what they should.
func (m *memory) tracks(scales [][]float64) []*track {
	from, to := m.base()
	n := len(m.steps)
	by := map[wanderKey]*track{}
	var out []*track
	for _, x := range m.series {
		scale := scales[x.row]
		if scale == nil {
			continue // work that was not there before is a mix
		}
		k := wanderKey{x.function, x.cum}
		tr := by[k]
		if tr == nil {
			tr = &track{wanderKey: k, over: make([]float64, n), should: make([]float64, n)}
			by[k] = tr
			out = append(out, tr)
		}
		usual := x.usual(scale, from, to)
		for t, v := range x.values {
			tr.over[t] += float64(v) - scale[t]*usual
			tr.should[t] += scale[t] * usual
		}
	}
	return out
}

// spread returns the variance of what a track counts, of its mean.
func (tr *track) spread(from, to int, unit float64) float64 {
	squares, sum, n := 0.0, 0.0, 0.0
	for t := from; t < to; t++ {
		squares += tr.over[t] * tr.over[t]
		sum += tr.should[t]
		n++
	}
	prior, weight := sampleSpread*unit, 12.0
	if sum <= 0 || n < 2 {
		return prior
	}
	own := squares / sum * n / (n - 1)
	return max(prior, (own*n+prior*weight)/(n+weight))
}

// deviates returns by how many standard deviations a cost is beyond what it should be. spread is the variance of a count, of its mean,
// wander the variance of the relative cost from half an hour to the next, known how much cost in all says what should be.
func deviates(cost, should, known, spread, wander float64) float64 {
	// The root makes counts nearly normal, also small ones.
	z := 2 * (math.Sqrt(max(cost, 0)/spread) - math.Sqrt(max(should, 0)/spread))
	more := wander * should / spread
	if known > 0 {
		more += should / known
	}
	return z / math.Sqrt(1+more)
}

// alarms returns which tracks show a change, and learns how much they move without one.
func (m *memory) alarms(tracks []*track, learn bool) []alarm {
	from, to := m.base()
	n := len(m.steps)
	pooled := m.pooled()
	var out []alarm
	for _, tr := range tracks {
		spread := tr.spread(from, to, m.unit)
		w := m.wander[tr.wanderKey]
		drift := w.variance(pooled)
		known := 0.0
		for t := from; t < to; t++ {
			known += tr.should[t]
		}
		best := alarm{key: tr.wanderKey}
		over, should, total, worst := 0.0, 0.0, 0.0, 0.0
		for t := n - 1; t >= to; t-- {
			over += tr.over[t]
			should += tr.should[t]
			total += m.steps[t].Total
			if math.Abs(tr.over[t]) > math.Abs(worst) {
				worst = tr.over[t]
			}
			length := n - t
			if learn && length == 6 && should > 0 && known > 0 {
				d := over / should
				count := spread*(1/should+1/known) + 1e-12
				if w == nil {
					w = &wander{}
					m.wander[tr.wanderKey] = w
				}
				w.learn(min(d*d, 9*(count+drift)) - count)
			}
			if length < shortest || math.Abs(over) < worth*total {
				continue
			}
			z := deviates(should+over, should, known, spread, drift)
			if math.Abs(z) <= math.Abs(best.z) {
				continue
			}
			// One step alone, such as a job that ran once, is no change.
			if rest := over - worst; length > 1 && math.Abs(rest) < 0.5*math.Abs(over)*float64(length-1)/float64(length) {
				continue
			}
			best.z, best.since, best.delta = z, t, over/float64(length)
		}
		if math.Abs(best.z) > sure {
			out = append(out, best)
		}
	}
	return out
}
