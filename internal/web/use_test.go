package web_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// media emulates a medium, such as print, and features such as prefers-reduced-motion=reduce.
func (p *page) media(medium string, features ...string) {
	p.t.Helper()
	params := emulation.SetEmulatedMediaParams{Media: medium}
	for _, f := range features {
		name, value, _ := strings.Cut(f, "=")
		params.Features = append(params.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, params); err != nil {
		p.t.Fatal(err)
	}
}

// style returns a computed property of the first element that matches.
func (p *page) style(selector, property string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).getPropertyValue(%q)`, selector, property))
}

// pixel returns the color of a place on the picture, from its left upper corner or, if negative, its right lower one.
func (p *page) pixel(x, y int) [3]int {
	p.t.Helper()
	return eval[[3]int](p, fmt.Sprintf(`(() => {
		const from = document.querySelector("canvas"), x = %d, y = %d;
		const c = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
		c.drawImage(from, -(x < 0 ? from.width + x : x), -(y < 0 ? from.height + y : y));
		return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
	})()`, x, y))
}

// clipboard lets the page use the clipboard, and returns a function that reads it.
func (p *page) clipboard() func() string {
	p.t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(p.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted, Origin: p.url,
		}); err != nil {
			p.t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		p.t.Fatal(err)
	}
	return func() string { return eval[string](p, `navigator.clipboard.readText()`) }
}

// listen keeps what the page says for a moment, which may be over before anybody looks.
func (p *page) listen() {
	p.t.Helper()
	eval[bool](p, `(() => {
		globalThis.said = [];
		const toast = document.querySelector(".toast");
		new MutationObserver(() => said.push(toast.textContent)).observe(toast, { childList: true, characterData: true, subtree: true });
		return true;
	})()`)
}

// said waits until the page says something, since it was last asked.
func (p *page) said(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`said.some((t) => t.startsWith(%q)) && (said.length = 0, true)`, text))
}

// A list that was chosen from with the pointer gives the keys back to the page, and so does Escape.
func TestPageKeysAfterList(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/flame")
	const onList = `document.activeElement.tagName === "SELECT"`
	color := `[...document.querySelectorAll(".choice select")][0]`
	eval[bool](p, `(() => { const s = `+color+`; s.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })); s.focus(); s.value = "package"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	p.wait(`new URLSearchParams(location.search).get("ui.color") === "package" && !(` + onList + `)`)
	p.key("4")
	p.wait(`location.pathname === "/top"`)
	p.settled()
	eval[bool](p, `document.querySelector(".choice select").focus() === undefined`)
	p.wait(onList)
	p.key(kb.Escape)
	p.wait(`!(` + onList + `)`)
}

// A ranking is searched and gone through with keys: the arrow leads to the rows, Escape leaves the search and then clears it.
func TestPageTopByKeys(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/top")
	const name = `(document.activeElement.querySelector(".fn")?.title ?? "")`
	p.key(kb.ArrowDown)
	first := eval[string](p, name)
	p.key(kb.ArrowDown)
	if second := eval[string](p, name); first == "" || second == "" || second == first {
		t.Errorf("arrows lead to %q and then %q", first, second)
	}
	p.search()
	p.wait(`document.activeElement.type === "search"`)
	p.key("mallocgc")
	p.wait(`new URLSearchParams(location.search).get("ui.q") === "mallocgc"`)
	p.key(kb.ArrowDown)
	if got := eval[string](p, name); !strings.Contains(got, "mallocgc") {
		t.Errorf("the arrow leads from the search to %q", got)
	}
	p.key(kb.Enter)
	p.wait(`(new URLSearchParams(location.search).get("ui.sel") ?? "").includes("mallocgc")`)
	p.search()
	p.key(kb.Escape)
	p.wait(`new URLSearchParams(location.search).get("ui.q") === "mallocgc" && document.activeElement.type !== "search"`)
	p.key(kb.Escape)
	p.wait(`new URLSearchParams(location.search).get("ui.q") === null`)
}

