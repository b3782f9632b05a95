package web_test

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/testrun"
)

// The views of the page, in the order of their tabs.
var pageViews = []string{"overview", "flame", "sandwich", "top", "graph", "source", "diff", "tags", "traces"}

// kinds are profiles of every kind, by name.
func kinds(t *testing.T) map[string][]byte {
	t.Helper()
	var goroutines bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&goroutines, 0); err != nil {
		t.Fatal(err)
	}
	made := func(k profiletest.Kind, labels bool) []byte {
		return profiletest.Bytes(profiletest.Config{Kind: k, Samples: 600, Functions: 300, Seed: 1, Labels: labels})
	}
	return map[string][]byte{
		"cpu":       made(profiletest.CPU, false),
		"heap":      made(profiletest.Heap, false),
		"block":     blocked(t),
		"labels":    made(profiletest.CPU, true),
		"goroutine": goroutines.Bytes(),
	}
}

// blocked is what the runtime says of goroutines that had to wait.
func blocked(t *testing.T) []byte {
	t.Helper()
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	work, done := make(chan int), make(chan int)
	go func() {
		for n := range work {
			time.Sleep(time.Millisecond)
			done <- n
		}
		close(done)
	}()
	for n := range 5 {
		work <- n
		<-done
	}
	close(work)
	<-done
	var b bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// run2 is another run of the program that kinds measures.
func run2() []byte {
	return profiletest.Bytes(profiletest.Config{Kind: profiletest.CPU, Samples: 600, Functions: 300, Seed: 1, Run: 1})
}

func TestPageViews(t *testing.T) {
	for kind, b := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			if kind == "labels" {
				testrun.Nightly(t, "TestPageAccessibility goes through its tabs")
			}
			url := serve(t, b)
			p := open(t, url, 1280, 800)
			for _, view := range pageViews {
				p.turn("/" + view)
				if problem := p.text(".problem"); problem != "" {
					t.Errorf("%s shows a problem: %s", view, problem)
				}
				if view == "flame" {
					if n := p.colors(); n < 4 {
						t.Errorf("the flame graph has %d colors; it is blank", n)
					}
				}
				if view == "sandwich" {
					p.click(".picks button", "")
					p.settled()
					if n := p.colors(); n < 2 {
						t.Errorf("callers have %d colors; they are blank", n)
					}
				}
			}
		})
	}
}

// The first click of two asks for what the second one shows, once.
func TestPageZoomAhead(t *testing.T) {
	p := open(t, serve(t, kinds(t)["labels"]), 1280, 800)
	p.visit("/flame")
	const answers = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/flame?root=") && e.decodedBodySize > 0).length` // without those that were given up
	p.point(0.2, 2, 1)
	p.wait(answers + ` === 1`)
	name := p.text(".panel .name")
	p.point(0.2, 2, 2)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	if got := p.text(".breadcrumb b"); !strings.HasSuffix(name, got) {
		t.Errorf("zoomed into %q, want %q", got, name)
	}
	if n := eval[int](p, answers); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}

	// Too quick for that, it is asked by the zoom.
	p.key("r")
	p.settled()
	p.point(0.2, 4, 2)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	if n := eval[int](p, answers); n != 2 {
		t.Errorf("the server was asked %d times for two boxes", n)
	}
	// Nothing is left that the server is busy with.
	if got := eval[string](p, `document.documentElement.dataset.asking`); got != "0" {
		t.Errorf("%s answers are awaited", got)
	}

	// A picture that takes longer than the lines in the panel is not given up for those.
	p.key("r")
	p.settled()
	eval[bool](p, `
		window.pictures = 0;
		window.lines = false;
		window.fetch = ((real) => async (url, options) => {
			if (String(url).includes("/api/flame?root=")) {
				window.pictures++;
				await new Promise((go, stop) => {
					options.signal.addEventListener("abort", () => stop(options.signal.reason));
					window.release = go;
				});
			} else if (String(url).includes("/api/lines") || String(url).includes("/api/list")) window.lines = true;
			return real(url, options);
		})(window.fetch);
		true`)
	p.point(0.2, 3, 1)
	p.wait(`window.pictures === 1 && window.lines`)
	p.point(0.2, 3, 2)
	p.wait(`location.search.includes("root=")`)
	eval[bool](p, `window.release(); true`)
	p.settled()
	if n := eval[int](p, `window.pictures`); n != 1 {
		t.Errorf("the server was asked %d times for a picture that takes long", n)
	}
}

