package web_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// A pageKind is a page of one kind of recording, or of a server: each has tabs of its own.
type pageKind struct{ name, address, first string }

func pageKinds(t *testing.T) []pageKind {
	t.Helper()
	compiler, err := os.ReadFile("testdata/compile.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	compared, _ := duel(t)
	fleet := serveFleet(t, nil, nil)
	return []pageKind{
		{"profile", serve(t, compiler, run2()), "/overview?ui.sel=cmd/compile/internal/gc.compileFunctions.func3.1&arg=ssa.Compile"},
		{"labels", serve(t, kinds(t)["labels"], run2()), "/overview?base=p1.pb.gz"},
		{"recording", serveRecordings(t, web.Recorded(t)), "/overview"},
		{"trace", serveRecordings(t, traced(t)), "/overview"},
		{"compare", serveRecordings(t, compared), "/compare"},
		{"load", serveRecordings(t, loadRun()), "/load"},
		{"holders", serveRecordings(t, holding(t)), "/holders"},
		{"services", fleet + "/", "/"},
		{"service", fleet + "/", "/service?ref=store:service-0@-24h"},
	}
}

// tabs opens the page, and returns where its tabs lead.
func (k pageKind) tabs(t *testing.T, width, height int64) (*page, []string) {
	t.Helper()
	p := open(t, k.address, width, height)
	if !strings.Contains(k.address, "/overview") {
		p.url = strings.TrimSuffix(k.address, "/")
	}
	p.visit(k.first)
	tabs := eval[[]string](p, `[...document.querySelectorAll(".tabs a")].map((a) => a.getAttribute("href"))`)
	if len(tabs) == 0 {
		t.Fatal("there are no tabs")
	}
	return p, tabs
}

// others returns the tabs of views that no page before has, with a recording to compare with or without. The rest is the same but for what it shows,
// and left to a nightly run.
func others(t *testing.T, tabs []string, seen map[string]bool) []string {
	t.Helper()
	if testrun.InNightly() {
		return tabs
	}
	kept := slices.DeleteFunc(slices.Clone(tabs), func(tab string) bool {
		view, query, _ := strings.Cut(tab, "?")
		key := fmt.Sprint(view, strings.Contains(query, "base="))
		had := seen[key]
		seen[key] = true
		return had
	})
	if len(kept) < len(tabs) {
		testrun.Left(t, t.Name(), fmt.Sprintf("%d views that other pages have, too", len(tabs)-len(kept)))
	}
	return kept
}

// On a phone, and where somebody has zoomed in to 200 %, nothing is cut off: the page scrolls down and not sideways, names can be
// read, and controls can be reached. All tabs of each kind of page are walked through, those of the server as well.
func TestPageEveryTabNarrow(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	sizes := map[string][2]int64{"phone": {390, 844}, "zoomed": {640, 400}}
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+"/zoomed", "goes through all tabs once more")
		delete(sizes, "zoomed")
	}
	seen := map[string]bool{}
	for _, kind := range pageKinds(t) {
		for size, at := range sizes {
			t.Run(kind.name+"/"+size, func(t *testing.T) {
				p, tabs := kind.tabs(t, at[0], at[1])
				for _, tab := range others(t, tabs, seen) {
					p.visit(tab)
					p.fits(tab)
					p.shoot(kind.name + "-" + size + "-" + strings.Split(strings.Trim(tab, "/"), "?")[0])
				}
			})
		}
	}
}

// Where a screen is turned, or a window made narrower, the current tab and the call graph stay in sight, and in a deep tree of calls names can
// be read.
func TestPageTurned(t *testing.T) {
	stack := "main.main"
	for i := range 70 {
		stack += fmt.Sprintf(";example.com/shop/internal/checkout.(*allocationState).computeEverything%d", i)
	}
	p := open(t, serve(t, []byte(stack+" 7\n")), 844, 390)
	for _, view := range []string{"/graph", "/traces", "/calltree"} {
		p.visit(view)
		p.do(chromedp.EmulateViewport(390, 844))
		p.settled()
		p.fits(view)
		if view == "/graph" {
			// The heaviest path begins in sight, as it does in a page that is opened at this size.
			p.wait(`(() => {
				const box = document.querySelector(".graph").getBoundingClientRect();
				const first = document.querySelector(".graph").shadowRoot.querySelector(".way polygon").getBoundingClientRect();
				return first.left >= box.left && first.right <= box.right && first.top >= box.top && first.bottom <= box.bottom;
			})()`)
		}
		p.shoot("turned-" + view[1:])
		p.do(chromedp.EmulateViewport(844, 390))
	}
	counts := open(t, serve(t, []byte(stack[:400]+" 2223898853784\n")), 390, 844)
	counts.visit("/calltree")
	counts.fits("/calltree of large counts")
	counts.shoot("counts")
	for _, width := range []int64{390, 1280} {
		p.do(chromedp.EmulateViewport(width, 800))
		p.visit("/calltree")
		eval[bool](p, `(document.querySelector(".table").scrollTop = 1e6, true)`)
		p.wait(`document.querySelector(".table").innerText.includes("computeEverything69")`)
		p.fits("the end of /calltree")
		p.shoot(fmt.Sprint("deep-", width))
		if got := eval[float64](p, `(() => {
			const name = [...document.querySelectorAll(".branch > span:last-child")].pop(), range = document.createRange();
			range.selectNodeContents(name.lastChild);
			return Math.min(name.closest("td").getBoundingClientRect().right, name.getBoundingClientRect().right) - range.getBoundingClientRect().left;
		})()`); got < 100 {
			t.Errorf("%d wide, %g pixels of the name of the function are left at the end of a deep tree", width, got)
		}
	}
}

