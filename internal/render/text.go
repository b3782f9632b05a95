package render

import (
	"bufio"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// Text writes r for programs that read lines: aligned columns and whole names, independent of the terminal.
func Text(w io.Writer, r report.Report, o Options) error {
	o.Width, o.Color = 0, false
	p := newPrinter(w, o)
	return p.report(r)
}

// Terminal writes r for people: in o.Width columns, with bars beside shares and, if o.Color, with highlights.
func Terminal(w io.Writer, r report.Report, o Options) error {
	p := newPrinter(w, o)
	p.bars, p.draws, p.short = true, true, true
	return p.report(r)
}

// A printer writes blocks as text.
type printer struct {
	*formatter
	w     *bufio.Writer
	bars  bool
	draws bool // charts
	begun bool // something has been printed
}

func newPrinter(w io.Writer, o Options) *printer {
	return &printer{formatter: newFormatter(o), w: bufio.NewWriterSize(w, 1<<16)}
}

func (p *printer) report(r report.Report) error {
	for b := range r.Blocks() {
		if err := p.block(b); err != nil {
			return err
		}
		p.begun = true
	}
	return p.w.Flush()
}

func (p *printer) block(b report.Block) error {
	switch b := b.(type) {
	case report.Title:
		p.wrapped("", b.Text, bold)
	case report.Heading:
		for _, l := range b.Lines {
			p.wrapped("", p.heading(l), dim)
		}
	case report.Details:
		for _, in := range b.Blocks {
			if err := p.block(in); err != nil {
				return err
			}
		}
	case report.Note:
		p.note(p.text(b.Text))
	case report.Facts:
		p.facts(&b)
	case report.Table:
		p.title(b.Title, b.Summary)
		if len(b.Rows) > 0 {
			p.table(&b, p.bars).print(p.w, p.formatter, p.o.Width)
		}
	case report.Calls:
		if len(b.Nodes) > 0 {
			p.calls(&b, p.bars).print(p.w, p.formatter, p.o.Width)
		}
	case report.Listing:
		p.listing(&b)
	case report.FlameBlock:
		p.flameBlock(&b)
	case report.Strips:
		for _, in := range b.Draw(p.places(&b)) {
			if err := p.block(in); err != nil {
				return err
			}
			p.begun = true
		}
	case report.Chart:
		if p.draws {
			p.chart(&b)
		}
	case report.Commands:
		p.commands(&b)
	case report.Stacks:
		return p.stacks(&b)
	case report.Dump:
		if err := p.w.Flush(); err != nil {
			return err
		}
		return WriteRaw(p.w, b.Profile)
	case report.Plain:
		for l := range strings.Lines(b.Text) {
			p.line(p.source(l))
		}
	case report.Lines:
		for l := range b.Each {
			p.w.WriteString(p.source(l))
			if err := p.w.WriteByte('\n'); err != nil { // also returns the error of an earlier write
				return err
			}
		}
	default:
		panic("render: block of a kind that no renderer knows")
	}
	return nil
}

// places returns how wide strips can be, so that all of their tables fit the width.
func (p *printer) places(b *report.Strips) int {
	if p.o.Width == 0 {
		return report.StripPlaces
	}
	over := 0
	for _, in := range b.Draw(report.StripPlaces) {
		if t, ok := in.(report.Table); ok {
			g := p.table(&t, p.bars)
			widths := g.widths()
			g.fit(widths, p.o.Width, leastText)
			over = max(over, total(widths)-p.o.Width)
		}
	}
	return max(report.StripPlaces-over, leastText)
}

func (p *printer) line(s string) {
	p.w.WriteString(s)
	p.w.WriteByte('\n')
}

// commands writes lines to paste into a shell. Their comments are not aligned, because the lines have very different lengths.
func (p *printer) commands(b *report.Commands) {
	p.title(b.Title, nil)
	for _, c := range b.Items {
		line, answer := "  "+p.text(c), "# "+clean(c.Answer)
		if p.o.Width > 0 && width(line)+gap+width(answer) > p.o.Width {
			p.line(p.paint("  "+answer, dim))
			p.line(line)
			continue
		}
		p.line(line + "  " + p.paint(answer, dim))
	}
}

func (p *printer) note(text string) { p.wrapped("note:", text, plain) }

// wrapped writes text after a dim label, wrapped to the width.
func (p *printer) wrapped(label, text string, st style) {
	room := p.o.Width
	var line strings.Builder
	used := 0
	if label != "" {
		line.WriteString(p.paint(label, dim) + " ")
		used = width(label) + 1
	}
	if room == 0 || used+width(text) <= room {
		p.line(line.String() + p.paint(text, st))
		return
	}
	for _, words := range wrapWords(text, room-used) {
		p.line(line.String() + p.paint(words, st))
		line.Reset()
		line.WriteString(strings.Repeat(" ", used))
	}
}

// wrapWords breaks text between words into lines of at most room columns. A longer word has its own line.
func wrapWords(text string, room int) []string {
	var lines []string
	words := ""
	for word := range strings.SplitSeq(text, " ") {
		if words != "" && width(words)+1+width(word) > room {
			lines = append(lines, words)
			words = ""
		}
		if words != "" {
			words += " "
		}
		words += word
	}
	return append(lines, words)
}

// title starts a section of an answer.
func (p *printer) title(title string, about report.Phrase) {
	if title == "" {
		return
	}
	if p.begun {
		p.line("")
	}
	s := p.paint(clean(title), bold)
	if about != nil {
		s += p.glyphs.sep + p.text(about)
	}
	p.line(s)
}

func (p *printer) facts(b *report.Facts) {
	g := grid{columns: []gridColumn{{}, {cut: cutRight}}}
	names := 0
	for _, f := range b.Items {
		names = max(names, width(clean(f.Name)))
	}
	room := p.o.Width - names - gap
	for _, f := range b.Items {
		name, lines := clean(f.Name), []string{p.text(f.Value)}
		if p.o.Width > 0 && width(lines[0]) > room && room >= leastText {
			lines = wrapWords(lines[0], room)
		}
		for _, l := range lines {
			g.rows = append(g.rows, []cell{{text: name, style: dim}, {text: l}})
			name = ""
		}
	}
	g.print(p.w, p.formatter, p.o.Width)
}

func (p *printer) listing(b *report.Listing) {
	whole := b.Measure.Total
	about := report.Phrase{
		"flat ", report.Value{V: b.Flat, Measure: b.Measure}, " ", report.Share{Part: b.Flat, Whole: whole}, ", ",
		"cum ", report.Value{V: b.Cum, Measure: b.Measure}, " ", report.Share{Part: b.Cum, Whole: whole},
	}
	if b.Before != nil {
		about = append(about, "; before: flat ", report.Value{V: b.Before.Flat, Measure: b.Measure}, ", cum ", report.Value{V: b.Before.Cum, Measure: b.Measure},
			", ", report.Growth{From: b.Before.Cum, To: b.Cum})
	}
	if b.File == "" {
		about = nil
	}
	p.title(b.Title, about)
	if b.File != "" {
		p.line(p.paint(clean(b.File), dim))
	}
	if b.Found != "" {
		p.note("read from " + clean(b.Found))
	}
	for _, n := range b.Notes {
		p.note(clean(n))
	}
	if b.Error != "" {
		p.note("no source text: " + clean(b.Error))
	}
	if len(b.Lines) == 0 {
		return
	}
	g := grid{columns: []gridColumn{{name: "flat", right: true}, {name: "cum", right: true}}}
	if b.Before != nil {
		g.columns = append(g.columns, gridColumn{name: "cum before", right: true}, gridColumn{name: "delta", right: true})
	}
	g.columns = append(g.columns, gridColumn{name: "line", right: true}, gridColumn{name: "source", cut: cutRight})
	for _, l := range b.Lines {
		cost := func(v int64) cell {
			if v == 0 {
				return cell{text: ".", style: dim}
			}
			return cell{text: p.text(report.Value{V: v, Measure: b.Measure}), style: heat(report.Share{Part: v, Whole: whole})}
		}
		row := []cell{cost(l.Flat), cost(l.Cum)}
		if b.Before != nil {
			was := int64(0)
			if l.Before != nil {
				was = l.Before.Cum
			}
			change := cell{text: ".", style: dim}
			if was != 0 || l.Cum != 0 {
				change = p.cell(report.Change{From: was, To: l.Cum, Measure: b.Measure})
			}
			row = append(row, cost(was), change)
		}
		g.rows = append(g.rows, append(row, cell{text: p.text(l.Line), style: dim}, cell{text: p.source(l.Text)}))
	}
	g.print(p.w, p.formatter, p.o.Width)
}

// source returns a line of source text. It keeps tabs, which help programs that split columns, unless the line has to fit a width.
func (p *formatter) source(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if printable(s) {
		return s
	}
	tab := "\t"
	if p.o.Width > 0 {
		tab = "    "
	}
	parts := strings.Split(s, "\t")
	for i := range parts {
		parts[i] = clean(parts[i])
	}
	return strings.Join(parts, tab)
}

func (p *printer) flameBlock(b *report.FlameBlock) {
	if !b.Table && p.bars && p.o.Width >= leastFlameColumns && b.Root != nil && len(b.Root.Children) > 0 {
		p.drawnFlame(b)
		return
	}
	g, small := p.flame(b, p.bars)
	if len(g.rows) == 0 {
		return
	}
	g.print(p.w, p.formatter, p.o.Width)
	if small > 0 {
		p.note(p.text(report.Phrase{small, " frames below ", report.Value{V: b.Below, Measure: b.Measure}, " are not drawn"}))
	}
}

// valueWidth is the width of the values before stacks. It is fixed, because stacks are streamed and the widest value is not known.
const valueWidth = 10

func (p *printer) stacks(b *report.Stacks) error {
	margin := strings.Repeat(" ", valueWidth+gap)
	for s := range b.Each {
		if p.begun {
			p.line("")
		}
		p.begun = true
		v := p.text(report.Value{V: s.V, Measure: b.Measure})
		p.w.WriteString(margin[:max(valueWidth-width(v), 0)])
		p.w.WriteString(p.paint(v, heat(report.Share{Part: s.V, Whole: b.Measure.Total})))
		before := margin[:gap]
		if len(s.Labels) > 0 {
			p.line(before + p.paint(p.labels(s.Labels), dim))
			before = margin
		}
		for _, n := range s.Frames {
			p.w.WriteString(before)
			p.w.WriteString(p.fitted(n, p.o.Width-len(margin)))
			p.line(p.paint(label(n), dim))
			before = margin
		}
		if len(s.Labels)+len(s.Frames) == 0 {
			p.line("")
		}
		// Stop after a write error: there may be millions of stacks.
		if _, err := p.w.Write(nil); err != nil {
			return err
		}
	}
	return nil
}

// fitted returns the text of n, shortened to room if the width is limited.
func (p *printer) fitted(n report.Name, room int) string {
	s := p.nameText(n)
	if p.o.Width > 0 {
		s = cutLeft(s, max(room-width(label(n)), leastText), p.glyphs.dots)
	}
	return s
}

// labels prints the labels of a stack. Values of the same key are consecutive.
func (f *formatter) labels(facts []report.Fact) string {
	var b strings.Builder
	for i, l := range facts {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(clean(l.Name) + "=" + f.text(l.Value))
	}
	return b.String()
}
