package web

import (
	"github.com/hone-perf/hone/internal/report"
)

// A rowsAnswer is a flame graph as pages paint it: level by level, each from left to right.
type rowsAnswer struct {
	Frames []rowFrame `json:"frames"`
	Rows   []row      `json:"rows"`
}

// A rowFrame is a frame that rows refer to by its place.
type rowFrame struct {
	Name    string        `json:"name"`
	File    string        `json:"file,omitempty"`
	Line    int64         `json:"line,omitempty"`
	Package string        `json:"package,omitempty"`
	Origin  report.Origin `json:"origin,omitempty"`
}

// A row is the calls of one depth. Columns have an entry for each.
type row struct {
	Frame  []int32 `json:"frame"` // -1 is the root of all
	Gap    []int64 `json:"gap"`   // from the end of the call before it
	Cum    []int64 `json:"cum"`
	Flat   []int64 `json:"flat"`
	Inline []int8  `json:"inline"`
	Width  []int64 `json:"width,omitempty"`  // where it is not the magnitude of cum
	Before []int64 `json:"before,omitempty"` // cum in the base
}

// rowsOf cuts a tree of calls into rows.
func rowsOf(root *report.FlameNode, placeOf func(name string) place) rowsAnswer {
	out := rowsAnswer{Frames: []rowFrame{}}
	places := make(map[int32]int32) // in out.Frames, by number
	number := func(n *report.FlameNode) int32 {
		if n.Number == 0 {
			return -1
		}
		at, ok := places[n.Number]
		if !ok {
			at = int32(len(out.Frames))
			places[n.Number] = at
			f := rowFrame{Name: n.Frame.String(), Origin: n.Origin, File: n.File, Line: n.Line}
			p := placeOf(n.Name)
			if f.Package = p.pkg; f.File == "" {
				f.File, f.Line = p.file, p.line
			}
			out.Frames = append(out.Frames, f)
		}
		return at
	}
	type at struct {
		*report.FlameNode
		x int64
	}
	level := []at{{root, 0}}
	for len(level) > 0 {
		var r row
		var next []at
		var widths []int64
		own := false // some widths are not those of cum
		end := int64(0)
		for _, n := range level {
			w := widthOf(n.FlameNode)
			r.Frame = append(r.Frame, number(n.FlameNode))
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
			if n.Before != nil {
				r.Before = append(r.Before, n.Before.Cum)
			}
			end = n.x + w
			x := n.x
			for _, c := range n.Children {
				if w := widthOf(c); w > 0 {
					next = append(next, at{c, x})
					x += w
				}
			}
		}
		if own {
			r.Width = widths
		}
		out.Rows = append(out.Rows, r)
		level = next
	}
	return out
}

// widthOf returns how wide a call is painted.
func widthOf(n *report.FlameNode) int64 {
	if n.Width != 0 {
		return n.Width
	}
	return max(n.Cum, -n.Cum)
}
