package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// What a saved page makes of its calls is what the server says.
func TestPageSavedAgrees(t *testing.T) {
	testrun.Live(t, "asks a browser")
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	web.SavedAgrees(t, browser)
}

// A page that was saved of a program with sources shows each view without asking for anything.
func TestPageSavedViews(t *testing.T) {
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 1280, 800)
	p.visit("/overview")
	p.found()
	html := eval[string](p, `fetch("/download/html").then((r) => r.text())`)
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + file))
	p.settled()
	for _, tab := range []struct{ name, want string }{
		{"Overview", "regexp.MatchString"}, {"Call tree", "main.handle"}, {"Callers", "Callers and callees"}, {"Top", "main.handle"},
		{"Source", "FormValue"}, {"Flame", "1s"},
	} {
		p.visitTab(tab.name)
		if tab.name == "Overview" {
			p.found()
		}
		p.settled()
		if got := p.text("main"); !strings.Contains(got, tab.want) || strings.Contains(got, "saved without") || p.text(".problem") != "" {
			t.Errorf("%s shows %q", tab.name, got)
		}
		if tab.name == "Callers" {
			p.click(".picks button", "handle")
			p.settled()
			if n := p.colors(); n < 2 {
				t.Errorf("callers have %d colors; they are blank", n)
			}
		}
	}

	// Filters are pills, as with a server, and each view heeds them.
	p.click(".pills button", "add")
	p.wait(`document.querySelector(".add input") !== null`)
	p.do(chromedp.SendKeys(".add input", "handle"))
	p.click(".add button", "Apply")
	p.wait(`document.querySelector(".pill") !== null`)
	p.settled()
	p.visitTab("Top")
	if got := p.text("main"); !strings.Contains(got, "main.handle") {
		t.Errorf("what is left has no main.handle: %q", got)
	}
	p.visitTab("Source")
	if got := p.text(".problem"); !strings.Contains(got, "only as") {
		t.Errorf("lines under a filter are %q", got)
	}
	if n := eval[int](p, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the saved page asked for %d things", n)
	}
	for _, size := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(size, 800))
		for _, tab := range []string{"Flame", "Call tree", "Source"} {
			p.visitTab(tab)
			p.settled()
			p.shoot(fmt.Sprintf("saved-%s-%d", strings.ReplaceAll(tab, " ", ""), size))
		}
	}
}

// A page that was saved of a recording has what else that says of its run: over time, of memory, the collector and goroutines.
func TestPageSavedRun(t *testing.T) {
	p := open(t, serveRecordings(t, web.LeakyCollected(t, 40)), 1280, 800)
	p.visit("/flame")
	html := eval[string](p, `fetch("/download/html").then((r) => r.text())`)
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + file))
	p.settled()
	tabs := eval[[]string](p, `[...document.querySelectorAll(".tabs a")].map((a) => a.innerText)`)
	if want := []string{"Overview", "Timeline", "Goroutines", "Memory", "GC", "Flame", "Flame chart", "Call tree", "Callers", "Top", "Graph", "Traces"}; !slices.Equal(tabs, want) {
		t.Errorf("the tabs are %q, want %q", tabs, want)
	}
	for _, tab := range []struct{ name, want string }{
		{"Overview", "Goroutines grew from 10 to 58, most in main.wait"}, {"Timeline", "64, each stopped the world for at most 1.05ms; those before 10.422s are left out"}, {"Goroutines", "58 goroutines, in 2 places"}, {"Memory", "main.keep"},
		{"GC", "480 cycles"}, {"Flame chart", "12s"}, {"Graph", "Fit"}, {"Traces", "samples"}, {"Top", "main."},
	} {
		p.visitTab(tab.name)
		p.settled()
		if got := p.text("main"); !strings.Contains(got, tab.want) || strings.Contains(got, "saved without") || p.text(".problem") != "" {
			t.Errorf("%s shows %q", tab.name, got)
		}
		// Each link leads to a view that is there.
		for _, to := range eval[[]string](p, `[...document.querySelectorAll("main a")].map((a) => a.getAttribute("href"))`) {
			if strings.Contains(to, "metric=") || strings.Contains(to, "at=") {
				t.Errorf("%s leads to %s, which a saved page does not have", tab.name, to)
			}
		}
		p.shoot("saved-run-" + strings.ReplaceAll(tab.name, " ", ""))
	}

	// A graph is drawn, and the flame chart zooms.
	p.visitTab("Graph")
	p.wait(`document.querySelector(".graph").shadowRoot?.querySelector("svg .node, svg g") !== null`)
	p.visitTab("Flame chart")
	p.click(".ruler .part:nth-of-type(3)", "")
	p.wait(`new URLSearchParams(location.hash.split("?")[1]).get("ui.zoom") === "2s..3s"`)
	p.key("r")
	p.wait(`!location.hash.includes("ui.zoom")`)

	// A time cannot be chosen where nobody answers for it.
	p.visitTab("Timeline")
	p.settled()
	if got := p.text(".when"); strings.Contains(got, "drag") {
		t.Errorf("the timeline says %q", got)
	}
	box := eval[struct{ X, Y, Width float64 }](p, `(() => { const r = document.querySelector(".plot").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width }; })()`)
	p.do(chromedp.DragAndDropXY(box.X+box.Width*0.3, box.Y+20, box.X+box.Width*0.6, box.Y+20))
	p.settled()
	if got := eval[string](p, `location.hash`); strings.Contains(got, "at=") {
		t.Errorf("dragging leads to %s", got)
	}

	// What a filter would change says so.
	p.click(".pills button", "add")
	p.wait(`document.querySelector(".add input") !== null`)
	p.do(chromedp.SendKeys(".add input", "main"))
	p.click(".add button", "Apply")
	p.wait(`document.querySelector(".pill") !== null`)
	for _, tab := range []string{"Flame chart", "Graph", "Traces", "Goroutines"} {
		p.visitTab(tab)
		p.settled()
		if got := p.text(".problem"); !strings.Contains(got, "only as") {
			t.Errorf("%s under a filter says %q", tab, got)
		}
	}
	if n := eval[int](p, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the saved page asked for %d things", n)
	}
}

