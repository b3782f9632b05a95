package calls

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
)

// noStack is what samples without any frame are shown as.
const noStack = "[no stack]"

// Folded returns the stacks of t, whose number is only known at the end.
func (t *Tree) Folded() iter.Seq[*report.FoldedStack] {
	t.mergeByText()
	t.grow(1.0/1024, nil)
	return t.fold
}

// mergeByText makes frames that read the same one frame.
func (t *Tree) mergeByText() {
	first := make(map[string]int32, len(t.Table.Frames))
	same := make([]int32, len(t.Table.Frames))
	for i := range same {
		text := t.Text(int32(i))
		f, ok := first[text]
		if !ok {
			f = int32(i)
			first[text] = f
		}
		same[i] = f
	}
	for i, f := range t.Table.at {
		t.Table.at[i] = same[f]
	}
	for i, f := range t.Table.only {
		if f >= 0 {
			t.Table.only[i] = same[f]
		}
	}
}

// fold yields all stacks by the texts of their frames, callers before what they call.
func (t *Tree) fold(yield func(*report.FoldedStack) bool) {
	type open struct {
		call  uint32
		depth int
	}
	var s report.FoldedStack
	for todo := []open{{RootCall, 0}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c := &t.Nodes[at.call]
		if at.depth > 0 {
			s.Frames = append(s.Frames[:at.depth-1], t.Text(c.Frame))
		}
		if !c.Opened {
			if !t.foldWaiting(c, &s, yield) {
				return
			}
			continue
		}
		if t.put(&s, c.Flat.Value, c.Flat.Before) {
			if at.depth == 0 {
				s.Frames = append(s.Frames, noStack)
			}
			if !yield(&s) {
				return
			}
		}
		// What is put last comes first.
		below := t.Calls(at.call)
		slices.SortFunc(below, func(i, j uint32) int {
			return cmp.Compare(t.Text(t.Nodes[j].Frame), t.Text(t.Nodes[i].Frame))
		})
		for _, b := range below {
			todo = append(todo, open{b, at.depth + 1})
		}
	}
}

// foldWaiting yields the stacks of the entries that wait at c, which s.Frames leads to.
func (t *Tree) foldWaiting(c *Call, s *report.FoldedStack, yield func(*report.FoldedStack) bool) bool {
	type rest struct {
		frames        []int32
		value, before int64
	}
	var all []rest
	var frames []int32
	for _, e := range t.Entries[c.First:c.End] {
		left := e.strand
		stack := t.Profile.StackAt(int(e.Sample))
		from := len(frames)
		last := c.Frame
		for left.Left > 0 {
			f, _ := t.take(&left, &stack)
			if !t.Collapse || f != last {
				frames = append(frames, f)
			}
			last = f
		}
		r := rest{frames: frames[from:len(frames):len(frames)], value: t.Values[e.Sample]}
		if t.Before != nil {
			r.before = t.Before[e.Sample]
		}
		all = append(all, r)
	}
	// Frames that read the same are the same: see mergeByText.
	compare := func(a, b rest) int {
		return slices.CompareFunc(a.frames, b.frames, func(f, g int32) int {
			if f == g {
				return 0
			}
			return cmp.Compare(t.Text(f), t.Text(g))
		})
	}
	order.Stable(all, compare)
	depth := len(s.Frames)
	for i := 0; i < len(all); {
		value, before := int64(0), int64(0)
		j := i
		for ; j < len(all) && compare(all[i], all[j]) == 0; j++ {
			value += all[j].value
			before += all[j].before
		}
		s.Frames = s.Frames[:depth]
		for _, f := range all[i].frames {
			s.Frames = append(s.Frames, t.Text(f))
		}
		if i = j; t.put(s, value, before) && !yield(s) {
			return false
		}
	}
	return true
}

// put sets what a stack costs, and before that what it cost in the base of a comparison. It reports whether that is anything.
func (t *Tree) put(s *report.FoldedStack, value, before int64) bool {
	if s.Value = value; t.Before != nil {
		if s.Before == nil {
			s.Before = new(int64)
		}
		*s.Before = int64(math.Round(float64(before) * t.Ratio))
	}
	return value != 0 || before != 0
}
