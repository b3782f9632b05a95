package render

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"

	"github.com/hone-perf/hone/internal/report"
)

// Markdown writes r for GitHub issues and the like: tables as Markdown tables, other blocks as preformatted text.
func Markdown(w io.Writer, r report.Report, o Options) error {
	o.Width, o.Color = 0, false
	m := markdown{formatter: newFormatter(o), w: bufio.NewWriter(w)}
	for b := range r.Blocks() {
		if err := m.block(b); err != nil {
			return err
		}
	}
	return m.w.Flush()
}

type markdown struct {
	*formatter
	w     *bufio.Writer
	begun bool
}

func (m *markdown) block(b report.Block) error {
	switch b := b.(type) {
	case report.Title:
		m.paragraph("## " + escapeMarkdown(b.Text))
	case report.Heading:
		for _, l := range b.Lines {
			m.paragraph(escapeMarkdown(m.heading(l)))
		}
	case report.Details:
		m.paragraph("<details>\n<summary>" + html.EscapeString(b.Title) + "</summary>")
		for _, in := range b.Blocks {
			if err := m.block(in); err != nil {
				return err
			}
		}
		m.paragraph("</details>")
	case report.Strips:
		for _, in := range b.Draw(report.StripPlaces) {
			if err := m.block(in); err != nil {
				return err
			}
		}
	case report.Note:
		m.paragraph("> note: " + escapeMarkdown(m.text(b.Text)))
	case report.Facts:
		g := grid{columns: []gridColumn{{name: "name"}, {name: "value"}}}
		for _, f := range b.Items {
			g.rows = append(g.rows, []cell{{text: f.Name}, {text: m.text(f.Value)}})
		}
		m.grid(&g)
	case report.Table:
		if b.Title != "" {
			title := b.Title
			if b.Summary != nil {
				title += m.glyphs.sep + m.text(b.Summary)
			}
			m.paragraph("### " + escapeMarkdown(title))
		}
		m.grid(m.table(&b, false))
	case report.Calls:
		m.grid(m.calls(&b, false))
	default:
		return m.verbatim(b)
	}
	return nil
}

// paragraph writes text with an empty line before it.
func (m *markdown) paragraph(text string) {
	if m.begun {
		m.w.WriteByte('\n')
	}
	m.begun = true
	m.w.WriteString(text + "\n")
}

func (m *markdown) grid(g *grid) {
	if len(g.rows) == 0 {
		return
	}
	var b strings.Builder
	for _, c := range g.columns {
		b.WriteString("| " + escapeMarkdown(c.name) + " ")
	}
	b.WriteString("|\n")
	for _, c := range g.columns {
		if c.right {
			b.WriteString("|---:")
		} else {
			b.WriteString("|:---")
		}
	}
	b.WriteString("|")
	m.paragraph(b.String())
	for _, row := range g.rows {
		for i := range g.columns {
			var c cell
			if row != nil {
				c = row[i]
			}
			text := escapeMarkdown(strings.TrimLeft(c.mark, " ") + c.text + c.label)
			if c.style == bold && text != "" {
				text = "**" + text + "**"
			}
			m.w.WriteString("| " + text + " ")
		}
		m.w.WriteString("|\n")
	}
}

// verbatim writes a block as preformatted text. It is indented instead of fenced, because text in the block could end a fence.
func (m *markdown) verbatim(b report.Block) error {
	if m.begun {
		m.w.WriteByte('\n')
	}
	m.begun = true
	p := newPrinter(&indenter{w: m.w}, m.o)
	p.draws = true
	if err := p.block(b); err != nil {
		return err
	}
	return p.w.Flush()
}

// An indenter indents all lines except empty ones.
type indenter struct {
	w      *bufio.Writer
	inside bool // within a line
}

func (d *indenter) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if !d.inside && line[0] != '\n' {
			d.w.WriteString("    ")
		}
		d.inside = line[len(line)-1] != '\n'
		if _, err := d.w.Write(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// escapeMarkdown escapes s for a paragraph or a table cell.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]<>&|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' && (i == 0 || i == len(s)-1):
			b.WriteString("&#32;") // Markdown drops spaces at the edges of cells
		case unicode.IsControl(r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
