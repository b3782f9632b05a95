package loadview

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
)

// TestSlowAnswers holds that the answers of a load run are found among the requests in the trace of the server: by the time of day, whatever
// the recording says of its own begin.
func TestSlowAnswers(t *testing.T) {
	trace, err := os.ReadFile("../../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, recording.TraceFile), trace, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
		t.Fatal(err)
	}
	open := func() *recording.Recording {
		rec, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rec.Close() })
		return rec
	}
	rec := open()
	found, err := recording.Once(recording.Execution.In(rec), string(report.RequestWork), requests.Find)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := recording.Execution.In(rec).Open()
	if err != nil {
		t.Fatal(err)
	}
	for range tr.Events() {
		break
	}
	// The client began 40 ms before the trace did, and saw each answer a little later than the server had it.
	const before, wire = 40 * time.Millisecond, 50 * time.Microsecond
	l := &latency.Log{
		Target: "http://localhost/", Method: "GET", Engine: "hone", Conns: 1, Took: time.Second, Offset: time.Hour,
		Began: time.Unix(0, tr.Wall()).Add(-before),
	}
	want := map[time.Duration]int{}
	for _, n := range []int{165, 380} {
		r := found.Requests[n-1]
		a := latency.Answer{At: before + time.Duration(r.From) - wire, Took: time.Duration(r.Took()) + 2*wire, Status: 200}
		l.Slowest = append(l.Slowest, a)
		want[a.At] = n
	}
	// One that waited for a connection, of which the server knows nothing.
	l.Slowest = append(l.Slowest, latency.Answer{At: before, Took: 60 * time.Millisecond, Status: 200})
	if err := recording.WriteLoad(dir, l); err != nil {
		t.Fatal(err)
	}
	rep, err := Load([]*recording.Recording{open()}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	slow := rep.(*report.Load).Slow
	if len(slow) != 3 {
		t.Fatalf("%d answers, want 3", len(slow))
	}
	for _, a := range slow {
		switch n, ok := want[a.At]; {
		case !ok && a.Request != nil:
			t.Errorf("the answer at %v is request %d, want none", a.At, a.Request.Number)
		case ok && (a.Request == nil || a.Request.Number != n):
			t.Errorf("the answer at %v is %v, want request %d", a.At, a.Request, n)
		}
	}
}
