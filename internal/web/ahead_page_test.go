package web_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// A page tells the server which callers it will probably ask for: those of the function that is selected, or the pointer is about to choose.
func TestPageExpects(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	for _, c := range []struct {
		name    string
		samples int
		expects int // of two functions that are selected
	}{
		{"large", 100_000, 2},
		{"small", 600, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, serve(t, profiletest.Bytes(profiletest.Config{Samples: c.samples, Functions: 300, Seed: 1})), 1280, 800)
			p.visit("/flame")
			const sent = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/sandwich?") && e.responseStatus === %d).length`
			expected, asked := fmt.Sprintf(sent, 204), fmt.Sprintf(sent, 200)

			// A moment after it was selected.
			p.point(0.2, 2, 1)
			if c.expects > 0 {
				p.wait(expected + ` === 1`)
			}
			name := p.text(".panel .name")
			p.key("c")
			p.wait(`document.querySelector(".subject b") !== null`)
			p.settled()
			if got := p.text(".subject b"); got != name {
				t.Errorf("callers of %q, want %q", got, name)
			}

			// At once where the pointer is on the way to them.
			p.visitTab("Flame")
			p.settled()
			p.point(0.2, 4, 1)
			eval[bool](p, `[...document.querySelectorAll(".tabs a")].find((a) => a.innerText === "Callers").dispatchEvent(new PointerEvent("pointerenter"))`)
			if c.expects > 0 {
				p.wait(expected + ` === 2`)
			}
			p.wait(fmt.Sprintf(`new URLSearchParams(location.search).get("ui.sel") !== %q`, name))
			p.visitTab("Callers")
			p.settled()
			if got := p.text(".subject b"); got == name {
				t.Errorf("callers of %q again", got)
			}
			if n := eval[int](p, expected); n != c.expects {
				t.Errorf("the server was told of %d functions, want %d", n, c.expects)
			}
			if n := eval[int](p, asked); n != 2 {
				t.Errorf("the server was asked for %d functions", n)
			}
		})
	}
}

// The first picture of a large profile has the wide calls. The others follow, and then pages show the same as of a small one.
func TestPageOfLargeProfile(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	was := web.SetFirstFrom(50_000)
	defer func() { web.SetFirstFrom(was) }()
	data := profiletest.Bytes(profiletest.Config{Samples: 60_000, Functions: 300, Seed: 1})
	const wide = "min=0.0078125"
	var shown [2][]string
	for i, first := range [][]string{{"?" + wide, "", "?invert=true&" + wide, "?invert=true"}, {"", "?invert=true"}} {
		p := open(t, serve(t, data), 1280, 800)
		asked := func(path string) []string {
			return eval[[]string](p, fmt.Sprintf(`performance.getEntriesByType("resource").map((e) => new URL(e.name)).filter((u) => u.pathname === %q).map((u) => u.search)`, path))
		}
		look := func() {
			p.settled()
			shown[i] = append(shown[i], p.text(".main"), eval[string](p, `[...document.querySelectorAll("canvas")].map((c) => c.dataset.labels).join()`))
		}
		p.visit("/flame")
		look()
		p.visitTab("Top")
		p.settled()
		p.visitTab("Flame") // which is there
		look()
		p.key("i")
		look()
		if got := asked("/api/flame"); !slices.Equal(got, first) {
			t.Errorf("the page asked for pictures %q, want %q", got, first)
		}
		web.SetFirstFrom(was)
	}
	if !slices.Equal(shown[0], shown[1]) {
		t.Errorf("a large profile shows\n%q\nand a small one\n%q", shown[0], shown[1])
	}
}
