package web_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// pageFinding is a finding as pages are told of it.
type pageFinding struct {
	Number int
	Title  string
	Where  struct {
		File, Function, Text string
		Line                 int
	}
	Claim    string
	Fixes    []struct{ Patch string }
	Evidence []struct{ Command string }
}

// advising opens the page of a recording for which findings are looked for in a folder.
func advising(t *testing.T, dir string, rec *recording.Recording, width, height int64) *page {
	t.Helper()
	testrun.Live(t, "goes through pages in a browser")
	_, url := serveWith(t, web.Options{Advise: dir}, nil, rec)
	return open(t, url, width, height)
}

// found waits until the page knows what was found.
func (p *page) found() {
	p.t.Helper()
	p.wait(`document.documentElement.dataset.advising === "0"`)
	p.settled()
}

// Findings come after the first picture, and are told with all that is known of them.
func TestPageFindings(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	rec, module := web.Shop(t)
	var let func(error)
	_, first := serveWith(t, web.Options{Advise: module, Source: "my shop"}, func(s *web.Server) { let = web.HoldFindings(s) }, rec)
	p := open(t, first, 1280, 800)
	clipboard := p.clipboard()
	p.visit("/overview")
	if got := p.text(".hero"); !strings.Contains(got, "1s cpu") {
		t.Errorf("while findings are being looked for the overview says %q", got)
	}
	p.wait(`/being loaded/.test(document.querySelector(".findings [role=status]").innerText)`)
	if eval[bool](p, `document.querySelector(".progress.on") !== null`) {
		t.Error("the page seems to wait for findings")
	}
	// A failure is said, and can be tried again.
	let(errors.New("there is no go command"))
	p.found()
	if got := p.text(".findings [role=status]"); !strings.Contains(got, "there is no go command") {
		t.Errorf("a failure is told as %q", got)
	}
	p.forgive("422 (Unprocessable Entity)")
	p.click(".findings button", "Look again")
	p.wait(`/being loaded/.test(document.querySelector(".findings [role=status]").innerText)`)
	let(nil)
	p.found()

	var told struct{ Findings []pageFinding }
	getJSON(t, p, "/api/advise", &told)
	if len(told.Findings) != 2 {
		t.Fatalf("found %+v", told.Findings)
	}
	list := eval[[]string](p, `[...document.querySelectorAll(".findings li > details > summary")].map((s) => s.innerText.replace(/\s+/g, " "))`)
	if len(list) != 2 || !strings.Contains(list[0], "60% CPU regexp compiled on every call shop.go:9") || !strings.Contains(list[1], "shop.go:13") {
		t.Errorf("the list says %q", list)
	}
	one := told.Findings[0]
	if got := p.text(".finding[open] .told"); !strings.Contains(got, one.Claim) || !strings.Contains(got, strings.TrimSpace(one.Where.Text)) {
		t.Errorf("the first finding says %q", got)
	}
	if eval[bool](p, `document.querySelectorAll(".finding[open]").length !== 1 || document.querySelector(".finding pre").checkVisibility()`) {
		t.Error("more than the first finding is unfolded, or its patch")
	}
	// The patch unfolds with keys, and is copied as it is.
	eval[bool](p, `document.querySelector(".finding .code-change summary").focus() === undefined`)
	p.key(kb.Enter)
	p.wait(`document.querySelector(".finding pre").checkVisibility()`)
	if got := p.text(".finding pre"); strings.TrimSpace(got) != strings.TrimSpace(one.Fixes[0].Patch) {
		t.Errorf("the patch is shown as\n%s\nwant\n%s", got, one.Fixes[0].Patch)
	}
	if got := eval[[]string](p, `[...document.querySelectorAll(".finding pre .old")].map((s) => s.innerText)`); len(got) == 0 || !strings.Contains(got[0], "regexp.MatchString(") {
		t.Errorf("what goes away is %q", got)
	}
	p.listen()
	p.click(".finding .code-change button", "Copy patch")
	p.said("patch copied")
	if got := clipboard(); got != one.Fixes[0].Patch {
		t.Errorf("Copy patch copies %q", got)
	}
	p.click(".finding .prove button", "Copy command")
	p.said("command copied")
	if got := clipboard(); got != "hone fix --source 'my shop' run.hone 1" {
		t.Errorf("Copy command copies %q", got)
	}
	// Evidence is where it says, with the finding at its line.
	if got := eval[string](p, `document.querySelector(".evidence a").title`); got != one.Evidence[0].Command {
		t.Errorf("the first evidence is %q, want %q", got, one.Evidence[0].Command)
	}
	p.click(".evidence a", "of each line")
	p.wait(`location.pathname === "/source"`)
	p.settled()
	p.wait(`document.querySelector(".told-row") !== null`)
	if got := p.text(".told-row"); !strings.Contains(got, "1. "+one.Title) || !strings.Contains(got, one.Claim) {
		t.Errorf("in the source it says %q", got)
	}
	// Another view and back: it is not looked for anew, or it would wait for let.
	p.visitTab("Overview")
	p.wait(`document.querySelectorAll(".findings ol > li").length === 2`)
	if got := p.text(".findings [role=status]"); !strings.Contains(got, "1 hot function was examined") {
		t.Errorf("the overview says %q", got)
	}
	p.visit("/overview?focus=nothinghere")
	p.wait(`/of the whole recording/.test(document.querySelector(".findings [role=status]")?.innerText ?? "")`)
}

