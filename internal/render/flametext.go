package render

import (
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

// A FlameBox is a frame in a flame graph made of text, from one column up to another.
type FlameBox struct {
	Node     *report.FlameNode // nil for frames that are too narrow to be told apart
	From, To int
}

// FlameBoxes lays out a tree of frames in columns, a row for each depth. Rows in which nothing could be read are left
// out at the end; hidden is how many.
func FlameBoxes(root *report.FlameNode, columns int) (rows [][]FlameBox, hidden int) {
	const least = 0.5 // what is narrower is rounded to nothing
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

// A FlameMark is how a box stands out.
type FlameMark int

const (
	FlamePlain    FlameMark = iota
	FlameMatch              // it is what was searched for
	FlameFaint              // it is not
	FlameSelected           // it is the one that is looked at
)

// A FlamePainter writes flame graphs as text. With colors, boxes are told apart by their background; without, they begin
// with a bar.
type FlamePainter struct {
	*formatter
	measure *report.Measure
	block   report.FlameBlock
	tints   flameTints
}

// NewFlamePainter returns a painter for a tree and what is to be painted with it.
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

// A tintPair is two backgrounds out of the 256 that nearly all terminals have, for neighbors of the same tint. They are
// close to the colors of pictures, and text on them is black.
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

// style returns that of a box, which is the nth of its row.
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

// Row writes a row of boxes, without anything after the last one. mark says how the box of a frame stands out, or that
// of frames that are too narrow, which is nil. Without it none does.
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

// blank writes room between boxes. Without colors, that ends a box.
func (p *FlamePainter) blank(out *strings.Builder, n int, ends bool) {
	if ends && !p.o.Color {
		out.WriteByte('|')
		n--
	}
	out.WriteString(strings.Repeat(" ", n))
}

// paintAlways returns s in a style even without colors, for those styles that are none.
func (p *FlamePainter) paintAlways(s string, st style) string {
	if st == plain {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// boxText returns what fills a box: the name and, where there is room, its share of all or how much it changed.
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
	if p.tints.diff { // then it is the change that matters
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

// Legend says what the colors mean, and how many columns that takes. There may be nothing to say.
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

// Text prints items, such as parts of a whole, one after the other.
func (p *FlamePainter) Text(items ...any) string { return p.text(report.Phrase(items)) }

// Value returns a value of the tree as an item.
func (p *FlamePainter) Value(v int64) report.Value { return report.Value{V: v, Measure: p.measure} }

// Change returns how the cost of a frame changed as an item; ok is whether the tree has two sides.
func (p *FlamePainter) Change(n *report.FlameNode) (change report.Phrase, ok bool) {
	before := costBefore(n).Cum
	return report.Phrase{
		report.Change{From: before, To: n.Cum, Measure: p.measure}, ", ", report.Growth{From: before, To: n.Cum},
	}, p.tints.diff
}

// Fit cuts s down to so many columns, and fills it up to them.
func (p *FlamePainter) Fit(s string, columns int) string {
	s = cutRight(clean(s), columns, p.glyphs.dots)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// Width returns how many columns s takes.
func (p *FlamePainter) Width(s string) int { return width(clean(s)) }

// FitPath does so for what ends in the part that says most.
func (p *FlamePainter) FitPath(s string, columns int) string {
	s = cutLeft(clean(s), max(columns, 1), p.glyphs.dots)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// Strong makes text outside of the tree stand out.
func (p *FlamePainter) Strong(s string) string { return p.paintAlways(s, bold) }

// leastFlameColumns is the width from which on a flame graph can be drawn in text.
const leastFlameColumns = 40

// drawnFlame draws a flame graph, what its colors mean, and where most of it goes.
func (p *printer) drawnFlame(b *report.FlameBlock) {
	painter := &FlamePainter{formatter: p.formatter}
	painter.setBlock(*b)
	cols := p.o.Width
	if !p.o.Color {
		cols-- // for the bar at the end
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

// heaviest lists the frames on the way on which most is spent. Of those that cost the same, which are on top of each
// other, the last is listed.
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
