package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// A schedule says when each request of an open loop is due.
type schedule struct {
	parts []part
	total int64 // requests
}

// A part of a schedule is a stage with what came before it.
type part struct {
	latency.Stage
	begin time.Duration
	first float64 // requests due before it
}

// scheduleOf returns the schedule of a plan: the warm-up at the rate at which it begins, and then the rest. It is nil for
// a closed loop.
func scheduleOf(p *Plan) *schedule {
	stages := p.Stages
	if len(stages) == 0 {
		if p.Rate == 0 {
			return nil
		}
		length := p.Duration
		if length == 0 {
			length = MaxDuration // until Number is reached
		}
		stages = []latency.Stage{{From: p.Rate, To: p.Rate, For: length}}
	}
	s := &schedule{}
	if p.Warmup > 0 {
		s.add(latency.Stage{From: stages[0].From, To: stages[0].From, For: p.Warmup})
	}
	for _, st := range stages {
		s.add(st)
	}
	last := s.parts[len(s.parts)-1]
	s.total = int64(math.Round(last.first + last.count(last.For)))
	if p.Number > 0 {
		s.total = min(s.total, p.Number+s.count(p.Warmup))
	}
	return s
}

func (s *schedule) add(st latency.Stage) {
	one := part{Stage: st}
	if n := len(s.parts); n > 0 {
		before := &s.parts[n-1]
		one.begin = before.begin + before.For
		one.first = before.first + before.count(before.For)
	}
	s.parts = append(s.parts, one)
}

// count returns how many requests are due in the first of a part.
func (p *part) count(d time.Duration) float64 {
	t, length := d.Seconds(), p.For.Seconds()
	if length == 0 {
		return 0
	}
	return p.From*t + (p.To-p.From)*t*t/(2*length)
}

// at returns when request i is due.
func (s *schedule) at(i int64) time.Duration {
	x := float64(i)
	k := len(s.parts) - 1
	for k > 0 && s.parts[k].first > x {
		k--
	}
	p := &s.parts[k]
	x -= p.first
	// The inverse of count. A rate that does not change needs no root, and loses nothing to one.
	slope := (p.To - p.From) / p.For.Seconds()
	t := x / p.From
	if slope != 0 {
		t = 2 * x / (p.From + math.Sqrt(max(p.From*p.From+2*slope*x, 0)))
	}
	if math.IsNaN(t) {
		t = 0
	}
	return p.begin + min(time.Duration(t*float64(time.Second)), p.For)
}

// count returns how many requests are due before a time.
func (s *schedule) count(t time.Duration) int64 {
	for k := len(s.parts) - 1; k >= 0; k-- {
		if p := &s.parts[k]; t >= p.begin {
			return int64(math.Ceil(p.first + p.count(min(t-p.begin, p.For)) - 1e-9))
		}
	}
	return 0
}

// ParseStages reads a schedule: 100..2000/60s,2000/5m goes from 100 requests a second to 2000 within a minute and stays
// there for five.
func ParseStages(text string) ([]latency.Stage, error) {
	const most = 100
	var out []latency.Stage
	for word := range strings.SplitSeq(text, ",") {
		rate, length, ok := strings.Cut(word, "/")
		from, to, ramp := strings.Cut(rate, "..")
		if !ramp {
			to = from
		}
		d, err := time.ParseDuration(length)
		if !ok || err != nil || d <= 0 || d > MaxDuration {
			return nil, fmt.Errorf("%q is not a stage; want RATE/TIME or FROM..TO/TIME, such as 100..2000/60s", word)
		}
		a, errA := ParseRate(from)
		b, errB := ParseRate(to)
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("%q: %w", word, err)
		}
		if a == 0 && b == 0 {
			return nil, fmt.Errorf("%q sends nothing", word)
		}
		if out = append(out, latency.Stage{From: a, To: b, For: d}); len(out) > most {
			return nil, fmt.Errorf("more than %d stages", most)
		}
	}
	return out, nil
}

// ParseRate reads a number of requests a second: 200, 1.5k, 30/m.
func ParseRate(text string) (float64, error) {
	number, per := text, 1.0
	if n, unit, ok := strings.Cut(text, "/"); ok {
		number = n
		switch unit {
		case "s":
		case "m":
			per = 60
		case "h":
			per = 3600
		default:
			return 0, fmt.Errorf("%q is not a rate; want requests a second, such as 200, 2k or 30/m", text)
		}
	}
	factor := 1.0
	if n, ok := strings.CutSuffix(number, "k"); ok {
		number, factor = n, 1000
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x >= 0) || x*factor/per > MaxRate {
		return 0, fmt.Errorf("%q is not a rate; want requests a second, such as 200, 2k or 30/m", text)
	}
	return x * factor / per, nil
}
