package profileview

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Traces shows every sample with its stack.
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
	each := a.traces(table)
	if n := a.Profile.NumSamples(); q.Limit > 0 {
		if first := a.readable(table, q.Limit); first < n {
			a.head.Notes = slices.Clip(a.head.Notes)
			a.head.Notes.Add(fmt.Sprintf("showing the first %d of %d samples", first, n))
			each = firstOf(each, first)
		}
	}
	return &report.Traces{Head: a.head, Each: each}, nil
}

// mostTraceBytes is how much the names in traces may have together, when there is a limit.
const mostTraceBytes = 32 << 20

// readable returns how many of the first samples can be shown, of at most limit: fewer when their names are long.
func (a *question) readable(table *calls.FrameTable, limit int) int {
	var stack []uint32
	size := 0
	n := min(limit, a.Profile.NumSamples())
	for i := range n {
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
			return max(i, 1)
		}
	}
	return n
}

// firstOf yields no more than n of all.
func firstOf[T any](all iter.Seq[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		left := n
		for x := range all {
			if left == 0 || !yield(x) {
				return
			}
			left--
		}
	}
}

func (a *question) traces(table *calls.FrameTable) iter.Seq[*report.Trace] {
	return func(yield func(*report.Trace) bool) {
		p := a.Profile
		sets := withUnits(p, a.units)
		values := p.Values(a.Type)
		var stack []uint32
		var t report.Trace
		for i, v := range values {
			stack = p.Stack(i, stack[:0])
			t.Frames = t.Frames[:0]
			for _, l := range stack {
				frames := table.Of(l)
				for j := len(frames) - 1; j >= 0; j-- {
					t.Frames = append(t.Frames, report.TraceFrame{Frame: &table.Frames[frames[j]], Inline: j > 0})
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
