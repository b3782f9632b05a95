package render

import (
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// calls lays out frames between their callers and callees. Amounts of callers and callees are in the cum column, as shares of the frame in the
// middle.
func (f *formatter) calls(c *report.Calls, bars bool) *grid {
	g := &grid{columns: []gridColumn{
		{name: "flat", right: true}, {name: "flat%", right: true},
		{name: "cum", right: true}, {name: "cum%", right: true}, {bar: true},
		{name: "function", cut: cutLeft},
	}}
	// Colors always show the share of the total.
	amount := func(v, whole int64) []cell {
		hot := heat(report.Share{Part: v, Whole: c.Measure.Total})
		s := report.Share{Part: v, Whole: whole}
		return []cell{{text: f.text(report.Value{V: v, Measure: c.Measure}), style: hot}, {text: share(s), style: hot}}
	}
	bar := func(v, whole int64) cell {
		if !bars {
			return cell{}
		}
		b := f.bar(report.Share{Part: v, Whole: whole}, 1)
		b.style = heat(report.Share{Part: v, Whole: c.Measure.Total})
		return b
	}
	for i, n := range c.Nodes {
		if i > 0 {
			g.rows = append(g.rows, nil)
		}
		neighbors := func(calls []report.Call, mark string) {
			for _, call := range calls {
				name := f.nameCell(call.Name)
				name.mark = mark
				row := append([]cell{{}, {}}, amount(call.V, n.Cum)...)
				g.rows = append(g.rows, append(row, bar(call.V, n.Cum), name))
			}
		}
		neighbors(n.Callers, f.glyphs.caller)
		name := f.nameCell(n.Name)
		name.style = bold
		row := append(amount(n.Flat, c.Measure.Total), amount(n.Cum, c.Measure.Total)...)
		g.rows = append(g.rows, append(row, bar(n.Cum, c.Measure.Total), name))
		neighbors(n.Callees, f.glyphs.callee)
	}
	if !bars {
		g.dropBars()
	}
	if c.Measure.Mean {
		g.drop(func(c *gridColumn) bool { return c.bar || strings.HasSuffix(c.name, "%") })
	}
	return g
}

// flame lays out a tree and returns the number of frames that are too small to list. An only child with the same cost as its caller is not indented,
// so deep stacks stay readable.
func (f *formatter) flame(b *report.FlameBlock, bars bool) (*grid, int) {
	t := flameTree{f: f, b: b, bars: bars, diff: hasBefore(b.Root), grid: &grid{}}
	t.columns("function")
	if b.Root != nil {
		t.add(b.Root, "", "")
	}
	if !bars {
		t.grid.dropBars()
	}
	return t.grid, t.small
}

type flameTree struct {
	f     *formatter
	b     *report.FlameBlock
	bars  bool
	diff  bool
	grid  *grid
	small int // frames omitted
}

// columns adds the columns of the grid. The last one has names of frames.
func (t *flameTree) columns(last string) {
	names := []string{"cum", "cum%", "flat"}
	switch {
	case t.diff:
		names = []string{"before", "after", "delta"}
	case t.b.Callers:
		names = names[:2]
	}
	for _, n := range names {
		t.grid.columns = append(t.grid.columns, gridColumn{name: n, right: true})
	}
	t.grid.columns = append(t.grid.columns, gridColumn{bar: true}, gridColumn{name: last, cut: cutLeft})
}

// add adds n and its callees. mark is the text before n, indent the text before its children.
func (t *flameTree) add(n *report.FlameNode, mark, indent string) {
	t.grid.rows = append(t.grid.rows, t.row(n, mark))
	var large []*report.FlameNode
	for _, c := range n.Children {
		if t.isSmall(c) {
			t.small += countFrames(c)
		} else {
			large = append(large, c)
		}
	}
	if len(large) == 1 {
		t.add(large[0], indent, indent)
		return
	}
	g := t.f.glyphs
	for i, c := range large {
		if i < len(large)-1 {
			t.add(c, indent+g.branch, indent+g.line)
		} else {
			t.add(c, indent+g.last, indent+g.space)
		}
	}
}

func (t *flameTree) isSmall(n *report.FlameNode) bool {
	if n.Before != nil && unit.Abs(n.Before.Cum) >= t.b.Below {
		return false
	}
	return unit.Abs(n.Cum) < t.b.Below
}

func (t *flameTree) row(n *report.FlameNode, mark string) []cell {
	f, m := t.f, t.b.Measure
	s := report.Share{Part: n.Cum, Whole: m.Total}
	value := func(v int64) cell { return cell{text: f.text(report.Value{V: v, Measure: m}), style: heat(s)} }
	var row []cell
	if t.diff {
		before := costBefore(n)
		change := report.Change{From: before.Cum, To: n.Cum, Measure: m}
		row = append(row, value(before.Cum), value(n.Cum), f.cell(change))
	} else {
		row = append(row, value(n.Cum), cell{text: share(s), style: heat(s)})
		if !t.b.Callers {
			own := value(n.Flat)
			own.style = heat(report.Share{Part: n.Flat, Whole: m.Total})
			row = append(row, own)
		}
	}
	bar := cell{}
	if t.bars {
		bar = f.bar(s, 1)
	}
	c := f.nameCell(frameName(t.b, n))
	c.mark = mark
	return append(row, bar, c)
}

func frameName(b *report.FlameBlock, n *report.FlameNode) report.Name {
	name := report.Name{Text: n.Frame.String()}
	if n.Inline {
		name.Inline = report.Inlined
	}
	if n == b.Root && n.Frame == (report.Frame{}) {
		name.Text = "all"
	}
	return name
}

func costBefore(n *report.FlameNode) report.Cost2 {
	if n.Before == nil {
		return report.Cost2{}
	}
	return *n.Before
}

func hasBefore(n *report.FlameNode) bool {
	if n == nil {
		return false
	}
	if n.Before != nil {
		return true
	}
	for _, c := range n.Children {
		if hasBefore(c) {
			return true
		}
	}
	return false
}

func countFrames(n *report.FlameNode) int {
	count := 1
	for _, c := range n.Children {
		count += countFrames(c)
	}
	return count
}
