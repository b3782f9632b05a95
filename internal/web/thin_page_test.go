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
