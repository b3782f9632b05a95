package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Measured returns a recording of twelve seconds: main.early runs in the first six, main.late in the others; the heap
// grows and is collected each second.
func Measured(t *testing.T) *recording.Recording { return MeasuredAnd(t, "") }

// MeasuredAnd is Measured with more lines of metrics at the end.
func MeasuredAnd(t *testing.T, more string) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	var metrics, gc strings.Builder
	for i := range 49 {
		at := time.Duration(i) * 250 * time.Millisecond
		busy := min(at.Seconds(), 6) + 1.8*max(0, at.Seconds()-6)
		fmt.Fprintf(&metrics, `{"t": %d, "process/rss": %d, "process/cpu": %g, "process/threads": %d, "/sched/goroutines:goroutines": %d, `+
			`"/memory/classes/heap/objects:bytes": %d, "/gc/heap/goal:bytes": %d, "/cpu/classes/gc/total:cpu-seconds": %g}`+"\n",
			at.Milliseconds(), 60<<20+i<<20, busy, 6+i/12, 10+i*i%37, 20<<20+i%4*8<<20, 48<<20, busy/10)
	}
	for i := range 12 {
		name := "main.early"
		if i >= 6 {
			name = "main.late"
		}
		from := time.Duration(i) * time.Second
		putProfile(t, dir, recording.CPU, from, from+time.Second, cpu, name, 100, int64(time.Second))
		fmt.Fprintf(&gc, "gc %d @%d.900s 3%%: 0.02+%d.1+0.03 ms clock, 0.04+0.1/1.5/0.2+0.06 ms cpu, 40->44->20 MB, 48 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i+1, i, 4+i)
	}
	for name, text := range map[string]string{recording.MetricsFile: metrics.String() + more, recording.GCFile: gc.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Machine: &recording.Machine{CPUs: 2}})
}

