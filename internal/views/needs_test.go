package views

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/traceview"
)

// everything returns a recording that has something of every kind.
func everything(t *testing.T) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, text []byte) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Events: []recording.Event{{At: time.Second, When: "rss>1MB"}}}); err != nil {
		t.Fatal(err)
	}
	put(recording.GCFile, []byte("gc 1 @1.5s 1%: 0.01+0.2+0.003 ms clock, 0.02+0.1/0.1/0.1+0.006 ms cpu, 4->4->0 MB, 5 MB goal, 2 P\n"))
	put(recording.BenchFile, []byte("BenchmarkA 10 5 ns/op\n"))
	put("duel.json", []byte(`{"alpha":0.05,"within":0.01,"benchmarks":[{"name":"A","how":"alternate","unit":"cpu-ns/op","pairs":[`+
		strings.Repeat(`{"old":{"cpu-ns/op":5},"new":{"cpu-ns/op":6}},{"old":{"cpu-ns/op":5.5},"new":{"cpu-ns/op":6.5}},`, 10)+`{"old":{"cpu-ns/op":5},"new":{"cpu-ns/op":6}}]}]}`))
	l := &latency.Log{Target: "http://localhost/", Method: "GET", Engine: "hone", Conns: 1, Took: 8 * time.Second}
	var metrics strings.Builder
	for i := range int64(9) {
		l.Marks = append(l.Marks, latency.Mark{At: time.Duration(i) * time.Second, Answered: 1000 * i})
		l.Service.Add(time.Millisecond)
		fmt.Fprintf(&metrics, `{"t":%d,"process/rss":%d,"process/cpu":%d,"go/goroutines":%d,"/gc/heap/live:bytes":%d,"/gc/heap/goal:bytes":%d,"/gc/cycles/total:gc-cycles":%d}`+"\n",
			1000*i, 10<<20+i<<20, i, 100*i, i<<21, i<<22, i)
	}
	l.Asked, l.Sent, l.Answered, l.Good = 8000, 8000, 8000, 8000
	put(recording.MetricsFile, []byte(metrics.String()))
	if err := recording.WriteLoad(dir, l); err != nil {
		t.Fatal(err)
	}
	for kind, types := range map[string][]string{
		recording.CPU: {"samples", "cpu"}, recording.Heap: {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
		recording.Block: {"contentions", "delay"}, recording.Mutex: {"contentions", "delay"}, recording.Goroutine: {"goroutine"},
	} {
		for i := range 8 {
			from, to := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
			put(recording.PartFile(kind, from, to), encoded(t, types, i+1))
		}
	}
	trace, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	put(recording.TraceFile, trace)
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Check(); err != nil || len(r.Lost) > 0 {
		t.Fatal(err, r.Lost)
	}
	return r
}

// TestNeeds holds that each view says what it looks at: with that alone its answer is the same.
func TestNeeds(t *testing.T) {
	rec := everything(t)
	for v := range All() {
		if v.Part == view.Profile {
			if len(v.Needs) > 0 {
				t.Errorf("%s needs %v beside its profile", v.Name, v.Needs)
			}
			continue
		}
		answer := func(of *recording.Recording) string {
			t.Helper()
			r, err := v.Run([]*recording.Recording{of}, query.Query{View: v.Name, Arg: map[string]string{"request": traceview.Slowest, "blame": "Mutex", "goroutine": "1", "task": traceview.Slowest, "region": traceview.Slowest}[v.Name]})
			var none *traceview.NoRequestError
			if errors.As(err, &none) {
				return none.Error() // the service marks no tasks
			}
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatalf("%s: %v in %+v", v.Name, err, r)
			}
			return string(text)
		}
		all := answer(rec)
		if got := answer(rec.Only(append([]string{v.Part.Name}, v.Needs...)...)); got != all {
			t.Errorf("%s says\n%s\nwithout what it does not need, and with it\n%s", v.Name, got, all)
		}
		if v.Name == "load" && (!strings.Contains(all, `"functions"`) || !strings.Contains(all, `"leak_suspects"`)) {
			t.Errorf("the load run says nothing about the server: %s", all)
		}
	}
}

// encoded returns a profile with one stack, whose values are n times what it has at first.
func encoded(t *testing.T, types []string, n int) []byte {
	t.Helper()
	h := profile.Header{Period: 10_000_000}
	var values []int64
	for i, typ := range types {
		h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: typ, Unit: "count"})
		values = append(values, int64(n*(i+1))*100_000_000)
	}
	b := profile.NewBuilder(h)
	b.Functions = []profile.Function{{Name: "net/http.(*conn).serve"}, {Name: "example.com/shop.price"}}
	for i := range b.Functions {
		b.Functions[i].SystemName = b.Functions[i].Name
		b.Locations = append(b.Locations, profile.Location{
			Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{{Function: uint32(i)}},
		})
	}
	b.Add([]uint32{1, 0}, 0, values)
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