// shoot keeps a picture of the page, for somebody who wants to look at it, in the folder that PICTURES_IN names.
func (p *page) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("PICTURES_IN")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(fmt.Sprintf("%s/%s.png", dir, name), picture, 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// fits measures what does not fit into the page.
func (p *page) fits(where string) {
	p.t.Helper()
	got := eval[struct {
		Over                  int
		Cut, Unread, Unusable []string
		Tab                   bool
	}](p, `(() => {
		const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
		const cut = [], unread = [], unusable = [];
		const style = new Map();
		const styleOf = (e) => { let s = style.get(e); if (!s) style.set(e, (s = getComputedStyle(e))); return s; };
		// hides is what cuts e off at the right: an ancestor, if none that scrolls is nearer; "" if nothing does.
		const limit = (e, right) => {
			for (let a = e; a && a !== document.body; a = a.parentElement) {
				const x = styleOf(a).overflowX;
				if (x === "auto" || x === "scroll") return "scrolls";
				if ((x === "hidden" || x === "clip") && right > a.getBoundingClientRect().right + 1) return "cut";
			}
			return right > innerWidth + 1 ? "cut" : "";
		};
		const titled = (e) => e.closest("[title]") !== null;
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		const range = document.createRange();
		while (walker.nextNode()) {
			const text = walker.currentNode, e = text.parentElement;
			if (text.data.trim() === "" || e.closest(".hidden, .twin, .skip, .toast, dialog:not([open]), script, style, svg, code, pre, .code")) continue;
			range.selectNodeContents(text);
			const r = range.getBoundingClientRect();
			if (r.width === 0 || r.height === 0 || styleOf(e).visibility === "hidden") continue;
			const name = e.closest(".fn, .branch, .traces summary");
			if (name) {
				// As much of a name as a reader needs to know it is there without moving anything.
				let right = innerWidth;
				for (let a = name.parentElement; a; a = a.parentElement) if (styleOf(a).overflowX !== "visible") right = Math.min(right, a.getBoundingClientRect().right);
				const shown = Math.min(right, r.right) - r.left;
				const box = name.classList.contains("branch") ? name : e.closest("td") ?? name;
				const lines = r.bottom - Math.max(...[box, name].map((x) => styleOf(x).overflowY === "hidden" ? x.getBoundingClientRect().bottom : 0));
				if (shown < Math.min(r.width, 110) - 1 || lines > 2 && lines < r.bottom) unread.push(text.data.slice(0, 60) + ": " + Math.round(shown) + " of " + Math.round(r.width) + " px");
			} else if (limit(e, r.right) === "cut" && !titled(e)) cut.push(text.data.trim().slice(0, 60));
		}
		for (const e of document.querySelectorAll("header button, header select, header a, .head button, .head select, .tools button, .tools select, .tools input, .row-actions button, .pills button, .tabs a")) {
			const r = e.getBoundingClientRect();
			if (r.width === 0 || e.closest("details:not([open]) > :not(summary)")) continue;
			if (r.left < -1 && !e.closest(".tabs") || limit(e.parentElement, r.right) === "cut" || r.height < 20) unusable.push((e.textContent || e.getAttribute("aria-label") || e.tagName).slice(0, 40) + " " + Math.round(r.left) + "–" + Math.round(r.right) + ", " + Math.round(r.height) + " high");
		}
		const tab = document.querySelector(".tabs [aria-current]")?.getBoundingClientRect();
		return { Over: over, Cut: cut, Unread: unread, Unusable: unusable, Tab: !tab || (tab.left >= -1 && tab.right <= innerWidth + 1) };
	})()`)
	if got.Over > 0 {
		p.t.Errorf("%s is %d pixels wider than the screen", where, got.Over)
	}
	if len(got.Cut) > 0 {
		p.t.Errorf("%s: cut off: %.400q", where, got.Cut)
	}
	if len(got.Unread) > 0 {
		p.t.Errorf("%s: names that cannot be read: %.400q", where, got.Unread)
	}
	if len(got.Unusable) > 0 {
		p.t.Errorf("%s: out of reach: %.400q", where, got.Unusable)
	}
	if !got.Tab {
		p.t.Errorf("%s: the current tab is out of sight", where)
	}
}

// On a phone, a name that takes several lines begins beside its number or its marker, and goes on below its beginning.
func TestPageNarrowNames(t *testing.T) {
	p := open(t, serve(t, folded(t, "main.main;example.org/some/where/far/away/withoutanybreaks.(*connReaderOfManyConnections).abortPendingReadAtOnce 10\n")), 390, 844)
	p.visit("/sandwich")
	if got := eval[bool](p, `[...document.querySelectorAll(".picks button")].every((b) => {
		const [number, name] = [...b.children].map((e) => e.getBoundingClientRect());
		return name.left >= number.right && name.top <= number.bottom;
	})`); !got {
		t.Error("names to choose from lie below their shares")
	}
	p.visit("/traces")
	if got := eval[bool](p, `[...document.querySelectorAll(".traces summary")].every((s) => {
		const r = document.createRange();
		r.selectNodeContents(s);
		return r.getClientRects()[0].top - s.getBoundingClientRect().top < 8;
	})`); !got {
		t.Error("names of samples begin below their markers")
	}
}
