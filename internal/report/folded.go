package report

import (
	"encoding/json"
	"iter"
	"strconv"

	"github.com/hone-perf/hone/internal/profile"
)

// Folded is every stack with what it costs, in order. There may be millions, so they are made one at a time.
type Folded struct {
	FoldedHead
	Each iter.Seq[*FoldedStack] `json:"-"` // the FoldedStack is only valid until the next one
}

// A FoldedHead is what there is to know before the stacks.
type FoldedHead struct {
	Head
	BaseHead   *Head `json:"base,omitempty"`       // what the base is; Head is about the new side
	Normalized bool  `json:"normalized,omitempty"` // base values are scaled to the new total
}

// A FoldedStack is the frames of a stack, outermost first, and what ends there.
type FoldedStack struct {
	Frames []string `json:"frames"`
	Value  int64    `json:"value"`
	Before *int64   `json:"before,omitempty"` // what ended there in the base; nil without one
}

// Change returns what a stack costs more than in the base, or all of it without one.
func (s *FoldedStack) Change() int64 {
	if s.Before == nil {
		return s.Value
	}
	return s.Value - *s.Before
}

// lines yields the line of each stack, as programs read it that draw flame graphs, and profile.Parse:
//
//	main;serve;read 12
//
// With a base there are two counts, before and after, as difffolded.pl writes them. The form has no place for a metric, a unit or notes; those are in Head.
func (f *Folded) lines(yield func(string) bool) {
	words := make(map[string]string)
	var line []byte
	for s := range f.Each {
		line = line[:0]
		for i, frame := range s.Frames {
			word, ok := words[frame]
			if !ok {
				word = profile.FoldedName(frame)
				words[frame] = word
			}
			if i > 0 {
				line = append(line, ';')
			}
			line = append(line, word...)
		}
		if s.Before != nil {
			line = strconv.AppendInt(append(line, ' '), *s.Before, 10)
		}
		line = strconv.AppendInt(append(line, ' '), s.Value, 10)
		if !yield(string(line)) {
			return
		}
	}
}

// Blocks returns the text of the stacks, which can be a hundred times as large as the profile.
func (f *Folded) Blocks() iter.Seq[Block] { return blocks([]Block{Lines{f.lines}}) }

// MarshalJSON writes all stacks.
func (f *Folded) MarshalJSON() ([]byte, error) {
	var out struct {
		FoldedHead
		Stacks []json.RawMessage `json:"stacks"`
	}
	out.FoldedHead = f.FoldedHead
	for s := range f.Each {
		b, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		out.Stacks = append(out.Stacks, b)
	}
	return json.Marshal(out)
}
