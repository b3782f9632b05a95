package web_test

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A program that reads files in JSON and calls itself on the way.
const walked = `main.main;main.walk;main.list;main.walk;encoding/json.Unmarshal;encoding/json.(*decodeState).value;reflect.Value.Set 60
main.main;encoding/json.Marshal;encoding/json.(*encodeState).marshal 30
main.main;example.com/dep.Sum 8
main.main;memcpy 2
`

// menu opens the menu of a box with the right button.
func (p *page) menu(x float64, row int) {
	p.t.Helper()
	box := eval[struct{ X, Y, Width float64 }](p,
		`(() => { const r = document.querySelector(".scroller").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width }; })()`)
	p.do(chromedp.MouseClickXY(box.X+x*box.Width, box.Y+float64(row)*20+10, chromedp.ButtonRight))
	p.wait(`document.querySelector("[role=menu]") !== null`)
}

// Each entry of the menu of a frame asks what it says, and its pill takes it back.
func TestPageMenu(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	for _, tt := range []struct{ item, query string }{
		{"Focus: keep only samples through", `focus=^encoding/json\.Unmarshal$`},
		{"Show from", `show-from=^encoding/json\.Unmarshal$`},
		{"Show only json.Unmarshal", `show=^encoding/json\.Unmarshal$`},
		{"Hide, and merge into callers:", `hide=^encoding/json\.Unmarshal$`},
		{"Ignore: drop samples through", `ignore=^encoding/json\.Unmarshal$`},
		{"Collapse recursion of", `collapse-recursion=^encoding/json\.Unmarshal$`},
		{"Collapse package", `collapse-package=^encoding/json$`},
		{"Hide package", `hide=^encoding/json[./]`},
		{"Show only package", `show=^encoding/json[./]`},
	} {
		p.visit("/flame")
		p.menu(0.3, 5)
		if got := p.text("[role=menu] .name"); got != "encoding/json.Unmarshal" {
			t.Fatalf("the menu is of %q", got)
		}
		p.click("[role=menuitem]", tt.item)
		p.settled()
		search := eval[string](p, `location.search.slice(1)`)
		if got, err := url.QueryUnescape(search); err != nil || !strings.Contains("&"+got+"&", "&"+tt.query+"&") {
			t.Errorf("%s asks %s, want %s", tt.item, got, tt.query)
		}
		if problem := p.text(".problem"); problem != "" {
			t.Errorf("%s: %s", tt.item, problem)
		}
		if n := eval[int](p, `document.querySelectorAll(".pill").length`); n != 1 {
			t.Errorf("%s has %d pills", tt.item, n)
		}
		p.click(".pill button", "×")
		p.settled()
		if got := eval[string](p, `location.search`); strings.Contains(got, "json%5C") {
			t.Errorf("%s is not undone: %s", tt.item, got)
		}
	}

	// What collapses is one box.
	p.visit("/flame?collapse-package=^encoding/json$&collapse-recursion=^main.walk$")
	if got := eval[string](p, `[...document.querySelectorAll(".twin div")].map((e) => e.textContent.split(",")[0]).join(" ")`); !strings.Contains(got, "all") {
		t.Errorf("the tree has %s", got)
	}
	p.point(0.3, 3, 1)
	p.wait(`document.querySelector(".panel .name").textContent.includes("json.*")`)
	if got := p.text(".panel .origin"); got != "standard library" {
		t.Errorf("a collapsed package is of %q", got)
	}

	// All of it without a mouse; Escape leaves all as it was.
	p.visit("/flame")
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	p.wait(`document.querySelector(".tip") !== null`)
	p.key(".")
	p.wait(`document.activeElement?.role === "menuitem"`)
	p.key(kb.Escape)
	p.wait(`document.querySelector("[role=menu]") === null && !location.search.includes("root")`)
	p.key(".")
	p.wait(`document.activeElement?.role === "menuitem"`)
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	p.wait(`location.search.includes("show-from=")`)
}

