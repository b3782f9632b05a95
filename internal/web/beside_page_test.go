package web_test

import (
	"fmt"
	"strings"
	"testing"
)

// Side by side, a call that is chosen in one flame graph is chosen in the other, and the panel has what it costs on both sides. Each has its
// own scale or both have one, and the address says which.
func TestPageSideBySide(t *testing.T) {
	p := open(t, serve(t, folded(t, "main.main;main.a 300\nmain.main;main.b 100\n"), folded(t, "main.main;main.a 100\nmain.main;main.gone 100\n")), 1280, 800)
	p.visit("/flame?base=p1.pb.gz")
	p.click(".tools button", "Side by side")
	p.wait(`document.querySelectorAll(".pair .scroller").length === 2`)
	p.settled()
	if got := p.text(".pair"); !strings.Contains(got, "before p1.pb.gz 200") || !strings.Contains(got, "after p0.pb.gz 400") {
		t.Errorf("the pictures are called %q", got)
	}
	// The first picture is the base: its second row is main.main, the third main.a.
	p.point(0.25, 2, 1)
	p.wait(`new URLSearchParams(location.search).get("ui.sel") === "main.a"`)
	if got := p.text(".panel"); !strings.Contains(got, "main.a") || !strings.Contains(got, "100 · 50.00%") || !strings.Contains(got, "300 · 75.00%") || !strings.Contains(got, "+200") {
		t.Errorf("the panel says %q", got)
	}
	selected := `[...document.querySelectorAll(".pair .twin")].map((t) => t.querySelector('[aria-selected="true"]')?.innerText.split(",")[0])`
	if got := eval[[]string](p, selected); len(got) != 2 || got[0] != "main.a" || got[1] != "main.a" {
		t.Errorf("selected are %q", got)
	}
	// What is only in one of them is lit in that one.
	p.point(0.75, 2, 1)
	p.wait(`document.querySelector(".panel").innerText.includes("main.gone")`)
	if got := p.text(".panel"); !strings.Contains(got, "not there") {
		t.Errorf("of what is gone the panel says %q", got)
	}
	eval[bool](p, `(() => { const s = [...document.querySelectorAll("select")].find((s) => s.textContent.includes("one scale for both")); s.value = "common"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	p.wait(`new URLSearchParams(location.search).get("ui.scale") === "common"`)
	p.settled()
	p.point(0.75, 0, 0) // right of what half as much takes
	if got := p.text(".panel h2"); got == "under the pointer" {
		t.Error("with one scale, the smaller picture still fills its place")
	}
	// Normalized, what was before is scaled to the total of what is now, as the heading says.
	p.visit("/diff?base=p1.pb.gz&ui.side=yes&normalize=true")
	if got := p.text(".pair"); !strings.Contains(got, "before p1.pb.gz 400") || !strings.Contains(got, "after p0.pb.gz 400") {
		t.Errorf("normalized, the pictures are called %q", got)
	}
	if got := p.text(".panel"); !strings.Contains(got, "cum before\n400") || !strings.Contains(got, "change\n0") {
		t.Errorf("normalized, the panel says %q", got)
	}
	// Per second, of profiles without a duration, says what to do instead.
	p.visit("/diff?base=p1.pb.gz&per=second")
	if got := p.text(".problem"); !strings.Contains(got, "does not say how long") {
		t.Errorf("per second, without durations, it shows %q", got)
	}
	p.forgive("/api/diff")
	p.click(".headline button", "Absolute")
	p.wait(`!location.search.includes("per=")`)
	p.settled()
	p.visit("/diff?base=p1.pb.gz&ui.side=yes&normalize=true")
	if got := p.text(".diff .headline"); strings.Contains(got, "Boxes are as wide") {
		t.Errorf("above two pictures it says how wide the boxes of one are: %q", got)
	}
	// A view of one side says that it is one.
	p.visitTab("Tags")
	if got := p.text(".one-side"); got != "This view shows only p0.pb.gz, and not the base p1.pb.gz." {
		t.Errorf("the tags say of the base: %q", got)
	}
	p.visitTab("Graph")
	p.wait(`document.querySelector(".graph")?.shadowRoot?.querySelector("svg g") != null`)
	if got := p.text(".one-side"); got != "The graph shows what changed: p0.pb.gz minus the base p1.pb.gz." {
		t.Errorf("the graph says of the base: %q", got)
	}
	if got := eval[string](p, `document.querySelector(".graph").shadowRoot.textContent`); !strings.Contains(got, "new minus base") {
		t.Errorf("the graph of the difference is %q", got)
	}
	// Files that have no place for a base are of one side, and say so.
	p.click("summary", "Download")
	p.wait(`document.querySelectorAll(".menu a[download]").length > 5`)
	for format, one := range map[string]bool{"pprof": true, "pprof-filtered": true, "folded": false, "speedscope": false} {
		link := eval[[]string](p, fmt.Sprintf(`(() => { const a = [...document.querySelectorAll(".menu a")].find((a) => new URL(a.href).pathname === "/download/%s"); return [a.innerText, a.getAttribute("href")]; })()`, format))
		if strings.Contains(link[0], "only of p0.pb.gz") != one || strings.Contains(link[1], "base=p1.pb.gz") == one {
			t.Errorf("the file %s is offered as %q from %s", format, link[0], link[1])
		}
	}
	// Zooming is for both; where there is no such call, it says so.
	p.visit("/flame?base=p1.pb.gz&ui.side=yes&root=main.main;main.gone")
	p.forgive("422")
	if got := p.text(".pair"); !strings.Contains(got, "There is no such call here.") {
		t.Errorf("zoomed into what is gone, it says %q", got)
	}
	p.visit("/flame?base=p1.pb.gz&ui.side=yes")
	p.accessible("side by side", "html")
}
