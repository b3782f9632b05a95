package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

// brush draws a range on the timeline or the strip, given in shares of their width.
func (p *page) brush(from, to float64) {
	p.t.Helper()
	box := eval[struct{ X, Y, Width, Height float64 }](p,
		`(() => { const r = document.querySelector(".plot").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width, Height: r.height }; })()`)
	y := box.Y + box.Height - 15
	p.do(chromedp.DragAndDropXY(box.X+from*box.Width, y, box.X+to*box.Width, y))
}

const rangeOfPage = `new URLSearchParams(location.search).get("at")`

// The end of a run is often measured over some milliseconds, in which a tick of CPU time is many cores. It does not stretch the scale.
func TestPageTimelineSpike(t *testing.T) {
	p := open(t, serveRecordings(t, web.MeasuredAnd(t, `{"t": 12001, "process/rss": 60000000, "process/cpu": 16.85, "process/threads": 9}`+"\n")), 1280, 800)
	p.visit("/timeline")
	top := eval[float64](p, `(() => {
		const c = document.querySelector(".lane canvas");
		const d = c.getContext("2d").getImageData(Math.round(c.width * 0.8), 0, 1, c.height).data;
		let y = 0;
		while (y < c.height && !(d[4 * y + 3] > 0 && d[4 * y + 2] > d[4 * y] + 40)) y++;
		return y / c.height;
	})()`)
	if top > 0.4 {
		t.Errorf("1.8 cores are drawn %.0f%% below the top of the chart", 100*top)
	}
}

