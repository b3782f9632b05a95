package report

import (
	"encoding/json"
	"iter"
)

// A Sandwich is a frame between all that leads to it and all that it leads to.
type Sandwich struct {
	Head
	Whole  int64  `json:"whole"` // total before filters
	Frame  Frame  `json:"frame"`
	Origin Origin `json:"origin,omitempty"`
	Flat   int64  `json:"flat"`
	Cum    int64  `json:"cum"`

	Before     *Cost2 `json:"before,omitempty"`     // in a diff: what it cost
	BaseHead   *Head  `json:"base,omitempty"`       // what the base is; Head is about the new side
	Normalized bool   `json:"normalized,omitempty"` // the base was scaled to the total of the new side

	Matches []string  `json:"matches,omitempty"` // lighter frames that were asked for as well
	Callees FlameTree `json:"-"`                 // the frame and what it calls
	Callers FlameTree `json:"-"`                 // the frame, with its callers below it
}

// SandwichJSON is what a Sandwich is in JSON.
type SandwichJSON struct {
	SandwichHead
	Callees FlameColumns `json:"callees"`
	Callers FlameColumns `json:"callers"`
}

// A SandwichHead is what goes before the calls.
type SandwichHead Sandwich

// JSON returns s with its calls in columns.
func (s *Sandwich) JSON() SandwichJSON {
	return SandwichJSON{SandwichHead(*s), s.Callees.Columns(), s.Callers.Columns()}
}

func (s *Sandwich) MarshalJSON() ([]byte, error) { return json.Marshal(s.JSON()) }

// Blocks shows the callees, and then the callers, upside down. What a caller costs by itself is no part of that.
func (s *Sandwich) Blocks() iter.Seq[Block] {
	half := func(t FlameTree) *Flame {
		f := &Flame{Head: s.Head, FlameTree: FlameTree{Root: &FlameNode{Cum: s.Cum, Before: s.Before, Children: []*FlameNode{t.Root}}}}
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
		if !yield(Title{"callers, each below the function that it calls"}) {
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
	Names []string `json:"names"` // of them, in order; the heaviest if there are too many
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
