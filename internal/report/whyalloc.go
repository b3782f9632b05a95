package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/unit"
)

// WhyAlloc is everything that is known about the allocations of a line or function.
type WhyAlloc struct {
	Asked    string `json:"asked"`
	Go       string `json:"go,omitempty"` // version of the compiler
	Function string `json:"function,omitempty"`
	Inlining string `json:"inlining,omitempty"` // inlining of the function, in the compiler's words
	Costs    string `json:"costs,omitempty"`    // source of the costs
	// NotCompiled says that the compiler made no code of the function, which is generic, so it is not known what escapes there.
	NotCompiled bool        `json:"not_compiled,omitempty"`
	Lines       []LineStory `json:"lines"`
	Notes       []string    `json:"notes,omitempty"`
}

// A LineStory is everything about one line.
type LineStory struct {
	Place
	Text     string          `json:"text"`
	Costs    []LineCost      `json:"costs,omitempty"`
	Heap     []HeapStory     `json:"heap,omitempty"`    // values that escape to the heap here
	Inlined  []HeapStory     `json:"inlined,omitempty"` // values of this line that escape after inlining elsewhere
	Stays    []string        `json:"stays,omitempty"`   // values that do not escape
	Calls    []escape.Remark `json:"calls,omitempty"`   // calls with a remark about inlining
	Bounds   int             `json:"bounds_checks"`
	Slices   int             `json:"slice_checks"`
	Nils     int             `json:"nil_checks"`
	Runtime  []RuntimeCall   `json:"runtime,omitempty"` // runtime calls that allocate or copy
	Code     []Instruction   `json:"code,omitempty"`
	CodeFrom string          `json:"code_from,omitempty"` // the program with this machine code

	NotCompiled bool `json:"-"` // as in WhyAlloc
}

// A LineCost is the cost of a line in one metric.
type LineCost struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Flat   int64  `json:"flat"`
	Cum    int64  `json:"cum"`
	Total  int64  `json:"total"`
}

// A HeapStory explains why a value is on the heap.
type HeapStory struct {
	escape.Story
	At      escape.Place   `json:"at"`
	Through []escape.Place `json:"through,omitempty"` // functions inlined at that place
}

// A RuntimeCall is a call of the runtime in the machine code of a line.
type RuntimeCall struct {
	Function string `json:"function"`
	Does     string `json:"does"`
}

// Blocks explains line by line.
func (w *WhyAlloc) Blocks() iter.Seq[Block] {
	h := Heading{Lines: []Phrase{}}
	if w.Function != "" {
		about := w.Function
		if w.Inlining != "" {
			about += " " + w.Inlining
		}
		h.Lines = append(h.Lines, Phrase{about})
	}
	if w.Costs != "" {
		h.Lines = append(h.Lines, Phrase{"costs of " + w.Costs})
	}
	list := []Block{Title{w.Asked}, h}
	for i := range w.Lines {
		list = append(list, w.Lines[i].blocks()...)
	}
	for _, n := range w.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}

