package runview

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/unit"
)

// Names of runtime/metrics.
const (
	metricTotal      = "/memory/classes/total:bytes"
	metricReleased   = "/memory/classes/heap/released:bytes"
	metricObjects    = "/memory/classes/heap/objects:bytes"
	metricUnused     = "/memory/classes/heap/unused:bytes"
	metricFree       = "/memory/classes/heap/free:bytes"
	metricStacks     = "/memory/classes/heap/stacks:bytes"
	metricOSStacks   = "/memory/classes/os-stacks:bytes"
	metricGoal       = "/gc/heap/goal:bytes"
	metricLimit      = "/gc/gomemlimit:bytes"
	metricAllocs     = "/gc/heap/allocs:bytes"
	metricCycles     = "/gc/cycles/total:gc-cycles"
	metricGoroutines = "/sched/goroutines:goroutines"
	metricGC         = "/cpu/classes/gc/total:cpu-seconds"
	metricIdleGC     = "/cpu/classes/gc/mark/idle:cpu-seconds"
	metricCPU        = "/cpu/classes/total:cpu-seconds"
	metricIdle       = "/cpu/classes/idle:cpu-seconds"
	metricLocked     = "/sync/mutex/wait/total:seconds"
)

// Mem breaks down the memory of a process.
func Mem(in []*recording.Recording, q query.Query) (report.Report, error) {
	if q.At.Moment() {
		return nil, &MomentError{q.At}
	}
	s, err := seriesOf(in)
	if err != nil {
		return nil, err
	}
	rec := in[0]
	held := s.Values(recording.ProcessRSS) == nil && s.Values(metricTotal) != nil // a server has no other metric
	whole := func(t time.Duration) (float64, bool) {
		if !held {
			return s.On(recording.ProcessRSS, t)
		}
		total, ok := s.On(metricTotal, t)
		released, _ := s.On(metricReleased, t)
		return total - released, ok
	}
	var last, peak time.Duration
	var end, most float64
	some := false
	for _, t := range moments(s.Times, q.At) {
		rss, ok := whole(t)
		if !ok {
			continue
		}
		last, end = t, rss
		if !some || rss > most {
			peak, most = t, rss
		}
		some = true
	}
	if !some {
		return nil, fmt.Errorf("%s does not say how much memory was resident%s", rec.Ref, when(q.At))
	}
	at := func(name string, t time.Duration) int64 {
		v, _ := s.On(name, t)
		return int64(v)
	}
	out := &report.Mem{
		Ref: rec.Ref, End: last, Peak: peak, RSS: int64(end), AtPeak: int64(most), Held: held, Notes: hint.Said(s.Notes...),
	}
	if i, measured := slices.BinarySearch(s.Times, last); !measured && s.Times[i]-last >= late {
		out.Notes.Add(fmt.Sprintf("nothing was measured at %s: values lie between those of %s and %s", unit.Time(last), unit.Time(s.Times[i-1]), unit.Time(s.Times[i])))
	}
	if held {
		note := "resident memory is unknown: this is the memory that Go got from the system and did not return"
		if n := at(recording.ProcessMaxRSS, last); n > 0 {
			note += fmt.Sprintf("; since the server started, %s were resident at most", unit.Size(n))
		}
		out.Notes.Add(note)
	}
	if s.Values(metricTotal) == nil {
		out.Notes.Add("only a recorder inside the program knows what memory is used for: record it with ", hint.Ask("record", "PACKAGE"))
	} else {
		out.Rows = memRows(last, peak, at)
		if !held {
			then, now := residentAt(s, out.AtPeak, peak), residentAt(s, out.RSS, last)
			out.Resident = resident(now, then)
			out.Absent, out.AbsentAtPeak = now.absent, then.absent
		}
	}
	if limit := at(metricLimit, last); limit > 0 && limit < math.MaxInt64/2 {
		out.Limits = append(out.Limits, report.MemLimit{Name: "GOMEMLIMIT", Bytes: limit})
	}
	if m := rec.Manifest; m != nil && m.Machine != nil {
		if limit := m.Machine.MemLimit; limit > 0 {
			out.Limits = append(out.Limits, report.MemLimit{Name: "cgroup limit", Bytes: limit})
		}
	}
	out.Notes = append(out.Notes, memRemarks(rec, out, at(metricFree, last), s)...)
	if q.At == (query.Span{}) {
		out.Grown, out.First, out.Last = grownHeap(rec)
		if c := rec.LiveAsOf(out.Last); c != nil && len(out.Grown) > 0 {
			out.AsOf = &report.LiveAsOf{GC: c.N, At: c.Start, Live: c.Live}
		}
	}
	out.Charts = []report.Chart{memChart(s)}
	ref := rec.Ref
	if len(rec.Parts[recording.Heap]) > 0 {
		out.Next = append(out.Next,
			hint.Ask("top", ref+"@"+out.Peak.Round(time.Millisecond).String()).With("metric", "inuse_space").For("what was live at the peak"),
			hint.Ask("top", ref).With("metric", "alloc_space").For("what is allocated, and makes the heap grow"))
		if m := rec.Manifest; m != nil && m.Exit != nil && m.Exit.Cause != "" {
			out.Next = append(out.Next, hint.Ask("top", ref).With("metric", "inuse_space").For("what was last live before the program ended"))
		}
	}
	return out, nil
}

