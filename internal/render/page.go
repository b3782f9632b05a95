package render

import (
	"bufio"
	_ "embed"
	"html"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// PageStyle is the style sheet of standalone pages, for the output of HTML.
//
//go:embed page.css
var PageStyle string

// Page writes r as a page of its own, which needs nothing but itself: its charts are pictures in it.
func Page(w io.Writer, r report.Report, o Options) error {
	o.Width, o.Color, o.ASCII = 0, false, false
	title := "hone"
	f := newFormatter(o)
	for b := range r.Blocks() {
		if h, ok := b.(report.Heading); ok && len(h.Lines) > 0 {
			title = f.heading(h.Lines[0])
			break
		}
	}
	b := bufio.NewWriter(w)
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + html.EscapeString(clean(title)) + "</title>\n<style>\n" +
		PageStyle)
	if o.Dark {
		b.WriteString(":root { color-scheme: dark; }\n")
	}
	b.WriteString("</style>\n</head>\n<body>\n")
	if err := writeHTML(b, r, o, true); err != nil {
		return err
	}
	b.WriteString("</body>\n</html>\n")
	return b.Flush()
}

// charts draws consecutive charts as one picture.
func (h *htmlWriter) charts(list []report.Chart) error {
	if len(list) == 0 {
		return nil
	}
	c := newCanvas(chartWide, 0, flamePaper)
	h.pictures++
	c.prefix = "chart" + strings.Repeat("s", h.pictures-1) + "-"
	h.drawCharts(c, list, chartMargin)
	h.w.WriteString("<figure>")
	if err := c.svg(h.w, h.o.Dark); err != nil {
		return err
	}
	h.w.WriteString("</figure>\n")
	return nil
}
