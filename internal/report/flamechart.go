package report

import (
	"iter"
	"time"
)

// A FlameChart is what a program did in the order of time, with the stacks of each time.
type FlameChart struct {
	Head
	Trimming               // of Calls
	Ref       string       `json:"ref"`
	At        string       `json:"at,omitempty"` // the part of the run that was asked for
	From      int64        `json:"from_nanos"`   // since the start of the run
	To        int64        `json:"to_nanos"`
	Sampled   bool         `json:"sampled,omitempty"`   // Tracks has samples that know their times; else each of Parts is a sum
	Unsampled bool         `json:"unsampled,omitempty"` // there is nothing to draw: the execution trace has no CPU samples
	Live      bool         `json:"live,omitempty"`      // a part shows what there was at its end, not what was added in it
	Most      int64        `json:"most"`                // largest total of Parts
	Parts     []ChartPart  `json:"parts"`               // in the order of time
	Tracks    []ChartTrack `json:"tracks,omitempty"`
	Frames    FlameFrames  `json:"frames"` // that rows refer to by their places
	Calls     []ChartCall  `json:"calls"`  // the heaviest, each followed by those below it
}

// A ChartPart is a part of the time.
type ChartPart struct {
	From  int64      `json:"from_nanos"`
	To    int64      `json:"to_nanos"`
	Total int64      `json:"total"`
	Cores float64    `json:"cores,omitempty"` // that were busy on average, where the metric is CPU time
	Rows  []FlameRow `json:"rows,omitempty"`  // its flame graph, the outermost calls first; gaps are in the unit of the values
}

// A ChartTrack is goroutines that ran one after the other.
type ChartTrack struct {
	Name       string     `json:"name"` // function with which they were started
	Goroutines int        `json:"goroutines"`
	Samples    int        `json:"samples"`
	Rows       []FlameRow `json:"rows"` // the outermost calls first; gaps and widths are times, the first gap from FlameChart.From
}

// A ChartCall is a call in one context and what it cost in each of the parts.
type ChartCall struct {
	Depth int `json:"depth"` // 0 is all
	Frame
	Flat int64   `json:"flat"`
	Cum  int64   `json:"cum"`
	Over []int64 `json:"over"` // cum in each of FlameChart.Parts
}

// A Trend is amounts one after the other, drawn in one line that is scaled to its largest.
type Trend []int64

// An Indented is a Name below others.
type Indented struct {
	Depth int
	Name  Name
}

// Blocks lists the heaviest calls, with a line of how each went over time.
func (c *FlameChart) Blocks() iter.Seq[Block] {
	m := c.measure()
	if c.Unsampled {
		return blocks(append([]Block{c.heading(m, nil)}, c.remarks()...))
	}
	from, to := time.Duration(c.From), time.Duration(c.To)
	what := Phrase{"from ", from, " to ", to, " in ", len(c.Parts), plural(len(c.Parts), " part")}
	table := Table{Columns: []Column{
		{Name: "cum", Unit: c.Unit, Shared: true}, {Name: "cum%"}, {Name: "over time"}, {Name: "call", Path: true},
	}}
	indents := c.indents()
	for i := range c.Calls {
		r := &c.Calls[i]
		m.add(r.Cum)
		name := Name{Text: r.Frame.String()}
		if r.Depth == 0 {
			name.Text = "all"
		}
		table.Rows = append(table.Rows, []any{Value{r.Cum, m}, Share{r.Cum, c.Total}, Trend(r.Over), Indented{indents[i], name}})
	}
	head := c.heading(m, nil)
	head.Lines = append(head.Lines, what)
	list := []Block{head, table}
	list = append(list, c.Trimming.notes(m)...)
	list = append(list, Note{Phrase{"over time, each line is scaled to its own maximum"}})
	if c.Live {
		list = append(list, Note{Phrase{"each part shows the values at its end, and cum is the largest of them"}})
	}
	return blocks(append(list, c.remarks()...))
}

// indents returns how far each of Calls is moved to the right. What is all that its caller calls is not: deep stacks stay readable.
func (c *FlameChart) indents() []int {
	below := make([]int, len(c.Calls)) // how many calls are right below each
	above := make([]int, len(c.Calls))
	var way []int
	for i := range c.Calls {
		way = way[:min(c.Calls[i].Depth, len(way))]
		above[i] = -1
		if len(way) > 0 {
			above[i] = way[len(way)-1]
			below[above[i]]++
		}
		way = append(way, i)
	}
	out := make([]int, len(c.Calls))
	for i, up := range above {
		if up < 0 {
			continue
		}
		if out[i] = out[up]; below[up] > 1 {
			out[i]++
		}
	}
	return out
}