// seriesOf returns the metrics of a recording.
func seriesOf(in []*recording.Recording) (*recording.Series, error) {
	if len(in) == 0 {
		return nil, errors.New("nothing to look at: name a recording")
	}
	s := recording.Metrics.In(in[0])
	if s == nil || len(s.Times) == 0 {
		return nil, hint.Errorf(hint.Text{hint.Ask("record"), " makes recordings that do"}, "%s has no metrics over time", in[0].Ref)
	}
	return s, nil
}

func when(at query.Span) string {
	if at == (query.Span{}) {
		return ""
	}
	return " in " + at.String()
}

// moments returns the times of the measurements in a range, and its ends where these lie between two measurements.
func moments(times []time.Duration, at query.Span) []time.Duration {
	if at == (query.Span{}) {
		return times
	}
	var out []time.Duration
	for i, t := range times {
		for _, end := range []time.Duration{at.From, at.To} {
			if i > 0 && times[i-1] < end && end < t {
				out = append(out, end)
			}
		}
		if t >= at.From && (at.To == 0 || t <= at.To) {
			out = append(out, t)
		}
	}
	return out
}

// memRows breaks down what Go counts.
func memRows(end, peak time.Duration, at func(string, time.Duration) int64) []report.MemRow {
	var rows []report.MemRow
	add := func(part bool, use, doc string, f func(time.Duration) int64) {
		end, peak := f(end), f(peak)
		if end != 0 || peak != 0 {
			rows = append(rows, report.MemRow{Use: use, Doc: doc, End: end, AtPeak: peak, Part: part})
		}
	}
	sum := func(names ...string) func(time.Duration) int64 {
		return func(t time.Duration) int64 {
			n := int64(0)
			for _, name := range names {
				n += at(name, t)
			}
			return n
		}
	}
	add(false, "objects", "on the heap", sum(metricObjects))
	if at(recording.HeapLive, end) > 0 {
		add(true, "live", "as of the last collection", func(t time.Duration) int64 { return min(at(recording.HeapLive, t), at(metricObjects, t)) })
		add(true, "newer or dead", "allocated since the last collection, or not yet swept; GOGC and GOMEMLIMIT limit it",
			func(t time.Duration) int64 { return max(0, at(metricObjects, t)-at(recording.HeapLive, t)) })
	}
	add(false, "unused", "in spans of the heap, between objects", sum(metricUnused))
	add(false, "free", "kept for heap growth; returned to the system gradually", sum(metricFree))
	add(false, "stacks", "of goroutines and threads", sum(metricStacks, metricOSStacks))
	add(false, "runtime", "runtime and profiling tables", sum(
		"/memory/classes/metadata/mcache/free:bytes", "/memory/classes/metadata/mcache/inuse:bytes",
		"/memory/classes/metadata/mspan/free:bytes", "/memory/classes/metadata/mspan/inuse:bytes",
		"/memory/classes/metadata/other:bytes", "/memory/classes/other:bytes", "/memory/classes/profiling/buckets:bytes"))
	return rows
}

// A residence is what is resident at a time, of Go and of the rest.
type residence struct {
	goes, other int64
	absent      int64 // of what Go counts
	known       bool  // or else Go has no more than that, and of the others there is no less
}

