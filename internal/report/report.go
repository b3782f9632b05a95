// Package report defines the answers to queries as typed values.
//
// A report keeps full precision and carries its units and caveats. Its JSON form is the contract with scripts. Blocks cuts the same answer
// into the few shapes, such as tables, that all other renderers know. Package render does all rounding, coloring and aligning.
package report

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// A Report is the answer to one query.
type Report interface {
	Blocks() iter.Seq[Block]
}

// A Head says what an answer is about. Every report about a profile starts with one.
type Head struct {
	File     string     `json:"file,omitempty"` // base name of the program
	BuildID  string     `json:"build_id,omitempty"`
	Comments []string   `json:"comments,omitempty"`
	Metric   string     `json:"metric"` // sample type, such as cpu or mean_delay
	Unit     string     `json:"unit"`   // of every value in the report
	Doc      string     `json:"doc,omitempty"`
	Time     int64      `json:"time_nanos,omitempty"`     // start, since 1970
	Duration int64      `json:"duration_nanos,omitempty"` // of the recording
	Total    int64      `json:"total"`                    // what percentages are of
	Left     *int64     `json:"left,omitempty"`           // what the filters leave of Total, where that is less
	Scaled   bool       `json:"scaled,omitempty"`         // Total is that of another profile, to compare shares
	Per      *Per       `json:"per,omitempty"`            // in a diff per second: what Unit means
	Mean     bool       `json:"-"`                        // values are means, which do not add up, so they have no shares; pprof shows some all the same
	Lasting  int64      `json:"-"`                        // waits in Total that had not ended; see Ended
	By       string     `json:"by,omitempty"`             // what was added up, when it was asked for
	Filters  []string   `json:"filters,omitempty"`        // steps that were applied, as the user wrote them
	Notes    hint.Texts `json:"notes,omitempty"`          // caveats, shown with the answer

	Uneven *store.Uneven `json:"uneven,omitempty"` // processes were profiled for different parts of their time; Notes has it in words

	Remarks []Remark `json:"-"` // on the steps; Notes has them in words
	Show    Show     `json:"-"`
}

// A Per is what the values of one side are divided by on display, so that two sides of different lengths compare: values of the report stay whole numbers.
type Per struct {
	Of        string        `json:"-"`                    // unit of values that are divided, see unit.Rate and unit.Each
	Unit      string        `json:"unit"`                 // in which values are shown: cores, bytes/s
	Factor    float64       `json:"factor"`               // values in the report times this are in Unit
	Time      time.Duration `json:"time_nanos,omitempty"` // that was profiled, of all processes together; 0 for what is held at a moment
	Processes float64       `json:"processes"`            // at the same time, on average
}

// Shown returns p with the unit and factor that go with what it is of.
func (p Per) Shown() Per {
	p.Unit, p.Factor = unit.ShownIn(p.Of)
	return p
}

// Ended is the share of Total that is no wait that goes on. What is too small to be shown is measured by it: the waits of leaked goroutines can be nearly all there is.
func (h *Head) Ended() float64 {
	if h.Total <= 0 || h.Lasting <= 0 {
		return 1
	}
	return max(0, 1-float64(h.Lasting)/float64(h.Total))
}

// A Remark is something the asker should know about a step.
type Remark struct {
	Op    query.Op
	Range string // the argument, when it was read as a range of numbers; else the step matched nothing
}

func (r Remark) String() string {
	if r.Range != "" {
		return fmt.Sprintf("%s: %q was read as a range of numbers, not as a regexp", r.Op, r.Range)
	}
	return fmt.Sprintf("%s matched no samples", r.Op)
}

// Show says how the asker wants values printed. It does not change them.
type Show struct {
	Unit   string  // unit of all values; "" chooses one for the whole answer
	Factor float64 // values are multiplied by this; 0 means 1
}

// A Frame is a place in a program, as fine as the query asked for.
type Frame struct {
	Name      string `json:"name,omitempty"`
	Address   uint64 `json:"address,omitempty"`
	File      string `json:"file,omitempty"`
	StartLine int64  `json:"start_line,omitempty"`
	Line      int64  `json:"line,omitempty"`
	Column    int64  `json:"column,omitempty"`
	Object    string `json:"object,omitempty"` // the program or library

	PProf bool `json:"-"` // see query.Query
}

