package loadview

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/report"
)

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
			waiting: &report.ServerWaiting{Blocked: 9 * us, Locks: 4 * us, Queued: 5 * us}, want: "60/0 4/0 5/0 5/0 10/0 16/0"},
		{name: "a core", cpu: report.ServerCPU{Serving: 30 * us, Delayed: 66 * us},
			waiting: &report.ServerWaiting{Off: true, Queued: 60 * us}, want: "30/0 60/0 10/56 0/0", doubt: "a P and a core, 56us"},
		{name: "a P", cpu: report.ServerCPU{Serving: 50 * us, Assisting: 10 * us},
			waiting: &report.ServerWaiting{Off: true, Queued: 70 * us}, want: "40/0 10/0 50/20 0/0", doubt: "a P and a core, 20us"},
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

// micros is a time in microseconds.
func micros(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Microsecond).Microseconds(), 10)
}