// A new URL takes the browser so long that it comes when the picture is there. Who goes back before that is where they were before.
func TestPageBackAtOnce(t *testing.T) {
	p := open(t, serve(t, kinds(t)["labels"]), 1280, 800)
	p.visit("/flame")
	p.point(0.2, 2, 1)
	p.settled()
	p.key("f")
	p.wait(`document.querySelectorAll(".pill").length === 1`)
	p.settled()
	before := eval[string](p, `location.search`)
	eval[bool](p, `(() => {
		document.querySelector(".scroller").focus();
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
		history.back();
		return true;
	})()`)
	p.wait(`document.documentElement.dataset.asking === "0" && document.querySelectorAll(".pill").length === 1`)
	p.settled()
	if got := eval[string](p, `location.search`); strings.Contains(got, "root=") || !strings.Contains(got, "focus=") {
		t.Errorf("from %s, a zoom that is taken back leads to %s", before, got)
	}
	// By itself, the URL says where a zoom leads, and back leads out.
	p.point(0.2, 3, 2)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	p.back()
	p.wait(`!location.search.includes("root=") && document.querySelectorAll(".pill").length === 1`)
}

// Zooming, searching and filtering change the URL, and going back undoes them.
func TestPageFlame(t *testing.T) {
	p := open(t, serve(t, kinds(t)["labels"]), 1280, 800)
	p.visit("/flame")
	whole := p.text(".panel dl")

	// What is under the pointer is shown at once; a click keeps it.
	p.point(0.2, 2, 1)
	p.wait(`document.querySelector(".panel .name").innerText !== "all"`)
	name := p.text(".panel .name")
	p.wait(`new URLSearchParams(location.search).get("ui.sel") !== null`)

	// Zoom in, and out again with Escape, back and the breadcrumb.
	p.point(0.2, 2, 2)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	if got := p.text(".breadcrumb b"); !strings.HasSuffix(name, got) {
		t.Errorf("zoomed into %q, want %q", got, name)
	}
	for range 2 {
		p.key(kb.Escape)
		p.settled()
	}
	p.wait(`!location.search.includes("root=")`)
	p.back()
	p.wait(`location.search.includes("root=")`)
	p.click(".breadcrumb button", "all")
	p.wait(`!location.search.includes("root=")`)
	p.settled()

	// Arrows move, Enter zooms, r resets.
	p.key(kb.ArrowDown)
	p.wait(`document.querySelector("[role=treeitem][aria-selected=true]")?.getAttribute("aria-level") !== "1"`)
	p.key(kb.Enter)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	p.key("r")
	p.wait(`!location.search.includes("root=")`)
	p.settled()

	// The share that matches is that of the server.
	p.search()
	p.key("net")
	p.wait(`location.search.includes("ui.q=net") && document.querySelector(".matched b") !== null`)
	var found struct {
		Value, Total float64
		Count        int
	}
	getJSON(t, p, "/api/search?rx=net", &found)
	if got, want := p.text(".matched b"), fmt.Sprintf("%.2f%% matched", 100*found.Value/found.Total); got != want {
		t.Errorf("the search says %q, want %q", got, want)
	}
	// Escape leaves the search box, so that n steps through the hits; again, it takes back what is newer, the zoom or the search.
	p.key(kb.Escape)
	p.wait(`document.activeElement.type !== "search" && location.search.includes("ui.q=net")`)
	p.settled()
	at := eval[int](p, `Number.parseInt(document.querySelector(".stepper .num").innerText) || 0`) // the selected call may be a match itself
	for range 2 {
		at++
		p.key("n")
		p.wait(fmt.Sprintf(`document.querySelector(".stepper .num").innerText.startsWith("%d / ")`, at))
	}
	p.point(0.2, 2, 2)
	p.wait(`location.search.includes("root=")`)
	p.settled()
	for range 2 {
		p.key(kb.Escape)
		p.settled()
	}
	p.wait(`!location.search.includes("root=") && location.search.includes("ui.q=net")`)
	p.key(kb.Escape)
	p.wait(`!location.search.includes("ui.q")`)
	p.settled()

	// A filter is a pill; its × takes it away, and back brings it back.
	p.point(0.2, 2, 1)
	p.settled()
	name = p.text(".panel .name")
	p.key("f")
	p.wait(`document.querySelectorAll(".pill").length === 1`)
	p.settled()
	if got := p.text(".pill b"); !strings.HasSuffix(strings.ReplaceAll(name, "\u200b", ""), got) {
		t.Errorf("the pill says %q, want %q", got, name)
	}
	focused := p.text(".panel dl")
	if focused == whole {
		t.Error("the filter changed nothing")
	}
	p.click(".pill button", "×")
	p.wait(`document.querySelectorAll(".pill").length === 0`)
	p.back()
	p.wait(`document.querySelectorAll(".pill").length === 1`)

	// A link shows what its sender saw.
	link := eval[string](p, `location.href`)
	q := open(t, p.url+"/overview", 1280, 800)
	q.visit(strings.TrimPrefix(link, p.url))
	if got := q.text(".pill b"); got != p.text(".pill b") {
		t.Errorf("the link has the pill %q", got)
	}

	// Inverted, and with recursion collapsed, the whole stays the whole.
	p.visit("/flame")
	for _, key := range []string{"i", "l"} {
		p.key(key)
		p.wait(`document.querySelectorAll(".toggle.on").length > 0`)
		p.settled()
		if n := p.colors(); n < 4 {
			t.Errorf("after %s the picture has %d colors", key, n)
		}
	}
	// Labels as frames.
	eval[bool](p, `(() => { const s = [...document.querySelectorAll(".choice")].find((c) => c.innerText.startsWith("Labels")).querySelector("select"); s.value = "endpoint"; s.dispatchEvent(new Event("change")); return true; })()`)
	p.wait(`location.search.includes("tag-root=endpoint")`)
	p.settled()
}

