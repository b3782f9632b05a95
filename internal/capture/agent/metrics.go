package agent

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strconv"
	"unsafe"
)

// names are the runtime/metrics that are kept over time. Those that a version of Go does not have are left out.
var names = []string{
	"/cgo/go-to-c-calls:calls",
	"/cpu/classes/gc/mark/assist:cpu-seconds",
	"/cpu/classes/gc/mark/dedicated:cpu-seconds",
	"/cpu/classes/gc/mark/idle:cpu-seconds",
	"/cpu/classes/gc/pause:cpu-seconds",
	"/cpu/classes/gc/total:cpu-seconds",
	"/cpu/classes/idle:cpu-seconds",
	"/cpu/classes/scavenge/total:cpu-seconds",
	"/cpu/classes/total:cpu-seconds",
	"/cpu/classes/user:cpu-seconds",
	"/gc/cycles/forced:gc-cycles",
	"/gc/cycles/total:gc-cycles",
	"/gc/gogc:percent",
	"/gc/gomemlimit:bytes",
	"/gc/heap/allocs:bytes",
	"/gc/heap/allocs:objects",
	"/gc/heap/frees:bytes",
	"/gc/heap/frees:objects",
	"/gc/heap/goal:bytes",
	"/gc/heap/live:bytes",
	"/gc/heap/objects:objects",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/stacks:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/metadata/mcache/free:bytes",
	"/memory/classes/metadata/mcache/inuse:bytes",
	"/memory/classes/metadata/mspan/free:bytes",
	"/memory/classes/metadata/mspan/inuse:bytes",
	"/memory/classes/metadata/other:bytes",
	"/memory/classes/os-stacks:bytes",
	"/memory/classes/other:bytes",
	"/memory/classes/profiling/buckets:bytes",
	"/memory/classes/total:bytes",
	"/sched/gomaxprocs:threads",
	"/sched/goroutines:goroutines",
	"/sched/goroutines/not-in-go:goroutines",
	"/sched/goroutines/runnable:goroutines",
	"/sched/goroutines/running:goroutines",
	"/sched/goroutines/waiting:goroutines",
	"/sched/goroutines-created:goroutines",
	"/sched/threads/total:threads",
	"/sync/mutex/wait/total:seconds",
	latencies,
	"/sched/pauses/total/gc:seconds",
}

// A system asks the runtime and the operating system how the program is doing.
type system struct {
	samples []metrics.Sample
	before  map[string][]uint64 // counts of histograms at the time before
	line    []byte
	process *Process
	watched watched
	heap    residence

	switches uint64 // how many times a goroutine went on, as far as that is counted
}

// latencies has an entry for one in eight times that a goroutine went on.
const latencies = "/sched/latencies:seconds"

func (s *system) begin() {
	for _, n := range names {
		s.samples = append(s.samples, metrics.Sample{Name: n})
	}
	metrics.Read(s.samples)
	known := s.samples[:0]
	for _, m := range s.samples {
		if m.Value.Kind() != metrics.KindBad {
			known = append(known, m)
		}
	}
	s.samples = known
	s.before = make(map[string][]uint64)
	s.process = Self()
	s.watched.begin(s.process)
}

// peak returns the most memory that the program had so far, in bytes; 0 when that is not known.
func (s *system) peak() int64 {
	if s.process == nil {
		return 0
	}
	return s.process.Peak()
}

// metrics writes a line.
func (r *recorder) metrics() {
	s := &r.sys
	if s.process == nil {
		s.begin()
	}
	b := append(s.line[:0], `{"t":`...)
	b = strconv.AppendInt(b, r.since().Milliseconds(), 10)
	metrics.Read(s.samples)
	now := usage{at: r.since()}
	mapped := uint64(0) // of the heap
	now.cpu, now.known = s.process.CPU()
	for i := range s.samples {
		m := &s.samples[i]
		switch m.Name {
		case "/cpu/classes/total:cpu-seconds":
			now.spent += m.Value.Float64()
		case "/cpu/classes/idle:cpu-seconds":
			now.spent -= m.Value.Float64()
		case "/cpu/classes/gc/total:cpu-seconds":
			now.gc += m.Value.Float64()
		case "/cpu/classes/gc/mark/idle:cpu-seconds": // by Ps that had nothing else to do
			now.gc -= m.Value.Float64()
			now.spent -= m.Value.Float64()
		case "/memory/classes/heap/free:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/released:bytes",
			"/memory/classes/heap/stacks:bytes", "/memory/classes/heap/unused:bytes":
			mapped += m.Value.Uint64()
		}
		switch m.Value.Kind() {
		case metrics.KindUint64:
			b = strconv.AppendUint(appendKey(b, m.Name), m.Value.Uint64(), 10)
		case metrics.KindFloat64:
			b = appendFloat(appendKey(b, m.Name), m.Value.Float64())
		case metrics.KindFloat64Histogram:
			h := m.Value.Float64Histogram()
			p50, p99, top, count := quantiles(h, s.before[m.Name])
			s.before[m.Name] = append(s.before[m.Name][:0], h.Counts...)
			if m.Name == latencies {
				s.switches += count
			}
			if count > 0 {
				b = appendFloat(appendKey(b, m.Name+"/p50"), p50)
				b = appendFloat(appendKey(b, m.Name+"/p99"), p99)
				b = appendFloat(appendKey(b, m.Name+"/max"), top)
			}
		}
	}
	s.watched.rates(now)
	b = strconv.AppendInt(appendKey(b, "go/goroutines"), int64(runtime.NumGoroutine()), 10)
	if n, ok := r.queue.mean(); ok {
		b = appendFloat(appendKey(b, "go/runnable"), n)
	}
	if n, ok := s.heap.look(unsafe.Pointer(r), mapped, now.at, r.ended); ok {
		b = strconv.AppendInt(appendKey(b, "go/heap-resident"), n, 10)
	}
	b = s.process.Append(b)
	if r.Queue {
		b = s.process.AppendDelay(b)
	}
	b = append(b, "}\n"...)
	s.line = b
	if r.write.metrics != nil {
		n, err := r.write.metrics.Write(b)
		r.write.bytes += int64(n)
		r.write.check(err)
	}
}

func appendKey(b []byte, name string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

// appendFloat keeps microseconds of a CPU time of days: what counts is the difference between two lines, a second apart.
func appendFloat(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, '0')
	}
	return strconv.AppendFloat(b, x, 'g', 12, 64)
}

// quantiles returns the median, the 99th percentile and the largest of what a histogram counted since before, each as
// the upper bound of its bucket, and how many that were.
func quantiles(h *metrics.Float64Histogram, before []uint64) (p50, p99, top float64, total uint64) {
	count := func(i int) uint64 {
		if i < len(before) {
			return h.Counts[i] - before[i]
		}
		return h.Counts[i]
	}
	for i := range h.Counts {
		total += count(i)
	}
	if total == 0 {
		return 0, 0, 0, 0
	}
	var seen uint64
	for i := range h.Counts {
		n := count(i)
		if n == 0 {
			continue
		}
		bound := h.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = h.Buckets[i]
		}
		if 2*seen < total {
			p50 = bound
		}
		if 100*seen < 99*total {
			p99 = bound
		}
		seen += n
		top = bound
	}
	return p50, p99, top, total
}
