package loadview

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/hint"
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

// TestAnsweredBy looks for the request of an answer that a client waited for from 100 ms to 160 ms.
func TestAnsweredBy(t *testing.T) {
	const ms = int64(time.Millisecond)
	request := func(number int, connection, from, to int64) requests.Request {
		return requests.Request{Number: number, Goroutine: connection, From: from * ms, To: to * ms}
	}
	tests := []struct {
		name   string
		found  []requests.Request
		want   int // 0 is none
		before bool
	}{
		{name: "its own", found: []requests.Request{request(1, 7, 90, 99), request(2, 7, 101, 159), request(3, 8, 150, 159)}, want: 2},
		{name: "done after the answer", found: []requests.Request{request(1, 8, 120, 125), request(2, 7, 101, 190)}, want: 2},
		{name: "behind another", found: []requests.Request{request(1, 8, 140, 145), request(2, 7, 90, 159), request(3, 7, 159, 160)}, want: 2, before: true},
		{name: "of another connection", found: []requests.Request{request(1, 7, 90, 159), request(2, 8, 159, 160)}},
		{name: "of another client", found: []requests.Request{request(1, 7, 101, 400)}},
		{name: "not in the server", found: []requests.Request{request(1, 7, 50, 60), request(2, 7, 158, 160)}},
	}
	for _, test := range tests {
		r, before := answeredBy(test.found, 100*ms, 160*ms, ms, map[int]bool{})
		if got := r; (got == nil) != (test.want == 0) || got != nil && got.Number != test.want || before != test.before {
			t.Errorf("%s: %+v, before: %v, want request %d, before: %v", test.name, got, before, test.want, test.before)
		}
	}
}

// TestSlowAnswersAreShown holds that slow answers and the way to the slowest request are there even if no answer has a request in the trace.
func TestSlowAnswersAreShown(t *testing.T) {
	l := &report.Load{Ref: "run.hone", Log: &latency.Log{}, Traced: 20, Slow: []report.SlowAnswer{{Answer: latency.Answer{Took: time.Second, Status: 200}}}}
	table, note, next := false, false, false
	for b := range l.Blocks() {
		switch b := b.(type) {
		case report.Table:
			table = table || strings.HasPrefix(b.Title, "slowest answers")
		case report.Note:
			note = note || len(b.Text) > 0 && b.Text[0] == 1
		case report.Commands:
			next = slices.ContainsFunc(b.Items, func(c hint.Command) bool { return strings.Contains(fmt.Sprint(c), "slowest") })
		}
	}
	if !table || !note || !next {
		t.Errorf("a table: %v, a note: %v, a next step: %v, want all", table, note, next)
	}
}
