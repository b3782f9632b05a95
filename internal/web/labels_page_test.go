package web_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

// labeled is a profile of requests to three endpoints.
func labeled(t *testing.T) *recording.Recording {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	names := []string{"main.main", "main.cart", "main.list", "main.pay"}
	for i, name := range names {
		b.Functions = append(b.Functions, profile.Function{Name: name})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
	}
	b.Renumber()
	for i, endpoint := range []string{"/cart", "/list?a,b", "/pay"} {
		b.Add([]uint32{uint32(i + 1), 0}, b.Labels([]profile.Label{{Key: "endpoint", Str: endpoint}}), []int64{int64(i+1) * 1e9})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return &recording.Recording{Ref: "shop.pprof", Profile: p}
}

// choose ticks the box of a value of a label.
func (p *page) choose(value string) {
	p.t.Helper()
	if !eval[bool](p, `(() => { const b = document.querySelector('[aria-label="choose endpoint `+value+`"]'); b?.click(); return b !== null; })()`) {
		p.t.Fatalf("there is no value %s", value)
	}
}

// The stacks that cost most come first.
func TestPageTracesInOrder(t *testing.T) {
	p := open(t, serve(t, []byte("main;b 2\nmain;a 9\nmain;c 5\n")), 1280, 800)
	p.visit("/traces")
	if got := eval[[]string](p, `[...document.querySelectorAll(".traces td.num")].map((td) => td.innerText)`); !slices.Equal(got, []string{"9", "5", "2"}) {
		t.Errorf("stacks have %q", got)
	}
}

// Callers that cost nothing by themselves are not listed by what they cost by themselves.
func TestPageOverviewRows(t *testing.T) {
	p := open(t, serve(t, []byte("main;a;b 2\nmain;a 9\nmain;c 5\n")), 1280, 800)
	p.visit("/overview")
	got := eval[[]int](p, `[...document.querySelectorAll(".overview .card table")].map((e) => e.querySelectorAll("tbody tr").length)`)
	if !slices.Equal(got, []int{3, 4}) {
		t.Errorf("the lists have %v rows", got)
	}
}

// A table of a thousand stacks takes seconds to lay out, so fewer are asked for, and those out of sight are not laid out. It stays a table for
// those who do not see it.
func TestPageTracesMany(t *testing.T) {
	var folded strings.Builder
	for i := range 400 {
		fmt.Fprintf(&folded, "main;f%d %d\n", i, 1000-i)
	}
	p := open(t, serve(t, []byte(folded.String())), 1280, 800)
	p.visit("/traces")
	const rows = `document.querySelectorAll(".traces tbody tr").length`
	if n := eval[int](p, rows); n != 300 {
		t.Errorf("there are %d stacks at first", n)
	}
	const laidOut = `(n) => document.querySelectorAll(".traces tbody tr")[n].querySelector("summary").checkVisibility({ contentVisibilityAuto: true })`
	if first, last := eval[bool](p, "("+laidOut+")(0)"), eval[bool](p, "("+laidOut+")(299)"); !first || last {
		t.Errorf("laid out: the first stack %v, the last %v", first, last)
	}
	if heads := eval[[]string](p, `[...document.querySelectorAll(".traces th")].map((e) => e.innerText)`); !slices.Equal(heads, []string{"samples", "stack, innermost frame first"}) {
		t.Errorf("the columns are %q", heads)
	}
	p.click("button", "Show all 400")
	p.settled()
	if n := eval[int](p, rows); n != 400 || !strings.Contains(p.text(".page .quiet"), "All 400 samples") {
		t.Errorf("there are %d stacks of 400: %s", n, p.text(".page .quiet"))
	}
	p.accessible("traces", "main")
}

// Values that are chosen are kept or dropped, or compared with others.
func TestPageLabels(t *testing.T) {
	p := open(t, serveRecordings(t, labeled(t)), 1280, 800)
	p.visit("/flame?tag-root=endpoint,tenant") // as the command line may ask for
	if got := eval[[]string](p, `[...document.querySelectorAll(".choice option:checked")].map((o) => o.innerText)`); !slices.Contains(got, "by endpoint, tenant") {
		t.Errorf("with two labels as frames, what is chosen is %q", got)
	}
	p.visit("/tags")
	p.choose("/cart")
	p.choose("/list?a,b")
	p.wait(`document.querySelector(".labels .tools").innerText.includes("3s")`)
	p.click(".labels .tools button", "Keep only these")
	p.wait(`document.querySelector(".pills").innerText.includes("endpoint=^(/cart|/list")`)
	p.settled()
	p.wait(`document.querySelectorAll(".labels tbody tr").length === 2`)
	p.visitTab("Top")
	if got := p.text("tbody"); strings.Contains(got, "main.pay") || !strings.Contains(got, "main.cart") || !strings.Contains(got, "main.list") {
		t.Errorf("kept are %q", got)
	}

	p.visit("/tags")
	p.choose("/cart")
	p.click(".labels .tools button", "Compare with others")
	p.choose("/pay")
	p.click(".labels .tools button", "Compare")
	p.wait(`location.pathname === "/diff"`)
	p.settled()
	if got := p.text("main"); !strings.Contains(got, "cpu 1s → 3s") || !strings.Contains(got, "main.pay") || strings.Contains(got, "main.list") {
		t.Errorf("the comparison says %q", got)
	}
	if got := p.text(".pills"); !strings.Contains(got, "compared with label endpoint=/cart") || !strings.Contains(got, "tag endpoint=/pay") {
		t.Errorf("the pills are %q", got)
	}
	p.visit(eval[string](p, `location.pathname.replace("diff", "flame") + location.search`) + "&ui.side=yes")
	if got := p.text(".pair"); !strings.Contains(got, "main.main, cum 1s") || !strings.Contains(got, "main.main, cum 3s") {
		t.Errorf("side by side there are %q", got)
	}
	p.visit("/tags")
	p.choose("/cart")
	p.accessible("tags", "html")
}

// A file that is chosen in the page opens beside the others. A view that is saved under a name is there for whatever is open.
func TestPageFiles(t *testing.T) {
	_, url := serveWith(t, web.Options{Takes: true, Saved: filepath.Join(t.TempDir(), "views.json")}, nil, labeled(t))
	p := open(t, url, 1280, 800)
	p.visit("/top?focus=main")
	// give chooses files, given as names and texts.
	give := func(files ...string) {
		var add strings.Builder
		for i := 0; i < len(files); i += 2 {
			fmt.Fprintf(&add, "files.items.add(new File([`%s`], %q));\n", files[i+1], files[i])
		}
		eval[bool](p, `(() => {
			const files = new DataTransfer();
			`+add.String()+`
			const input = document.querySelector('input[type="file"]');
			input.files = files.files;
			input.dispatchEvent(new Event("change", { bubbles: true }));
			return true;
		})()`)
	}
	give("more.folded", "main.main;main.dropped 7\n")
	p.wait(`new URLSearchParams(location.search).get("ref") === "more.folded" && document.querySelector("tbody")?.innerText.includes("main.dropped") === true`)
	p.settled()
	if got := eval[[]string](p, `[...document.querySelectorAll("header select")[0].options].map((o) => o.value)`); len(got) != 2 {
		t.Errorf("open are %q", got)
	}
	give("no.profile"+strings.Repeat("x", 120), "\x01\x02")
	p.wait(`document.querySelector(".refused")?.innerText.includes("no.profile") === true`)
	if !eval[bool](p, `(() => { const e = document.querySelector(".refused"), b = e.getBoundingClientRect(); return e.scrollWidth <= e.clientWidth && b.left >= 0 && b.right <= innerWidth; })()`) {
		t.Error("the error about a file with a long name runs out of its box")
	}
	p.forgive("422")
	p.click(".refused button", "Close")

	// Of two files, one opens, and the page says why the other one does not.
	give("good.folded", "main.main;main.good 3\n", "text.txt", "this is\nno profile\n")
	p.wait(`new URLSearchParams(location.search).get("ref") === "good.folded" && document.querySelector("tbody")?.innerText.includes("main.good") === true`)
	p.forgive("422")
	if got := p.text(".refused"); !strings.Contains(got, "text.txt: ") {
		t.Errorf("of the file that did not open, the page says %q", got)
	}
	p.click(".refused button", "Close")
	p.visit("/top?focus=main&ref=good.folded")
	if got := p.text(".refused"); got != "" {
		t.Errorf("the page says it again: %q", got)
	}

	// What is open already is shown, and listed once.
	p.listen()
	give("more.folded", "main.main;main.dropped 7\n")
	p.wait(`new URLSearchParams(location.search).get("ref") === "more.folded" && document.querySelector("tbody")?.innerText.includes("main.dropped") === true`)
	p.said("more.folded is already open")
	if got := eval[[]string](p, `[...document.querySelectorAll("header select")[0].options].map((o) => o.value)`); len(got) != 3 {
		t.Errorf("open are %q", got)
	}
	p.shoot("open-again")

	// Dropping is choosing.
	eval[bool](p, `(() => {
		const dataTransfer = new DataTransfer();
		dataTransfer.items.add(new File(["main.main;main.fell 2\n"], "fell.folded"));
		for (const type of ["dragenter", "drop"]) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
		return true;
	})()`)
	p.wait(`new URLSearchParams(location.search).get("ref") === "fell.folded" && document.querySelector("tbody")?.innerText.includes("main.fell") === true`)
	p.settled()

	p.click("header summary", "Views")
	p.wait(`document.querySelector(".saved-views")?.innerText.includes("No view is saved yet") === true`)
	eval[bool](p, `(() => { const i = document.querySelector(".saved-views input"); i.value = "mine"; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	p.click(".saved-views button", "Save")
	p.wait(`document.querySelector(".saved-views li")?.innerText.includes("mine") === true`)
	p.visit("/flame?ref=shop.pprof")
	p.click("header summary", "Views")
	p.wait(`document.querySelector(".saved-views li") !== null`)

	// It is renamed with keys alone. Escape leaves the name and the menu as they are.
	renaming := func() {
		eval[bool](p, `(document.querySelector("[data-rename]").focus(), true)`)
		p.key(kb.Enter)
		p.wait(`document.activeElement.matches(".saved-views li input")`)
	}
	renaming()
	p.key("no")
	p.key(kb.Escape)
	p.wait(`document.activeElement.dataset.rename === "mine" && document.querySelector("details.menu[open] .saved-views") !== null`)
	renaming()
	p.key("of main")
	p.shoot("saved-view-renaming")
	p.key(kb.Enter)
	p.wait(`document.activeElement.dataset.rename === "of main" && document.querySelector(".saved-views li").innerText.startsWith("of main")`)
	p.shoot("saved-view-renamed")
	p.click(".saved-views li button", "of main")
	p.wait(`location.pathname === "/top" && location.search.includes("focus=main") && location.search.includes("ref=shop.pprof")`)
	p.click("header summary", "Views")
	p.wait(`document.querySelector(".saved-views li") !== null`)
	p.accessible("saved views", "html")
}

// Files are named without their folders, where that tells them apart, and a question about a function that is not there leads to others.
func TestPageNames(t *testing.T) {
	var in []*recording.Recording
	for _, name := range []string{"new", "old"} {
		p, err := profile.Parse(strings.NewReader("main;work 7\n"))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, &recording.Recording{Ref: "/home/somebody/profiles/of/" + name + ".pprof", Profile: p})
	}
	p := open(t, serveRecordings(t, in...), 1280, 800)
	p.visit("/flame?base=/home/somebody/profiles/of/old.pprof")
	if got := eval[[]string](p, `[...document.querySelectorAll(".pick option:checked")].map((o) => o.innerText + " = " + o.title)`); !slices.Contains(got, "against old.pprof = /home/somebody/profiles/of/old.pprof") {
		t.Errorf("what is chosen is %q", got)
	}
	p.visit("/overview?base=/home/somebody/profiles/of/old.pprof")
	if got := p.text(".hero"); !strings.Contains(got, "against old.pprof\n\nhottest function") {
		t.Errorf("the overview begins with %q", got)
	}
	p.visit("/diff?base=/home/somebody/profiles/of/old.pprof")
	if got := p.text(".headline"); !strings.Contains(got, "The base is old.pprof.") || !eval[bool](p, `document.querySelector('.headline code[title="/home/somebody/profiles/of/old.pprof"]') !== null`) {
		t.Errorf("the base of the comparison is called %q", got)
	}
	p.visit("/diff")
	if got := p.text(".picks"); got != "old.pprof" {
		t.Errorf("the bases to choose from are %q", got)
	}
	p.visit("/flame?base=/home/somebody/profiles/of/old.pprof&ui.side=yes")
	if got := p.text(".pair"); !strings.Contains(got, "before old.pprof") || !strings.Contains(got, "after new.pprof") {
		t.Errorf("the pictures are called %q", got)
	}
	p.visit("/sandwich?arg=nosuch")
	p.forgive("404 (Not Found)")
	if got := p.text(".problem"); strings.Contains(got, "Remove all filters") {
		t.Errorf("without a filter, the page says %q", got)
	}
	p.click(".problem button", "Choose another function")
	p.settled()
	if got := p.text(".picks"); !strings.Contains(got, "work") {
		t.Errorf("what can be chosen is %q", got)
	}
	// Beside what changed, names on the overview have room; it is two cards wide.
	p.do(chromedp.EmulateViewport(1400, 900))
	p.visit("/overview?base=/home/somebody/profiles/of/old.pprof")
	if got := eval[float64](p, `Math.min(...[...document.querySelectorAll(".card .gauge + .fn")].map((e) => e.getBoundingClientRect().width))`); got < 250 {
		t.Errorf("names on the overview have %.0f pixels", got)
	}
}
