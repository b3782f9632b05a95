package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

const chartParts = `[...document.querySelectorAll(".ruler .part")].map((b) => b.getAttribute("aria-label"))`

// A recording has a flame graph of each of its parts. A part of the time is chosen with the pointer or by a click on it, and is what all
// views answer for; the keys zoom.
func TestPageFlameChart(t *testing.T) {
	p := open(t, serveRecordings(t, web.Measured(t)), 1280, 800)
	p.visit("/overview")
	p.visitTab("Flame chart")
	parts := eval[[]string](p, chartParts)
	if len(parts) != 12 || parts[3] != "keep 3s to 4s: 1.00 cores" {
		t.Errorf("the parts are %q", parts)
	}
	if got := eval[bool](p, `(() => { const s = document.querySelector(".scroller"); const c = s.querySelector("canvas"); return Math.abs(c.clientHeight - s.clientHeight) <= 1 && c.clientHeight > 300; })()`); !got {
		t.Error("the picture does not fill its place")
	}
	if got := eval[int](p, `Number(document.querySelector(".scroller canvas").dataset.labels)`); got < 25 {
		t.Errorf("%d boxes have a label, want those of 12 parts", got)
	}

	// The heads of parts are gray, which is no origin.
	if got := p.text(".legend"); !strings.Contains(got, "your code") || strings.Contains(got, "other") {
		t.Errorf("the legend says %q", got)
	}

	// What is searched for is found among the boxes.
	eval[bool](p, `(() => { const i = document.querySelector(".search input"); i.value = "late"; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	p.wait(`document.querySelector(".matched").innerText.includes("50.00% matched")`)
	if got := p.text(".matched"); !strings.Contains(got, "6 boxes") {
		t.Errorf("the search says %q", got)
	}
	p.key("n")
	p.wait(`document.querySelector(".panel .name").innerText === "main.late"`)
	p.wait(`document.querySelector(".panel .when").innerText.includes("6s to 7s")`)

	// Enter zooms into the time of the call, Escape zooms out.
	p.key("\r")
	p.wait(`new URLSearchParams(location.search).get("ui.zoom") === "6s..7s"`)
	p.key("\x1b")
	p.wait(`new URLSearchParams(location.search).get("ui.zoom") === null`)
	p.key("+")
	p.wait(`new URLSearchParams(location.search).get("ui.zoom") === "3.25s..9.25s"`)
	p.key("r")
	p.wait(`new URLSearchParams(location.search).get("ui.zoom") === null`)

	box := eval[struct{ X, Y, Width float64 }](p, `(() => { const r = document.querySelector(".ruler").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width }; })()`)
	p.do(chromedp.DragAndDropXY(box.X+box.Width*4.3/12, box.Y+20, box.X+box.Width*6.5/12, box.Y+20))
	p.wait(rangeOfPage + ` === "4s..7s"`)
	p.settled()
	p.wait(chartParts + `.length === 3`)
	if got := p.text(".pill"); !strings.Contains(got, "time 4s to 7s") {
		t.Errorf("the pill says %q", got)
	}
	p.click(".ruler .part:nth-child(3)", "")
	p.wait(rangeOfPage + ` === "6s..7s"`)
	p.settled()
	p.visitTab("Top")
	if got := p.text("tbody"); strings.Contains(got, "main.early") || !strings.Contains(got, "main.late") {
		t.Errorf("the ranking of that time is %q", got)
	}
}

// The samples of an execution trace are at their times, on a track of each goroutine.
func TestPageFlameChartOfTrace(t *testing.T) {
	p := open(t, serveRecordings(t, web.Sampled(t)), 1280, 800)
	p.visit("/flamechart?metric=trace")
	if n := eval[int](p, `document.querySelectorAll(".tracks .lane").length`); n < 1 {
		t.Fatalf("there are %d tracks", n)
	}
	head := eval[string](p, `document.querySelector(".headline-text").innerText`)
	n, ok := strings.CutSuffix(strings.Split(head, " · ")[0], " CPU samples")
	if got := p.text(".crumbs"); !ok || !strings.Contains(got, n+" CPU samples of the execution trace") {
		t.Errorf("it says %q below %q", got, head)
	}
	if got := p.text(".tracks"); strings.Contains(got, "1 samples)") {
		t.Errorf("the tracks are %q", got)
	}
	if got := eval[string](p, `document.querySelector(".tracks .scroller").getAttribute("aria-label")`); !strings.HasPrefix(got, "Samples of ") {
		t.Errorf("the first track is called %q", got)
	}
}

// It fits on a narrow screen, and axe-core finds nothing in it.
func TestPageFlameChartAccessible(t *testing.T) {
	for _, rec := range []struct {
		path string
		of   *recording.Recording
	}{{"/flamechart", web.Measured(t)}, {"/flamechart?metric=trace", web.Sampled(t)}} {
		p := open(t, serveRecordings(t, rec.of), 390, 800)
		p.visit(rec.path)
		if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d pixels wide", rec.path, wide)
		}
		p.accessible(rec.path, "html")
	}
}