// Every key of the sheet that acts on the selected frame, on the picture or on the search does what the sheet says.
func TestPageKeys(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	clipboard := p.clipboard()
	p.visit("/flame")
	selected := `new URLSearchParams(location.search).get("ui.sel")`

	// Filters.
	for key, filter := range map[string]string{"o": "show-from", "h": "hide", "d": "ignore"} {
		p.visit("/flame")
		whole := p.text(".panel dl")
		p.point(0.2, 3, 1)
		p.wait(selected + ` !== null`)
		name := eval[string](p, selected)
		p.key(key)
		want := "^" + regexp.QuoteMeta(name) + "$"
		p.wait(fmt.Sprintf(`new URLSearchParams(location.search).get(%q) === %q`, filter, want))
		p.wait(`document.querySelectorAll(".pill").length === 1`)
		p.settled()
		p.do(chromedp.MouseEvent("mouseMoved", 5, 5))
		p.wait(`document.querySelector(".panel h2").innerText === "selected"`)
		if text := p.text(".problem"); text != "" {
			t.Errorf("after %s: %s", key, text)
		}
		if key == "d" && eval[bool](p, `fetch("/api/top?limit=all&min=0&" + new URLSearchParams(location.search)).then((r) => r.json()).then((r) => r.rows.some((row) => row.name === `+fmt.Sprintf("%q", name)+`))`) {
			t.Errorf("%s is still there, though dropped; before: %s", name, whole)
		}
	}

	// Copy and share.
	p.visit("/flame")
	p.point(0.2, 3, 1)
	p.wait(selected + ` !== null`)
	name := eval[string](p, selected)
	p.listen()
	p.key("y")
	p.said("name copied")
	if got := clipboard(); got != name {
		t.Errorf("y copies %q, want %q", got, name)
	}
	p.click(".head-end button", "Share")
	p.said("link copied")
	if got, want := clipboard(), eval[string](p, `location.href`); got != want || !strings.Contains(got, "ui.sel=") {
		t.Errorf("Share copies %q, want %q", got, want)
	}
	p.click(".actions button", "Copy")
	p.said("name copied")
	if got := clipboard(); got != name {
		t.Errorf("Copy copies %q, want %q", got, name)
	}

	// The picture grows up, and down again.
	p.visit("/flame")
	down := p.pixel(300, 3)
	p.key("u")
	p.wait(`location.search.includes("ui.orient=flame")`)
	p.settled()
	if eval[bool](p, `document.querySelector(".scroller").scrollTop + document.querySelector(".scroller").clientHeight < document.querySelector(".scroller").scrollHeight - 1`) {
		t.Error("a picture that grows up does not begin at the bottom")
	}
	p.key("u")
	p.wait(`!location.search.includes("ui.orient")`)
	p.settled()
	if got := p.pixel(300, 3); got != down {
		t.Errorf("twice upside down the root has the color %v, and had %v", got, down)
	}

	// Themes.
	for _, want := range []string{"light", "dark", "auto"} {
		p.key("t")
		p.wait(fmt.Sprintf(`(document.documentElement.dataset.theme ?? "auto") === %q`, want))
	}

	// Matches, one by one, the widest first.
	p.visit("/flame?ui.q=net")
	p.wait(`document.querySelector(".matched b") !== null`)
	p.settled()
	at := `document.querySelector(".results .stepper .num").innerText`
	hits := strings.TrimPrefix(eval[string](p, at), "– / ")
	for _, step := range []struct{ key, want string }{{"n", "1"}, {"n", "2"}, {"N", "1"}, {"N", hits}, {"n", "1"}} {
		p.key(step.key)
		p.wait(fmt.Sprintf(`%s === %q`, at, step.want+" / "+hits))
		p.wait(fmt.Sprintf(`%s?.includes("net") === true`, selected)) // the URL follows a moment later
	}
}

