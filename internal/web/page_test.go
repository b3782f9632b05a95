package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
)

// patience is how long something that will come may take. Nothing waits for as long unless it is broken.
const patience = 3 * time.Minute

var errNoChromium = errors.New("there is no chromium, which the tests of the page run in; apt-get install -y chromium-headless-shell, or chromium")

// chromium starts the browser that all tests share. The one without windows of its own takes half of the CPU time.
var chromium = sync.OnceValues(func() (context.Context, error) {
	var path string
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return nil, errNoChromium
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // CI runs as root
		chromedp.DisableGPU,
		chromedp.Flag("renderer-process-limit", "1"), // to start one for each page takes a tenth more CPU time
		// Pages live for a second or two: no thread compiles or collects beside them, no function runs for long enough that optimizing it pays, and
		// pictures need no process of their own. This saves a third of the CPU time.
		chromedp.Flag("js-flags", "--single-threaded --no-turbofan --no-maglev"),
		chromedp.Flag("in-process-gpu", true),
		chromedp.WSURLReadTimeout(patience), // starting takes half a minute where much else runs
	)
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	stopBrowser = func() {
		stop()
		stopAlloc()
	}
	return ctx, chromedp.Do(ctx)
})

// stopBrowser ends what chromium has started.
var stopBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopBrowser()
	os.Exit(code)
}

// A page is a tab of the browser.
type page struct {
	t   *testing.T
	ctx context.Context
	url string // of the server
	way string // the first page, until a page has been loaded: its address hands out the cookie

	mu     sync.Mutex
	errors []string // what the console said that it should not have

	pardon string // what the console may say as often as it likes
}

// smoke is the test of the page that runs without -tags live, but for a short run: it opens every view.
const smoke = "TestPageViews/cpu"

// open opens a tab of a size for a server. Its first page is loaded when something is done with it, unless another one is visited first: each takes
// a quarter of a second of CPU time. When the test ends the console must have been silent.
func open(t *testing.T, first string, width, height int64) *page {
	t.Helper()
	if t.Name() != smoke {
		testrun.Live(t, "goes through pages in a browser")
	}
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browserCtx, err := chromium()
	if errors.Is(err, errNoChromium) {
		testrun.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browserCtx)
	ctx, stopTime := context.WithTimeout(ctx, 5*patience)
	url, _, _ := strings.Cut(first, "/overview")
	p := &page{t: t, ctx: ctx, url: url, way: first}
	console := chromedp.Console(ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for m, err := range console {
			if err != nil {
				return
			}
			switch m.Type {
			case chromedp.ConsoleError, chromedp.ConsoleWarning, chromedp.ConsoleException:
				p.mu.Lock()
				p.errors = append(p.errors, m.Text+" "+m.URL)
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		stopTime()
		stop()
		<-read
		for _, e := range p.errors {
			if p.pardon == "" || !strings.Contains(e, p.pardon) {
				t.Errorf("the console says: %s", e)
			}
		}
	})
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatal(err)
	}
	return p
}

// forgive waits until the console has said what a test provoked, and takes it back. What the console says travels by
// itself, so it may come after what the page did next.
func (p *page) forgive(said string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		i := slices.IndexFunc(p.errors, func(e string) bool { return strings.Contains(e, said) })
		if i >= 0 {
			p.errors = slices.Delete(p.errors, i, i+1)
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	p.t.Fatalf("the console never said %q", said)
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.enter()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// visit loads a path and waits until its view has something to show.
func (p *page) visit(path string) {
	p.t.Helper()
	address := p.url + path
	if _, token, ok := strings.Cut(p.way, "?token="); ok {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		address += sep + "token=" + token
	}
	p.way = ""
	p.do(chromedp.Navigate(address))
	p.settled()
}

// turn goes to a path within the page that is loaded, as its links do. To load a page anew takes four times the CPU time, and what has run on it,
// such as axe-core, is compiled once more.
func (p *page) turn(path string) {
	p.t.Helper()
	if p.way != "" {
		p.visit(path)
		return
	}
	eval[bool](p, fmt.Sprintf(`(history.pushState(null, "", %q), dispatchEvent(new PopStateEvent("popstate")),
		new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`, path))
	p.settled()
}

// enter loads the first page if none has been loaded.
func (p *page) enter() {
	p.t.Helper()
	if first := p.way; first != "" {
		p.way = ""
		p.do(chromedp.Navigate(first))
	}
}

// settled waits until nothing is awaited any more and the picture, if there is one, is painted, and has been seen.
func (p *page) settled() {
	p.t.Helper()
	defer p.seen()
	p.wait(`(() => {
		const main = document.querySelector("main");
		if (!main || main.getAttribute("aria-busy") || main.querySelector("[aria-busy]") || main.textContent.trim() === "") return false;
		if (Number(document.documentElement.dataset.asking) > 0) return false;
		return [...document.querySelectorAll("canvas")].every((c) => c.dataset.paint === "done");
	})()`)
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// seen brings the URL up to date, which the page does by itself a moment later.
func (p *page) seen() {
	p.t.Helper()
	eval[bool](p, `dispatchEvent(new Event("pagehide"))`)
}

// back goes back, as who has seen where.
func (p *page) back() {
	p.t.Helper()
	p.seen()
	p.do(chromedp.NavigateBack())
}

// wait waits until a condition holds in the page.
func (p *page) wait(cond string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		p.enter()
		is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](cond, chromedp.EvalAwaitPromise))
		if err != nil && !strings.Contains(err.Error(), "navigated or closed") { // a page that is about to come has no answer yet
			p.t.Fatalf("%s: %v", cond, err)
		}
		if is {
			return
		}
	}
	text := eval[string](p, `location.href + "\n" + (document.querySelector("main")?.innerText ?? "no page").slice(0, 800)`)
	p.t.Fatalf("waited in vain for %s; the page shows %s", cond, text)
}