// What is drawn on the timeline is what all views answer for.
func TestPageTimeline(t *testing.T) {
	p := open(t, serveRecordings(t, web.Measured(t)), 1280, 800)
	p.visit("/overview")
	p.visitTab("Timeline")
	// Every chart is painted, and as sharp as the screen.
	charts := eval[[]int](p, `[...document.querySelectorAll(".lane canvas")].map((c) => {
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const seen = new Set();
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
		return c.width === Math.round(c.clientWidth * devicePixelRatio) ? seen.size : 0;
	})`)
	if len(charts) != 5 {
		t.Errorf("there are %d charts, want those of cores, memory, collections, goroutines and threads", len(charts))
	}
	for i, n := range charts {
		if n < 3 {
			t.Errorf("chart %d has %d colors", i, n)
		}
	}
	if got := p.text(".charts"); !strings.Contains(got, "max 108MB") || !strings.Contains(got, "mean 1.40") || !strings.Contains(got, "12, each stopped the world for at most 50us") {
		t.Errorf("without a cursor the charts say %q", got)
	}
	if got := p.text(".card"); !strings.Contains(got, "12s cpu") {
		t.Errorf("of the whole run it says %q", got)
	}

	p.visit("/timeline?focus=main.early")
	if got := p.text(".card"); !strings.Contains(got, "50.00% of 12s cpu in all of the run") {
		t.Errorf("with a filter it says %q of the whole run", got)
	}
	// A time reads the same wherever it is, however it was written.
	p.visit("/timeline?at=500000us..6s")
	for _, at := range []string{".pill", ".moment"} {
		if got := p.text(at); !strings.Contains(got, "time 0.5s to 6s") {
			t.Errorf("%s says %q", at, got)
		}
	}
	p.visit("/timeline")

	// The cursor is one for all charts.
	box := eval[struct{ X, Y, Width float64 }](p, `(() => { const r = document.querySelector(".plot").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width }; })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box.X+box.Width*3.93/12, box.Y+60))
	p.wait(`document.querySelector(".moment").innerText === "at 4s"`)
	if got := p.text(".charts"); !strings.Contains(got, "1.00") || !strings.Contains(got, "76MB") || !strings.Contains(got, "gc 4: stopped the world for 50us, heap 44MB → 20MB") {
		t.Errorf("at 4s the charts say %q", got)
	}

	// Brush; the ranking is that of the time.
	p.brush(3.01/12, 5.99/12)
	p.wait(rangeOfPage + ` === "3s..6s"`)
	p.settled()
	if got := p.text(".card"); !strings.Contains(got, "3s cpu in this time") || strings.Contains(got, "main.late") {
		t.Errorf("of this time it says %q", got)
	}
	if got := p.text(".pill"); !strings.Contains(got, "time 3s to 6s") {
		t.Errorf("the pill says %q", got)
	}
	p.visitTab("Top")
	if got := p.text("tbody"); !strings.Contains(got, "main.early") || strings.Contains(got, "main.late") {
		t.Errorf("the ranking of the first half is %q", got)
	}
	// The strip takes the end of a range along.
	p.brush(0.5, 0.999)
	p.wait(rangeOfPage + ` === "3s.."`)
	p.settled()
	if got := p.text("tbody"); !strings.Contains(got, "main.late") {
		t.Errorf("the ranking of all but the beginning is %q", got)
	}
	p.brush(0.6, 0.8)
	p.wait(rangeOfPage + ` === "7.2s..9.6s"`)
	p.settled()
	if got := p.text("tbody"); strings.Contains(got, "main.early") {
		t.Errorf("the ranking of the second half is %q", got)
	}
	p.click(".pill button", "×")
	p.wait(rangeOfPage + ` === null`)
	p.settled()
	if got := p.text("tbody"); !strings.Contains(got, "main.early") || !strings.Contains(got, "main.late") {
		t.Errorf("without the pill the ranking is %q", got)
	}
	p.back()
	p.wait(rangeOfPage + ` === "7.2s..9.6s"`)

	// A link may leave out the kind of profile; the page knows which metric that is.
	p.visit("/top?metric=samples")
	if got := eval[string](p, `document.querySelectorAll("header select")[1].value`); got != "cpu:samples" {
		t.Errorf("the metric that is selected is %q", got)
	}
}

// A range between two measurements, or with a few of them, has the values that the charts draw there, and not 0.
func TestPageTimelineShortRange(t *testing.T) {
	// Two seconds after the rest, the memory is not known.
	p := open(t, serveRecordings(t, web.MeasuredAnd(t, `{"t": 14000, "process/cpu": 17.8, "process/threads": 13}`+"\n")), 1280, 800)
	p.pardon = "/api/top" // some of the times have no CPU profile, which the page says
	said := func(path, of string) string {
		p.visit(path)
		return strings.Join(strings.Fields(p.text(of)), " ")
	}
	for _, test := range []struct{ at, want string }{
		{"60ms..180ms", "busy mean 1.00 GC mean 0.10 resident max 60.72MB"}, // between two measurements
		{"5.9s..6.1s", "busy mean 1.40 GC mean 0.14 resident max 84.40MB"},  // one of 1.8 cores counts as much as one of 1 core
		{"6.2s..6.45s", "busy mean 1.80 GC mean 0.18 resident max 85.80MB"}, // the most is at the end
		{"12.5s..13.5s", "busy mean 0.50 GC mean 0.00 resident –"},          // the end of a line
		{"11.9s..12.1s", "busy mean 1.15 GC mean 0.09 resident max 108MB"},  // partly known
		{"20s..21s", "busy – GC – resident –"},                              // after the run
	} {
		if got := said("/top?at="+test.at, ".strip .said"); !strings.Contains(got, test.want) {
			t.Errorf("of %s the strip says %q, want %q", test.at, got, test.want)
		}
	}
	got := said("/timeline?at=60ms..180ms", ".charts")
	for _, want := range []string{"heap max 25.76MB", "GC goal max 48MB", "Goroutines max 11", "Threads max 6"} {
		if !strings.Contains(got, want) {
			t.Errorf("between two measurements the charts say %q, want %q", got, want)
		}
	}
	if got := p.text(".cards"); !strings.Contains(got, "no measurement lies within this time") {
		t.Errorf("of values it says %q", got)
	}
}

// Keys do all that the pointer does.
func TestPageTimelineKeys(t *testing.T) {
	p := open(t, serveRecordings(t, web.Measured(t)), 1280, 800)
	p.visit("/overview")
	p.key("0")
	p.wait(`location.pathname === "/timeline"`)
	p.settled()
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	p.key(kb.ArrowRight)
	p.wait(`document.querySelector(".moment").innerText === "at 0s"`)
	p.key(kb.ArrowRight + kb.ArrowRight)
	p.wait(`document.querySelector(".moment").innerText === "at 500ms"`)
	if got := eval[string](p, `document.querySelector("[role=slider]").getAttribute("aria-valuetext")`); !strings.Contains(got, "500ms: busy 1.00, GC 0.10, resident 62MB") {
		t.Errorf("the slider says %q", got)
	}
	p.do(chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 6), chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.wait(`document.querySelector(".range") !== null && document.querySelector(".moment").innerText.includes("2s")`)
	p.key(kb.Escape)
	p.wait(`document.querySelector(".range") === null`)
	p.do(chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 4), chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.wait(`document.querySelector(".range") !== null`)
	p.key(kb.Enter)
	p.wait(rangeOfPage + ` === "2s..3s"`)
	p.settled()
	p.key(kb.Escape)
	p.wait(rangeOfPage + ` === null`)
	// On the strip once it has the focus.
	p.visit("/flame")
	eval[bool](p, `document.querySelector(".strip [role=slider]").focus() === undefined`)
	p.key(kb.End)
	p.do(chromedp.KeyEvent(strings.Repeat(kb.ArrowLeft, 4), chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.key(kb.Enter)
	p.wait(rangeOfPage + ` === "11s.."`)
	p.settled()
}

// Trouble is marked on the charts, and leads to the time before it.
func TestPageTrouble(t *testing.T) {
	rec := web.Measured(t)
	rec.Manifest.Events = []recording.Event{{At: 11500 * time.Millisecond, When: "rss>100MB", Of: "rss", Unit: "bytes", Value: 106 << 20, Limit: 100 << 20}}
	p := open(t, serveRecordings(t, rec), 1280, 800)
	p.visit("/timeline")
	left := eval[float64](p, `(() => { const e = document.querySelector(".event").getBoundingClientRect(), b = document.querySelector(".plot").getBoundingClientRect(); return (e.x - b.x) / b.width; })()`)
	if left < 0.94 || left > 0.98 {
		t.Errorf("the mark of trouble after 11.5s of 12s is at %g", left)
	}
	p.click(".next a", "11.5s")
	p.wait(rangeOfPage + ` === "1.5s..11.5s"`)
	p.settled()
	if got := p.text("main"); !strings.Contains(got, "rss 106MB, above 100MB") {
		t.Errorf("the page says %q", got)
	}
}

// A recording without profiles has a timeline all the same.
func TestPageWithoutProfile(t *testing.T) {
	rec := web.Measured(t)
	rec.Profile, rec.Parts = &profile.Profile{}, nil
	p := open(t, serveRecordings(t, rec), 1280, 800)
	p.visit("/timeline")
	if got := p.text(".charts"); !strings.Contains(got, "max 108MB") {
		t.Errorf("the charts say %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll(".problem").length`); n > 0 {
		t.Errorf("there are %d problems on it", n)
	}
	if got := eval[string](p, `[...document.querySelectorAll(".tabs a")].map((a) => a.innerText).join(" ")`); got != "Timeline Memory GC" {
		t.Errorf("the tabs are %q", got)
	}
	p.visit("/flame")
	if got := p.text("main"); !strings.Contains(strings.ToLower(got), "no profile") {
		t.Errorf("the flame graph says %q", got)
	}
}

// Only recordings with metrics have a timeline; where there is none the page says so.
func TestPageNoTimeline(t *testing.T) {
	p := open(t, serve(t, run2()), 1280, 800)
	p.visit("/flame")
	if eval[bool](p, `document.querySelector(".strip") !== null || [...document.querySelectorAll(".tabs a")].some((a) => a.innerText === "Timeline")`) {
		t.Error("a bare profile has a timeline")
	}
	p.visit("/timeline")
	if got := p.text("main"); !strings.Contains(got, "no metrics over time") || !strings.Contains(got, "hone record") {
		t.Errorf("it shows %q", got)
	}
}

// The timeline fits on a narrow screen, and axe-core finds nothing in it.
func TestPageTimelineAccessibility(t *testing.T) {
	p := open(t, serveRecordings(t, web.Measured(t)), 390, 844)
	for _, path := range []string{"/timeline?at=3s..9s", "/top?at=3s..9s"} {
		p.turn(path)
		if over := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s is %d pixels wider than the screen", path, over)
		}
		p.accessible(path, "html")
	}
	if n := eval[int](p, `document.querySelectorAll("canvas").length`); n == 0 {
		t.Error("the strip is gone")
	}
}
