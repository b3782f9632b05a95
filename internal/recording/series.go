package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
)

// Names of metrics. Those with a colon are of runtime/metrics.
const (
	ProcessRSS     = "process/rss"              // bytes
	ProcessMaxRSS  = "process/max-rss"          // bytes, the most so far: what servers say
	ProcessCPU     = "process/cpu"              // seconds since the start; of a server, what its CPU profiles count
	ProcessThreads = "process/threads"          // at that time
	ProcessDelay   = "process/run-delay"        // seconds that its threads waited for a core
	GroupPeriods   = "cgroup/periods"           // of the cgroup that may use the fewest cores, since it was made; only where there is such a limit
	GroupThrottled = "cgroup/throttled-periods" // of these
	GroupStopped   = "cgroup/throttled"         // seconds of its threads in those
	NumRunnable    = "go/runnable"              // goroutines that wait for a P: the mean since the previous line
	NumGoroutine   = "go/goroutines"            // without those of the runtime, which newer versions of runtime/metrics count, too
	HeapLive       = "/gc/heap/live:bytes"      // after the last collection
	HeapResident   = "go/heap-resident"         // of Go's heap, with the stacks of goroutines; not in each line
)

// Series are the metrics of a run over time.
type Series struct {
	Times  []time.Duration // since the start
	values map[string][]float64
	Notes  []string
}

const (
	maxMetricLine  = 64 << 10
	maxMetricLines = 1 << 18 // three days of one a second
	maxMetricNames = 1 << 9
)

// unknown is the value of metrics that a line does not have.
var unknown = math.NaN()

// Values returns the values of a metric at all Times, NaN where it is not known, or nil when it never is.
func (s *Series) Values(name string) []float64 { return s.values[name] }

// At returns the value of a metric at one of the Times, and whether it is known.
func (s *Series) At(name string, i int) (float64, bool) {
	col := s.values[name]
	if i < 0 || i >= len(col) || math.IsNaN(col[i]) {
		return 0, false
	}
	return col[i], true
}

// On returns the value of a metric at a time, and whether it is known. Between two measurements, it lies on the line that joins them.
func (s *Series) On(name string, t time.Duration) (float64, bool) {
	i, found := slices.BinarySearch(s.Times, t)
	if found {
		return s.At(name, i)
	}
	a, okA := s.At(name, i-1)
	b, okB := s.At(name, i)
	if !okA || !okB {
		return 0, false
	}
	return a + (b-a)*float64(t-s.Times[i-1])/float64(s.Times[i]-s.Times[i-1]), true
}

// Between returns the value of a metric at a time, and whether it is known, on the line that joins the measurements around it, however far away these
// are. It is for what changes slowly, or is not measured each time.
func (s *Series) Between(name string, t time.Duration) (float64, bool) {
	after, found := slices.BinarySearch(s.Times, t)
	before := after - 1
	if found {
		before = after
	}
	for before >= 0 {
		if _, ok := s.At(name, before); ok {
			break
		}
		before--
	}
	for after < len(s.Times) {
		if _, ok := s.At(name, after); ok {
			break
		}
		after++
	}
	a, okA := s.At(name, before)
	b, okB := s.At(name, after)
	switch {
	case !okA || !okB:
		return 0, false
	case before == after:
		return a, true
	}
	return a + (b-a)*float64(t-s.Times[before])/float64(s.Times[after]-s.Times[before]), true
}

// readSeries returns the metrics in a recording.
func readSeries(r *Recording) (*Series, error) {
	f, err := r.OpenFile(MetricsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := parseSeries(f)
	if err != nil {
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, MetricsFile, err)
	}
	return s, nil
}

// readGC reads the log of the garbage collector.
func readGC(r *Recording) (*gclog.Log, error) {
	f, err := r.OpenFile(GCFile)
	if err != nil {
		return nil, nil // it said nothing
	}
	defer f.Close()
	l, err := gclog.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, GCFile, err)
	}
	if m := r.Manifest; m != nil && m.Recorder != nil {
		if l.EndAt(m.Recorder.Cycle); len(l.Cycles) == 0 && l.Recorder != nil {
			return nil, nil // the program had none
		}
	}
	return l, nil
}

// LiveAsOf returns the cycle of the collector as of which the heap profile of a time shows live memory, or nil where that is not known, or was
// shortly before.
func (r *Recording) LiveAsOf(at time.Duration) *gclog.Cycle {
	const (
		shortly = time.Second
		slack   = 20 * time.Millisecond // the log has whole milliseconds, and counts from a little before the recorder does
	)
	log := GC.In(r)
	if log == nil {
		return nil
	}
	c := log.Profiled(at + slack)
	if c == nil || at-(c.Start+c.Wall()) <= shortly {
		return nil
	}
	return c
}

// parseSeries reads metrics as they are kept. A line that was torn when the program ended is left out.
func parseSeries(r io.Reader) (*Series, error) {
	s := &Series{values: make(map[string][]float64)}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxMetricLine)
	for n := 1; in.Scan(); n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		if len(s.Times) == maxMetricLines {
			s.Notes = append(s.Notes, fmt.Sprintf("there are too many metrics: those after line %d are left out", n))
			break
		}
		var line map[string]*float64
		err := json.Unmarshal(in.Bytes(), &line)
		at := line["t"]
		if err != nil || at == nil || *at < 0 || *at > 1e12 || len(line) > maxMetricNames {
			s.Notes = append(s.Notes, fmt.Sprintf("line %d of the metrics could not be read", n))
			if len(s.Notes) > 10 {
				return nil, fmt.Errorf("line %d is not a line of metrics", n)
			}
			continue
		}
		t := time.Duration(*at * float64(time.Millisecond))
		if k := len(s.Times); k > 0 && t < s.Times[k-1] {
			s.Notes = append(s.Notes, fmt.Sprintf("line %d of the metrics is from before the one above", n))
			continue
		}
		s.Times = append(s.Times, t)
		for name, v := range line {
			col := s.values[name]
			if name == "t" || v == nil || col == nil && len(s.values) == maxMetricNames {
				continue
			}
			for len(col) < len(s.Times)-1 {
				col = append(col, unknown)
			}
			s.values[name] = append(col, *v)
		}
	}
	for name, col := range s.values {
		for len(col) < len(s.Times) {
			col = append(col, unknown)
		}
		s.values[name] = col
	}
	if err := in.Err(); err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("metrics after %d lines could not be read: %v", len(s.Times), err))
	}
	return s, nil
}
