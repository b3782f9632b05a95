package view

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// noStack is what samples without any frame are shown as.
const noStack = "[no stack]"

// Folded is every stack with what it costs, one line each, for programs that draw flame graphs.
func Folded(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("folded")
	if err != nil {
		return nil, err
	}
	return t.folded(a), nil
}

// folded returns the stacks of t, whose number is only known at the end.
func (t *callTree) folded(a *question) *report.Folded {
	t.mergeByText()
	return &report.Folded{Head: a.head, Each: func(yield func(*report.FoldedStack) bool) {
		// Scratch of its own for each walk, since walks may go on at the same time.
		walk := *t
		walk.slot = make([]int32, len(t.slot))
		walk.spots, walk.to, walk.counts = nil, nil, nil
		walk.fold(yield)
	}}
}

// mergeByText makes frames that read the same one frame.
func (t *callTree) mergeByText() {
	first := make(map[string]int32, len(t.table.frames))
	same := make([]int32, len(t.table.frames))
	for i := range same {
		text := t.text(int32(i))
		f, ok := first[text]
		if !ok {
			f = int32(i)
			first[text] = f
		}
		same[i] = f
	}
	for i, f := range t.table.at {
		t.table.at[i] = same[f]
	}
}

// fold yields all stacks by the texts of their frames, callers before what they call.
func (t *callTree) fold(yield func(*report.FoldedStack) bool) {
	type open struct {
		call
		depth int
	}
	var s report.FoldedStack
	for todo := []open{{*t.root(), 0}}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		below := t.expand(&c.call)
		if c.depth > 0 {
			s.Frames = append(s.Frames[:c.depth-1], t.text(c.frame))
		}
		if s.Value = c.flat; c.flat != 0 {
			if c.depth == 0 {
				s.Frames = append(s.Frames, noStack)
			}
			if !yield(&s) {
				return
			}
		}
		// What is put last comes first.
		slices.SortFunc(below, func(a, b call) int { return cmp.Compare(t.text(b.frame), t.text(a.frame)) })
		for _, b := range below {
			todo = append(todo, open{b, c.depth + 1})
		}
	}
}
