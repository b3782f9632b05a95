package load

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// Every request is due when as many are due as come before it, in order, and as many in all as the rate says.
func TestSchedule(t *testing.T) {
	for _, test := range []struct {
		plan  Plan
		total int64
	}{
		{Plan{Rate: 78, Duration: 10 * time.Second}, 780},
		{Plan{Rate: 0.5, Duration: 10 * time.Second}, 5},
		{Plan{Rate: 333.3, Duration: 3 * time.Second}, 1000},
		{Plan{Rate: 1000, Duration: time.Minute, Warmup: 2 * time.Second}, 62_000},
		{Plan{Rate: 1000, Number: 70}, 70},
		{Plan{Rate: 1000, Number: 70, Warmup: time.Second}, 1070},
		{Plan{Stages: []latency.Stage{{From: 0, To: 100, For: 10 * time.Second}}}, 500},
		{Plan{Stages: []latency.Stage{{From: 100, To: 0, For: 10 * time.Second}}}, 500},
		{Plan{Stages: []latency.Stage{{From: 100, To: 2000, For: time.Minute}, {From: 2000, To: 2000, For: time.Minute}, {From: 50, To: 50, For: time.Second}}}, 63_000 + 120_000 + 50},
		{Plan{Stages: []latency.Stage{{From: 10, To: 20, For: time.Second}}, Warmup: time.Second}, 25},
	} {
		s := scheduleOf(&test.plan)
		if s.total != test.total {
			t.Errorf("%+v has %d requests, want %d", test.plan, s.total, test.total)
		}
		last := time.Duration(-1)
		for i := range s.total {
			at := s.at(i)
			if at < last {
				t.Fatalf("%+v: request %d is due at %v, the one before at %v", test.plan, i, at, last)
			}
			if n := s.count(at + time.Millisecond); n < i+1 {
				t.Fatalf("%+v: request %d is due at %v, but only %d are by then", test.plan, i, at, n)
			}
			if n := s.count(at - time.Microsecond); n > i+1 {
				t.Fatalf("%+v: request %d is due at %v, but %d are before", test.plan, i, at, n)
			}
			last = at
		}
	}
}

func TestParseStages(t *testing.T) {
	for _, test := range []struct{ in, err string }{
		{"100/10s", ""},
		{"100..2k/60s,2k/5m", ""},
		{"30/m/1h", "not a stage"},
		{"0..10/1s", ""},
		{"", "not a stage"},
		{"100", "not a stage"},
		{"100/0s", "not a stage"},
		{"100/-1s", "not a stage"},
		{"x/1s", "not a rate"},
		{"0/1s", "sends nothing"},
		{"1e99/1s", "not a rate"},
		{"NaN/1s", "not a rate"},
		{strings.Repeat("1/1s,", 200) + "1/1s", "more than"},
	} {
		got, err := ParseStages(test.in)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v, %v; want an error with %q", test.in, got, err, test.err)
		}
	}
	for in, want := range map[string]float64{"200": 200, "1.5k": 1500, "30/m": 0.5, "7200/h": 2, "5/s": 5} {
		if got, err := ParseRate(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestParseStatus(t *testing.T) {
	for in, ok := range map[string]bool{"200": true, "2xx": true, "200,3xx,404": true, "": false, "6xx": false, "99": false, "2x": false, "200,": false, "xx": false, "0xx": false} {
		if got, err := ParseStatus(in); (err == nil) != ok {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}
