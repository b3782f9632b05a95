package loadview

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
)

// TestTracedBalance holds that parts are those of the requests in the execution trace, where there is one, and not guesses from what all goroutines did.
func TestTracedBalance(t *testing.T) {
	rec, l := loaded(t)
	s := &serverRun{rec: rec, log: l, to: 100 * time.Millisecond, out: &report.LoadServer{
		CPU: &report.ServerCPU{Serving: 1e3, Delayed: 5e6}, Waiting: &report.ServerWaiting{Queued: 5e6},
	}}
	l.Service.Add(10 * time.Millisecond)
	s.balance()
	if !s.out.Traced {
		t.Fatal("the parts are not those of the trace")
	}
	found, err := recording.Once(recording.Execution.In(rec), string(report.RequestWork), requests.Find)
	if err != nil {
		t.Fatal(err)
	}
	var want [requests.Whats]time.Duration
	n := 0
	for _, r := range found.Requests {
		if r.To <= int64(s.to) && !r.Begun {
			n++
			for what, ns := range r.Split {
				want[what] += time.Duration(ns)
			}
		}
	}
	for _, p := range s.out.Balance[:len(s.out.Balance)-2] {
		what := slices.IndexFunc(want[:], func(d time.Duration) bool { return d/time.Duration(n) == p.Nanos })
		if what < 0 || requests.What(what).String() != p.What || p.Overlap != 0 {
			t.Errorf("%+v is no part of the mean of %d requests in the trace", p, n)
		}
	}
	if got := len(s.out.Balance); got < 7 {
		t.Errorf("there are %d parts: %+v", got, s.out.Balance)
	}
	s.out, s.to = &report.LoadServer{CPU: s.out.CPU}, time.Minute
	if s.balance(); s.out.Traced {
		t.Error("the parts are those of a trace that is of a part of the run")
	}
}

// TestBalance splits the mean service time of 100 µs. The parts and what is unexplained add up to it exactly, and nothing that was
// measured is lost: what does not fit is overlap.
func TestBalance(t *testing.T) {
	const us = 1000.0
	tests := []struct {
		name    string
		cpu     report.ServerCPU
		waiting *report.ServerWaiting
		want    string // time/overlap in µs
		doubt   string // part of the only one; "" is none
	}{
		{name: "room", cpu: report.ServerCPU{Serving: 60 * us, Delayed: 10 * us},
			waiting: &report.ServerWaiting{Blocked: 9 * us, Locks: 4 * us, Queued: 5 * us}, want: "60/0 4/0 5/0 31/0"},
		// Waits of all goroutines and threads are no parts of a request, however long they are.
		{name: "a core", cpu: report.ServerCPU{Serving: 30 * us, Delayed: 66 * us},
			waiting: &report.ServerWaiting{Off: true, Queued: 60 * us}, want: "30/0 70/0", doubt: "unexplained"},
		{name: "a P", cpu: report.ServerCPU{Serving: 60 * us, Assisting: 10 * us},
			waiting: &report.ServerWaiting{Off: true, Queued: 900 * us}, want: "50/0 10/0 40/0"},
		{name: "two goroutines", cpu: report.ServerCPU{Serving: 70 * us},
			waiting: &report.ServerWaiting{Blocked: 80 * us}, want: "70/0 0/0 30/50 0/0", doubt: "50us more"},
		{name: "nearly nothing", cpu: report.ServerCPU{Serving: 1 * us}, want: "1/0 99/0", doubt: "unexplained"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &serverRun{log: &latency.Log{}, out: &report.LoadServer{CPU: &test.cpu, Waiting: test.waiting}}
			s.log.Service.Add(100 * time.Microsecond)
			s.balance()
			mean := s.log.Service.Mean()
			var got []string
			sum := time.Duration(0)
			parts := s.out.Balance[:len(s.out.Balance)-1]
			for _, p := range parts {
				sum += p.Nanos
				got = append(got, micros(p.Nanos)+"/"+micros(p.Overlap))
				if p.Nanos < 0 || p.Overlap < 0 || p.Share < 0 {
					t.Errorf("%+v is negative", p)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("the parts are %s, want %s", strings.Join(got, " "), test.want)
			}
			if sum != mean {
				t.Errorf("the parts add up to %v, want %v", sum, mean)
			}
			shows := false
			for b := range (&report.Load{Log: s.log, Server: s.out}).Blocks() {
				if table, ok := b.(report.Table); ok && strings.HasPrefix(table.Title, "where") {
					shows = slices.ContainsFunc(table.Columns, func(c report.Column) bool { return c.Name == "overlap" })
				}
			}
			if want := strings.Contains(test.doubt, "us"); shows != want {
				t.Errorf("the table has a column overlap: %v, want %v", shows, want)
			}
			if d := s.out.Doubts; (len(d) > 0) != (test.doubt != "") || len(d) > 1 || len(d) == 1 && !strings.Contains(d[0], test.doubt) {
				t.Errorf("the doubts are %q, want one with %q", d, test.doubt)
			}
		})
	}
}

// loaded returns a recording with an execution trace, and an empty log.
func loaded(t *testing.T) (*recording.Recording, *latency.Log) {
	t.Helper()
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
	rec, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec, &latency.Log{}
}

// micros is a time in microseconds.
func micros(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Microsecond).Microseconds(), 10)
}