// Every number of the ranking is that of the report.
func TestPageTop(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/top")
	var top struct {
		Total int64
		Rows  []struct {
			Name      string
			Flat, Cum int64
		}
	}
	getJSON(t, p, "/api/top?limit=5000&min=0", &top)
	if got := p.text("tbody tr td:last-child"); !strings.HasPrefix(got, top.Rows[0].Name) {
		t.Errorf("the first row is %q, want %q", got, top.Rows[0].Name)
	}
	if got, want := p.text("tbody tr td:nth-child(2)"), fmt.Sprintf("%.2f%%", 100*float64(top.Rows[0].Flat)/float64(top.Total)); got != want {
		t.Errorf("its share is %q, want %q", got, want)
	}
	// Of hundreds of rows only those in sight are in the page.
	inPage := eval[int](p, `document.querySelectorAll("tbody tr").length`)
	if len(top.Rows) < 200 || inPage > 80 {
		t.Errorf("%d of %d rows are in the page", inPage, len(top.Rows))
	}
	p.click("th button", "cum")
	p.wait(`location.search.includes("sort=cum") && document.querySelector("th[aria-sort]").innerText.startsWith("cum")`)
	p.settled()
	p.click("tbody tr", "")
	p.wait(`document.querySelector(".row-actions") !== null`)
	p.key("c")
	p.wait(`location.pathname === "/sandwich"`)
	p.settled()
	p.key("4")
	p.wait(`location.pathname === "/top"`)
	eval[bool](p, `(() => { const s = document.querySelector(".tools select"); s.value = "package"; s.dispatchEvent(new Event("change")); return true; })()`)
	p.wait(`location.search.includes("by=package")`)
	p.settled()
}

