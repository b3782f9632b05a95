// Package cost knows what lines of source cost, as profiles say it: an amount of each metric, what lies below a line, and whether an amount
// may be chance.
package cost

import (
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A Metric is something that costs.
type Metric int

const (
	CPU Metric = iota
	BytesMade
	ObjectsMade
	InUse
	Blocked
	Held // what others waited for while a mutex was held
	Goroutines
	NumMetrics
)

// Behind the metrics, a cost has how far the sampling of the heap can have put three of them off: sums of squares, as variances
// are, so that they add up as the metrics do.
const (
	ObjectsMadeSpread = NumMetrics + iota
	bytesMadeSpread   // in units of spreadUnit
	InUseSpread       // as well
	numCosts
)

// spreadUnit keeps squares of bytes small enough for an int64.
const spreadUnit = 1 << 20

// Metrics say how each metric is called and counted.
var Metrics = [NumMetrics]struct {
	Name, Short, Long, unit string
	kind, typ               string // of profile, and sample type in it
}{
	CPU:         {"cpu", "CPU", "CPU time", "nanoseconds", recording.CPU, "cpu"},
	BytesMade:   {"alloc_space", "bytes", "allocated bytes", "bytes", recording.Heap, "alloc_space"},
	ObjectsMade: {"alloc_objects", "objects", "allocated objects", "count", recording.Heap, "alloc_objects"},
	InUse:       {"inuse_space", "live", "live bytes", "bytes", recording.Heap, "inuse_space"},
	Blocked:     {"block:delay", "waiting", "time waiting", "nanoseconds", recording.Block, "delay"},
	Held:        {"mutex:delay", "waiting for locks", "time waiting for locks", "nanoseconds", recording.Mutex, "delay"},
	Goroutines:  {"goroutine", "goroutines", "goroutines", "count", recording.Goroutine, "goroutine"},
}

// A Cost is an amount of each metric, and how uncertain some of them are.
type Cost [numCosts]int64

// Add adds another cost.
func (c *Cost) Add(d *Cost) {
	for m := range c {
		c[m] += d[m]
	}
}

// Part returns which part of all there is of a metric a cost is.
func (c *Costs) Part(v *Cost, m Metric) float64 {
	if c.Total[m] <= 0 {
		return 0
	}
	return float64(v[m]) / float64(c.Total[m])
}

// Savings says what a cost is of all there is, the largest share first, with what the collector would be spared.
func (c *Costs) Savings(v Cost) []report.Saving {
	var out []report.Saving
	v = c.WithCollector(v)
	for m := range Metric(NumMetrics) {
		if share := c.Part(&v, m); share >= LeastShown {
			out = append(out, report.Saving{
				Metric: Metrics[m].Name, Short: Metrics[m].Short, Unit: Metrics[m].unit,
				Value: v[m], Total: c.Total[m], Share: min(share, 1),
			})
		}
	}
	return out
}

// WithCollector adds the CPU time that the collector needs for what a cost allocates.
func (c *Costs) WithCollector(v Cost) Cost {
	if c.gc > 0 && c.Total[BytesMade] > 0 {
		// The collector runs as often as bytes are allocated.
		v[CPU] += int64(float64(c.gc) * float64(v[BytesMade]) / float64(c.Total[BytesMade]))
	}
	return v
}

// LeastShown is the smallest share that is worth a word beside others.
const LeastShown = 0.005

// Weight is what findings are ranked by. CPU is what most people are after; what is allocated shows only in part in it, and
// waiting costs nobody anything when there is other work.
func (c *Costs) Weight(v *Cost) float64 {
	w := c.Part(v, CPU) + (c.Part(v, BytesMade)+c.Part(v, ObjectsMade))/4
	if c.Total[BytesMade] > 0 && c.Total[CPU] > 0 {
		w += float64(c.gc) / float64(c.Total[CPU]) * c.Part(v, BytesMade)
	}
	return w + (c.Part(v, InUse)+max(c.Part(v, Blocked), c.Part(v, Held))+c.Part(v, Goroutines))/2
}

// Telling reports whether there are enough samples of objects to say where most of them are made: one or two are chance.
func (c *Costs) Telling() bool {
	const few = 4
	for _, in := range c.Inputs {
		if in.Column[ObjectsMade] >= 0 && in.Profile.Period > 1 && c.Total[BytesMade] > 0 && c.Total[BytesMade]/in.Profile.Period < few {
			return false
		}
	}
	return c.Total[ObjectsMade] > 0
}
