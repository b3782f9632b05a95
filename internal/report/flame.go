package report

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
)

// A Flame is the calling-context tree of a profile: who called whom, and what each call cost there.
type Flame struct {
	Head
	Trimming
	Whole      int64       `json:"whole"`                // total before filters
	Before     *Head       `json:"before,omitempty"`     // in a diff: what the base is; Head is about the new side
	Normalized bool        `json:"normalized,omitempty"` // the base was scaled to the total of the new side
	Inverted   bool        `json:"inverted,omitempty"`   // callees are above their callers
	Path       []FlameNode `json:"-"`                    // calls that lead to the root, the outermost first, when one was asked for
	FlameTree  `json:"-"`
}

// A FlameTree is calls, and what each of them calls.
type FlameTree struct {
	Root  *FlameNode
	Where func(function string) FlamePlace // nil where that is not known
}

// A FlameNode is a frame in one context.
type FlameNode struct {
	Frame
	Number   int32 // the same in all nodes of one graph that have one frame; 0 is not numbered
	Origin   Origin
	Inline   bool
	Flat     int64 // where callers are below it: of the functions at the root, else 0
	Cum      int64
	Before   *Cost2       // in a diff: what it cost before
	Width    int64        // in a picture, where that is not the magnitude of Cum
	Calls    int          // right below it, of which Children are those to be shown
	Left     LeftCalls    // the calls below it that are not among Children
	Children []*FlameNode // heaviest first
}

// LeftCalls is how wide calls are that are left out, by whose code they are.
type LeftCalls []LeftPart

// A LeftPart is what is left out of one origin.
type LeftPart struct {
	Origin Origin
	Width  int64
}

// Add adds a call.
func (l *LeftCalls) Add(o Origin, width int64) {
	if width == 0 {
		return
	}
	for i := range *l {
		if p := &(*l)[i]; p.Origin == o {
			p.Width += width
			return
		}
	}
	*l = append(*l, LeftPart{o, width})
}

// Width is that of all of them.
func (l LeftCalls) Width() (sum int64) {
	for _, p := range l {
		sum += p.Width
	}
	return sum
}

