package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/unit"
)

// Holders are who keeps memory alive, those that hold most first. With a base, those whose memory grew most come first.
type Holders struct {
	Head
	Trimming
	Before  *Head            `json:"before,omitempty"`
	Objects int64            `json:"objects,omitempty"` // in all; not in a comparison
	Garbage *heapgraph.Sum   `json:"garbage,omitempty"` // that was not freed yet
	Go      string           `json:"go,omitempty"`
	Pause   time.Duration    `json:"pause_ns,omitempty"` // how long the program stood still
	Unread  []heapgraph.Note `json:"unread,omitempty"`   // what could not be read
	Rows    []Holder         `json:"holders"`
}

// A Holder is what keeps memory alive.
type Holder struct {
	Kind    heapgraph.Kind `json:"kind"`
	Names   []string       `json:"names"` // several hold objects together: without one of them, nothing is freed
	More    bool           `json:"more,omitempty"`
	Object  string         `json:"object,omitempty"` // of several holders: the object between them and what they hold, main.Server, or its field, main.Server.cache
	Value   int64          `json:"value"`            // what would be freed without it
	Before  *int64         `json:"before,omitempty"`
	Objects int64          `json:"objects,omitempty"`

	Goroutines int64         `json:"goroutines,omitempty"`
	Stacks     int64         `json:"stacks,omitempty"` // bytes of their stacks, which are not on the heap and not in the value
	Waits      string        `json:"waits,omitempty"`  // what they wait for
	Since      time.Duration `json:"since_ns,omitempty"`

	File string `json:"file,omitempty"` // where it is declared
	Line int64  `json:"line,omitempty"`

	Way  []HolderStep  `json:"way"`            // to the objects that take most
	Made []HolderMaker `json:"made,omitempty"` // functions that allocated sampled objects, those that made most first
}

// A HolderStep is a field, an element or a variable, and the objects that it leads to.
type HolderStep struct {
	Name    string `json:"name"`
	Flat    int64  `json:"flat"` // the objects by themselves
	Cum     int64  `json:"cum"`  // with what they hold
	Objects int64  `json:"objects,omitempty"`
}

// A HolderMaker is a function and what the sampled objects take that it made.
type HolderMaker struct {
	Function string `json:"function"`
	Value    int64  `json:"value"`
}

// Blocks returns a table of holders.
func (h *Holders) Blocks() iter.Seq[Block] {
	m := h.measure()
	var head Block = h.sums(m)
	t := Table{}
	if h.Before != nil {
		m.Total = max(abs(h.Total), abs(h.Before.Total))
		head = comparison(&h.Head, h.Before, m)
		t.Columns = []Column{{Name: "before", Unit: h.Unit}, {Name: "after", Unit: h.Unit}, {Name: "delta", Unit: h.Unit}}
	} else {
		t.Columns = []Column{{Name: "held", Unit: h.Unit, Shared: true}, {Name: "held%", Bar: true}}
	}
	t.Columns = append(t.Columns, Column{Name: "holder", Wraps: true}, Column{Name: "most is in", Wraps: true})
	for i := range h.Rows {
		r := &h.Rows[i]
		m.add(r.Value)
		row := []any{Value{r.Value, m}, Share{r.Value, h.Total}}
		if h.Before != nil {
			m.add(*r.Before)
			row = []any{Value{*r.Before, m}, Value{r.Value, m}, Change{*r.Before, r.Value, m}}
		}
		row = append(row, r.name(), r.way())
		t.Rows = append(t.Rows, row)
	}
	list := []Block{head, t}
	if slices.ContainsFunc(h.Rows, func(r Holder) bool { return r.Kind == heapgraph.KindTogether }) {
		list = append(list, Note{Phrase{together}})
	}
	for _, n := range h.Unread {
		list = append(list, Note{Phrase{n}})
	}
	list = append(list, h.Trimming.notes(m)...)
	return blocks(append(list, h.remarks()...))
}