// residentAt tells what is resident of Go from the rest. What Go counts may never have been touched, and then it is not resident. Of the heap the
// recorder measures that; the tables of the runtime, a few megabytes, are taken to be resident. Without a measurement, there are only limits.
func residentAt(s *recording.Series, rss int64, t time.Duration) residence {
	at := func(name string) int64 {
		v, _ := s.On(name, t)
		return int64(v)
	}
	counted := at(metricTotal) - at(metricReleased)
	heap := at(metricObjects) + at(metricUnused) + at(metricFree) + at(metricStacks)
	measured, known := s.Between(recording.HeapResident, t)
	if !known {
		measured = float64(heap)
	}
	goes := min(rss, min(int64(measured), heap)+counted-heap)
	return residence{goes: goes, other: rss - goes, absent: counted - goes, known: known}
}

// resident says how much of what is resident is Go's.
func resident(end, peak residence) (rows []report.MemRow) {
	of, rest := report.Exactly, report.Exactly
	if !end.known || !peak.known {
		of, rest = report.AtMost, report.AtLeast
	}
	return []report.MemRow{
		{Use: "Go", Doc: "heap, stacks and runtime", End: end.goes, AtPeak: peak.goes, Bound: of},
		{Use: "not of Go", Doc: "the program's code, C, mapped files", End: end.other, AtPeak: peak.other, Bound: rest},
	}
}

// memRemarks returns remarks on the memory.
func memRemarks(rec *recording.Recording, m *report.Mem, free int64, s *recording.Series) hint.Texts {
	var notes hint.Texts
	if e := rec.Manifest; e != nil && e.Exit != nil && e.Exit.Cause != "" {
		note := "the program ended: " + e.Exit.Cause
		if parts := rec.Parts[recording.Heap]; len(parts) > 0 {
			note += fmt.Sprintf("; the last heap profile is from %s, %s before the last metrics", unit.Time(parts[len(parts)-1].To), unit.Time(m.End-parts[len(parts)-1].To))
		}
		notes.Add(note)
	}
	for _, l := range m.Limits {
		if m.AtPeak > l.Bytes/10*9 {
			notes.Add(fmt.Sprintf("%s were resident at the peak: %s of the %s of %s", unit.Size(m.AtPeak), unit.Share(float64(m.AtPeak)/float64(l.Bytes)), l.Name, unit.Size(l.Bytes)))
		}
	}
	if free > m.RSS/4 && free > 64<<20 {
		notes.Add(fmt.Sprintf("%s are free but still resident: the runtime returns them slowly; debug.FreeOSMemory returns them at once", unit.Size(free)))
	}
	if live := s.Values(recording.HeapLive); len(live) >= 20 {
		var known []float64
		for _, v := range live[len(live)/5:] { // without warming up
			if !math.IsNaN(v) {
				known = append(known, v)
			}
		}
		first, last := known[:len(known)/4], known[len(known)*3/4:]
		if t := stat.TrendOf(thinned(known, 100)); t.P < 0.001 && len(first) > 0 && least(last) > 1.2*most(first) {
			notes.Add(fmt.Sprintf("live memory rose all the time, from %s to %s: ", unit.Size(int64(first[0])), unit.Size(int64(last[len(last)-1]))),
				hint.Ask("diff", "REF@START", "REF@END").With("metric", "inuse_space"), " shows what stays")
		}
	}
	return notes
}

// thinned returns at most n of the values.
func thinned(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[i*len(values)/n]
	}
	return out
}

func least(values []float64) float64 {
	m := math.Inf(1)
	for _, v := range values {
		m = min(m, v)
	}
	return m
}

func most(values []float64) float64 {
	m := math.Inf(-1)
	for _, v := range values {
		m = max(m, v)
	}
	return m
}

// memChart shows memory over time.
func memChart(s *recording.Series) report.Chart {
	c := report.Chart{Title: "memory", X: &report.Measure{Unit: "nanoseconds"}, Y: &report.Measure{Unit: "bytes"}}
	for _, one := range []struct {
		name, metric string
		draw         report.Drawing
	}{
		{"resident", recording.ProcessRSS, report.Area},
		{"heap", metricObjects, report.Area},
		{"goal", metricGoal, report.Line},
	} {
		line := report.Series{Name: one.name, Draw: one.draw}
		for i, t := range s.Times {
			v, ok := s.At(one.metric, i)
			if !ok {
				continue
			}
			line.Points = append(line.Points, report.Point{X: int64(t), Y: int64(v)})
			c.Y.Total = max(c.Y.Total, int64(v))
			c.X.Total = max(c.X.Total, int64(t))
		}
		if len(line.Points) > 0 {
			c.Series = append(c.Series, line)
		}
	}
	c.To = c.X.Total
	return c
}