// A filter can be typed, and given up.
func TestPageAddFilter(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/top")
	before := p.text("table")
	add := func(kind, text string) {
		p.click(".pills button", "add")
		p.wait(`document.activeElement === document.querySelector(".add input")`)
		eval[bool](p, fmt.Sprintf(`(() => { const s = document.querySelector(".add select"); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`, kind))
		p.key(text)
	}
	add("ignore", "net")
	p.key(kb.Enter)
	p.wait(`new URLSearchParams(location.search).get("ignore") === "net" && document.querySelector(".add") === null`)
	p.settled()
	if got := p.text(".pill"); !strings.HasPrefix(got, "ignore net") {
		t.Errorf("the pill says %q", got)
	}
	if p.text("table") == before {
		t.Error("the filter changed nothing")
	}
	add("focus", "json")
	p.click(".add button", "Cancel")
	p.wait(`document.querySelector(".add") === null`)
	add("focus", "json")
	p.key(kb.Escape)
	p.wait(`document.querySelector(".add") === null`)

	// What is no regexp is told at the field, while it is typed and when it is entered, and the view stays.
	told := `document.querySelector(".add .bad")?.innerText.includes("missing closing )") === true && document.querySelector(".add input").getAttribute("aria-invalid") === "true"`
	// The last rows come and go with the room that the message takes.
	first := func() string { return strings.Join(strings.Split(p.text("table"), "\n")[:100], "\n") }
	now := first()
	for _, kind := range []string{"focus", "tag"} {
		add(kind, "a(b")
		p.wait(told)
		p.key(kb.Backspace + "(")
		p.key(kb.Enter) // before the page can know
		p.wait(told)
		if got := eval[string](p, `location.search`); got != "?ignore=net" {
			t.Errorf("a bad filter of the kind %s leads to %q", kind, got)
		}
		if first() != now {
			t.Errorf("a bad filter of the kind %s has changed the view", kind)
		}
		p.key(kb.Backspace + ")") // mended
		p.wait(`document.querySelector(".add .bad") === null`)
		p.key(kb.Escape)
		p.wait(`document.querySelector(".add") === null`)
	}
	add("hide", "runtime")
	p.click(".add button", "Apply")
	p.wait(`location.search.includes("ignore=net&hide=runtime")`)
	p.settled()
	if n := eval[int](p, `document.querySelectorAll(".pill").length`); n != 2 {
		t.Errorf("%d pills, want 2", n)
	}
	p.click(".pills button", "remove all")
	p.wait(`location.search === ""`)
	p.settled()
	if p.text("table") != before {
		t.Error("without filters the ranking is not what it was")
	}
}

// Boxes of the graph can be clicked, and the graph dragged and zoomed.
func TestPageGraph(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	p.visit("/graph?limit=20")
	// node finds a box in sight: its function and its middle.
	const node = `(() => {
		const host = document.querySelector(".graph"), frame = host.getBoundingClientRect();
		for (const g of host.shadowRoot.querySelectorAll("g")) {
			const title = g.querySelector(":scope > title")?.textContent ?? "";
			if (!/\)$/.test(title) || / (->|\.\.\.) /.test(title)) continue;
			const b = g.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
			const hit = host.shadowRoot.elementFromPoint(x, y)?.closest("g") === g;
			if (hit && x > frame.x + 80 && x < frame.right - 80 && y > frame.y + 80 && y < frame.bottom - 80) return { Name: title.replace(/ \([^()]*\)$/, ""), X: x, Y: y };
		}
		return { Name: "", X: 0, Y: 0 };
	})()`
	type box struct {
		Name string
		X, Y float64
	}
	at := eval[box](p, node)
	if at.Name == "" {
		t.Fatal("no box is in sight")
	}
	p.do(chromedp.MouseClickXY(at.X, at.Y))
	p.wait(fmt.Sprintf(`new URLSearchParams(location.search).get("ui.sel") === %q`, at.Name))
	if got := p.text(".row-actions b"); got != at.Name {
		t.Errorf("%q is selected, want %q", got, at.Name)
	}
	place := func() (x, y, scale float64) {
		v := eval[[]float64](p, `(() => { const m = new DOMMatrix(document.querySelector(".graph").shadowRoot.querySelector("svg").style.transform); return [m.e, m.f, m.a]; })()`)
		return v[0], v[1], v[2]
	}
	x0, y0, s0 := place()
	p.do(chromedp.DragAndDropXY(at.X, at.Y, at.X+70, at.Y-45))
	x1, y1, s1 := place()
	if x1-x0 != 70 || y1-y0 != -45 || s1 != s0 {
		t.Errorf("dragged by 70, -45 it moved by %g, %g, and is %g as large", x1-x0, y1-y0, s1/s0)
	}
	if got := p.text(".row-actions b"); got != at.Name {
		t.Errorf("dragging selected %q", got)
	}
	p.click(".zoomer button", "+")
	if _, _, s := place(); s < s1*1.2 || s > s1*1.3 {
		t.Errorf("+ makes it %g as large", s/s1)
	}
	x2, y2, s2 := place()
	for range 3 {
		p.key("t")
		p.settled()
		if x, y, s := place(); x != x2 || y != y2 || s != s2 {
			t.Errorf("in another theme it is at %g, %g, %g, and was at %g, %g, %g", x, y, s, x2, y2, s2)
		}
	}
	p.key("r")
	if x, y, _ := place(); x == x1 && y == y1 {
		t.Error("r does not show all of it")
	}
	p.key("c")
	p.wait(fmt.Sprintf(`location.pathname === "/sandwich" && new URLSearchParams(location.search).get("arg") === %q`, at.Name))
}