// A page says how far looking for findings is. Stop ends it, and it can be begun again.
func TestPageFindingsStopped(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	rec, module := web.Shop(t)
	var let func(error)
	_, first := serveWith(t, web.Options{Advise: module}, func(s *web.Server) { let = web.HoldFindingsAt(s, 3, 7) }, rec)
	p := open(t, first, 1280, 800)
	p.visit("/overview")
	p.wait(`/3 of 7 hot functions examined/.test(document.querySelector(".findings [role=status]").innerText)`)
	if got := eval[[]float64](p, `(() => { const g = document.querySelector(".findings progress"); return [g.value, g.max]; })()`); !slices.Equal(got, []float64{3, 7}) {
		t.Errorf("the bar is at %v", got)
	}
	p.click(".findings button", "Stop")
	p.wait(`/stopped before all functions were examined/.test(document.querySelector(".findings [role=status]").innerText)`)
	if eval[bool](p, `document.querySelector(".findings progress") !== null || document.documentElement.dataset.advising !== "0"`) {
		t.Error("after Stop it seems to go on")
	}
	p.forgive("409 (Conflict)")
	// Another view and back: it does not begin by itself.
	p.visitTab("Top")
	p.visitTab("Overview")
	p.settled()
	if got := p.text(".findings [role=status]"); !strings.Contains(got, "stopped") {
		t.Errorf("later it says %q", got)
	}
	p.click(".findings button", "Look for findings")
	p.wait(`document.querySelector(".findings progress") !== null`)
	let(nil)
	p.found()
	if n := eval[int](p, `document.querySelectorAll(".findings ol > li").length`); n != 2 {
		t.Errorf("%d findings are found in the end", n)
	}
}

// What would take long is looked for when somebody wants it.
func TestPageFindingsMany(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	rec, module := web.Shop(t)
	_, first := serveWith(t, web.Options{Advise: module}, func(s *web.Server) { web.FewSamples(s, 3) }, rec)
	p := open(t, first, 1280, 800)
	p.visit("/overview")
	p.wait(`/takes a while/.test(document.querySelector(".findings [role=status]").innerText)`)
	if eval[bool](p, `document.documentElement.dataset.advising !== undefined`) {
		t.Error("it is looked for though nobody asked")
	}
	p.click(".findings button", "Look for findings")
	p.found()
	p.wait(`document.querySelectorAll(".findings ol > li").length === 2`)
}

// Where a finding has several lines, as on a phone, they begin below each other, and so does all that is told of it.
func TestPageFindingsNarrow(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	rec, module := web.Shop(t)
	_, first := serveWith(t, web.Options{Advise: module, Source: "my shop"}, nil, rec)
	p := open(t, first, 390, 844)
	p.visit("/overview")
	p.found()
	got := eval[[]int](p, `(() => {
		const rows = new Map(); // the leftmost of each line, by its lower edge
		const of = document.querySelector(".finding[open]");
		for (const e of [...of.querySelector("summary").children, ...of.querySelectorAll(".told > *, .told dt, .told dd")]) {
			const r = e.getBoundingClientRect();
			if (r.width > 0) rows.set(Math.round(r.bottom), Math.min(rows.get(Math.round(r.bottom)) ?? 1e9, Math.round(r.left)));
		}
		return [...rows.values()];
	})()`)
	if len(got) < 5 || slices.Min(got) != slices.Max(got) {
		t.Errorf("lines begin at %v", got)
	}
}

// Frames of functions with findings are marked; keys and the pointer lead to what was found, and screen readers tell of it.
func TestPageFindingsFlame(t *testing.T) {
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 1280, 800)
	p.visit("/flame")
	p.found()
	if got := p.text(".legend"); !strings.Contains(got, "has a finding") {
		t.Errorf("the legend is %q", got)
	}
	// all, then ServeHTTP, then handle, which goes over the whole width.
	const row = 2
	if mark, box := p.pixel(-4, row*20+1), p.pixel(-60, row*20+1); mark == box || mark[0]+mark[1]+mark[2] > 200 {
		t.Errorf("the corner of the frame is %v, and the rest of it %v", mark, box)
	}
	if mark, box := p.pixel(-4, (row-1)*20+1), p.pixel(-60, (row-1)*20+1); mark != box {
		t.Errorf("a frame without a finding has the corner %v on %v", mark, box)
	}
	selected := `new URLSearchParams(location.search).get("ui.sel")`
	p.point(0.5, row, 1)
	p.wait(selected + ` === "main.handle"`)
	p.wait(`document.querySelectorAll(".panel .here .finding").length === 2`)
	p.click(".panel .here summary", "regexp compiled")
	p.wait(`/compiles/.test(document.querySelector(".panel .here .finding[open] .told")?.innerText ?? "")`)

	p.visit("/flame")
	p.found()
	p.do(chromedp.MouseEvent("mouseMoved", 5, 5))
	p.key("a")
	p.wait(selected + ` === "main.handle"`)
	p.settled()
	if got := p.text(`[role=treeitem][aria-selected=true]`); !strings.Contains(got, "main.handle, cum 1s") || !strings.Contains(got, "finding 1: regexp compiled on every call, at most 60% CPU") {
		t.Errorf("screen readers are told %q", got)
	}
	// Callers and callees have the marks, too.
	p.visit("/sandwich?arg=main.handle")
	p.found()
	p.wait(`document.querySelectorAll(".panel .here .finding").length === 2`)
	// What is grouped by package has no functions to mark.
	p.visit("/flame?by=package")
	p.found()
	if got := p.text(".legend"); strings.Contains(got, "has a finding") {
		t.Errorf("packages have findings: %q", got)
	}
}