func (l *LineStory) blocks() []Block {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d  %s\n", l.File, l.Line, strings.TrimSpace(l.Text))
	for i := range l.Heap {
		h := &l.Heap[i]
		fmt.Fprintf(&b, "  %s is on the heap", h.What)
		if n := len(h.Through); n > 0 {
			fmt.Fprintf(&b, " (written at %s, inlined here)", h.Through[n-1].At())
		}
		b.WriteString(h.reasons(l.Place))
	}
	l.inlined(&b)
	switch {
	case len(l.Heap)+len(l.Inlined) > 0:
	case l.NotCompiled:
		b.WriteString("  not known: the compiler makes code of a generic function only for the types that it is called with\n")
	default:
		b.WriteString("  no value escapes to the heap here" + l.below() + "\n")
	}
	if len(l.Stays) > 0 {
		fmt.Fprintf(&b, "  stays on the stack: %s\n", strings.Join(l.Stays, ", "))
	}
	for _, c := range l.Runtime {
		fmt.Fprintf(&b, "  calls %s, which %s\n", c.Function, c.Does)
	}
	for i := range l.Calls {
		fmt.Fprintf(&b, "  %s\n", l.Calls[i].String())
	}
	var checks []string
	for _, c := range []struct {
		n    int
		what string
	}{{l.Bounds, "bounds check"}, {l.Slices, "check"}, {l.Nils, "nil check"}} {
		if c.n > 0 {
			text := unit.Counted(c.n, c.what)
			if c.what == "check" {
				text += " of slice bounds"
			}
			checks = append(checks, text)
		}
	}
	if len(checks) > 0 {
		fmt.Fprintf(&b, "  %s\n", strings.Join(checks, ", "))
	}
	out := []Block{Plain{b.String()}}
	if len(l.Costs) > 0 {
		t := Table{Columns: []Column{{Name: "metric"}, {Name: "flat", Shared: true}, {Name: ""}, {Name: "cum", Shared: true}, {Name: ""}}}
		for _, c := range l.Costs {
			m := &Measure{Unit: c.Unit, Total: c.Total}
			m.add(c.Flat)
			m.add(c.Cum)
			t.Rows = append(t.Rows, []any{c.Metric, Value{c.Flat, m}, Share{c.Flat, c.Total}, Value{c.Cum, m}, Share{c.Cum, c.Total}})
		}
		out = append(out, t)
	}
	if len(l.Code) > 0 {
		t := Table{Columns: []Column{{Name: "address"}, {Name: "instruction"}, {Name: "from"}}}
		for i := range l.Code {
			in := &l.Code[i]
			from := ""
			if in.Depth > 0 {
				from = in.where(in.Depth)
			}
			t.Rows = append(t.Rows, []any{fmt.Sprintf("%x", in.Address), tabless(in.Text), from})
		}
		out = append(out, Details{fmt.Sprintf("machine code of %s:%d: %s", l.File, l.Line, unit.Counted(len(l.Code), "instruction")), []Block{t}})
	}
	return out
}

// below mentions allocations in callees, if the costs show them.
func (l *LineStory) below() string {
	for _, c := range l.Costs {
		if strings.HasPrefix(c.Metric, "alloc_") && c.Cum > c.Flat {
			return ": what allocates is called from here"
		}
	}
	return ""
}

// inlined explains the values that escape where the line is inlined. Places with the same explanation share it. Steps at the place itself omit it.
func (l *LineStory) inlined(b *strings.Builder) {
	var stories []string
	places := make(map[string][]string)
	for i := range l.Inlined {
		h := &l.Inlined[i]
		story := h.What + " is on the heap" + h.reasons(Place{File: h.At.File, Line: h.At.Line})
		at := h.At.At()
		if len(places[story]) == 0 {
			stories = append(stories, story)
		}
		if !slices.Contains(places[story], at) {
			places[story] = append(places[story], at)
		}
	}
	const most = 4
	for _, story := range stories {
		at := places[story]
		more := ""
		if n := len(at) - most; n > 1 {
			at, more = at[:most], fmt.Sprintf(" and %d more places", n)
		}
		fmt.Fprintf(b, "  inlined at %s%s: %s", strings.Join(at, ", "), more, story)
	}
}

// reasons says why a value is on the heap. It omits the place of steps on the line here.
func (h *HeapStory) reasons(here Place) string {
	var b strings.Builder
	fmt.Fprintf(&b, ":\n    why: %s\n", h.Why)
	for _, s := range h.Steps {
		at := ""
		if s.Line != here.Line || !escape.SameFile(s.File, here.File) {
			at = ", at " + s.At()
		}
		fmt.Fprintf(&b, "    - %s%s\n", s.Text, at)
	}
	for i, way := range h.Break {
		word := "or"
		if i == 0 {
			word = "what would avoid it:"
		}
		fmt.Fprintf(&b, "    %s %s\n", word, way)
	}
	return b.String()
}
