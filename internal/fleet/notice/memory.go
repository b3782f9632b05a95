package notice

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// How many steps are remembered, and how much of each.
const (
	ringSteps  = 60   // in which changes are searched
	recent     = 12   // last steps, in one of which a change can have begun
	fewest     = 9    // steps before a change, and in total before the first search
	shortest   = 3    // steps that a change must last
	mostRows   = 16   // entries that are distinguished
	mostSeries = 6000 // costs of a function below an entry
	entryShare = 0.003
	leastShare = 0.0008 // of the service that a function must cost to be remembered
)

// A step is the profiles of one step of time.
type step struct {
	Time      time.Time
	Total     float64
	Profiles  int
	Processes float64       // at the same time, on average: in a step with a deploy, there are profiles of more
	Covered   time.Duration // all together
	Served    served        // requests
}

// A series is what one function cost below one entry, step by step.
type series struct {
	function int32
	row      int
	cum      bool
	values   []float32 // as many as there are steps
}

type seriesKey struct {
	function int32
	row      int
	cum      bool
}

// A memory is what a service cost lately, by function: one kind of profiles.
type memory struct {
	names   *names
	unit    float64 // what one sample is worth, at least
	rows    map[int32]int
	entries []int32 // by row; the first is all others
	steps   []step
	series  []*series
	at      map[seriesKey]*series
	wander  map[wanderKey]*wander

	column string
	types  profile.ValueType

	alarmed map[wanderKey]time.Time // series with a change at the previous step, and its begin
	rebased []time.Time             // times of changes after which costs count as normal
	count   int                     // of looks
	moves   map[int]*wander         // of how much work there is, by row
	shifted int                     // step at which a shift of work was reported
	per     map[int]*wander         // of what entries cost per request, by row
	parts   map[partKey]*part
	own     []map[int32]float64 // own costs by row and function, fading as those of parts
}

func newMemory(unit float64) *memory {
	return &memory{
		names: newNames(), unit: unit, rows: map[int32]int{}, entries: []int32{-1},
		at: map[seriesKey]*series{}, wander: map[wanderKey]*wander{}, moves: map[int]*wander{}, shifted: -ringSteps, alarmed: map[wanderKey]time.Time{},
	}
}

func (m *memory) row(entry int32) int { return m.rows[entry] }

// add adds the costs of a step.
func (m *memory) add(s step, c *costs) {
	total := c.total()
	s.Total = total
	byEntry := map[int32]float64{}
	for i, e := range c.entries {
		byEntry[e] += c.values[i]
	}
	for e, v := range byEntry {
		if _, ok := m.rows[e]; !ok && v >= entryShare*total && v >= 10*m.unit && len(m.entries) < mostRows {
			m.rows[e] = len(m.entries)
			m.entries = append(m.entries, e)
		}
	}
	if len(m.steps) == ringSteps {
		m.steps = append(m.steps[:0], m.steps[1:]...)
		m.shifted--
		for _, x := range m.series {
			copy(x.values, x.values[1:])
			x.values = x.values[:len(x.values)-1]
		}
	}
	m.steps = append(m.steps, s)
	t := c.table(len(m.names.functions), len(m.entries), m.row)
	m.addParts(c, t)
	for _, x := range m.series {
		from := t.self
		if x.cum {
			from = t.cum
		}
		x.values = append(x.values, float32(from[x.row][x.function]))
	}
	// Functions are remembered from when they first cost something. Before that they cost little.
	least := leastShare * total
	for f := range m.names.functions {
		var self, cum float64
		for r := range m.entries {
			self += t.self[r][f]
			cum += t.cum[r][f]
		}
		if cum < least {
			continue
		}
		for r := range m.entries {
			if self >= least && t.self[r][f] > 0 {
				m.remember(seriesKey{int32(f), r, false}, t.self[r][f])
			}
			if cum > 1.02*self && t.cum[r][f] > 0 {
				m.remember(seriesKey{int32(f), r, true}, t.cum[r][f])
			}
		}
	}
	if len(m.series) > mostSeries {
		m.forget()
	}
}

func (m *memory) remember(k seriesKey, v float64) {
	if m.at[k] != nil {
		return
	}
	x := &series{function: k.function, row: k.row, cum: k.cum, values: make([]float32, len(m.steps), ringSteps)}
	x.values[len(m.steps)-1] = float32(v)
	m.at[k] = x
	m.series = append(m.series, x)
}

// forget drops the series with the lowest costs.
func (m *memory) forget() {
	sum := func(x *series) (s float32) {
		for _, v := range x.values {
			s += v
		}
		return s
	}
	slices.SortStableFunc(m.series, func(a, b *series) int { return cmp.Compare(sum(b), sum(a)) })
	for _, x := range m.series[mostSeries*3/4:] {
		delete(m.at, seriesKey{x.function, x.row, x.cum})
	}
	m.series = slices.Clip(m.series[:mostSeries*3/4])
}

// A wander is how much the cost of a function moves by itself, relative to what it should be: of means of half an hour, beyond what
// sampling does.
type wander struct {
	sum, n float64 // of squares, and of how many, both fading
}

type wanderKey struct {
	function int32
	cum      bool
}

func (w *wander) learn(square float64) {
	w.sum = w.sum*0.995 + square
	w.n = w.n*0.995 + 1
}

// usual is the wander that a function is taken to have before it is known, and how many observations that is worth.
const (
	usualWander  = 0.015
	usualWeight  = 6
	sampleSpread = 1.3 // variance of a number of samples, of its mean, at least
)

func (w *wander) variance(pooled float64) float64 {
	if w == nil {
		return pooled
	}
	return max(0, w.sum+usualWeight*pooled) / (w.n + usualWeight)
}

// pooled returns the variance that most functions have.
func (m *memory) pooled() float64 {
	var all []float64
	for _, w := range m.wander {
		if w.n >= 3 {
			all = append(all, w.sum/w.n)
		}
	}
	if len(all) < 10 {
		return usualWander * usualWander
	}
	slices.Sort(all)
	q := all[len(all)*3/4]
	return math.Max(q, 0.003*0.003)
}
