package traceview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/stat"
)

// stretchesOf is the number of stretches of time that the requests of a handler are divided into. Consecutive requests are correlated, so stretches
// are the independent samples, not requests.
const stretchesOf = 20

// leastInStretch is the minimum number of requests in a stretch.
const leastInStretch = 5

// requestDiff compares the requests of a trace with those of another one.
func requestDiff(in []*recording.Recording, q query.Query, work report.Work) (report.Report, error) {
	out := &report.RequestDiff{Work: work, Ref: in[0].Ref, Live: in[0].Live, Base: in[1].Ref, At: q.At.String(), Handlers: []report.HandlerChange{}, Parts: []report.PartChange{}}
	type sides struct{ before, now []requests.Request }
	by := map[string]*sides{}
	for i, rec := range in {
		_, w, err := TraceOf(in[i:i+1], q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rec.Ref, err)
		}
		list, _, err := FoundIn(in[i:i+1], work, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rec.Ref, err)
		}
		for _, r := range list {
			if r.Begun || r.Open {
				continue // its duration is unknown
			}
			s := by[r.Handler]
			if s == nil {
				s = &sides{}
				by[r.Handler] = s
			}
			if i == 0 {
				s.now = append(s.now, r)
				out.Of++
			} else {
				s.before = append(s.before, r)
				out.Before++
			}
		}
	}
	total := map[string]int64{}
	for handler, s := range by {
		if len(s.before) == 0 || len(s.now) == 0 {
			out.Only = append(out.Only, report.HandlerOnly{Handler: handler, Before: len(s.before), Now: len(s.now)})
			continue
		}
		change := report.HandlerChange{Handler: handler, Before: len(s.before), Now: len(s.now)}
		change.Figures = append(change.Figures, changeOf("mean", s.before, s.now, mean))
		for _, percent := range []int{50, 90, 99} {
			change.Figures = append(change.Figures, changeOf(fmt.Sprintf("p%d", percent), s.before, s.now, func(list []int64) int64 {
				slices.Sort(list)
				return percentile(list, percent)
			}))
		}
		out.Handlers = append(out.Handlers, change)
		before, now := splitOf(s.before), splitOf(s.now)
		took := max(change.Figures[0].Before, change.Figures[0].Now)
		for what := range requests.Whats {
			if d := now[what] - before[what]; max(d, -d)*100 >= took && d != 0 {
				out.Parts = append(out.Parts, report.PartChange{Handler: handler, What: what.String(), Before: before[what], Now: now[what]})
			}
		}
		for _, r := range s.now {
			total[handler] += r.Took()
		}
	}
	order.Stable(out.Handlers, func(a, b report.HandlerChange) int {
		return cmp.Or(cmp.Compare(total[b.Handler], total[a.Handler]), cmp.Compare(a.Handler, b.Handler))
	})
	order.Stable(out.Only, func(a, b report.HandlerOnly) int {
		return cmp.Or(cmp.Compare(b.Now+b.Before, a.Now+a.Before), cmp.Compare(a.Handler, b.Handler))
	})
	order.Stable(out.Parts, func(a, b report.PartChange) int {
		size := func(p report.PartChange) int64 { return max(p.Now-p.Before, p.Before-p.Now) }
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.What, b.What))
	})
	out.Handlers, out.HandlersOf = firstRows(out.Handlers, q.Limit)
	out.Only, out.OnlyOf = firstRows(out.Only, q.Limit)
	out.Parts, out.PartsOf = firstRows(out.Parts, q.Limit)
	switch {
	case out.Of == 0 || out.Before == 0:
		out.Notes = append(out.Notes, fmt.Sprintf("there is nothing to compare: %d of the %ss ended in one trace and %d in the other", out.Of, work, out.Before))
	case by[""] != nil && work == report.RequestWork:
		out.Notes = append(out.Notes, noHandlerNote)
	}
	if out.Of > 0 && out.Before > 0 {
		out.Notes = append(out.Notes, "the intervals come from how much parts of each trace differ; they cannot account for a different machine or load")
	}
	return out, nil
}

func mean(list []int64) int64 {
	sum := int64(0)
	for _, v := range list {
		sum += v
	}
	return sum / int64(len(list))
}

// splitOf splits the time of the mean request.
func splitOf(list []requests.Request) (out [requests.Whats]int64) {
	for i := range list {
		for what, v := range list[i].Split {
			out[what] += v
		}
	}
	for what := range out {
		out[what] /= int64(len(list))
	}
	return out
}

// changeOf compares a statistic of request times.
func changeOf(name string, before, now []requests.Request, figure func([]int64) int64) report.FigureChange {
	out := report.FigureChange{What: name, Before: figure(took(before)), Now: figure(took(now))}
	olds, news := byStretch(before, figure), byStretch(now, figure)
	// A few requests in each stretch are not enough for the slowest of a hundred.
	if len(olds) < 6 || len(news) < 6 || name == "p99" && min(len(before), len(now)) < stretchesOf*100 {
		return out
	}
	// Two runs always differ a little, so a change has to exceed that.
	c := stat.Unpaired(olds, news, stat.DefaultWithin)
	out.Ratio, out.Low, out.High = report.Finite(c.Ratio), report.Finite(c.Lo), report.Finite(c.Hi)
	switch {
	case c.Verdict == stat.Same:
		out.Verdict = report.Same
	case c.Verdict == stat.Higher && c.Lo > 1+stat.DefaultWithin:
		out.Verdict = report.Worse
	case c.Verdict == stat.Lower && c.Hi < 1-stat.DefaultWithin:
		out.Verdict = report.Better
	default:
		out.Verdict = report.Undecided
	}
	return out
}

// byStretch is a statistic of each stretch. Stretches have the same number of requests.
func byStretch(list []requests.Request, figure func([]int64) int64) (out []float64) {
	list = slices.Clone(list)
	order.Stable(list, func(a, b requests.Request) int { return cmp.Compare(a.From, b.From) })
	n := min(stretchesOf, len(list)/leastInStretch)
	for i := range n {
		out = append(out, max(float64(figure(took(list[i*len(list)/n:(i+1)*len(list)/n]))), 1))
	}
	return out
}