// A diagnosis without a mouse: from the picture to a function, its part of the picture, its source, back, and to the finding about it.
func TestPageByKeys(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 1280, 800)
	p.visit("/overview")
	p.found()
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			p.key(k)
		}
	}
	press("2")
	p.wait(`location.pathname === "/flame"`)
	p.settled()

	// The first match is selected, and the keys of a frame act on it.
	p.search()
	p.wait(`document.activeElement?.type === "search"`)
	press("main.handle")
	p.wait(`/^[0-9.]+% matched/.test(document.querySelector(".matched")?.innerText ?? "")`)
	press(kb.Enter)
	p.wait(`new URLSearchParams(location.search).get("ui.sel") === "main.handle"`)
	press(kb.Tab)
	p.wait(`document.activeElement?.tagName === "BUTTON"`)
	press("f")
	p.wait(`new URLSearchParams(location.search).get("focus") === "^main\\.handle$" && document.querySelector(".pill") !== null`)
	p.settled()
	press("s")
	p.wait(`location.pathname === "/source"`)
	p.settled()
	if got := p.text(".code"); !strings.Contains(got, "600ms") || !strings.Contains(got, "MatchString") {
		t.Errorf("the source is %q", got)
	}
	press("a") // to the line with a finding
	p.wait(`document.activeElement?.matches(".mark button") === true`)
	press(kb.Enter)
	p.wait(`document.querySelector(".told-row")?.innerText.includes("regexp compiled on every call") === true`)
	eval[bool](p, `(history.back(), true)`) // what Alt and the left arrow do in a browser
	p.wait(`location.pathname === "/flame" && new URLSearchParams(location.search).get("focus") !== null`)
	p.settled()

	// The filter is taken back where it stands, and the finding is opened.
	tab := func(what string) {
		t.Helper()
		for range 60 {
			press(kb.Tab)
			if eval[bool](p, `document.activeElement?.matches(`+fmt.Sprintf("%q", what)+`) === true`) {
				return
			}
		}
		t.Fatalf("sixty tabs do not reach %s", what)
	}
	eval[bool](p, `(document.activeElement?.blur(), true)`)
	tab(`.pill button[aria-label^="remove"]`)
	press(kb.Enter)
	p.wait(`document.querySelector(".pill") === null`)
	press("1")
	p.wait(`location.pathname === "/overview"`)
	p.found()
	tab(".finding > summary") // the first is open
	p.wait(`document.activeElement.parentElement.open && document.activeElement.innerText.includes("shop.go:9")`)
	tab(".finding .code-change summary")
	press(kb.Enter)
	p.wait(`document.activeElement.parentElement.open && document.activeElement.parentElement.innerText.includes("MustCompile")`)
}

