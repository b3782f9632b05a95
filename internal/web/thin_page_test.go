package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// What is narrower than a pixel has a color of its own kind, and one hit of a search among thousands of such calls is seen.
func TestPageThinCalls(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	const each = 1000
	var folded strings.Builder
	for i := range each {
		fmt.Fprintf(&folded, "main;example.com/shop.f%04d 1\nmain;runtime.g%04d 1\n", i, i)
	}
	p := open(t, serve(t, []byte(folded.String())), 1280, 800)
	p.visit("/flame")
	// row returns the pixels of a line across the third row, as how many there are of each color.
	row := func(y int) map[string]int {
		return eval[map[string]int](p, fmt.Sprintf(`(() => {
			const from = document.querySelector("canvas"), c = new OffscreenCanvas(from.width, 1).getContext("2d", { willReadFrequently: true });
			c.drawImage(from, 0, -%d * devicePixelRatio);
			const d = c.getImageData(0, 0, from.width, 1).data, n = {};
			for (let i = 0; i < d.length; i += 4) { const k = d[i] + " " + d[i + 1] + " " + d[i + 2]; n[k] = (n[k] ?? 0) + 1; }
			return n;
		})()`, y))
	}
	const middle, bottom = 45, 57
	got := row(middle)
	own, runtime, gray := got["244 165 92"], got["163 186 214"], got["201 199 194"]
	if all := own + runtime; own < 300 || runtime < 300 || gray > all/50 {
		t.Errorf("pixels of narrow calls: %d of own code, %d of the runtime, %d gray; all are %v", own, runtime, gray, got)
	}
	if n := row(bottom)["26 95 180"]; n != 0 {
		t.Errorf("%d pixels are marked before anybody searched", n)
	}
	p.search()
	p.key("f0700")
	p.wait(`/^[0-9.]+% matched/.test(document.querySelector(".matched")?.innerText)`)
	p.settled()
	if n := row(bottom)["26 95 180"]; n < 1 || n > 3 {
		t.Errorf("%d pixels are marked for one hit", n)
	}
	if after := row(middle); after["244 165 92"] < 1 || after["244 165 92"] > 3 {
		t.Errorf("%d pixels are as bright as the hit, want it alone", after["244 165 92"])
	}
}

// The box of calls that are not drawn one by one says what it is, to be read in either theme.
func TestPageSmallCallsReadable(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	const each = 20000
	var folded strings.Builder
	fmt.Fprintf(&folded, "main.main %d\n", each)
	for i := range each {
		fmt.Fprintf(&folded, "example.com/shop.f%05d 1\n", i)
	}
	p := open(t, serve(t, []byte(folded.String())), 1280, 800)
	for _, theme := range []string{"light", "dark"} {
		p.media("", "prefers-color-scheme="+theme)
		p.visit("/flame")
		// The best contrast of a pixel with the last one of the box.
		got := eval[float64](p, `(() => {
			const from = document.querySelector("canvas"), c = new OffscreenCanvas(from.width, 20).getContext("2d", { willReadFrequently: true });
			c.drawImage(from, 0, -20 * devicePixelRatio);
			const d = c.getImageData(0, 2, from.width, 15).data;
			const light = (i) => { const f = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f(d[i]) + 0.7152 * f(d[i + 1]) + 0.0722 * f(d[i + 2]); };
			const last = 4 * (from.width - 40), back = light(last);
			let best = 1;
			for (let y = 0; y < 15; y++) for (let x = from.width - 200; x > from.width - 480; x--) {
				const l = light(4 * (y * from.width + x));
				best = Math.max(best, (Math.max(l, back) + 0.05) / (Math.min(l, back) + 0.05));
			}
			return best;
		})()`)
		p.shoot("small-" + theme)
		if got < 4.5 {
			t.Errorf("%s: the text has a contrast of %.2f with its box, want 4.5", theme, got)
		}
	}
	p.media("")
}