// A page that was saved of a part says on each view of which part, and that cannot be taken back.
func TestPageSavedFilters(t *testing.T) {
	save := func(p *page, query string) {
		html := eval[string](p, `fetch("/download/html?view=flame&`+query+`").then((r) => r.text())`)
		file := filepath.Join(t.TempDir(), "saved.html")
		if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
			t.Fatal(err)
		}
		p.do(chromedp.Navigate("file://" + file))
		p.settled()
	}
	pills := func(p *page) string {
		return eval[string](p, `[...document.querySelectorAll(".pill")].map((x) => x.innerText.replace(/\s+/g, " ").trim() + " " + x.querySelectorAll("button").length).join(", ")`)
	}

	p := open(t, serveRecordings(t, web.Leaky(t)), 1280, 800)
	p.visit("/flame")
	save(p, "at=2s..9s&focus=main&ignore=nothing")
	for _, tab := range []string{"Overview", "Timeline", "Memory", "GC", "Flame", "Top", "Graph"} {
		p.visitTab(tab)
		p.settled()
		if got, want := pills(p), "time 2s to 9s 0, focus main 0, ignore nothing 0"; got != want {
			t.Errorf("%s of the saved page has the filters %q, want %q", tab, got, want)
		}
	}
	p.shoot("saved-filters")

	// Further filters go on top, and can be taken back.
	p.visitTab("Top")
	p.click(".pills button", "add")
	p.wait(`document.querySelector(".add input") !== null`)
	p.do(chromedp.SendKeys(".add input", "keep"))
	p.click(".add button", "Apply")
	p.wait(`document.querySelectorAll(".pill").length === 4`)
	if got, want := pills(p), "time 2s to 9s 0, focus main 0, ignore nothing 0, focus keep × 1"; got != want {
		t.Errorf("with another filter there are %q, want %q", got, want)
	}
	if got, want := p.text("main .message"), "The filters are focus=main, ignore=nothing, focus=keep. Remove one with its ×."; !strings.Contains(got, want) {
		t.Errorf("where filters leave nothing the page says %q, want %q", got, want)
	}
	p.click(".pill button", "×")
	p.wait(`document.querySelectorAll(".pill").length === 3`)

	// Findings are of more than what the page shows.
	rec, module := web.Shop(t)
	p = advising(t, module, rec, 1280, 800)
	p.visit("/overview")
	p.found()
	for query, want := range map[string]bool{"focus=handle": true, "": false} {
		p.visit("/overview")
		save(p, query)
		p.visitTab("Overview")
		p.found()
		if got := p.text(".findings [role=status]"); strings.Contains(got, "of the whole recording") != want {
			t.Errorf("findings in a page that was saved with %q say %q", query, got)
		}
	}
}
