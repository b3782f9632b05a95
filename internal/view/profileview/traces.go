package profileview

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Traces shows every sample with its stack, in the order of the profile. With a limit, it shows the heaviest samples, the heaviest first.
func Traces(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	d, err := calls.DetailOf(q)
	if err != nil {
		return nil, err
	}
	table := calls.NewFrameTable(a.Profile, d, nil)
	n := a.Profile.NumSamples()
	if q.Limit <= 0 {
		return &report.Traces{Head: a.head, Of: n, Each: a.traces(table, numbers(n))}, nil
	}
	heaviest := a.heaviest(q.Limit)
	if heaviest = heaviest[:a.readable(table, heaviest)]; len(heaviest) < n {
		a.head.Notes = slices.Clip(a.head.Notes)
		a.head.Notes.Add(fmt.Sprintf("showing the %d heaviest of %d stacks", len(heaviest), n))
	}
	return &report.Traces{Head: a.head, Of: n, Each: a.traces(table, slices.Values(heaviest))}, nil
}

// numbers yields 0 to n-1.
func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// heaviest returns at most limit samples, those with the largest values first.
func (a *question) heaviest(limit int) []int {
	values := a.Profile.Values(a.Type)
	weight := func(i int) int64 {
		if a.Mean {
			return unit.Abs(calls.Per(values[i], a.Profile.Values(0)[i]))
		}
		return unit.Abs(values[i])
	}
	var out []int
	least := int64(-1) // what others must weigh more than
	cut := func() {
		order.Stable(out, func(i, j int) int { return cmp.Compare(weight(j), weight(i)) })
		if len(out) >= limit {
			out = out[:limit]
			least = weight(out[limit-1])
		}
	}
	for i := range values {
		if weight(i) <= least {
			continue
		}
		if out = append(out, i); len(out)/2 >= limit {
			cut()
		}
	}
	cut()
	return out
}

// mostTraceBytes is how much the names in traces may have together, when there is a limit.
const mostTraceBytes = 32 << 20

// readable returns how many of the samples can be shown: fewer when their names are long.
func (a *question) readable(table *calls.FrameTable, samples []int) int {
	var stack []uint32
	size := 0
	for n, i := range samples {
		stack = a.Profile.Stack(i, stack[:0])
		for _, l := range stack {
			for _, f := range table.Of(l) {
				size += len(table.Frames[f].Name) + len(table.Frames[f].File)
			}
		}
		for _, l := range a.Profile.LabelSets()[a.Profile.Label(i)] {
			size += len(l.Key) + len(l.Str)
		}
		if size > mostTraceBytes {
			return max(n, 1)
		}
	}
	return len(samples)
}

func (a *question) traces(table *calls.FrameTable, samples iter.Seq[int]) iter.Seq[*report.Trace] {
	return func(yield func(*report.Trace) bool) {
		p := a.Profile
		sets := withUnits(p, a.units)
		values := p.Values(a.Type)
		var stack []uint32
		var t report.Trace
		for i := range samples {
			v := values[i]
			stack = p.Stack(i, stack[:0])
			t.Frames = t.Frames[:0]
			for _, l := range stack {
				frames := table.Of(l)
				for j := len(frames) - 1; j >= 0; j-- {
					t.Frames = append(t.Frames, report.TraceFrame{Frame: &table.Frames[frames[j]], Inline: table.Inlines(j)})
				}
			}
			if len(t.Frames) == 0 {
				continue
			}
			if a.Mean {
				v = calls.Per(v, p.Values(0)[i])
			}
			t.Value, t.Labels = v, sets[p.Label(i)]
			if !yield(&t) {
				return
			}
		}
	}
}

// withUnits returns the label sets of p with the unit that each number label has in the whole profile.
func withUnits(p *profile.Profile, units map[string]string) []profile.LabelSet {
	out := make([]profile.LabelSet, len(p.LabelSets()))
	for i, s := range p.LabelSets() {
		for _, l := range s {
			if l.Numeric {
				l.Unit = units[l.Key]
			}
			out[i] = append(out[i], l)
		}
	}
	return out
}
