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

// The first picture of a large profile has the wide calls. The others follow, also behind a filter, and nothing is asked for twice.
func TestPageOfLargeProfile(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	was := web.SetFirstFrom(50_000)
	defer web.SetFirstFrom(was)
	data := profiletest.Bytes(profiletest.Config{Samples: 60_000, Functions: 300, Seed: 1})
	p := open(t, serve(t, data), 1280, 800)
	asked := func() []string {
		return eval[[]string](p, `performance.getEntriesByType("resource").map((e) => new URL(e.name)).filter((u) => u.pathname === "/api/flame").map((u) => u.search)`)
	}
	p.visit("/flame")
	p.settled()
	if got, want := asked(), []string{"?min=0.00390625", ""}; !slices.Equal(got, want) {
		t.Errorf("the page asked for pictures %q, want %q", got, want)
	}
	whole := p.text(".crumbs .quiet")
	labels := eval[string](p, `document.querySelector("canvas").dataset.labels`)

	// What is there already is shown as it is.
	p.visitTab("Top")
	p.settled()
	p.visitTab("Flame")
	p.settled()
	if n := len(asked()); n != 2 {
		t.Errorf("%d pictures were asked for, want 2: %q", n, asked())
	}
	p.visit("/flame?invert=true")
	p.settled()
	if got, want := asked(), []string{"?invert=true&min=0.00390625", "?invert=true"}; !slices.Equal(got, want) {
		t.Errorf("the inverted page asked for pictures %q, want %q", got, want)
	}

	// A page of the same profile that is not large to it shows the same.
	web.SetFirstFrom(was)
	p = open(t, serve(t, data), 1280, 800)
	p.visit("/flame")
	p.settled()
	if got := p.text(".crumbs .quiet"); got != whole {
		t.Errorf("the picture of the large profile says %q, want %q", whole, got)
	}
	if got := eval[string](p, `document.querySelector("canvas").dataset.labels`); got != labels {
		t.Errorf("the picture of the large profile has %s labels, want %s", labels, got)
	}
}