// A graph begins with the way that most of the cost takes lit: through its heaviest calls, up to the root. It is seen as a whole where its names
// can be read then, and else from the start of that way, with a map of the whole.
func TestPageGraphBegins(t *testing.T) {
	p := open(t, serve(t, []byte("main.main;a.A;b.B;c.C 60\nmain.main;a.A;d.D 30\nmain.main;e.E 20\n")), 1280, 800)
	p.visit("/graph")
	const lit = `[...document.querySelector(".graph").shadowRoot.querySelectorAll(".way > title")].map((e) => e.textContent.replace(/ \([^()]*\)$/, "")).sort()`
	want := []string{"a.A", "a.A -> b.B", "b.B", "b.B -> c.C", "c.C", "main.main", "main.main -> a.A"}
	if got := eval[[]string](p, lit); !slices.Equal(got, want) {
		t.Errorf("lit is %q, want %q", got, want)
	}
	const whole = `(() => {
		const h = document.querySelector(".graph"), a = h.getBoundingClientRect(), b = h.shadowRoot.querySelector("svg").getBoundingClientRect();
		return b.left >= a.left - 1 && b.right <= a.right + 1 && b.top >= a.top - 1 && b.bottom <= a.bottom + 1;
	})()`
	const mapped = `!document.querySelector(".graph-map").hidden`
	if !eval[bool](p, whole) || eval[bool](p, mapped) {
		t.Error("a small graph does not begin as a whole, without a map")
	}
	for _, width := range []int64{1280, 390} {
		p = open(t, serve(t, kinds(t)["cpu"]), width, 800)
		p.visit("/graph")
		// All names in a box of the way are large enough, and the first box is in sight.
		if got := eval[float64](p, `(() => {
			const root = document.querySelector(".graph").shadowRoot, scale = new DOMMatrix(root.querySelector("svg").style.transform).a;
			return scale * Math.min(...[...root.querySelectorAll("g.way text")].map((t) => Number(t.getAttribute("font-size"))));
		})()`); got < 9.99 {
			t.Errorf("%d pixels wide: names of a large graph are %.1f pixels large", width, got)
		}
		if !eval[bool](p, `(() => {
			const h = document.querySelector(".graph"), a = h.getBoundingClientRect();
			const first = [...h.shadowRoot.querySelectorAll("g.way[data-name]")].map((g) => g.getBoundingClientRect()).sort((a, b) => a.top - b.top)[0];
			return first.left >= a.left && first.right <= a.right && first.top >= a.top && first.bottom <= a.bottom;
		})()`) {
			t.Errorf("%d pixels wide: the heaviest path does not begin in sight", width)
		}
		if !eval[bool](p, mapped) {
			t.Errorf("%d pixels wide: a graph that is seen in part has no map", width)
		}
		// A click on the map goes there, and Fit shows all, which needs no map.
		const at = `document.querySelector(".graph").shadowRoot.querySelector("svg").style.transform`
		before := eval[string](p, at)
		place := eval[[]float64](p, `(() => { const b = document.querySelector(".graph-map").getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height - 9]; })()`)
		p.do(chromedp.MouseClickXY(place[0], place[1]))
		if eval[string](p, at) == before {
			t.Errorf("%d pixels wide: a click on the map does not go there", width)
		}
		p.click(".zoomer button", "Fit")
		if !eval[bool](p, whole) || eval[bool](p, mapped) {
			t.Errorf("%d pixels wide: Fit does not show the whole graph, without a map", width)
		}
		p.click(".zoomer button", "Heaviest path")
		if got := eval[string](p, at); got != before {
			t.Errorf("%d pixels wide: back at the heaviest path, it is at %s, not %s", width, got, before)
		}
	}
}

// allocates is a program whose line 13 holds a call that the compiler replaces by the body of what is called.
const allocates = `package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

func main() {
	runtime.MemProfileRate = 1
	for i := range 64 { kept = append(kept, inlined(i)) }
	runtime.GC()
	if err := pprof.Lookup("heap").WriteTo(os.Stdout, 0); err != nil {
		panic(err)
	}
}

func inlined(n int) []byte {
	return make([]byte, 4096+n)
}
`

