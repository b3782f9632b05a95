package render

import (
	"bufio"
	"html"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// HTML writes r as a part of a page, whose style sheet has a look for its elements and for the classes quiet, note, wide, num,
// hot, less and more, which say that something is saved or lost, and add, del and at of patches. What there is no element for is text
// in its columns.
func HTML(w io.Writer, r report.Report, o Options) error {
	return writeHTML(w, r, o, false)
}

func writeHTML(w io.Writer, r report.Report, o Options, untitled bool) error {
	o.Width, o.Color = 0, false
	h := htmlWriter{formatter: newFormatter(o), w: bufio.NewWriter(w), untitled: untitled}
	var charts []report.Chart
	for b := range r.Blocks() {
		if c, ok := b.(report.Chart); ok {
			charts = append(charts, c)
			continue
		}
		if err := h.charts(charts); err != nil {
			return err
		}
		charts = nil
		if err := h.block(b); err != nil {
			return err
		}
	}
	if err := h.charts(charts); err != nil {
		return err
	}
	return h.w.Flush()
}

type htmlWriter struct {
	*formatter
	w        *bufio.Writer
	pictures int
	untitled bool // the first heading becomes the heading of the page
}

func (h *htmlWriter) block(b report.Block) error {
	switch b := b.(type) {
	case report.Title:
		h.element("h3", "", b.Text)
	case report.Heading:
		for _, l := range b.Lines {
			if h.untitled {
				h.element("h1", "", h.heading(l))
				h.untitled = false
				continue
			}
			h.element("p", "quiet", h.heading(l))
		}
	case report.Note:
		h.element("p", "note", h.text(b.Text))
	case report.Details:
		h.w.WriteString("<details>\n")
		h.element("summary", "", b.Title)
		for _, in := range b.Blocks {
			if err := h.block(in); err != nil {
				return err
			}
		}
		h.w.WriteString("</details>\n")
	case report.Strips:
		for _, in := range b.Draw(report.StripPlaces) {
			if err := h.block(in); err != nil {
				return err
			}
		}
	case report.Facts:
		h.w.WriteString("<dl>\n")
		for _, f := range b.Items {
			h.element("dt", "", f.Name)
			h.element("dd", "", h.text(f.Value))
		}
		h.w.WriteString("</dl>\n")
	case report.Table:
		if b.Title != "" {
			h.element("h4", "", b.Title)
		}
		if b.Summary != nil {
			h.element("p", "quiet", h.text(b.Summary))
		}
		h.grid(h.table(&b, false))
	case report.Calls:
		h.grid(h.calls(&b, false))
	case report.Commands:
		if b.Title != "" {
			h.element("h4", "", b.Title)
		}
		h.w.WriteString("<ul>\n")
		for _, c := range b.Items {
			h.w.WriteString("<li><code>" + html.EscapeString(h.text(c)) + "</code> " + html.EscapeString(clean(c.Answer)) + "</li>\n")
		}
		h.w.WriteString("</ul>\n")
	case report.Plain:
		h.plain(b.Text)
	default:
		h.w.WriteString(`<pre tabindex="0">`)
		p := newPrinter(escaper{h.w}, h.o)
		p.draws = true
		if err := p.block(b); err != nil {
			return err
		}
		if err := p.w.Flush(); err != nil {
			return err
		}
		h.w.WriteString("</pre>\n")
	}
	return nil
}

// An escaper writes text into a page. It stops after an error, because reports can be very long.
type escaper struct{ w *bufio.Writer }

func (e escaper) Write(b []byte) (int, error) {
	if _, err := e.w.WriteString(html.EscapeString(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (h *htmlWriter) element(name, class, text string) {
	h.w.WriteString("<" + name)
	if class != "" {
		h.w.WriteString(` class="` + class + `"`)
	}
	h.w.WriteString(">" + html.EscapeString(clean(text)) + "</" + name + ">\n")
}

// plain writes preformatted lines, and marks added and deleted lines of a patch.
func (h *htmlWriter) plain(text string) {
	isPatch := strings.HasPrefix(text, "--- ") || strings.Contains(text, "\n--- ")
	h.w.WriteString(`<pre tabindex="0">`)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		class := ""
		switch {
		case !isPatch:
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			class = "at"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		escaped := html.EscapeString(h.source(line))
		if class != "" {
			escaped = `<span class="` + class + `">` + escaped + "</span>"
		}
		h.w.WriteString(escaped + "\n")
	}
	h.w.WriteString("</pre>\n")
}

// classes returns the CSS classes of a cell.
var classes = map[style]string{bold: "hot", worse: "more", saved: "less"}

func (h *htmlWriter) grid(g *grid) {
	if len(g.rows) == 0 {
		return
	}
	open := func(name string, class ...string) {
		h.w.WriteString("<" + name)
		if all := strings.TrimSpace(strings.Join(class, " ")); all != "" {
			h.w.WriteString(` class="` + all + `"`)
		}
		h.w.WriteString(">")
	}
	number := func(c gridColumn) string {
		if c.right {
			return "num"
		}
		return ""
	}
	h.w.WriteString(`<div class="wide" tabindex="0"><table>` + "\n<thead><tr>")
	for _, c := range g.columns {
		open("th", number(c))
		h.w.WriteString(html.EscapeString(c.name) + "</th>")
	}
	h.w.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range g.rows {
		h.w.WriteString("<tr>")
		for i, col := range g.columns {
			var c cell
			if row != nil {
				c = row[i]
			}
			open("td", number(col), classes[c.style])
			h.w.WriteString(html.EscapeString(strings.TrimLeft(c.mark, " ")+c.text+c.label) + "</td>")
		}
		h.w.WriteString("</tr>\n")
	}
	h.w.WriteString("</tbody></table></div>\n")
}