// String prints f the way pprof names the nodes of a graph.
func (f *Frame) String() string { return string(f.Append(nil, " ")) }

// Append appends what String prints, with sep between its parts: address, name, place.
func (f *Frame) Append(b []byte, sep string) []byte {
	from := len(b)
	part := func() {
		if len(b) > from {
			b = append(b, sep...)
		}
	}
	if f.Address != 0 {
		b = fmt.Appendf(b, "%016x", f.Address)
	}
	if f.Name != "" {
		part()
		b = append(b, f.Name...)
	}
	switch {
	case f.Line != 0:
		part()
		b = append(append(b, f.File...), ':')
		b = strconv.AppendInt(b, f.Line, 10)
		if f.Column != 0 {
			b = strconv.AppendInt(append(b, ':'), f.Column, 10)
		}
	case f.File != "":
		part()
		b = append(b, f.File...)
	case f.Name != "":
	case f.Object != "":
		part()
		b = append(append(append(b, '['), f.base(f.Object)...), ']')
	default:
		part()
		b = append(b, "<unknown>"...)
	}
	return b
}

// FileBase returns the last element of the name of the file.
func (f *Frame) FileBase() string { return f.base(f.File) }

func (f *Frame) base(name string) string {
	switch {
	case name == "":
		return ""
	case f.PProf:
		return filepath.Base(name)
	}
	return filename.Base(name)
}

// Inlining says how often the calls to a function were inlined.
type Inlining string

// A function is either called, or inlined where it is called from, or both, in different places.
const (
	Called  Inlining = ""
	Inlined Inlining = "inline"
	Partial Inlining = "partial-inline"
)

// A Cost is what a frame costs: by itself, and with all that it calls.
type Cost struct {
	Frame
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// Trimming says what was left out of an answer because it is small.
type Trimming struct {
	Shown        int   `json:"shown"`                   // rows shown
	Of           int   `json:"of"`                      // rows there would be without a limit
	Dropped      int   `json:"dropped,omitempty"`       // rows below the smallest share…
	Below        int64 `json:"below,omitempty"`         // …which is this value
	DroppedEdges int   `json:"dropped_edges,omitempty"` // calls below the smallest share…
	EdgesBelow   int64 `json:"edges_below,omitempty"`   // …which is this value
	Accounted    int64 `json:"accounted"`               // flat sum of what is shown; of a tree, the cum of its root
}

// Top ranks frames by what they cost.
type Top struct {
	Head
	Trimming
	Before     *Head    `json:"before,omitempty"`     // in a diff: what the base is; Head is about the new side
	Normalized bool     `json:"normalized,omitempty"` // the base was scaled to the total of the new side
	Cores      float64  `json:"cores,omitempty"`      // that were busy on average, where the metric is CPU time
	Rows       []TopRow `json:"rows"`
}

// A TopRow is a frame and its cost.
type TopRow struct {
	Cost
	Origin Origin   `json:"origin,omitempty"` // filled in for pages only: it costs as much as the rest of a small ranking
	Inline Inlining `json:"inline,omitempty"`
	Before *Cost2   `json:"before,omitempty"` // in a diff: what it cost
}

// A Graph is frames and the calls between them. It is the answer of tree, peek, graph, dot and callgrind.
type Graph struct {
	Head
	Trimming
	Title string `json:"title,omitempty"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`

	// Unlisted are frames that edges lead to though they are not shown themselves, because their own value is
	// nothing or was dropped. They are numbered after the nodes.
	Unlisted []Frame `json:"unlisted,omitempty"`

	// Others is the smallest cost of the nodes that were not asked about. Units are chosen for all together.
	Others int64 `json:"-"`
}

// Frame returns the frame of a node that an edge names.
func (g *Graph) Frame(i int) *Frame {
	if i < len(g.Nodes) {
		return &g.Nodes[i].Frame
	}
	return &g.Unlisted[i-len(g.Nodes)]
}

// A Node is a frame of a Graph.
type Node struct {
	Cost
	Function int   `json:"-"` // the same for all nodes that are parts of one function
	In       []int `json:"-"` // edges, heaviest first
	Out      []int `json:"-"`

	Tags    []Tag            `json:"tags,omitempty"`    // text labels of the samples that pass here
	Numbers map[string][]Tag `json:"numbers,omitempty"` // number labels, by the text labels beside them
}

// An Edge is the calls from one node to another.
type Edge struct {
	From     int   `json:"from"`
	To       int   `json:"to"`
	Weight   int64 `json:"weight"`
	Mean     int64 `json:"mean,omitempty"`     // weight per event, when means were asked for
	Inline   bool  `json:"inline,omitempty"`   // every one of these calls was inlined
	Residual bool  `json:"residual,omitempty"` // some went through frames that are not shown
}

// A Tag is a label value and what the samples that carry it cost.
type Tag struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"` // of Value
	Value int64  `json:"value,omitempty"`
	Flat  int64  `json:"flat"`
	Cum   int64  `json:"cum"`

	FlatCount int64 `json:"-"` // what Flat and Cum are to be divided by, when means were asked for
	CumCount  int64 `json:"-"`
}

