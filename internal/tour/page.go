package tour

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Next is what to try on a program of one's own.
var Next = []hint.Command{
	hint.Ask("record", "./cmd/app").For("one file with everything about a run"),
	hint.Ask("web", "app.hone").For("everything in a browser, with findings"),
	loadOwn,
	hint.Ask("race", "./...").For("races that tests alone do not show"),
	hint.Ask("fix", "./pkg").For("patches that are proven to help, or none"),
}

var loadOwn = hint.Command{
	Verb: "load", Options: []hint.Option{{Name: "record", Value: "./cmd/server"}}, Args: []string{"http://127.0.0.1:{port}/"},
	Behind: []string{"-listen", "127.0.0.1:{port}"}, Answer: "what each request costs",
}

// pageWidth is how wide the wider picture is, in CSS pixels.
const pageWidth = 1100

// Write writes the page, with hints as a front words them. It needs nothing but itself.
func (t *Tour) Write(w io.Writer, by hint.Speller) error {
	p := &page{w: bufio.NewWriter(w), by: by}
	p.put(pageHead + render.PageStyle + pageBegin)
	p.text(`<p class="quiet">What <code>hone tour</code> did in %s: a small web server, <code>examples/hi/stage0</code>, `+
		"was recorded under load, looked at, searched for races, fixed, and recorded again.</p>\n", unit.Time(t.Took))
	wide := t.Widths()
	if t.Before != nil {
		p.picture(t.Before, wide[0], "before", ": %s of CPU time for each request", "")
	}
	p.put("\n")
	if t.After != nil {
		says := "; a pixel is the same time per request in both pictures"
		if !t.After.Changed {
			says = "; a change in time per request did not show: the machine is busy, or the runs were short"
		}
		p.picture(t.After, wide[1], "after", ": %s", says)
	}
	p.put("\n")
	for _, s := range t.Steps {
		p.step(s)
	}
	for _, n := range t.Notes {
		p.text("<p class=\"note\">note: %s</p>\n", n)
	}
	if len(t.Left) > 0 {
		p.put("<h2>Left out</h2>\n<ul class=\"left\">")
		for _, l := range t.Left {
			p.text("<li>%s</li>", l)
		}
		p.put("</ul>\n")
	}
	p.put("<h2>On your own program</h2>\n<ul class=\"next\">")
	for _, c := range Next {
		p.text("<li><code>%s</code> %s</li>\n", hint.SpellCommand(by, c), c.Answer)
	}
	p.put("</ul>\n</body>\n</html>\n")
	return errors.Join(p.err, p.w.Flush())
}

const (
	pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hone tour</title>
<style>
`
	pageBegin = `</style>
</head>
<body>
<h1>The whole loop on a practice program</h1>
`
)

// A page is written piece by piece. html/template would do that, too, but a program that executes a template keeps every
// exported method of every type it has: hone would be a tenth larger, and so would every start of it.
type page struct {
	w   *bufio.Writer // keeps its first error
	err error         // of a report that could not be drawn
	by  hint.Speller
}

// put writes text as it is.
func (p *page) put(html string) { p.w.WriteString(html) }

// text writes text in which each %s stands for one of the strings, escaped.
func (p *page) text(format string, texts ...string) {
	args := make([]any, len(texts))
	for i, s := range texts {
		args[i] = html.EscapeString(s)
	}
	fmt.Fprintf(p.w, format, args...)
}

// picture draws a flame graph that is so wide, with what a request costs where that is known, and what else there is to say.
func (p *page) picture(pic *Picture, wide float64, name, request, says string) {
	p.put("<figure><figcaption><b>" + name + "</b>")
	if pic.Request != 0 {
		p.text(request, unit.Label(int64(pic.Request), "nanoseconds"))
	}
	p.put(says + "</figcaption>")
	p.draw(pic.Flame, wide, name+"-")
	p.put("</figure>")
}

func (p *page) step(s *Step) {
	p.text("<section>\n<h2>%s. %s", fmt.Sprint(s.Number), s.Title)
	if s.Took >= time.Second/10 {
		p.text(` <span class="took">%s</span>`, unit.Time(s.Took))
	}
	p.text("</h2>\n<p class=\"command\"><code>%s</code></p>\n<p>%s</p>\n", s.Command, s.Says)
	for _, r := range s.Found {
		p.put(`<div class="wide">`)
		p.draw(r, 0, "look-")
		p.put("</div>")
	}
	p.put("\n")
	if s.Whole != nil {
		p.put("<details><summary>all that it says</summary>\n")
		p.draw(s.Whole, 0, "")
		p.put("</details>")
	}
	p.put("\n</section>\n")
}

// draw writes a report for the page; a flame graph as a picture that is so wide, with names that begin with prefix. What is in
// reports is escaped by whoever draws it.
func (p *page) draw(r report.Report, wide float64, prefix string) {
	if f, ok := r.(*report.Flame); ok {
		p.err = errors.Join(p.err, render.FlameSVG(p.w, f, render.FlameOptions{Pixels: cmp.Or(wide, pageWidth), Prefix: prefix}))
		return
	}
	p.err = errors.Join(p.err, render.HTML(p.w, r, render.Options{By: p.by}))
}

// Widths returns how wide the pictures are drawn, so that a pixel stands for the same CPU time of a request in both; where it is
// not known whether that changed, they are equally wide.
func (t *Tour) Widths() []float64 {
	if t.After == nil || !t.After.Changed || t.Before == nil || t.Before.Request <= 0 || t.After.Request <= 0 {
		return []float64{pageWidth, pageWidth}
	}
	most := max(t.Before.Request, t.After.Request)
	return []float64{pageWidth * t.Before.Request / most, pageWidth * t.After.Request / most}
}
