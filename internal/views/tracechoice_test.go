package views

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/view/loadview"
	"github.com/hone-perf/hone/internal/waits"
)

// flights returns a recording with execution traces that were written at some times, in milliseconds. All begin a second after the program, and there was trouble 30 ms later.
func flights(t *testing.T, at ...string) *recording.Recording {
	t.Helper()
	trace, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := exectrace.Open(f, int64(len(trace)))
	if err != nil {
		t.Fatal(err)
	}
	for range tr.Events() {
		break // the time of day is known with the first
	}
	dir := t.TempDir()
	started := time.Unix(0, tr.Wall()).Add(-time.Second)
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Started: started, Events: []recording.Event{{At: 1030 * time.Millisecond, Of: recording.Latency}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, recording.FlightDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, ms := range at {
		if err := os.WriteFile(filepath.Join(dir, recording.FlightDir, ms+".out"), trace, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec
}

// TestTraceOfTime holds that of several execution traces the one of the time that is asked for is read, and that an answer tells which there are.
func TestTraceOfTime(t *testing.T) {
	rec := flights(t, "000001110", "000001180")
	for _, tt := range []struct {
		at   query.Span
		want string // "" when there is none
	}{
		{query.Span{}, "flight/000001110.out"}, // of the latest trouble
		{query.Span{From: 1020 * time.Millisecond, To: 1030 * time.Millisecond}, "flight/000001110.out"}, // in both: the one that is read anyhow
		{query.Span{From: 1100 * time.Millisecond, To: 1150 * time.Millisecond}, "flight/000001180.out"},
		{query.Span{From: 1150 * time.Millisecond, To: 1150 * time.Millisecond}, "flight/000001180.out"},
		{query.Span{To: 500 * time.Millisecond}, ""},
		{query.Span{From: 2 * time.Second}, ""},
		{query.Span{From: 2 * time.Second, To: 2 * time.Second}, ""},
	} {
		got, err := rec.TraceAt(tt.at.From, tt.at.To)
		var none *recording.NoTraceThenError
		switch {
		case tt.want == "":
			if !errors.As(err, &none) || len(none.Times) != 2 || none.Times[0].String() != "1s..1.11s" || none.Times[1].String() != "1s..1.18s" {
				t.Errorf("at %v it is %v, %v", tt.at, got, err)
			}
		case err != nil:
			t.Errorf("at %v: %v", tt.at, err)
		default:
			if name := recording.Execution.In(got).Name; name != tt.want {
				t.Errorf("at %v it is %s, want %s", tt.at, name, tt.want)
			}
		}
	}
	for name, ask := range map[string]string{"trace": "", "requests": "", "waits": "", "request": "slowest"} {
		v, _ := Find(name)
		r, err := v.Run([]*recording.Recording{rec}, query.Query{View: name, Arg: ask, At: query.Span{From: 1150 * time.Millisecond, To: 1150 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		var list []report.TraceTime
		switch r := r.(type) {
		case *report.Execution:
			list = r.Traces
			if r.Requests != 400 {
				t.Errorf("at a moment, there are %d requests, want those of all of the trace", r.Requests)
			}
		case *report.Requests:
			list = r.Traces
		case *report.Waits:
			list = r.Traces
		case *report.RequestPath:
			list = r.Traces
		}
		if len(list) != 2 || list[0].Read || !list[1].Read || list[1].String() != "1s..1.18s" {
			t.Errorf("%s says that there are traces of %v", name, list)
		}
	}
}

// TestMomentOutside holds that a moment that the only trace there is has nothing of is an error.
func TestMomentOutside(t *testing.T) {
	rec := flights(t, "000001110")
	for at, inside := range map[time.Duration]bool{500 * time.Millisecond: false, 1100 * time.Millisecond: true, 3 * time.Second: false} {
		_, err := rec.TraceAt(at, at)
		var outside *waits.OutsideError
		if inside != (err == nil) || !inside && !errors.As(err, &outside) {
			t.Errorf("at %v: %v", at, err)
		}
	}
}

// TestGoroutinesOfMoment holds that goroutines at a time are those of the trace that covers it, and else of the last profile before.
func TestGoroutinesOfMoment(t *testing.T) {
	rec := flights(t, "000001040", "000001110")
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(rec.Ref, recording.Goroutine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rec.Ref, recording.PartFile(recording.Goroutine, 0, 900*time.Millisecond)), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Open(rec.Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	for at, traced := range map[time.Duration]bool{950 * time.Millisecond: false, 1040 * time.Millisecond: true, 0: false} {
		got, _, err := rec.Pick(recording.Goroutine, at, at)
		if err != nil {
			t.Fatal(err)
		}
		if shop := slices.ContainsFunc(got.Profile.Functions, func(f profile.Function) bool { return f.Name == "main.(*shop).price" }); shop != traced {
			t.Errorf("at %v goroutines of the trace are there: %v, want %v", at, shop, traced)
		}
	}
	// What compares profiles of two times gets profiles.
	of, _, err := rec.Profiles(recording.Goroutine).Between("", 1040*time.Millisecond, 1040*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(of.Functions, func(f profile.Function) bool { return f.Name == "main.(*shop).price" }) {
		t.Error("a profile of a moment is of the trace")
	}
}

// TestSlowAnswersOfTraces holds that the slow answers of a load run are looked for in all traces of the server, and told with the one that they are in.
func TestSlowAnswersOfTraces(t *testing.T) {
	rec := flights(t, "000001040", "000001110")
	found, err := recording.Once(recording.Execution.In(rec), string(report.RequestWork), requests.Find)
	if err != nil {
		t.Fatal(err)
	}
	r := found.Requests[164]
	l := &latency.Log{
		Target: "http://localhost/", Method: "GET", Engine: "hone", Conns: 1, Took: time.Second, Counts: latency.Counts{Answered: 2}, Began: rec.Manifest.Started,
		Slowest: []latency.Answer{{At: time.Duration(r.From), Took: time.Duration(r.Took()), Status: 200}, {At: 5 * time.Second, Took: time.Second, Status: 200}},
	}
	if err := recording.WriteLoad(rec.Ref, l); err != nil {
		t.Fatal(err)
	}
	if rec, err = recording.Open(rec.Ref); err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	rep, err := loadview.Load([]*recording.Recording{rec}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	got := rep.(*report.Load)
	if len(got.Slow) != 2 || got.Slow[0].Request == nil || got.Slow[0].Request.Number != 165 || got.Slow[0].Trace == nil || got.Slow[1].Request != nil {
		t.Errorf("the slowest answers are %+v", got.Slow)
	}
	if got.Untraced {
		t.Error("it says that there is no trace")
	}
	bare := flights(t)
	if err := recording.WriteLoad(bare.Ref, l); err != nil {
		t.Fatal(err)
	}
	if bare, err = recording.Open(bare.Ref); err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if rep, err = loadview.Load([]*recording.Recording{bare}, query.Query{}); err != nil || !rep.(*report.Load).Untraced {
		t.Errorf("without a trace, it does not say that there could be one: %v", err)
	}
}