// Lines with findings have a mark that unfolds them, for the pointer and for keys.
func TestPageFindingsSource(t *testing.T) {
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 1280, 800)
	const path = "/source?arg=%5Emain%5C.handle%24"
	p.visit(path)
	p.found()
	lines := eval[[]string](p, `[...document.querySelectorAll(".mark button")].map((b) => b.closest("tr").querySelector(".no").innerText.trim() + b.getAttribute("aria-expanded") + " " + b.getAttribute("aria-label"))`)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "▸ 9false finding 1: regexp compiled on every call, at most 60% CPU") || !strings.HasPrefix(lines[1], "▸ 13false finding 2: ") {
		t.Errorf("marks are at %q", lines)
	}
	p.key("a")
	p.wait(`document.activeElement === document.querySelector(".mark button")`)
	p.key(kb.Enter)
	p.wait(`document.querySelector(".told-row") !== null && document.activeElement.getAttribute("aria-expanded") === "true"`)
	if eval[bool](p, `document.querySelector(".told-row").previousElementSibling.querySelector(".mark button") === null`) {
		t.Error("the finding is not below its line")
	}
	p.key(kb.Enter)
	p.wait(`document.querySelector(".told-row") === null`)
	p.key("a")
	p.wait(`document.activeElement === document.querySelectorAll(".mark button")[1]`)
	p.key("A")
	p.wait(`document.activeElement === document.querySelectorAll(".mark button")[0]`)

	// Two lines more on top: the recorded source has the old lines, and findings are told with the new.
	text, err := os.ReadFile(module + "/shop.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module+"/shop.go", []byte("// Shop sells.\n//\n"+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	p = advising(t, module, rec, 1280, 800)
	p.visit(path)
	p.found()
	if got := eval[string](p, `[...document.querySelectorAll(".mark button")].map((b) => b.closest("tr").querySelector(".no").innerText.trim()).join()`); got != "▸ 9,▸ 13" {
		t.Errorf("in a recorded source, marks of what has moved are at %q", got)
	}
}

// Where there is no module near, the page says what is missing, and works.
func TestPageFindingsNoModule(t *testing.T) {
	rec, _ := web.Shop(t)
	p := advising(t, t.TempDir(), rec, 1280, 800)
	p.visit("/overview")
	p.found()
	if got := p.text(".findings"); strings.Contains(got, "nothing found") || !strings.Contains(got, "no function was examined") || !strings.Contains(got, "source=DIR") {
		t.Errorf("without a module the page says %q", got)
	}
	p.visit("/flame")
	p.found()
	if got := p.text(".legend"); strings.Contains(got, "finding") {
		t.Errorf("the legend is %q", got)
	}
	p.visit("/source?arg=%5Emain%5C.handle%24")
	p.found()
	if n := eval[int](p, `document.querySelectorAll(".mark button").length`); n != 0 {
		t.Errorf("%d lines are marked", n)
	}
	// A server that looks for none has no place for them.
	p = open(t, serveRecordings(t, rec), 1280, 800)
	p.visit("/overview")
	if eval[bool](p, `document.querySelector(".findings") !== null || document.documentElement.dataset.advising !== undefined`) {
		t.Error("a server that looks for no findings shows some")
	}
}

// Findings fit on a narrow screen, and axe-core finds nothing in them.
func TestPageFindingsAccessibility(t *testing.T) {
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 390, 844)
	p.visit("/overview")
	for _, path := range []string{"/overview", "/flame?ui.sel=main.handle", "/source?arg=%5Emain%5C.handle%24&ui.finding=1"} {
		p.turn(path)
		p.found()
		p.wait(`document.querySelector(".finding, .told-row") !== null`)
		eval[bool](p, `document.querySelectorAll("main details").forEach((d) => { d.open = true; }) === undefined`)
		p.settled()
		if over := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s is %d pixels wider than the screen", path, over)
		}
		p.accessible(path, "html")
	}
}
