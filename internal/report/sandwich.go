package report

import "iter"

// A Sandwich is a frame between all that leads to it and all that it leads to.
type Sandwich struct {
	Head
	Frame   Frame      `json:"frame"`
	Origin  Origin     `json:"origin,omitempty"`
	Flat    int64      `json:"flat"`
	Cum     int64      `json:"cum"`
	Matches []string   `json:"matches,omitempty"` // lighter frames that were asked for as well
	Callees *FlameNode `json:"callees"`           // the frame and what it calls
	Callers *FlameNode `json:"callers"`           // the frame, with its callers below it
}

// Blocks shows the callees, and then the callers, upside down. What a caller costs by itself is no part of that.
func (s *Sandwich) Blocks() iter.Seq[Block] {
	half := func(n *FlameNode) *Flame {
		f := &Flame{Head: s.Head, Root: &FlameNode{Cum: s.Cum, Children: []*FlameNode{n}}}
		f.Accounted = s.Cum
		return f
	}
	callees, callers := half(s.Callees), half(s.Callers)
	return func(yield func(Block) bool) {
		for b := range callees.Blocks() {
			if !yield(b) {
				return
			}
		}
		if !yield(Title{"called by, each caller below what it calls"}) {
			return
		}
		for b := range callers.Blocks() {
			if _, heading := b.(Heading); heading {
				continue
			}
			if f, ok := b.(FlameBlock); ok {
				f.Callers = true
				b = f
			}
			if !yield(b) {
				return
			}
		}
	}
}

// A Search says how much of a profile goes through the frames that match.
type Search struct {
	Head
	Value int64    `json:"value"` // of the samples with a matching frame, each once
	Count int      `json:"count"` // frames that match
	Names []string `json:"names"` // of them, the first in order of their names
}

// Blocks is a table of the names.
func (s *Search) Blocks() iter.Seq[Block] {
	m := s.measure()
	m.add(s.Value)
	table := Table{
		Title:   "matches",
		Summary: Phrase{Value{s.Value, m}, " of ", Value{s.Total, m}, ", ", Share{s.Value, s.Total}},
		Columns: []Column{{Name: "function", Path: true}},
	}
	for _, n := range s.Names {
		table.Rows = append(table.Rows, []any{Name{Text: n}})
	}
	return s.answer(m, nil, table)
}