const together = "what several hold together is freed only when all of them let go, or the object that they share does"

// sums is the heading: how much is held, how much is garbage, and what the look at it cost the program.
func (h *Holders) sums(m *Measure) Heading {
	total := Value{h.Total, m}
	p := Phrase{total, " held"}
	if h.Left != nil {
		p = Phrase{Value{*h.Left, m}, " of ", total, " held"}
	}
	if h.Objects > 0 && h.Unit == "bytes" {
		p = append(p, " by ", int(h.Objects), " objects")
	}
	if h.Garbage != nil && h.Unit == "bytes" {
		p = append(p, Sep{}, Bytes(int64(h.Garbage.Bytes)), " more is garbage")
	}
	if h.Go != "" {
		p = append(p, Sep{}, h.Go)
	}
	if h.Pause > 0 {
		p = append(p, Sep{}, "paused for ", Nanos(int64(h.Pause)))
	}
	lines := []Phrase{p}
	if run := h.run(); run != nil {
		lines = append(lines, run)
	}
	if f := h.filters(); f != nil {
		lines = append(lines, f)
	}
	return Heading{lines}
}

// name says who it is.
func (r *Holder) name() Phrase {
	names := strings.Join(r.Names, ", ")
	switch {
	case len(r.Names) == 0: // their label was hidden, or there are too many sets of holders to tell them apart
		names = "several holders"
		if r.Kind != heapgraph.KindTogether {
			names = "holders without a name"
		}
	case r.Object != "":
		return r.shared()
	case r.Kind == heapgraph.KindTogether && r.More:
		names += " and others together"
	case r.Kind == heapgraph.KindTogether:
		names = strings.Join(r.Names[:len(r.Names)-1], ", ") + " and " + r.Names[len(r.Names)-1] + " together"
	}
	p := Phrase{Qualified(names)}
	if r.Kind == heapgraph.KindGoroutine {
		p = Phrase{unit.Counted(int(r.Goroutines), "goroutine"), " in ", Qualified(names)}
	}
	if r.Line > 0 {
		p = append(p, fmt.Sprintf(" %s:%d", filename.Base(r.File), r.Line))
	}
	return p
}

// shared names an object that several lead to, and a few of them.
func (r *Holder) shared() Phrase {
	const shown = 2
	names, last := r.Names, ""
	switch left := len(names) - shown; {
	case r.More:
		names, last = names[:min(shown, len(names))], " and others"
	case left > 1:
		names, last = names[:shown], " and "+unit.Counted(left, "other")
	default:
		names, last = names[:len(names)-1], " and "+names[len(names)-1]
	}
	return Phrase{r.Object + ", shared by " + strings.Join(names, ", ") + last}
}

// way says over which fields the most memory is reached, how many objects are there, what goroutines wait for, and who made what was sampled.
func (r *Holder) way() Phrase {
	var p Phrase
	const ends = 3 // steps of a long way that are shown of its end
	for i, s := range r.Way {
		switch left := len(r.Way) - i; {
		case i == 1 && left > ends+1:
			p = append(p, Signs(" → …"))
			continue
		case i > 1 && left > ends:
			continue
		case i > 0:
			p = append(p, Signs(" → "))
		}
		p = append(p, Qualified(s.Name))
		if s.Objects > 1 && i == len(r.Way)-1 {
			p = append(p, Signs(fmt.Sprintf(" ×%d", s.Objects)))
		}
	}
	if r.Stacks > 0 {
		p = append(p, "; + ", Bytes(r.Stacks), " of stacks")
	}
	if r.Waits != "" {
		p = append(p, "; waiting: ", r.Waits)
	}
	if r.Since >= time.Minute { // as the runtime does in dumps
		p = append(p, fmt.Sprintf(" for %d min", int(r.Since.Minutes())))
	}
	if len(r.Made) > 0 {
		p = append(p, "; made by ", Qualified(r.Made[0].Function))
	}
	return p
}
