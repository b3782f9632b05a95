package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// served returns what a run would say of a server that answers within a millisecond up to some rate, and in a second above.
func served(p Plan, limit float64) *latency.Log {
	n := int64(p.Rate * p.Duration.Seconds())
	l := &latency.Log{Rate: p.Rate, Took: p.Duration, Counts: latency.Counts{Asked: n, Sent: n, Answered: n, Good: n}}
	took := time.Millisecond
	if p.Rate > limit {
		took = time.Second
	}
	l.Response.AddN(took, n)
	return l
}

func TestFindMax(t *testing.T) {
	goals, err := latency.ParseGoals("p99<50ms,errors<1%")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []float64{0.7, 3, 99, 100, 101, 5000, 123_456} {
		runs := 0
		s := &search{plan: Plan{Rate: 100, Duration: 100 * time.Second}, goals: goals}
		s.run = func(_ context.Context, p Plan) (*latency.Log, error) {
			runs++
			return served(p, limit), nil
		}
		best, err := s.find(context.Background())
		if err != nil || best > limit || best < limit/1.06 {
			t.Errorf("limit %v: found %v, %v", limit, best, err)
		}
		if runs > 30 || runs != len(s.steps) {
			t.Errorf("limit %v: %d runs, %d steps", limit, runs, len(s.steps))
		}
	}

	// A rate that is met only now and then is not what was found.
	turns := map[float64]int{}
	s := &search{plan: Plan{Rate: 100, Duration: 10 * time.Second}, goals: goals}
	s.run = func(_ context.Context, p Plan) (*latency.Log, error) {
		limit := 1000.0
		if turns[p.Rate]++; turns[p.Rate] > 1 {
			limit = 900
		}
		return served(p, limit), nil
	}
	if best, err := s.find(context.Background()); err != nil || best > 900 || best < 750 {
		t.Errorf("a server that gets tired: found %v, %v", best, err)
	}

	// Nothing is met.
	s = &search{plan: Plan{Rate: 100, Duration: 10 * time.Second}, goals: goals}
	s.run = func(_ context.Context, p Plan) (*latency.Log, error) { return served(p, 0), nil }
	if best, err := s.find(context.Background()); err != nil || best != 0 {
		t.Errorf("a server that is always slow: found %v, %v", best, err)
	}

	// The generator is at its end.
	s = &search{plan: Plan{Rate: 100, Duration: 10 * time.Second}, goals: goals}
	s.run = func(_ context.Context, p Plan) (*latency.Log, error) {
		l := served(p, 1000)
		l.Health.Procs, l.Health.Threads = 2, 1
		if p.Rate > 1000 {
			l.Health.CPU = l.Took
		}
		return l, nil
	}
	if best, err := s.find(context.Background()); !errors.Is(err, errGenerator) || best != 800 {
		t.Errorf("a generator at its end: found %v, %v", best, err)
	}
}