// Long names stay within the menu and do not vanish from the overview; where there is no box, there is no menu.
func TestPageLongNames(t *testing.T) {
	pkg := "example.com/organization/repository/internal/packagewithquitealongname"
	p := open(t, serve(t, []byte("main.main;"+pkg+".(*ReceiverWithAName).MethodOfWhichTheNameIsLongerThanItsColumnInTheTableOfTheOverviewOfProfiles 10\n")), 1280, 800)
	p.visit("/flame")
	p.menu(0.3, 2)
	if got := eval[int](p, `[...document.querySelectorAll("[role=menuitem]")].filter((b) => b.scrollWidth > b.clientWidth || [...b.querySelectorAll("span")].some((s) => s.scrollWidth > s.clientWidth)).length`); got != 0 {
		t.Errorf("%d entries of the menu are cut", got)
	}
	p.key(kb.Escape)
	p.wait(`document.querySelector("[role=menu]") === null`)
	if eval[bool](p, `(() => {
		const r = document.querySelector(".scroller").getBoundingClientRect();
		document.querySelector(".scroller").dispatchEvent(new MouseEvent("contextmenu", { button: 2, clientX: r.x + 50, clientY: r.y + 300, bubbles: true, cancelable: true }));
		return new Promise((done) => setTimeout(() => done(document.querySelector("[role=menu]") !== null), 100));
	})()`) {
		t.Error("a menu opens where there is no box")
	}
	p.visit("/overview")
	p.wait(`document.querySelector(".plain td.fn > .link") !== null`)
	if got := eval[bool](p, `[...document.querySelectorAll(".plain td.fn")].every((td) => {
		const name = td.querySelector(".link").getBoundingClientRect();
		return name.width > 60 && name.right <= td.getBoundingClientRect().right + 1;
	})`); !got {
		t.Error("a name of the overview has no room, or too much")
	}
}

// Where a box has no room for the path of a package, it has the name of the package, which is not its major version.
func TestPageMajorVersions(t *testing.T) {
	p := open(t, serve(t, []byte("main.main;github.com/organization/repository/v9.(*Client).Do 40\nmain.main;math/rand/v2.IntN 16\nmain.main;main.other 104\n")), 1280, 800)
	p.visit("/flame")
	eval[bool](p, `(() => {
		window.drawn = new Set();
		const draw = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...where) { window.drawn.add(text); return draw.call(this, text, ...where); };
		return true;
	})()`)
	p.do(chromedp.EmulateViewport(1270, 800))
	p.wait(`window.drawn.has("repository.(*Client).Do") && window.drawn.has("rand.IntN")`)
}

// The tooltip says what the box under the pointer costs, beside it.
func TestPageTip(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	p.visit("/flame")
	for row := 1; row < 6; row++ {
		p.point(0.3, row, 0)
		name := eval[string](p, `document.querySelector(".panel .name").textContent`)
		p.wait(fmt.Sprintf(`document.querySelector(".tip .name")?.textContent === %q`, strings.ReplaceAll(name, "\u200b", "")))
		if got := p.text(".tip"); !strings.Contains(got, "flat") || !strings.Contains(got, "cum") || !strings.Contains(got, "%") {
			t.Errorf("the tooltip says %q", got)
		}
		over := eval[bool](p, fmt.Sprintf(`(() => {
			const s = document.querySelector(".scroller").getBoundingClientRect(), t = document.querySelector(".tip").getBoundingClientRect();
			const top = s.top + %d * 20 - document.querySelector(".scroller").scrollTop;
			return t.top < top + 20 && t.bottom > top || t.right > innerWidth || t.left < 0;
		})()`, row))
		if over {
			t.Errorf("the tooltip of row %d covers its box, or leaves the page", row)
		}
	}
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	p.wait(`document.querySelector(".tip") === null`)
}

// A pill is edited where it stands. What is wrong is said below it while it is typed, and the view stays.
func TestPagePillEdit(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	p.visit("/flame?ignore=memcpy&focus=walk")
	p.click(".pill .edit", "walk")
	p.wait(`document.activeElement?.value === "walk"`)
	p.key("(")
	p.wait(`document.querySelector("#edit-said.bad")?.textContent.includes("missing closing )") === true`)
	p.key(kb.Enter)
	p.wait(`document.querySelector("#edit-said.bad") !== null && location.search.includes("focus=walk")`)
	p.do(chromedp.KeyEvent(kb.Backspace))
	eval[bool](p, `(document.activeElement.select(), true)`)
	p.key("list")
	p.key(kb.Enter)
	p.wait(`location.search === "?ignore=memcpy&focus=list"`)
	p.settled()
	p.click(".pill .edit", "list")
	p.wait(`document.activeElement?.value === "list"`)
	p.key(kb.Escape)
	p.wait(`document.querySelector(".pills form") === null && location.search === "?ignore=memcpy&focus=list"`)
	eval[bool](p, `(history.back(), true)`)
	p.wait(`location.search === "?ignore=memcpy&focus=walk"`)
}

// Every scheme of colors says what they mean, and each color of the legend is in the picture.
func TestPageLegend(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	for mode, want := range map[string][]string{
		"origin":  {"your code", "standard library", "dependencies", "other"},
		"package": {"json", "main", "reflect", "dep", "other packages"},
		"plain":   {"every function"},
	} {
		p.visit("/flame?ui.color=" + mode)
		got := p.text(".legend")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("the legend of %s has %q, want %q in it", mode, got, w)
			}
		}
	}
}