// eval returns what an expression, or what it promises, is.
func eval[T any](p *page, js string) T {
	p.t.Helper()
	p.enter()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// still holds that the page itself does not scroll where there is room: views scroll, and what is above them stays.
func (p *page) still(where string) {
	p.t.Helper()
	if got := eval[[2]float64](p, `[document.scrollingElement.scrollHeight - innerHeight, document.scrollingElement.scrollTop]`); got[0] > 0 || got[1] > 0 {
		p.t.Errorf("%s: the page is %g pixels higher than the screen, and scrolled by %g", where, got[0], got[1])
	}
}

// text returns the text of the first element that matches.
func (p *page) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// key presses keys.
func (p *page) key(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// click clicks the first element that matches, or the one of them that has a text.
func (p *page) click(selector, text string) {
	p.t.Helper()
	ok := eval[bool](p, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q));
		e?.click();
		return e !== undefined;
	})()`, selector, text))
	if !ok {
		p.t.Fatalf("there is no %s with %q", selector, text)
	}
}

// search presses /. It is sent as an event of the page, because a driven browser types the letter as well, which a real
// one does not.
func (p *page) search() {
	p.t.Helper()
	eval[bool](p, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true })) === false`)
}

// visitTab chooses a view.
func (p *page) visitTab(title string) {
	p.t.Helper()
	p.click(".tabs a", title)
	p.settled()
}

// point moves the mouse over a canvas, given in shares of its width and in rows, and clicks so many times.
func (p *page) point(x float64, row, clicks int) {
	p.t.Helper()
	box := eval[struct{ X, Y, Width float64 }](p,
		`(() => { const r = document.querySelector(".scroller").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width }; })()`)
	atX, atY := box.X+x*box.Width, box.Y+float64(row)*20+10
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, atX, atY))
	for i := range clicks {
		p.do(chromedp.MouseClickXY(atX, atY, chromedp.ClickCount(i+1)))
	}
}

// colors returns how many colors a canvas has: a blank one has one.
func (p *page) colors() int {
	p.t.Helper()
	return eval[int](p, `(() => {
		const from = document.querySelector("canvas");
		const c = new OffscreenCanvas(from.width, from.height).getContext("2d", { willReadFrequently: true });
		c.drawImage(from, 0, 0);
		const d = c.getImageData(0, 0, from.width, from.height).data;
		const seen = new Set();
		for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
		return seen.size;
	})()`)
}

// axe is axe-core, which checks pages for what people cannot read or reach.
var axe = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("testdata/axe/axe.min.js") })

// accessible holds that axe-core finds nothing in the first element that matches, in either theme: neither what breaks a rule of WCAG nor what it
// calls best practice. It leaves two things to a nightly run. The themes differ in their colors only, so the other rules are checked in one of
// them. Tables have hundreds of rows, and call graphs of boxes, with the same elements, classes and colors, of which two are kept meanwhile.
func (p *page) accessible(where, selector string) {
	p.t.Helper()
	if !eval[bool](p, `globalThis.axe !== undefined`) {
		source, err := axe()
		if err != nil {
			p.t.Fatal(err)
		}
		eval[bool](p, string(source)+";true")
	}
	all := ""
	if selector != "html" {
		all = `, rules: { "heading-order": { enabled: false } }` // what comes before is not looked at
	}
	dark := `, runOnly: ["color-contrast"]`
	if testrun.InNightly() {
		dark = all
	} else {
		testrun.Left(p.t, "axe-core in pages, the rest", "all rules in both themes, and rows that are like others")
		eval[bool](p, `(() => {
			const seen = new Map(), alike = (globalThis.alike = []);
			const roots = [document, ...[...document.querySelectorAll("*")].flatMap((e) => e.shadowRoot ?? [])];
			for (const row of roots.flatMap((root) => [...root.querySelectorAll("tr, li, g.node, g.edge")])) {
				const key = [row, ...row.querySelectorAll("*")].map((e) => [e.tagName, e.getAttribute("class"), e.getAttributeNames(), e.role, e.style?.color, e.style?.background,
					e.getAttribute("fill"), e.textContent.trim() === ""].join()).join(";");
				seen.set(key, (seen.get(key) ?? 0) + 1);
				if (seen.get(key) > 2) alike.push([row, row.parentNode, row.nextSibling]);
			}
			for (const [row] of alike) row.remove();
			return true;
		})()`)
	}
	for theme, rules := range map[string]string{"light": all, "dark": dark} {
		p.media("", "prefers-color-scheme="+theme)
		p.settled()
		for _, v := range eval[[]string](p, fmt.Sprintf(`axe.run(%q, { resultTypes: ["violations"]%s }).then((r) => r.violations.flatMap((v) =>
			v.nodes.slice(0, 3).map((n) => v.impact + ": " + v.help + " (" + v.id + "): " + n.html.slice(0, 300) + " " + n.failureSummary.slice(0, 300))))`, selector, rules)) {
			p.t.Errorf("%s, %s: %s", where, theme, v)
		}
	}
	p.media("")
	eval[bool](p, `(() => { for (const [row, parent, next] of (globalThis.alike ?? []).reverse()) parent.insertBefore(row, next); globalThis.alike = []; return true; })()`)
}

// getJSON asks the server what the page asks.
func getJSON(t *testing.T, p *page, path string, out any) {
	t.Helper()
	text := eval[string](p, fmt.Sprintf(`fetch(%q).then((r) => r.text())`, path))
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%s answers %.200s: %v", path, text, err)
	}
}
