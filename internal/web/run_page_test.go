package web_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// A recording of a program that leaks lands on what is unusual, and each symptom leads to the page that shows it.
func TestPageRun(t *testing.T) {
	p := open(t, serveRecordings(t, web.Leaky(t)), 1280, 800)
	p.visit("/")
	unusual := p.text(".symptoms")
	for _, want := range []string{"Goroutines grew from 10 to 58, most in main.wait", "The live heap grew from 10MB to 58MB, most of it allocated by main.keep", "Garbage collection takes 30", "Goroutines waited about 3s for locks in 12s, most in main.hold"} {
		if !strings.Contains(unusual, want) {
			t.Errorf("unusual is %q, which lacks %q", unusual, want)
		}
	}
	// What stands above every view says what its numbers are.
	if said := p.text(".strip .said"); !regexp.MustCompile(`^all 12s · *busy mean 1\.00 *GC mean 0\.30 *resident max 128MB$`).MatchString(strings.ReplaceAll(said, "\n", " ")) {
		t.Errorf("the strip says %q", said)
	}
	widths := []int64{1280, 390}
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+", as wide as a desktop", "axe-core goes through the pages once more")
		widths = widths[1:]
	}
	for _, width := range widths {
		p.do(chromedp.EmulateViewport(width, 900))
		for _, page := range []struct{ path, want string }{
			{"/overview", "Unusual about this run"},
			{"/goroutines", "58 goroutines, in 2 places"},
			{"/goroutines?focus=main.wait", "52 of 58 goroutines, in 1 place\n\n+48 against 4 of 10 in the first"},
			{"/goroutines?ignore=main.wait", "6 of 58 goroutines, in 1 place\n\nas many as in the first"},
			{"/mem", "in the heap profiles taken at 1s and 12s; the last shows what was live after gc 11, which began at 10.90s and left 50MB: heap profiles in Go lag by up to two collections"},
			{"/gc", "12 cycles in 12s · pauses up to 1.02ms · log of Go 1.18 or later"},
		} {
			p.turn(page.path)
			if got := p.text("main"); !strings.Contains(got, page.want) || p.text(".problem") != "" {
				t.Errorf("%s says %q", page.path, got)
			}
			p.shoot(fmt.Sprintf("run%s-%d", strings.ReplaceAll(page.path, "/", "-"), width))
			p.accessible(fmt.Sprintf("%s, %d pixels", page.path, width), "html")
		}
	}
	p.do(chromedp.EmulateViewport(1280, 900))

	// A column of times has one unit.
	p.visit("/gc")
	if pauses := eval[[]string](p, `[...document.querySelectorAll('[aria-label="Cycles"] td:nth-child(3)')].map((e) => e.innerText)`); !slices.Contains(pauses, "50us") || !slices.Contains(pauses, "1050us") {
		t.Errorf("pauses are %q", pauses)
	}

	// The first key leads past what stands above every view.
	p.visit("/overview")
	p.key(kb.Tab)
	p.wait(`document.activeElement.className === "skip"`)
	p.key(kb.Enter)
	p.wait(`document.activeElement.tagName === "MAIN"`)
	p.click(".symptoms a", "Goroutines")
	p.settled()
	if got := p.text(".groups"); !strings.Contains(got, "chan receive") || !strings.Contains(got, "+48") {
		t.Errorf("the groups are %q", got)
	}
	if got := p.text(".groups thead"); strings.Contains(got, "started by") {
		t.Errorf("nobody knows what started the goroutines, and the columns are %q", got)
	}
	if got := p.text(".symptoms"); !strings.Contains(got, "48 more goroutines than before wait in main.wait") {
		t.Errorf("a leak is told as %q", got)
	}
	p.click(".groups button", "main.wait")
	p.wait(`document.querySelector(".stack li a")?.innerText === "runtime.gopark"`)
	p.do(chromedp.SendKeys(".goroutines input", "sleep"+kb.Tab))
	p.wait(`document.querySelectorAll(".groups tbody tr").length === 0 || document.querySelector(".matched").innerText.includes("of 2 groups")`)

	// A recording without goroutines has no such page.
	q := open(t, serveRecordings(t, web.Measured(t)), 1280, 800)
	q.visit("/")
	if tabs := q.text(".tabs"); strings.Contains(tabs, "Goroutines") || !strings.Contains(tabs, "Memory") {
		t.Errorf("tabs are %q", tabs)
	}
}

// A view is downloaded as the table that it shows.
func TestPageDownloads(t *testing.T) {
	p := open(t, serveRecordings(t, web.Leaky(t)), 1280, 800)
	for path, want := range map[string]string{
		"/top": "flat (nanoseconds),", "/sandwich": "flat (nanoseconds),", // of no function yet
		"/calltree": "depth,function,", "/sandwich?arg=main": "depth,function,", "/graph": "function,relation,",
		"/traces": "value (nanoseconds),labels,stack", "/goroutines?metric=cpu": "count,before,state,", "/mem": "use,end_bytes,", "/gc": "gc,process,",
	} {
		p.visit(path)
		p.click("summary", "Download")
		p.wait(`document.querySelector('.menu a[href*="/download/csv"]') !== null`)
		got := eval[string](p, `fetch(document.querySelector('.menu a[href*="/download/csv"]').href).then((r) => r.text())`)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s is downloaded as %.80q, want %q", path, got, want)
		}
	}

	// The overview is no table; what else there is stands in the menu.
	const offered = `[...document.querySelectorAll('.menu a[href*="/download/"]')].map((a) => new URL(a.href).pathname.slice("/download/".length)).join(" ")`
	p.visit("/overview")
	p.click("summary", "Download")
	p.wait(`document.querySelector('.menu a[href*="/download/"]') !== null`)
	if got, want := eval[string](p, offered), "hone pprof pprof-filtered html svg png folded speedscope"; got != want {
		t.Errorf("of the overview there are %s, want %s", got, want)
	}
	p.shoot("download-overview")

	// An execution trace is downloaded as what the lanes show, or with all that it has.
	p = open(t, serveRecordings(t, traced(t)), 1280, 800)
	p.visit("/trace?at=20ms..60ms")
	p.click("summary", "Download")
	p.wait(`document.querySelector('.menu a[href*="/download/spans"]') !== null`)
	if got, want := eval[string](p, offered), "pprof pprof-filtered html svg png folded speedscope json markdown spans parquet perfetto"; got != want {
		t.Errorf("of a trace there are %s, want %s", got, want)
	}
	p.shoot("download-trace")
	for format, want := range map[string]string{"markdown": "from 20ms to 60ms", "spans": "goroutine,started_as,", "json": `{`, "parquet": "PAR1", "perfetto": "\n"} {
		got := eval[string](p, fmt.Sprintf(`fetch(document.querySelector('.menu a[href*="/download/%s"]').href).then(async (r) => r.status + " " + await r.text())`, format))
		if !strings.HasPrefix(got, "200 "+want) || format == "json" && !strings.Contains(got, `"from_nanos": 20000000`) {
			t.Errorf("a trace is downloaded as %s as %.80q, want %q", format, got, want)
		}
	}
}
