package tour

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

//go:embed page.html
var pageText string

// page is made when it is needed, since all other commands of hone start without it.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(render.PageStyle) },
		"draw":  draw,
		"took":  func(d time.Duration) string { return d.Round(time.Second / 10).String() },
		"nanos": func(ns float64) string { return unit.Label(int64(ns), "nanoseconds") },
		"next":  func() []report.Command { return Next },
	}).Parse(pageText))
})

// Next is what to try on a program of one's own.
var Next = []report.Command{
	{Line: "hone record ./cmd/app", Answer: "one file with all there is to know of a run"},
	{Line: "hone web app.hone", Answer: "all of it in a browser, with findings"},
	{Line: "hone load --record ./cmd/server 'http://127.0.0.1:{port}/' -- -listen '127.0.0.1:{port}'", Answer: "what each request costs"},
	{Line: "hone race ./...", Answer: "races that tests do not show by themselves"},
	{Line: "hone fix ./pkg", Answer: "patches that are proven to help, or none"},
}

// pageWidth is how wide the wider picture is, in CSS pixels.
const pageWidth = 1100

// Write writes the page. It needs nothing but itself.
func (t *Tour) Write(w io.Writer) error { return page().Execute(w, t) }

// Widths returns how wide the pictures are drawn, so that a pixel stands for the same CPU time of a request in both; where it is
// not known whether that changed, they are equally wide.
func (t *Tour) Widths() []float64 {
	if t.After == nil || !t.After.Changed || t.Before == nil || t.Before.Request <= 0 || t.After.Request <= 0 {
		return []float64{pageWidth, pageWidth}
	}
	most := max(t.Before.Request, t.After.Request)
	return []float64{pageWidth * t.Before.Request / most, pageWidth * t.After.Request / most}
}

// draw writes a report for the page; a flame graph as a picture that is so wide, with names that begin with prefix.
func draw(r report.Report, wide float64, prefix string) (template.HTML, error) {
	var b strings.Builder
	var err error
	if f, ok := r.(*report.Flame); ok {
		err = render.FlameSVG(&b, f, render.FlameOptions{Pixels: cmp.Or(wide, pageWidth), Prefix: prefix})
	} else {
		err = render.HTML(&b, r, render.Options{})
	}
	return template.HTML(b.String()), err // what is in reports is escaped by whoever drew it
}