// Cost2 is what something cost on the other side of a diff.
type Cost2 struct {
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// A FlamePlace is where a function is declared.
type FlamePlace struct {
	Package string
	File    string
	Line    int64
}

// FlameJSON is what a Flame is in JSON, for scripts as for pages: columns can be read without recursion, however deep the calls go.
type FlameJSON struct {
	FlameHead
	FlameColumns
}

// A FlameHead is what goes before the calls.
type FlameHead struct {
	flameFields
	Path []FlameStep `json:"path,omitempty"` // the outermost first
}

type flameFields Flame // without its methods

// JSON returns f with its calls in columns.
func (f *Flame) JSON() FlameJSON {
	out := FlameJSON{FlameHead{flameFields: flameFields(*f)}, f.Columns()}
	for i := range f.Path {
		n := &f.Path[i]
		step := FlameStep{Name: n.Frame.String(), Flat: n.Flat, Cum: n.Cum}
		if n.Before != nil {
			step.Before = &n.Before.Cum
		}
		out.Path = append(out.Path, step)
	}
	return out
}

func (f *Flame) MarshalJSON() ([]byte, error) { return json.Marshal(f.JSON()) }

// A FlameStep is a call on the way to what is shown.
type FlameStep struct {
	Name   string `json:"name"`
	Flat   int64  `json:"flat"`
	Cum    int64  `json:"cum"`
	Before *int64 `json:"before,omitempty"` // cum in the base
}

// FlameColumns are the calls of a FlameTree, level by level, each from left to right.
type FlameColumns struct {
	Frames FlameFrames `json:"frames"`
	Rows   []FlameRow  `json:"rows"` // of each depth
}

// A FlameRow is the calls of one depth. Each column has an entry for each call.
type FlameRow struct {
	Frame  []int32 `json:"frame"` // -1 is the root of all
	Gap    []int64 `json:"gap"`   // from the end of the call before it
	Cum    []int64 `json:"cum"`
	Flat   []int64 `json:"flat"`
	Inline []int8  `json:"inline"`           // 1 where the call is inlined
	Width  []int64 `json:"width,omitempty"`  // where some are not the magnitude of cum
	Before []int64 `json:"before,omitempty"` // cum in the base
	Left   []int64 `json:"left,omitempty"`   // how wide the calls below are together that are not in the next row, where some are

	// For each entry of Left that is not 0, by whose code the calls are: place in Frames.Origins or -1, width, place, width, …, the widest
	// first. Where they would be narrower than a pixel, it is empty.
	LeftOf [][]int64 `json:"left_of,omitempty"`
}

// Columns cuts the tree into rows. Calls of no width are left out.
func (t FlameTree) Columns() FlameColumns {
	frames := NewFrameList()
	if t.Root == nil {
		return FlameColumns{frames.FlameFrames, []FlameRow{}}
	}
	var rows []FlameRow
	least := t.Root.width() / 1024
	listed := make(map[int32]int32) // places in frames, by number
	frame := func(n *FlameNode) int32 {
		if n.Number == 0 {
			return -1
		}
		at, ok := listed[n.Number]
		if !ok {
			at = frames.Add(t.frame(n))
			listed[n.Number] = at
		}
		return at
	}
	type placed struct {
		*FlameNode
		x int64
	}
	for level := []placed{{t.Root, 0}}; len(level) > 0; {
		var r FlameRow
		var next []placed
		var widths []int64
		var left []int64
		own := false // some widths are not those of cum
		cut := false // some calls are left out
		end := int64(0)
		for _, n := range level {
			w := n.width()
			r.Frame = append(r.Frame, frame(n.FlameNode))
			r.Gap = append(r.Gap, n.x-end)
			r.Cum = append(r.Cum, n.Cum)
			r.Flat = append(r.Flat, n.Flat)
			inline := int8(0)
			if n.Inline {
				inline = 1
			}
			r.Inline = append(r.Inline, inline)
			widths = append(widths, w)
			own = own || n.Width != 0
			left = append(left, n.Left.Width())
			if len(n.Left) > 0 {
				cut = true
				of := []int64{}
				if n.Left.Width() >= least {
					of = frames.leftOf(n.Left)
				}
				r.LeftOf = append(r.LeftOf, of)
			}
			if n.Before != nil {
				r.Before = append(r.Before, n.Before.Cum)
			}
			end = n.x + w
			x := n.x
			for _, c := range n.Children {
				if w := c.width(); w > 0 {
					next = append(next, placed{c, x})
					x += w
				}
			}
		}
		if own {
			r.Width = widths
		}
		if cut {
			r.Left = left
		}
		rows = append(rows, r)
		level = next
	}
	return FlameColumns{frames.FlameFrames, rows}
}

// leftOf spells what is left out as places of origins and widths.
func (l *FrameList) leftOf(parts LeftCalls) []int64 {
	sorted := slices.Clone(parts)
	order.Stable(sorted, func(a, b LeftPart) int {
		return cmp.Or(cmp.Compare(b.Width, a.Width), cmp.Compare(a.Origin, b.Origin))
	})
	out := make([]int64, 0, 2*len(sorted))
	for _, p := range sorted {
		out = append(out, int64(placeIn(&l.Origins, l.origins, p.Origin)), p.Width)
	}
	return out
}

func (t FlameTree) frame(n *FlameNode) FlameFrame {
	f := FlameFrame{Name: n.Frame.String(), File: n.File, Line: n.Line, Origin: n.Origin}
	if t.Where != nil {
		p := t.Where(n.Name)
		if f.Package = p.Package; f.File == "" {
			f.File, f.Line = p.File, p.Line
		}
	}
	return f
}

// width returns how wide a call is painted.
func (n *FlameNode) width() int64 {
	if n.Width != 0 {
		return n.Width
	}
	return max(n.Cum, -n.Cum)
}

// A Diff compares two profiles frame by frame. Values are kept for both sides; nothing is subtracted that cannot be
// had back.
type Diff struct {
	Head        // of the new side; Total is its total
	Before Head `json:"before"`
	Trimming
	Normalized bool      `json:"normalized,omitempty"` // the old side was scaled to the total of the new one
	Rows       []DiffRow `json:"rows"`
}

// A DiffRow is a frame and what it costs on both sides.
type DiffRow struct {
	Frame
	Flat       int64 `json:"flat"`
	Cum        int64 `json:"cum"`
	FlatBefore int64 `json:"flat_before"`
	CumBefore  int64 `json:"cum_before"`
}

// Info is what is in a profile, before any question is asked of it.
type Info struct {
	Head
	Types      []TypeTotal   `json:"types"`
	Samples    int           `json:"samples"`
	Contexts   int           `json:"contexts"`
	Locations  int           `json:"locations"`
	Functions  int           `json:"functions"`
	Labels     []string      `json:"labels,omitempty"` // keys
	Mappings   []MappingInfo `json:"mappings,omitempty"`
	Period     int64         `json:"period,omitempty"`
	PeriodType string        `json:"period_type,omitempty"`
	PeriodUnit string        `json:"period_unit,omitempty"`
	DropFrames string        `json:"drop_frames,omitempty"`
	KeepFrames string        `json:"keep_frames,omitempty"`
	Traces     []TraceTime   `json:"traces,omitempty"` // of the recording, where it has several

	Machine *recording.Machine `json:"machine,omitempty"` // where the program of a recording ran
}

// A TypeTotal is a sample type and the sum of its values.
type TypeTotal struct {
	Type    string `json:"type"`
	Unit    string `json:"unit"`
	Total   int64  `json:"total"`
	Default bool   `json:"default,omitempty"`
}

// A MappingInfo is a program or library and what the profile knows of it.
type MappingInfo struct {
	File      string `json:"file,omitempty"`
	BuildID   string `json:"build_id,omitempty"`
	Start     uint64 `json:"start"`
	Limit     uint64 `json:"limit"`
	Named     bool   `json:"named"` // its addresses have function names
	Locations int    `json:"locations"`
}