// ofProgram returns a heap profile of a program, and where the program is.
func ofProgram(t *testing.T) (profile []byte, program string) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "allocates")
	if err := os.WriteFile(source, []byte(allocates), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("building a program: %v\n%s", err, out)
	}
	profile, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return profile, program
}

// The machine code of a line unfolds below it, with what was inlined set apart.
func TestPageMachineCode(t *testing.T) {
	profile, _ := ofProgram(t)
	p := open(t, serve(t, profile), 1280, 800)
	p.visit("/source?metric=alloc_space&arg=" + url.QueryEscape(`^main\.main$`))
	const button = `document.querySelector('.code button[aria-label="machine code of line 13"]')`
	if eval[bool](p, button+` === null`) {
		t.Fatalf("the line that allocates has no button: %s", p.text("main"))
	}
	if n := eval[int](p, `document.querySelectorAll("tr.machine").length`); n != 0 {
		t.Errorf("%d instructions are there before anybody asked", n)
	}
	eval[bool](p, button+`.click() === undefined`)
	p.wait(`document.querySelector("tr.machine.inlined .from") !== null`)
	if got := eval[string](p, button+`.getAttribute("aria-expanded")`); got != "true" {
		t.Errorf("the button of an open line says %s", got)
	}
	if got := p.text("tr.inlined .from"); !strings.Contains(got, "inlined main.inlined main.go:21") {
		t.Errorf("what was inlined says it is %q", got)
	}
	own := eval[int](p, `document.querySelectorAll("tr.machine:not(.inlined)").length`)
	calls := eval[int](p, `[...document.querySelectorAll("tr.inlined code")].filter((c) => /makeslice/.test(c.innerText)).length`)
	if own == 0 || calls == 0 {
		t.Errorf("%d instructions of the line itself and %d calls that allocate are there: %s", own, calls, p.text(".code"))
	}
	if n := eval[int](p, `[...document.querySelectorAll("tr.inlined")].filter((r) => /kB$/.test(r.cells[1]?.innerText)).length`); n == 0 {
		t.Errorf("no inlined instruction has a cost: %s", p.text(".code"))
	}
	eval[bool](p, button+`.click() === undefined`)
	p.wait(`document.querySelectorAll("tr.machine").length === 0`)
}

// Where the program is missing its machine code is, too, and the page says which program that is, as the command line does.
func TestPageSaysWhyNoMachineCode(t *testing.T) {
	profile, program := ofProgram(t)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	p := open(t, serve(t, profile), 1280, 800)
	p.visit("/source?metric=alloc_space&arg=" + url.QueryEscape(`^main\.main$`))
	p.click(".code .no button", "")
	p.wait(`document.querySelector("tr.machine") !== null && !document.querySelector("tr.machine").innerText.includes("…")`)
	want := program + " is not on this machine: pass the program that was profiled with binary=FILE"
	if got := strings.TrimSpace(p.text("tr.machine")); got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
}

