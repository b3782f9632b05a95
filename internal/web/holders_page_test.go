package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/heapgraph/heapgraphtest"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// holding returns a recording of who holds memory, as hone holders -o makes it.
func holding(t *testing.T) *recording.Recording {
	t.Helper()
	const company = "example.com/some/long/import/path/of/a/company/"
	h := heapgraphtest.Leaky(50, 20)
	for i := range h.Roots {
		h.Roots[i].Name = strings.Replace(h.Roots[i].Name, "main.", company+"shop/v2.", 1)
	}
	for i := range h.Types {
		h.Types[i] = strings.ReplaceAll(h.Types[i], "main.", company+"shop/v2.")
	}
	p, garbage, err := heapgraph.Profile(h)
	if err != nil {
		t.Fatal(err)
	}
	m := &recording.Manifest{Started: h.Time, Ended: h.Time, Holders: []recording.HeapRead{{Go: h.GoVersion, Pause: h.Pause, Garbage: garbage}}}
	rec, _, err := recording.Made("held.hone", m, map[string]*profile.Profile{recording.Held: p}).Pick("", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// Who holds memory costs none: the overview says who it is, and not what functions cost. There are no findings about it.
func TestPageHolders(t *testing.T) {
	testrun.Live(t, "goes through pages in a browser")
	_, address := serveWith(t, web.Options{Advise: "."}, nil, holding(t))
	p := open(t, address, 1280, 800)
	p.visit("/overview")
	got := p.text("main")
	for _, not := range []string{"hottest", "functions cost", "Findings", "requests", "by package", "/import/path/"} {
		if strings.Contains(got, not) {
			t.Errorf("the overview says %q: %s", not, got)
		}
	}
	for _, want := range []string{"most is held by", "shop.queue", "Held by", "what objects take by themselves"} {
		if !strings.Contains(got, want) {
			t.Errorf("the overview does not say %q: %s", want, got)
		}
	}

	// Bars are beside the first line of a row, and names are short, with the whole of them as a title.
	for _, width := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(width, 844))
		p.visit("/holders")
		got := eval[struct {
			Tall, Low, Untitled int
			Text                string
		}](p, `(() => {
			const n = { Tall: 0, Low: 0, Untitled: 0, Text: document.querySelector("main").innerText };
			for (const row of document.querySelectorAll(".groups tbody tr")) {
				if (row.getBoundingClientRect().height > 150) n.Tall++;
				const bar = row.querySelector(".bar").getBoundingClientRect();
				if (bar.bottom - row.getBoundingClientRect().top > 22) n.Low++;
				for (const name of row.querySelectorAll("a")) if (!name.title.includes(new URL(name.href).searchParams.get("tag").replace("holder=^", "").replace("$", "").replaceAll("\\", ""))) n.Untitled++;
			}
			return n;
		})()`)
		if got.Tall > 0 || got.Low > 0 || got.Untitled > 0 || strings.Contains(got.Text, "/import/path/") || strings.Count(got.Text, ".buf []uint8") == 0 {
			t.Errorf("%d wide, rows are %+v", width, got)
		}
		p.fits("/holders")
	}

	// A name leads to what it holds with others, too.
	p.click(".groups a", "shop.queue")
	p.wait(`location.pathname === "/flame"`)
	p.settled()
	if got := p.text("main"); strings.Contains(got, "No samples match") || p.colors() < 3 {
		t.Errorf("the flame graph of a holder is blank: %.300s", got)
	}
}