// TestTimeline checks that what recordings hold beside profiles can be asked for, and that pages know where it is.
func TestTimeline(t *testing.T) {
	bare := recorded(t)
	bare.Ref = "bare.hone"
	s := New([]*recording.Recording{Measured(t), bare}, Options{Hosts: []string{"localhost"}})
	h := s.Handler()
	var there session
	answered(t, get(s, h, "/api/session"), &there)
	for i, want := range []bool{true, false} {
		for _, name := range []string{"timeline", "mem", "gc"} {
			if got := slices.Contains(there.Recordings[i].Views, name); got != want {
				t.Errorf("recording %d has %s to show: %v", i, name, got)
			}
		}
	}
	for path, want := range map[string]string{
		"/api/timeline":                 "2 cores, 49 points, the last at 12s",
		"/api/timeline?base=bare.hone":  "2 cores, 49 points, the last at 12s", // not a difference
		"/api/timeline?at=3s..6s":       "2 cores, 13 points, the last at 6s",
		"/api/timeline?metric=nonsense": "2 cores, 49 points, the last at 12s", // which profiles have
	} {
		var tl report.Timeline
		answered(t, get(s, h, path), &tl)
		if got := fmt.Sprintf("%d cores, %d points, the last at %s", tl.CPUs, len(tl.Points), tl.Points[len(tl.Points)-1].At); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	var gc report.GC
	answered(t, get(s, h, "/api/gc?limit=all"), &gc)
	if len(gc.Cycles) != 12 || gc.Cycles[3].Start != int64(3900*time.Millisecond) {
		t.Errorf("the cycles are %+v", gc.Cycles)
	}
	var mem report.Mem
	answered(t, get(s, h, "/api/mem"), &mem)
	if mem.RSS != 108<<20 {
		t.Errorf("resident are %d", mem.RSS)
	}
	if w := get(s, h, "/download/csv?view=timeline&at=3s..6s"); w.Code != 200 || strings.Count(w.Body.String(), "\n") != 14 {
		t.Errorf("the table of a time is %d %s", w.Code, w.Body)
	}
	for path, want := range map[string]string{
		"/api/timeline?ref=bare.hone": "bare.hone has no metrics over time",
		"/api/mem?ref=bare.hone":      "bare.hone has no metrics over time",
		"/api/gc?ref=bare.hone":       "bare.hone has no garbage collector log",
	} {
		w := get(s, h, path)
		if w.Code != 422 || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), "hone record") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestThin checks that what a page gets of a long run has its peaks and its mean.
func TestThin(t *testing.T) {
	tl := &report.Timeline{}
	for i := range 2*maxPoints + 1 {
		p := report.TimePoint{At: time.Duration(i) * time.Second, CPU: 1, RSS: 5}
		if i%3 == 0 {
			p.CPU = 4
		}
		tl.Points = append(tl.Points, p)
	}
	tl.Points[777].RSS, tl.Points[0].CPU = 100, 0
	busy := func() (sum float64) {
		for i, p := range tl.Points[1:] {
			sum += p.CPU * (p.At - tl.Points[i].At).Seconds()
		}
		return sum
	}
	want := busy()
	thin(tl, maxPoints)
	most := int64(0)
	for _, p := range tl.Points {
		most = max(most, p.RSS)
	}
	if n := len(tl.Points); n > maxPoints || tl.Points[n-1].At != 2*maxPoints*time.Second || most != 100 || len(tl.Notes) != 1 {
		t.Errorf("%d points up to %s, at most %d resident, notes %q", n, tl.Points[n-1].At, most, tl.Notes)
	}
	if got := busy(); got < want-10 || got > want+10 {
		t.Errorf("%g CPU seconds, want %g", got, want)
	}
}

// Leaky returns a recording of a program that keeps more and more: goroutines that wait in main.wait, and memory that main.keep allocated.
func Leaky(t *testing.T) *recording.Recording {
	t.Helper()
	return LeakyCollected(t, 1)
}

// LeakyCollected is Leaky with that many collections in each second.
func LeakyCollected(t *testing.T, often int) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	var metrics, gc strings.Builder
	for i := range 49 {
		at := time.Duration(i) * 250 * time.Millisecond
		fmt.Fprintf(&metrics, `{"t": %d, "process/rss": %d, "process/cpu": %g, "go/goroutines": %d, "/gc/heap/live:bytes": %d, "/gc/heap/allocs:bytes": %d, `+
			`"/memory/classes/total:bytes": %d, "/memory/classes/heap/objects:bytes": %d, "/gc/heap/goal:bytes": %d, "/cpu/classes/gc/total:cpu-seconds": %g}`+"\n",
			at.Milliseconds(), 80<<20+i<<20, at.Seconds(), 10+i, (10+i)<<20, i<<22, 80<<20+i<<20, 20<<20+i<<20, (20+2*i)<<20, 0.3*at.Seconds())
	}
	put := func(kind string, at time.Duration, types []profile.ValueType, stacks map[string][]int64) {
		b := profile.NewBuilder(profile.Header{SampleTypes: types})
		for _, stack := range slices.Sorted(maps.Keys(stacks)) {
			var ids []uint32
			for _, name := range strings.Split(stack, ";") {
				n := uint32(len(b.Functions))
				b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: "/src/main.go"})
				b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: n, Line: 7}}})
				ids = append(ids, n)
			}
			b.Add(ids, 0, stacks[stack])
		}
		b.Renumber()
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		if err := p.Write(&packed); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(recording.PartFile(kind, 0, at)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	heap := []profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	goroutine := []profile.ValueType{{Type: "goroutine", Unit: "count"}}
	for i, at := range []time.Duration{time.Second, 6 * time.Second, 12 * time.Second} {
		n := int64(24 * i)
		put(recording.Heap, at, heap, map[string][]int64{"main.keep;main.main": {n + 10, (n + 10) << 20, n + 10, (n + 10) << 20}, "main.load;main.main": {9, 9 << 20, 3, 3 << 20}})
		put(recording.Goroutine, at, goroutine, map[string][]int64{"runtime.gopark;runtime.chanrecv;runtime.chanrecv1;main.wait;main.serve": {n + 4}, "runtime.gopark;time.Sleep;main.main": {6}})
	}
	contended := []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	put(recording.Mutex, 12*time.Second, contended, map[string][]int64{"sync.(*Mutex).Unlock;main.hold;main.serve": {9, int64(3 * time.Second)}})
	for i := range 12 {
		from := time.Duration(i) * time.Second
		putProfile(t, dir, recording.CPU, from, from+time.Second, cpu, "main.serve", 100, int64(time.Second))
		for k := range often {
			n := i*often + k
			fmt.Fprintf(&gc, "gc %d @%.3fs 3%%: %d.02+%d.1+0.03 ms clock, 0.04+0.1/1.5/0.2+0.06 ms cpu, %d->%d->%d MB, %d MB goal, 0 MB stacks, 0 MB globals, 2 P\n",
				n+1, (float64(n)+0.9)/float64(often), i/10, 4+i, 20+4*i, 22+4*i, 10+4*i, 20+8*i)
		}
	}
	for name, text := range map[string]string{recording.MetricsFile: metrics.String(), recording.GCFile: gc.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Machine: &recording.Machine{CPUs: 2}})
}

// Sampled is a recording with an execution trace in which there are CPU samples.
func Sampled(t *testing.T) *recording.Recording {
	t.Helper()
	f, err := os.Open("../exectrace/testdata/go1.26.8.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	putProfile(t, dir, recording.CPU, 0, time.Second, cpu, "main.work", 100, int64(time.Second))
	if err := os.WriteFile(filepath.Join(dir, recording.TraceFile), trace, 0o600); err != nil {
		t.Fatal(err)
	}
	return reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Machine: &recording.Machine{CPUs: 2}})
}
