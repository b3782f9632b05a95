package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

// A FlameBox is a frame in a flame graph of characters, from one column to another.
type FlameBox struct {
	Node     *report.FlameNode // nil for a run of narrow frames
	From, To int
}

// FlameBoxes lays out a tree in columns, with a row for each depth. hidden is the number of deep rows that it omits because all their boxes are too
// narrow to read.
func FlameBoxes(root *report.FlameNode, columns int) (rows [][]FlameBox, hidden int) {
	const least = 0.5 // narrower boxes round to zero columns
	const readable = 3
	all, hidden := cutSlivers(flameRows(root, float64(columns), least), readable)
	for _, row := range all {
		var boxes []FlameBox
		for _, b := range row {
			from, to := int(math.Round(b.x)), int(math.Round(b.x+b.w))
			if from < to {
				boxes = append(boxes, FlameBox{b.node, from, to})
			}
		}
		rows = append(rows, boxes)
	}
	return rows, hidden
}

// A FlameMark highlights or dims a box.
type FlameMark int

const (
	FlamePlain    FlameMark = iota
	FlameMatch              // matches the search
	FlameFaint              // does not match the search
	FlameSelected           // has the cursor
)

// A FlamePainter writes flame graphs as text. Boxes have background colors or, without color, begin with a bar.
type FlamePainter struct {
	*formatter
	measure *report.Measure
	block   report.FlameBlock
	tints   flameTints
}

// NewFlamePainter returns a painter for a tree.
func NewFlamePainter(f *report.Flame, o Options) *FlamePainter {
	p := &FlamePainter{formatter: newFormatter(o)}
	for b := range f.Blocks() {
		if b, ok := b.(report.FlameBlock); ok {
			p.setBlock(b)
		}
	}
	return p
}

func (p *FlamePainter) setBlock(b report.FlameBlock) {
	p.block, p.measure, p.tints = b, b.Measure, tintsOf(b.Root)
}

// A tintPair is two of the 256 colors of terminals, used alternately for neighbors with the same tint. They are close to the colors of pictures, and
// text on them is black.
var tintPairs = [...][2]string{
	tintOwn:     {"215", "179"},
	tintStd:     {"150", "114"},
	tintDep:     {"183", "182"},
	tintRuntime: {"110", "111"},
	tintOther:   {"250", "247"},
	tintRun:     {"248", "245"},

	tintGone:       {"68", "68"},
	tintMuchLess:   {"74", "68"},
	tintLess:       {"110", "111"},
	tintLittleLess: {"153", "152"},
	tintSame:       {"250", "247"},
	tintLittleMore: {"223", "187"},
	tintMore:       {"215", "216"},
	tintMuchMore:   {"208", "214"},
	tintNew:        {"208", "208"},
}

// style returns the style of the nth box in its row.
func (p *FlamePainter) style(b FlameBox, nth int, mark FlameMark) style {
	switch {
	case !p.o.Color && mark == FlameSelected:
		return "7"
	case !p.o.Color && mark == FlameMatch:
		return "1;4"
	case !p.o.Color:
		return plain
	case mark == FlameSelected:
		return "1;38;5;16;48;5;231"
	case mark == FlameMatch:
		return "38;5;16;48;5;207"
	case mark == FlameFaint:
		return style("38;5;252;48;5;" + []string{"238", "240"}[nth%2])
	}
	return style("38;5;16;48;5;" + tintPairs[p.tints.tint(flameBox{node: b.Node})][nth%2])
}

// Row writes a row of boxes, with nothing after the last box. mark returns the highlight of a node, or of a run if the node is nil. A nil mark means
// no highlights.
func (p *FlamePainter) Row(boxes []FlameBox, mark func(*report.FlameNode) FlameMark) string {
	var out strings.Builder
	at := 0
	for i, b := range boxes {
		if at < b.From {
			p.blank(&out, b.From-at, at > 0)
		}
		m := FlamePlain
		if mark != nil {
			m = mark(b.Node)
		}
		out.WriteString(p.paintAlways(p.boxText(b), p.style(b, i, m)))
		at = b.To
	}
	if !p.o.Color {
		out.WriteByte('|')
	}
	return out.String()
}

// blank writes the space between boxes. Without color, it also ends a box.
func (p *FlamePainter) blank(out *strings.Builder, n int, ends bool) {
	if ends && !p.o.Color {
		out.WriteByte('|')
		n--
	}
	out.WriteString(strings.Repeat(" ", n))
}