// luminance is that of WCAG.
func luminance(of [3]int) float64 {
	var c [3]float64
	for i := range of {
		v := float64(of[i])
		if v /= 255; v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

func contrast(a, b [3]int) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Boxes are told from each other by an edge of 3:1, in both themes and for all colors. The packages that most of a picture is of differ in color.
func TestPageEdges(t *testing.T) {
	p := open(t, serve(t, []byte("main.a;runtime.x;cmd/compile/internal/ir.f;cmd/compile/internal/types.g 1\nmain.b;strings.y;cmd/internal/obj.h 1\n")), 1280, 800)
	for _, theme := range []string{"light", "dark"} {
		for _, safe := range []string{"", "safe"} {
			for _, mode := range []string{"origin", "package", "plain"} {
				p.visit("/overview")
				eval[bool](p, fmt.Sprintf(`(localStorage.setItem("hone-theme", %q), localStorage.setItem("hone-colors", %q), true)`, theme, safe))
				p.visit("/flame?ui.color=" + mode)
				middle := eval[float64](p, `document.querySelector("canvas").clientWidth`) / 2
				for row := 1; row <= 2; row++ {
					y := row*20 + 10
					left, right := p.pixel(int(middle)-100, y), p.pixel(int(middle)+100, y)
					best := 0.0
					for x := int(middle) - 2; x <= int(middle)+2; x++ {
						edge := p.pixel(x, y)
						best = max(best, min(contrast(edge, left), contrast(edge, right)))
					}
					below := p.pixel(int(middle)-100, row*20+19)
					if best < 3 || contrast(below, left) < 3 {
						t.Errorf("%s %s %s: beside a box of row %d the edge has %.2f:1, below it %.2f:1", theme, safe, mode, row, best, contrast(below, left))
					}
				}
				if mode != "package" {
					continue
				}
				colors := eval[[][3]int](p, `[...document.querySelectorAll(".legend .dot")].map((e) => getComputedStyle(e).backgroundColor.match(/\d+/g).map(Number))`)
				least := math.Inf(1)
				for i, x := range colors {
					for _, y := range colors[:i] {
						u, v := lab(seenBy([9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, x)), lab(seenBy([9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, y))
						least = min(least, math.Hypot(math.Hypot(u[0]-v[0], u[1]-v[1]), u[2]-v[2]))
					}
				}
				if len(colors) != 6 || least < 15 {
					t.Errorf("%s %s: two of the colors of %d packages are %.1f apart", theme, safe, len(colors), least)
				}
			}
		}
	}
}

// seenBy returns a color as people with a kind of color blindness see it, by the matrices of Machado, Oliveira and Fernandes.
func seenBy(m [9]float64, c [3]int) [3]float64 {
	var lin, out [3]float64
	for i := range c {
		v := float64(c[i])
		if v /= 255; v <= 0.04045 {
			lin[i] = v / 12.92
		} else {
			lin[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	for i := range out {
		out[i] = min(1, max(0, m[3*i]*lin[0]+m[3*i+1]*lin[1]+m[3*i+2]*lin[2]))
	}
	return out
}

// lab returns a linear color in CIELAB, where distances are those that people see.
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// With the colors for them, people of each kind of color blindness tell all origins apart; the choice is kept.
func TestPageSafeColors(t *testing.T) {
	p := open(t, serve(t, []byte(walked+"main.main;runtime.mallocgc 20\n")), 1280, 800)
	kinds := map[string][9]float64{
		"no":           {1, 0, 0, 0, 1, 0, 0, 0, 1},
		"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
		"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
		"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
	}
	// nearest returns how far the two origins that are most alike are from each other.
	nearest := func() map[string]float64 {
		colors := eval[map[string][3]int](p, `Object.fromEntries([...document.querySelectorAll(".legend .dot")].map((e) => [e.className, getComputedStyle(e).backgroundColor.match(/\d+/g).map(Number)]))`)
		if len(colors) != 5 {
			t.Fatalf("the legend has %v", colors)
		}
		out := make(map[string]float64)
		for kind, m := range kinds {
			out[kind] = math.Inf(1)
			for a, x := range colors {
				for b, y := range colors {
					if a < b {
						u, v := lab(seenBy(m, x)), lab(seenBy(m, y))
						out[kind] = min(out[kind], math.Hypot(math.Hypot(u[0]-v[0], u[1]-v[1]), u[2]-v[2]))
					}
				}
			}
		}
		return out
	}
	for _, theme := range []string{"light", "dark"} {
		p.visit("/overview")
		eval[bool](p, fmt.Sprintf(`(localStorage.setItem("hone-theme", %q), localStorage.setItem("hone-colors", ""), true)`, theme))
		p.visit("/flame")
		before := nearest()
		p.click("button.toggle", "Color-blind safe")
		p.wait(`document.documentElement.dataset.colors === "safe"`)
		p.visit("/flame") // it is kept
		after := nearest()
		t.Logf("%s: distances %v, with safe colors %v", theme, before, after)
		for kind, d := range after {
			if d < 10 || d <= before[kind] { // a difference of 2 can just be seen side by side
				t.Errorf("%s: with %s color blindness two origins are %.1f apart; before they were %.1f", theme, kind, d, before[kind])
			}
		}
		own := p.pixel(300, 30)
		want := eval[[3]int](p, `getComputedStyle(document.querySelector(".legend .dot.own")).backgroundColor.match(/\d+/g).map(Number)`)
		if own != want {
			t.Errorf("%s: the picture has %v for one's own code, the legend %v", theme, own, want)
		}
	}
}

// Zoomed in, a small picture shows where in the whole that is; a click in it goes elsewhere.
func TestPageMinimap(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	p.visit("/flame")
	if eval[bool](p, `document.querySelector(".minimap") !== null`) {
		t.Error("there is a minimap of what is in sight as a whole")
	}
	p.visit("/flame?root=main.main;encoding/json.Marshal")
	p.wait(`document.querySelector(".minimap")?.getAttribute("aria-label").includes("30.00%")`)
	eval[bool](p, `(() => {
		const m = document.querySelector(".minimap"), r = m.getBoundingClientRect();
		m.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: r.left + r.width * 0.9, clientY: r.top + 13 }));
		return true;
	})()`)
	p.settled()
	if got := eval[string](p, `decodeURIComponent(location.search)`); !strings.Contains(got, "root=main.main") || strings.Contains(got, "json.Marshal") {
		t.Errorf("a click in the minimap leads to %s", got)
	}
}

// The first press of Tab offers the way past the bars, and each page has one heading that says what it is.
func TestPageSkip(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	for _, view := range []string{"overview", "flame", "top"} {
		p.visit("/" + view)
		p.key(kb.Tab)
		p.wait(`document.activeElement?.className === "skip"`)
		p.key(kb.Enter)
		p.wait(`document.activeElement?.tagName === "MAIN"`)
		heads := eval[[]string](p, `[...document.querySelectorAll("h1")].map((h) => h.textContent)`)
		if len(heads) != 1 || !strings.Contains(strings.ToLower(heads[0]), view) {
			t.Errorf("%s has the headings %q", view, heads)
		}
	}
}

// A picture that grows up stands on the bottom of its box, whatever the height of that: its first row is seen as a whole, and is where it seems to be.
func TestPageUpward(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	for _, path := range []string{"/flame?ui.orient=flame", "/sandwich?arg=main.walk"} {
		for _, height := range []int64{800, 807, 813} {
			p.do(chromedp.EmulateViewport(1280, height))
			p.visit(path)
			box := eval[struct{ X, Bottom, Width float64 }](p,
				`(() => { const r = document.querySelector(".scroller").getBoundingClientRect(); return { X: r.x, Bottom: r.bottom, Width: r.width }; })()`)
			at := func(above float64) string {
				p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box.X+0.3*box.Width, box.Bottom-above))
				p.settled()
				return p.text(".panel .name")
			}
			if low, high, next := at(2), at(18), at(22); low != high || high == next {
				t.Errorf("%s, %d high: the first row is %q, %q, and what is above it %q", path, height, low, high, next)
			}
			if top, edge := p.pixel(-300, -19), p.pixel(-300, -22); top == edge {
				t.Errorf("%s, %d high: the first row does not begin 20 pixels above the bottom", path, height)
			}
		}
	}
}

// How many boxes match is not said before it is known, and not for what was typed before.
func TestPageSearchAwaited(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	p.visit("/flame")
	eval[bool](p, `
		window.held = [];
		window.fetch = ((real) => async (url, options) => {
			if (String(url).includes("/api/search")) await new Promise((go) => window.held.push(go));
			return real(url, options);
		})(window.fetch);
		true`)
	p.search()
	const count = `document.querySelector(".stepper .num")?.innerText`
	for _, typed := range []struct{ key, hits string }{{"w", "– / 2"}, {"k", "– / 0"}} { // main.walk twice; no function with wk
		p.key(typed.key)
		p.wait(`window.held.length > 0`)
		if got := eval[string](p, count); got != "…" {
			t.Errorf("before the answer about %s, the page says %q", typed.key, got)
		}
		eval[bool](p, `(window.held.splice(0).forEach((go) => go()), true)`)
		p.wait(count + ` === "` + typed.hits + `"`)
	}
}
