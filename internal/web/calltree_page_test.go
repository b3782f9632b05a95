package web_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/profile"
)

// folded returns a profile of stacks in text, as it is written to a file.
func folded(t *testing.T, text string) []byte {
	t.Helper()
	p, err := profile.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wide is a profile in which one function calls so many that a page does not get all of them at once.
func wide(t *testing.T) []byte {
	var text strings.Builder
	text.WriteString("main.main;main.heavy;main.inner 900000\nmain.main;main.heavy 5000\n")
	for i := range 700 {
		fmt.Fprintf(&text, "main.main;main.many;main.f%03d;main.leaf 1%02d\n", i, i%100)
	}
	return folded(t, text.String())
}

const treeRows = `[...document.querySelectorAll(".table tbody tr:not(.gap)")].map((r) => r.getAttribute("aria-level") + " " + r.querySelector(".branch").title)`

// The heaviest path is open at first, and the keys open, close and invert; what a call has below it is asked for when it is opened.
func TestPageCallTree(t *testing.T) {
	p := open(t, serve(t, wide(t)), 1280, 800)
	p.visit("/calltree")
	rows := func() string { return strings.Join(eval[[]string](p, treeRows), "\n") }
	if got, want := rows(), "1 \n2 main.main\n3 main.heavy\n4 main.inner\n3 main.many"; got != want {
		t.Errorf("at first there are\n%s\nwant\n%s", got, want)
	}
	if got := p.text(".table tbody tr:nth-child(3)"); !strings.Contains(got, "905000") || !strings.Contains(got, "5000") {
		t.Errorf("main.heavy has the numbers %q", got)
	}
	eval[bool](p, `(document.querySelector('[title="main.many"]').closest("tr").focus(), true)`)
	p.key(kb.ArrowRight)
	p.wait(treeRows + `.includes("4 main.f099")`)
	p.settled()
	if got := eval[int](p, `Number(document.querySelector(".table table").getAttribute("aria-rowcount"))`); got != 1+5+500 {
		t.Errorf("main.many is open with %d rows in all, want 500 of its 700 calls", got)
	}
	p.click(".branch .link", "200 more")
	p.wait(`document.querySelector(".table table").getAttribute("aria-rowcount") === "706"`)
	if n := eval[int](p, treeRows+`.length`); n > 100 {
		t.Errorf("%d rows are in the page at once", n)
	}
	// The first of them has one call, which nobody has asked for yet.
	p.key(kb.ArrowRight)
	p.key(kb.ArrowRight)
	p.wait(treeRows + `.some((r) => r === "5 main.leaf")`)
	p.key(kb.ArrowLeft)
	p.wait(`!` + treeRows + `.some((r) => r === "5 main.leaf")`)
	p.key(kb.ArrowLeft)
	p.key(kb.ArrowLeft)
	p.wait(`document.querySelector(".table table").getAttribute("aria-rowcount") === "6"`)
	p.key("i")
	p.settled()
	p.wait(treeRows + `.slice(0, 4).join() === "1 ,2 main.inner,3 main.heavy,4 main.main"`)
	if got := p.text(".table thead"); strings.Contains(got, "flat") {
		t.Errorf("inverted, the columns are %q; callers cost nothing by themselves there", got)
	}
}

// With a base there is what calls cost before.
func TestPageCallTreeBase(t *testing.T) {
	p := open(t, serve(t, folded(t, "main.main;main.a 300\n"), folded(t, "main.main;main.a 100\nmain.main;main.gone 50\n")), 1280, 800)
	p.visit("/calltree?base=p1.pb.gz")
	if got := p.text(".table tbody tr:nth-child(3)"); !strings.Contains(got, "100") || !strings.Contains(got, "300") || !strings.Contains(got, "▲ +200") {
		t.Errorf("main.a reads %q", got)
	}
	if !eval[bool](p, treeRows+`.includes("3 main.gone")`) {
		t.Errorf("what is gone is not there: %s", eval[[]string](p, treeRows))
	}
}

// Choosing a recording to compare with stays in the view, which has what was before.
func TestPageCompareInPlace(t *testing.T) {
	p := open(t, serve(t, folded(t, "main.main;main.a 300\n"), folded(t, "main.main;main.a 100\nmain.main;main.gone 50\n")), 1280, 800)
	p.visit("/top")
	eval[bool](p, `(() => { const s = [...document.querySelectorAll("select")].find((s) => s.textContent.includes("compare with")); s.value = "p1.pb.gz"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	p.wait(`location.search.includes("base=p1.pb.gz")`)
	p.settled()
	if got := eval[string](p, `location.pathname`); got != "/top" {
		t.Errorf("choosing a base went to %s", got)
	}
	for _, v := range []struct{ path, of, want string }{
		{"/top?base=p1.pb.gz", ".table tbody tr", "100\t300\t▲ +200 +200.00%"},
		{"/top?base=p1.pb.gz", ".table tbody", "▼ -50 gone"},
		{"/overview?base=p1.pb.gz", ".hero", "before: 150, ▲ +150 +100%"},
		{"/overview?base=p1.pb.gz&focus=main.a", ".hero", "300 samples\n\nbefore: 66.67% of 150, ▲ +200 +200.00%"},
		{"/overview?ref=p1.pb.gz&focus=main.a", ".hero", "66.67% of 150 samples\n\n100 · hottest function"},
		{"/overview?base=p1.pb.gz", ".card .plain tbody tr", "▲ +200"},
		{"/sandwich?base=p1.pb.gz&arg=main.a", ".subject", "before: cum 100, ▲ +200"},
		{"/sandwich?base=p1.pb.gz&arg=main.a", ".panel", "before\n100"},
		{"/source?base=p1.pb.gz&arg=main.a", ".functions", "main.a"},
	} {
		p.visit(v.path)
		if got := eval[string](p, `[...document.querySelectorAll("`+v.of+`")].map((e) => e.innerText).join("\n")`); !strings.Contains(got, v.want) {
			t.Errorf("%s has %q, want %q in it", v.path, got, v.want)
		}
	}
}

// However deep a call is, the one below it lies further to the right, and its row says how deep it is.
func TestPageCallTreeDeep(t *testing.T) {
	stack := "main.main"
	for i := range 56 {
		stack += fmt.Sprintf(";example.org/some/parser.(*parser).parse%d", i)
	}
	address := serve(t, folded(t, stack+" 10\n"))
	for _, width := range []int64{1280, 390} {
		p := open(t, address, width, 1900)
		p.visit("/calltree")
		var lefts []float64
		for _, r := range eval[[]struct {
			Deep, Said string
			Left, Room float64
		}](p, `[...document.querySelectorAll(".table tbody tr:not(.gap)")].map((r) => ({
			Deep: String(Number(r.getAttribute("aria-level")) - 1), Said: r.querySelector(".level")?.innerText ?? "",
			Left: r.querySelector(".twist").getBoundingClientRect().left,
			Room: r.querySelector("td:last-child").getBoundingClientRect().right - r.querySelector(".branch > span:last-child").getBoundingClientRect().left,
		}))`) {
			if n := len(lefts); n > 0 && r.Left <= lefts[n-1] {
				t.Errorf("%d wide: a call %s deep is at %g, its caller at %g", width, r.Deep, r.Left, lefts[n-1])
			}
			if lefts = append(lefts, r.Left); len(lefts) > 13 && r.Said != r.Deep {
				t.Errorf("%d wide: a call %s deep says %q", width, r.Deep, r.Said)
			}
			if r.Room < 120 {
				t.Errorf("%d wide: a call %s deep has %g pixels for its name", width, r.Deep, r.Room)
			}
		}
		if len(lefts) < 50 {
			t.Errorf("%d wide: there are %d rows", width, len(lefts))
		}
	}
}

// Loaded anew, a call tree has the row that was selected, and what leads to it, also where a page does not get that call at first.
func TestPageCallTreeReload(t *testing.T) {
	p := open(t, serve(t, wide(t)), 1280, 800)
	p.visit("/calltree")
	eval[bool](p, `(document.querySelector('[title="main.many"]').closest("tr").focus(), true)`)
	p.key(kb.ArrowRight)
	p.wait(treeRows + `.includes("4 main.f099")`)
	p.settled()
	eval[bool](p, `(document.querySelector('[title="main.f099"]').closest("tr").focus(), true)`)
	p.key(kb.ArrowRight)
	p.wait(treeRows + `.includes("5 main.leaf")`)
	p.settled()
	p.click(`[aria-level="5"]`, "main.leaf")
	p.wait(`document.querySelector("tr.selected .branch")?.title === "main.leaf"`)
	p.settled()
	way := eval[string](p, `new URLSearchParams(location.search).get("ui.call")`)
	if way != "main.main;main.many;main.f099;main.leaf" {
		t.Errorf("the URL says the call is %q", way)
	}
	for _, query := range []string{"ui.sel=main.leaf&ui.call=" + way, "ui.sel=main.leaf&ui.call=main.main;main.many;main.f600;main.leaf"} {
		p.visit("/calltree?" + query)
		p.wait(`document.querySelector("tr.selected .branch")?.title === "main.leaf"`)
		parent := query[strings.LastIndex(query, "main.f"):][:len("main.f000")]
		if got := eval[string](p, `document.querySelector("tr.selected").previousElementSibling.querySelector(".branch").title`); got != parent {
			t.Errorf("%s: the selected row is below %s", query, got)
		}
		if !eval[bool](p, `(() => { const row = document.querySelector("tr.selected").getBoundingClientRect(), box = document.querySelector(".table").getBoundingClientRect();
			return row.top >= box.top && row.bottom <= box.bottom; })()`) {
			t.Errorf("%s: the selected row is out of sight", query)
		}
	}
	// Other views select functions only.
	p.visit("/calltree?ui.sel=main.inner")
	p.wait(`document.querySelector("tr.selected .branch")?.title === "main.inner"`)
}