// A search moves nothing but the picture, and on paper, in forced colors and without motion the page can be read.
func TestPageMedia(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 800)
	place := `(() => { const b = [...document.querySelectorAll(".tools .group button")].pop().getBoundingClientRect(); return b.x + " " + b.y; })()`
	p.visit("/flame")
	before := eval[string](p, place)
	p.search()
	p.key("net")
	p.wait(`document.querySelector(".results .matched b") !== null`)
	p.settled()
	if got := eval[string](p, place); got != before {
		t.Errorf("a search moves the last button from %s to %s", before, got)
	}
	if tops := eval[int](p, `new Set([...document.querySelectorAll(".results > *")].map((e) => { const b = e.getBoundingClientRect(); return Math.round((b.y + b.height / 2) / 4); })).size`); tops != 1 {
		t.Errorf("what was found stands in %d lines", tops)
	}

	p.media("", "prefers-reduced-motion=reduce")
	if got := p.style(".toast", "transition-duration"); got != "0s" {
		t.Errorf("the toast fades for %s", got)
	}
	if got := eval[string](p, `(() => { const e = document.querySelector(".progress"); e.classList.add("on"); const s = getComputedStyle(e, "::after").animationName; e.classList.remove("on"); return s; })()`); got != "none" {
		t.Errorf("the progress bar moves: %s", got)
	}

	p.media("", "forced-colors=active")
	p.settled()
	p.wait(`document.querySelector(".legend") === null || getComputedStyle(document.querySelector(".legend")).display === "none"`)
	if now, other := p.style(".tabs a[aria-current]", "border-bottom-color"), p.style(".tabs a:not([aria-current])", "border-bottom-color"); now == other {
		t.Errorf("the tab of this view looks like all others: %s", now)
	}
	if n := p.colors(); n < 3 { // boxes, their outlines, and what was found
		t.Errorf("in forced colors the picture has %d colors", n)
	}

	// Paper is white whatever the theme, and has what can be read, not what can be clicked.
	p.media("")
	eval[bool](p, `(localStorage.setItem("hone-theme", "dark"), true)`)
	p.visit("/flame")
	white := func() bool {
		return eval[bool](p, `(() => {
			const from = document.querySelector("canvas");
			const c = new OffscreenCanvas(from.width, from.height).getContext("2d", { willReadFrequently: true });
			c.drawImage(from, 0, 0);
			const d = c.getImageData(0, 0, from.width, from.height).data;
			for (let i = 0; i < d.length; i += 4) if (Math.min(d[i], d[i + 1], d[i + 2]) > 245 && d[i + 3] > 250) return true;
			return false;
		})()`)
	}
	if white() {
		t.Error("in the dark theme there is white between the boxes")
	}
	// Without a frame in between, because there is none before a page is printed.
	eval[bool](p, `(globalThis.requestAnimationFrame = () => 0, dispatchEvent(new Event("beforeprint")))`)
	if !white() {
		t.Error("on paper nothing is white between the boxes")
	}
	p.media("print")
	for _, selector := range []string{".tabs", ".tools", ".head-end", ".actions", ".hints", ".pills"} {
		if eval[bool](p, fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e !== null && e.getClientRects().length > 0; })()`, selector)) {
			t.Errorf("%s is printed", selector)
		}
	}
	if got := p.style("body", "background-color"); got != "rgb(252, 252, 251)" {
		t.Errorf("paper is %s", got)
	}
	eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	p.media("")
	p.visit("/top")
	rows := `document.querySelectorAll("tbody tr:not(.gap)").length`
	some := eval[int](p, rows)
	eval[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	p.wait(rows + ` > 200`)
	eval[bool](p, `dispatchEvent(new Event("afterprint"))`)
	p.wait(fmt.Sprintf(`%s <= %d`, rows, some))
}

// The sheet of keys opens at its beginning, also where not all of it fits.
func TestPageHelpOpensAtItsBeginning(t *testing.T) {
	p := open(t, serve(t, kinds(t)["cpu"]), 1280, 400)
	p.visit("/top")
	p.click(".head-end button", "?")
	p.wait(`document.querySelector("dialog").open`)
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	if !eval[bool](p, `document.querySelector("dialog").scrollHeight > document.querySelector("dialog").clientHeight`) {
		t.Fatal("all of it fits")
	}
	if got := eval[int](p, `document.querySelector("dialog").scrollTop`); got != 0 {
		t.Errorf("it opens %d pixels down", got)
	}
	p.key(kb.Escape)
	p.wait(`!document.querySelector("dialog").open`)
}

// An address of a view that pages do not have shows a page that says so, with the command that has it.
func TestPageNoSuchView(t *testing.T) {
	p := open(t, serve(t, kinds(t)["goroutine"]), 1280, 800)
	p.visit("/symptoms")
	if got := p.text("main"); !strings.Contains(got, "There is no view symptoms here") || !strings.Contains(got, "hone symptoms p0.pb.gz") {
		t.Errorf("/symptoms shows %q", got)
	}
	p.forgive("404 (Not Found)")
	p.visitTab("Top")
	p.visit("/list?arg=" + url.QueryEscape(`^testing\.tRunner$`))
	p.wait(`location.pathname === "/source"`)
	if text := p.text(".code"); !strings.Contains(text, "fn(t)") {
		t.Errorf("/list shows %.300s", text)
	}
}
