package tour

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/hint"
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
		"took":  func(d time.Duration) string { return d.Round(time.Second / 10).String() },
		"nanos": func(ns float64) string { return unit.Label(int64(ns), "nanoseconds") },
		"next":  func() []hint.Command { return Next },
	}).Parse(pageText))
})

// Next is what to try on a program of one's own.
var Next = []hint.Command{
	hint.Ask("record", "./cmd/app").For("one file with all there is to know of a run"),
	hint.Ask("web", "app.hone").For("all of it in a browser, with findings"),
	loadOwn,
	hint.Ask("race", "./...").For("races that tests do not show by themselves"),
	hint.Ask("fix", "./pkg").For("patches that are proven to help, or none"),
}

var loadOwn = hint.Command{
	Verb: "load", Options: []hint.Option{{Name: "record", Value: "./cmd/server"}}, Args: []string{"http://127.0.0.1:{port}/"},
	Behind: []string{"-listen", "127.0.0.1:{port}"}, Answer: "what each request costs",
}

// pageWidth is how wide the wider picture is, in CSS pixels.
const pageWidth = 1100

// A spelled is a tour as a front words its hints.
type spelled struct {
	*Tour
	by hint.Speller
}

// Write writes the page, with hints as a front words them. It needs nothing but itself.
func (t *Tour) Write(w io.Writer, by hint.Speller) error { return page().Execute(w, spelled{t, by}) }

// Spell words a hint.
func (t spelled) Spell(c hint.Command) string { return hint.SpellCommand(t.by, c) }

// Widths returns how wide the pictures are drawn, so that a pixel stands for the same CPU time of a request in both; where it is
// not known whether that changed, they are equally wide.
func (t *Tour) Widths() []float64 {
	if t.After == nil || !t.After.Changed || t.Before == nil || t.Before.Request <= 0 || t.After.Request <= 0 {
		return []float64{pageWidth, pageWidth}
	}
	most := max(t.Before.Request, t.After.Request)
	return []float64{pageWidth * t.Before.Request / most, pageWidth * t.After.Request / most}
}

// Draw writes a report for the page; a flame graph as a picture that is so wide, with names that begin with prefix.
func (t spelled) Draw(r report.Report, wide float64, prefix string) (template.HTML, error) {
	var b strings.Builder
	var err error
	if f, ok := r.(*report.Flame); ok {
		err = render.FlameSVG(&b, f, render.FlameOptions{Pixels: cmp.Or(wide, pageWidth), Prefix: prefix})
	} else {
		err = render.HTML(&b, r, render.Options{By: t.by})
	}
	return template.HTML(b.String()), err // what is in reports is escaped by whoever drew it
}