// paintAlways returns s in a style that is not a color.
func (p *FlamePainter) paintAlways(s string, st style) string {
	if st == plain {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// boxText returns the text of a box: the name and, if there is room, its share of the total or its change.
func (p *FlamePainter) boxText(b FlameBox) string {
	room := b.To - b.From
	before := ""
	switch {
	case !p.o.Color:
		before = "|"
	case room >= 8:
		before = " "
	}
	room -= width(before)
	text := ""
	const least = 3
	if b.Node != nil && room >= least {
		text = p.named(b.Node, room)
	}
	return before + text + strings.Repeat(" ", max(room-width(text), 0))
}

func (p *FlamePainter) named(n *report.FlameNode, room int) string {
	name := clean(frameName(&p.block, n).Text)
	within := func(room int) func(string) bool { return func(s string) bool { return width(s) <= room } }
	if p.tints.diff { // a diff shows changes
		change := "  " + p.text(report.Growth{From: costBefore(n).Cum, To: n.Cum})
		if s, ok := boxName(name, p.glyphs.dots, within(room-width(change))); ok {
			return s + change
		}
	}
	s, _ := boxName(name, p.glyphs.dots, within(room))
	if share := "  " + p.text(report.Share{Part: n.Cum, Whole: p.measure.Total}); !p.tints.diff && width(s+share) <= room {
		s += share
	}
	return s
}

// Legend explains the colors, and returns the width of the text. It may be empty.
func (p *FlamePainter) Legend() (legend string, columns int) {
	if !p.o.Color {
		return "", 0
	}
	var out strings.Builder
	word := func(s string) {
		out.WriteString(s)
		columns += width(s)
	}
	for i, item := range p.tints.legend(p.block.Root) {
		if i > 0 {
			word("   ")
		}
		if item.before != "" {
			word(item.before + " ")
		}
		for t := item.from; t <= item.to; t++ {
			out.WriteString(p.paint("  ", style("48;5;"+tintPairs[t][0])))
			columns += 2
		}
		word(" " + item.after)
	}
	return out.String(), columns
}

// Name returns the name of a frame.
func (p *FlamePainter) Name(n *report.FlameNode) string { return p.text(frameName(&p.block, n)) }

// Text prints items, such as the parts of a phrase.
func (p *FlamePainter) Text(items ...any) string { return p.text(report.Phrase(items)) }

// Value returns a value of the tree as an item.
func (p *FlamePainter) Value(v int64) report.Value { return report.Value{V: v, Measure: p.measure} }

// Change returns the change of a frame's cost as an item. ok is false if the tree has no base.
func (p *FlamePainter) Change(n *report.FlameNode) (change report.Phrase, ok bool) {
	before := costBefore(n).Cum
	return report.Phrase{
		report.Change{From: before, To: n.Cum, Measure: p.measure}, ", ", report.Growth{From: before, To: n.Cum},
	}, p.tints.diff
}

// Fit cuts s or adds blanks, so that it takes exactly cols columns.
func (p *FlamePainter) Fit(s string, columns int) string {
	s = cutRight(clean(s), columns, p.glyphs.dots)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// Width returns the number of columns that s takes.
func (p *FlamePainter) Width(s string) int { return width(clean(s)) }

// FitPath is Fit for paths and names, whose end says most.
func (p *FlamePainter) FitPath(s string, columns int) string {
	s = cutLeft(clean(s), max(columns, 1), p.glyphs.dots)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// Strong highlights text outside of the tree.
func (p *FlamePainter) Strong(s string) string { return p.paintAlways(s, bold) }

// leastFlameColumns is the minimum width of a flame graph of characters.
const leastFlameColumns = 40

// drawnFlame draws a flame graph, explains its colors, and lists the heaviest frames.
func (p *printer) drawnFlame(b *report.FlameBlock) {
	painter := &FlamePainter{formatter: p.formatter}
	painter.setBlock(*b)
	cols := p.o.Width
	if !p.o.Color {
		cols-- // leave room for the bar at the end
	}
	rows, thin := FlameBoxes(b.Root, cols)
	deep := max(len(rows)-maxFlameRows, 0)
	for _, row := range rows[:len(rows)-deep] {
		p.line(painter.Row(row, nil))
	}
	if legend, _ := painter.Legend(); legend != "" {
		p.line("")
		p.line(legend)
	}
	if thin+deep > 0 {
		p.note(p.text(report.Phrase{thin + deep, " deeper rows are too narrow to read; ", hint.Option{Name: "show-from"}, " and ", hint.Option{Name: "focus"}, " make room for them"}))
	}
	p.heaviest(b)
}

// heaviest lists the frames along the heaviest path. Of frames with the same cost, it lists only the last.
func (p *printer) heaviest(b *report.FlameBlock) {
	const most = 16
	const leastShare = 0.02
	t := flameTree{f: p.formatter, b: b, diff: hasBefore(b.Root), grid: &grid{}}
	t.columns("heaviest path")
	alike := 0
	for n := b.Root; len(n.Children) > 0 && len(t.grid.rows) < most; {
		n = n.Children[0]
		if s := fraction(report.Share{Part: n.Cum, Whole: b.Measure.Total}); !(math.Abs(s) >= leastShare) {
			break
		}
		if len(n.Children) > 0 && n.Children[0].Cum == n.Cum {
			alike++
			continue
		}
		row := t.row(n, "")
		if alike > 0 {
			row[len(row)-1].label += p.text(report.Phrase{p.glyphs.caller, alike, " more that cost the same"})
		}
		t.grid.rows = append(t.grid.rows, row)
		alike = 0
	}
	t.grid.dropBars()
	if len(t.grid.rows) > 0 {
		p.line("")
		t.grid.print(p.w, p.formatter, p.o.Width)
	}
}
