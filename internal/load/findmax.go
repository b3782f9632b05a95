package load

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/unit"
)

// A Step is a rate that was tried in the search for the highest that meets some goals.
type Step struct {
	Rate float64
	Log  *latency.Log
	Met  bool
	Why  string // it was not met
}

// errGenerator says that the generator is at its end before the server.
var errGenerator = errors.New("the load generator reached its limit; the server may do more")

// FindMax searches for the highest rate that meets goals: it doubles the rate of p, or 100 a second, until they are missed,
// halves what is between the two, and tries what it found twice more. Each rate is kept for p.Duration. It returns what was
// tried, also with an error. try is told of each step.
func FindMax(ctx context.Context, p Plan, goals []latency.Goal, try func(Step)) (float64, []Step, error) {
	if p.Rate == 0 {
		p.Rate = 100
	}
	s := &search{plan: p, goals: goals, run: Run, told: try}
	best, err := s.find(ctx)
	return best, s.steps, err
}

// A search is what was tried so far.
type search struct {
	plan  Plan
	goals []latency.Goal
	run   func(context.Context, Plan) (*latency.Log, error)
	told  func(Step)
	steps []Step
}

func (s *search) find(ctx context.Context) (float64, error) {
	const (
		near    = 1.05 // how close two rates are in the end
		least   = 0.1  // requests a second
		again   = 2    // how often what was found is tried again
		retreat = 0.9
	)
	low, high := 0.0, 0.0
	for rate := s.plan.Rate; ; {
		met, err := s.try(ctx, rate)
		if err != nil {
			return low, err
		}
		if met {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high == 0 && rate >= MaxRate:
			return low, nil
		case high == 0:
			rate = math.Min(2*rate, MaxRate)
			continue
		case low == 0 && rate < least:
			return 0, nil
		case low == 0:
			rate /= 2
			continue
		case high/low > near:
			rate = round(math.Sqrt(low * high))
			if rate <= low || rate >= high {
				rate = math.Sqrt(low * high)
			}
			continue
		}
		break
	}
	// One run proves little: a pause of the machine may have come just then, or not.
	for low >= least {
		held := true
		for range again {
			met, err := s.try(ctx, low)
			if err != nil {
				return low, err
			}
			if held = held && met; !held {
				break
			}
		}
		if held {
			return low, nil
		}
		low = round(low * retreat)
	}
	return 0, nil
}

// round keeps three digits of a rate.
func round(rate float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	return short
}

// try keeps a rate for a while.
func (s *search) try(ctx context.Context, rate float64) (bool, error) {
	const (
		kept = 0.99 // of what was due has to be sent
		busy = 0.95 // of its cores are more than a generator can use and still be in time
	)
	p := s.plan
	p.Rate = rate
	l, err := s.run(ctx, p)
	if err != nil {
		return false, err
	}
	if l.Stopped == Interrupted {
		return false, context.Canceled
	}
	step := Step{Rate: rate, Log: l, Met: true}
	if float64(l.Sent) < kept*float64(l.Asked) {
		step.Met, step.Why = false, unit.Share(float64(l.Sent)/float64(max(l.Asked, 1)))+" of what was due was sent"
	}
	for _, g := range s.goals {
		if met, has := g.Met(l); !met {
			step.Met = false
			if step.Why != "" {
				step.Why += "; "
			}
			step.Why += g.Text + ": " + has
		}
	}
	s.steps = append(s.steps, step)
	if s.told != nil {
		s.told(step)
	}
	if can := math.Min(l.Health.Procs, float64(l.Health.Threads)); !step.Met && can > 0 && l.Took > 0 && l.Health.CPU > time.Duration(busy*can*float64(l.Took)) {
		return false, errGenerator
	}
	return step.Met, nil
}