// Sources of this test are at hand, and those of a made-up program are not.
func TestPageSource(t *testing.T) {
	all := kinds(t)
	p := open(t, serve(t, all["goroutine"], all["cpu"]), 1280, 800)
	p.visit("/source?arg=" + `%5Etesting%5C.tRunner%24`)
	if text := p.text(".code"); !strings.Contains(text, "fn(t)") {
		t.Errorf("the source of tRunner has no call of fn: %.300s", text)
	}
	if got := eval[[]string](p, `[...new Set([...document.querySelectorAll(".code td.mark")].map((td) => getComputedStyle(td).borderLeftWidth))]`); !slices.Equal(got, []string{"0px"}) {
		t.Errorf("lines without a finding have marks %q wide", got)
	}
	p.key("n")
	p.wait(`document.querySelector("tr.now") !== null`)
	p.visit("/source?arg=testing")
	if p.still("/source"); eval[int](p, `document.querySelector(".listings").scrollTop`) == 0 {
		t.Error("the costliest line is not gone to")
	}
	var top struct{ Rows []struct{ Name string } }
	getJSON(t, p, "/api/top?ref=p1.pb.gz", &top)
	i := slices.IndexFunc(top.Rows, func(r struct{ Name string }) bool {
		return strings.HasPrefix(r.Name, "example.com/") || strings.HasPrefix(r.Name, "github.com/")
	})
	p.visit("/source?ref=p1.pb.gz&arg=" + url.QueryEscape("^"+regexp.QuoteMeta(top.Rows[i].Name)+"$"))
	if text := p.text(".missing"); !strings.Contains(text, "--source-path") {
		t.Errorf("a missing source says %q, and not what to do", text)
	}
}

func TestPageDiff(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"], run2()), 1280, 800)
	p.visit("/diff")
	p.click(".picks button", "")
	p.wait(`location.search.includes("base=")`)
	p.settled()
	p.wait(`document.querySelector(".movers tbody tr") !== null`)
	for _, word := range []string{"▲", "▼"} {
		if text := p.text(".movers"); !strings.Contains(text, word) {
			t.Errorf("the table of movers has no %s: %.300s", word, text)
		}
	}
	if n := p.colors(); n < 4 {
		t.Errorf("the picture has %d colors", n)
	}
	if got := p.text(".legend"); !strings.Contains(got, "new") || !strings.Contains(got, "gone") {
		t.Errorf("the legend is %q", got)
	}
	p.click(".headline button", "Normalized")
	p.wait(`location.search.includes("normalize=true")`)
	p.settled()
	if got := p.text(".headline .quiet"); !strings.Contains(got, "scaled to the total") {
		t.Errorf("normalized, the page says %q", got)
	}
}

func TestPageTags(t *testing.T) {
	p := open(t, serve(t, kinds(t)["labels"]), 1280, 800)
	p.visit("/tags")
	p.click(".card tbody button", "/")
	p.wait(`document.querySelector(".pill") !== null && location.search.includes("tag=")`)
	p.settled()
	p.visit("/traces")
	if n := eval[int](p, `document.querySelectorAll(".traces tbody tr").length`); n != 300 {
		t.Errorf("%d traces at first, want 300", n)
	}
	p.click("main .quiet button", "Show all 600")
	p.wait(`location.search.includes("limit=3000")`)
	p.settled()
	if got := p.text("main > * > .quiet"); !strings.Contains(got, "All 600 samples") {
		t.Errorf("traces say %q", got)
	}
	p.click(".traces summary", "")
	p.wait(`document.querySelector(".traces details[open] li button") !== null`)
	p.visit("/traces?limit=3")
	if n := eval[int](p, `document.querySelectorAll(".traces tbody tr").length`); n != 3 {
		t.Errorf("%d traces, want 3", n)
	}
}