// FlatMean returns Flat, or Flat per event when means were asked for.
func (t *Tag) FlatMean() int64 { return mean(t.Flat, t.FlatCount) }

// CumMean returns Cum, or Cum per event when means were asked for.
func (t *Tag) CumMean() int64 { return mean(t.Cum, t.CumCount) }

func mean(v, n int64) int64 {
	if n == 0 {
		return v
	}
	return v / n
}

// Source is source text with costs beside its lines. It is the answer of list.
type Source struct {
	Head
	Functions []SourceFunction `json:"functions"`
}

// A SourceFunction is a function and the part of its files that has costs.
type SourceFunction struct {
	Name   string       `json:"name"`
	Files  []SourceFile `json:"files,omitempty"`   // none when the profile does not say where the function is
	NoCode []NoCode     `json:"no_code,omitempty"` // of weblist: why machine code of it is missing
}

// A SourceFile is part of a file.
type SourceFile struct {
	File  string   `json:"file"`            // as the profile names it
	Found string   `json:"found,omitempty"` // where it was found, when that is elsewhere
	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"` // why the text is missing
	Flat  int64    `json:"flat"`
	Cum   int64    `json:"cum"`

	Before *Cost2 `json:"before,omitempty"` // in a diff: what it cost

	Lines []SourceLine `json:"lines,omitempty"`
}

// A SourceLine is a line of source and what it costs.
type SourceLine struct {
	Line int    `json:"line"`
	Flat int64  `json:"flat,omitempty"`
	Cum  int64  `json:"cum,omitempty"`
	Text string `json:"text"`

	Before *Cost2 `json:"before,omitempty"` // in a diff: what it cost, where that is not nothing

	Instructions []Instruction `json:"instructions,omitempty"` // when machine code was asked for
}

// Traces is every sample with its stack. There may be millions, so they are made one at a time.
type Traces struct {
	Head
	Of   int              `json:"of"` // samples that there are
	Each iter.Seq[*Trace] `json:"-"`  // the Trace is only valid until the next one
}

// A Trace is one sample.
type Trace struct {
	Value  int64            `json:"value"`
	Labels profile.LabelSet `json:"labels,omitempty"`
	Frames []TraceFrame     `json:"frames"` // leaf first
}

// A TraceFrame is a frame on a stack.
type TraceFrame struct {
	*Frame
	Inline bool `json:"inline,omitempty"` // into the frame that follows
}

// MarshalJSON writes all traces.
func (t *Traces) MarshalJSON() ([]byte, error) {
	var out struct {
		Head
		Of     int               `json:"of"`
		Traces []json.RawMessage `json:"traces"`
	}
	out.Head, out.Of = t.Head, t.Of
	for tr := range t.Each {
		b, err := json.Marshal(tr)
		if err != nil {
			return nil, err
		}
		out.Traces = append(out.Traces, b)
	}
	return json.Marshal(out)
}

// Tags are the labels of a profile by key.
type Tags struct {
	Head
	Keys []TagKey `json:"keys"`
	Of   int      `json:"of,omitempty"` // keys that there are
}

// A TagKey is a label key and its values, heaviest first.
type TagKey struct {
	Key    string `json:"key"`
	Total  int64  `json:"total"` // of the samples that carry the key
	Values []Tag  `json:"values"`
	Of     int    `json:"of,omitempty"` // values that there are
}

// Raw is a profile as it is, for printing and for writing to a file.
type Raw struct {
	Head
	Profile *profile.Profile `json:"-"`
}

// Comments are the comments of a profile.
type Comments struct{ Head }
