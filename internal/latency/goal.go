package latency

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/unit"
)

// A Goal is what somebody expects of a server: p99<50ms, or errors<0.1%.
type Goal struct {
	Text string
	Of   string // mean, max, errors, or p and a percentile

	quantile float64
	time     time.Duration // less than this is well…
	share    float64       // …or this, of errors
}

// ParseGoals reads a list of goals, with commas between them.
func ParseGoals(text string) ([]Goal, error) {
	var out []Goal
	for word := range strings.SplitSeq(text, ",") {
		g, err := parseGoal(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func parseGoal(text string) (g Goal, err error) {
	wrong := fmt.Errorf("%q is not a goal; want such as p99<50ms, mean<10ms, max<1s or errors<0.1%%", text)
	of, limit, ok := strings.Cut(text, "<")
	if !ok {
		return g, wrong
	}
	g = Goal{Text: text, Of: strings.TrimSpace(of)}
	limit = strings.TrimSpace(strings.TrimPrefix(limit, "="))
	switch {
	case g.Of == "errors":
		number, percent := strings.CutSuffix(limit, "%")
		if g.share, err = strconv.ParseFloat(number, 64); percent {
			g.share /= 100
		}
		if err != nil || !(g.share > 0 && g.share <= 1) {
			return g, wrong
		}
		return g, nil
	case g.Of == "mean", g.Of == "max":
	case strings.HasPrefix(g.Of, "p"):
		p, err := strconv.ParseFloat(g.Of[1:], 64)
		if err != nil || !(p > 0 && p <= 100) {
			return g, wrong
		}
		g.quantile = p / 100
	default:
		return g, wrong
	}
	if g.time, err = time.ParseDuration(limit); err != nil || g.time <= 0 {
		return g, wrong
	}
	return g, nil
}

// Met reports whether a run meets a goal, and what it has instead in words. Requests that timed out, or were not waited
// for, count with the time that they at least took: leaving them out would make a server that hangs look fast. Of nothing
// at all no goal is met.
func (g *Goal) Met(l *Log) (bool, string) {
	if g.Of == "errors" {
		if l.Asked == 0 {
			return false, "nothing was asked"
		}
		share := float64(l.Asked-l.Good) / float64(l.Asked)
		return share < g.share, unit.Share(share)
	}
	if l.Answered == 0 {
		return false, "no answer"
	}
	all := l.WithCut()
	got := all.Quantile(g.quantile)
	switch g.Of {
	case "mean":
		got = all.Mean()
	case "max":
		got = all.Max()
	}
	return got < g.time, unit.Time(got)
}

// WithCut returns Times with Cut.
func (l *Log) WithCut() *Histogram {
	var all Histogram
	all.Merge(l.Times())
	all.Merge(&l.Cut)
	return &all
}