// What is missing is said, with what to do about it.
func TestPageProblems(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	for path, want := range map[string]string{
		"/top?focus=nothinghasthisname":   "No samples match these filters",
		"/flame?focus=nothinghasthisname": "No samples match these filters",
		"/diff":                           "Only one recording is open",
		"/tags":                           "No sample has a label",
	} {
		p.visit(path)
		if got := p.text("main"); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	p.visit("/top?focus=" + "%28")
	if got := p.text(".problem"); !strings.Contains(got, "missing") {
		t.Errorf("a bad filter shows %q", got)
	}
	p.forgive("400 (Bad Request)")
}

// A page that was saved as one file works without a server: zooming and searching are left to it.
func TestPageSaved(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	html := eval[string](p, `fetch("/download/html?ignore=net").then((r) => r.text())`)
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	total := eval[string](p, `fetch("/api/top?ignore=net").then((r) => r.json()).then((r) => String(r.rows.length))`)
	p.do(chromedp.Navigate("file://" + file))
	p.settled()
	if n := p.colors(); n < 4 {
		t.Errorf("the saved picture has %d colors", n)
	}
	p.point(0.2, 2, 2)
	p.wait(`location.hash.includes("root=")`)
	p.settled()
	if got := p.text(".breadcrumb b"); got == "all" {
		t.Error("zooming does nothing")
	}
	p.key("r")
	p.wait(`!location.hash.includes("root=")`)
	p.search()
	p.key("net")
	p.wait(`/^[0-9.]+% matched/.test(document.querySelector(".matched")?.innerText)`)
	p.key(kb.Escape)
	p.key(kb.Escape)
	p.wait(`!location.hash.includes("ui.q")`)
	p.visitTab("Top")
	if got := eval[string](p, `String(document.querySelector("[aria-rowcount]").getAttribute("aria-rowcount") - 1)`); got != total {
		t.Errorf("the saved ranking has %s rows, want %s", got, total)
	}
	p.visitTab("Overview")
	if got := p.text(".hero"); !strings.Contains(got, "cpu") {
		t.Errorf("the overview says %q", got)
	}
}

// A comparison that was saved as one file shows what is gone, in the picture and in the table of what moved most.
func TestPageSavedDiff(t *testing.T) {
	before, after := []byte("main;work 2\nmain;old 6\n"), []byte("main;work 3\n")
	p := open(t, serve(t, after, before), 1280, 800)
	p.visit("/diff?base=p1.pb.gz")
	picture := p.pixel(-5, 45)
	link := eval[string](p, `(() => { const menu = document.querySelector(".menu"); menu.open = true; return new Promise((done) => setTimeout(() => done([...menu.querySelectorAll("a")].find((a) => a.textContent.includes(".html")).getAttribute("href")), 100)); })()`)
	html := eval[string](p, fmt.Sprintf(`fetch(%q).then((r) => r.text())`, link))
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + file)) // which opens where it was saved
	p.settled()
	if got := p.pixel(-5, 45); got != picture {
		t.Errorf("where something is gone the saved picture is %v, and the page had %v", got, picture)
	}
	if got := p.text(".movers"); !strings.Contains(got, "old") || !strings.Contains(got, "gone") {
		t.Errorf("the table of what moved says %q", got)
	}
	if got := p.text(".headline"); !strings.Contains(got, "8 → 3") || !strings.Contains(got, "p1.pb.gz") {
		t.Errorf("the headline says %q", got)
	}
	p.click("th button", "cum change")
	p.wait(`location.hash.includes("sort=cum") && document.querySelector("th[aria-sort]").innerText.startsWith("cum change")`)
	p.settled()
	if got := p.text(".movers"); !strings.Contains(got, "old") {
		t.Errorf("sorted, the table says %q", got)
	}
}

// Scripts and styles come from the server's files only.
func TestPageCSP(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/flame")
	policy := eval[string](p, `fetch("/flame").then((r) => r.headers.get("content-security-policy"))`)
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %s", policy, want)
		}
	}
	eval[bool](p, `(() => { const s = document.createElement("script"); s.textContent = "window.ran = true"; document.body.append(s); return true; })()`)
	ran := eval[bool](p, `window.ran === true`)
	if ran {
		t.Error("an inline script ran")
	}
	p.forgive("inline script")
}

// axe-core finds nothing in any tab of any kind of page, in either theme: neither what breaks a rule of WCAG nor what it calls best practice.
func TestPageAccessibility(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	seen := map[string]bool{}
	for _, kind := range pageKinds(t) {
		t.Run(kind.name, func(t *testing.T) {
			p, tabs := kind.tabs(t, 1280, 800)
			tabs = others(t, tabs, seen)
			if kind.name == "labels" {
				tabs = append(tabs, "/flame?ui.q=net&ui.sel=runtime.mallocgc&focus=net", "/calltree?invert=1", "/sandwich?arg=runtime.mallocgc")
			}
			for _, path := range tabs {
				if view, query, _ := strings.Cut(path, "?"); view == "/traces" {
					path = view + "?limit=50&" + query // more of the same takes half a minute
				}
				p.turn(path)
				if problem := p.text(".problem"); problem != "" {
					t.Errorf("%s shows a problem: %s", path, problem)
				}
				p.still(path)
				p.accessible(path, "html")
			}
		})
	}
}
