package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
	"github.com/hone-perf/hone/internal/web"
)

// traced is the execution trace of examples/shop, as hone web opens it.
func traced(t *testing.T) *recording.Recording {
	t.Helper()
	f, err := os.Open("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := recording.Execution.ReadAlone("shop.trace", f)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := recording.Execution.In(rec).Open()
	if err != nil {
		t.Fatal(err)
	}
	p, err := requests.Profile(tr, waits.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return rec.WithProfile(p.WithShortNames(), "")
}

// A trace leaves the screen together with its recording.
func TestPageTraceOfAnother(t *testing.T) {
	p := open(t, serveRecordings(t, traced(t), web.Recorded(t)), 1280, 800)
	p.visit("/trace")
	p.wait(`document.querySelector(".lane-row") !== null`)
	// Without CPU samples there is no flame chart of it, which is no mistake of anybody.
	p.visit("/flamechart")
	if got := p.text(".message"); !strings.Contains(got, "No CPU samples in this trace") || !strings.Contains(got, "records both") || p.text(".problem") != "" {
		t.Errorf("the flame chart says %q", got)
	}
	p.visit("/trace")
	p.wait(`document.querySelector(".lane-row") !== null`)
	// No control leads to the trace of a recording without one, but an address does.
	other := eval[string](p, `document.querySelector(".pick option:nth-child(2)").value`)
	eval[bool](p, `(history.pushState(null, "", "/trace?ref=`+url.QueryEscape(other)+`"), dispatchEvent(new PopStateEvent("popstate")))`)
	p.wait(`document.querySelector(".problem") !== null`)
	p.settled()
	if n := eval[int](p, `document.querySelectorAll(".lane-row").length`); n > 0 {
		t.Errorf("%s has no trace, and the page shows %d lanes", other, n)
	}
	p.forgive("422")
}

// A recording with several traces has them to choose from, and stays with the one that was chosen.
func TestPageTraces(t *testing.T) {
	trace, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := recording.Execution.In(traced(t)).Open()
	if err != nil {
		t.Fatal(err)
	}
	tr.Begin()
	for range tr.Events() {
		break // the time of day is known with the first
	}
	dir := t.TempDir()
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Started: time.Unix(0, tr.Wall()).Add(-time.Second)}); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, recording.FlightDir), 0o755)
	for _, ms := range []string{"000001110", "000001180"} {
		if err := os.WriteFile(filepath.Join(dir, recording.FlightDir, ms+".out"), trace, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if rec, _, err = rec.Pick("", 0, 0); err != nil {
		t.Fatal(err)
	}
	p := open(t, serveRecordings(t, rec), 1400, 1000)
	p.visit("/trace")
	p.wait(`document.querySelector(".of-traces b")?.innerText === "1000ms..1180ms"`)
	p.click(".of-traces button", "1000ms..1110ms")
	p.wait(`new URLSearchParams(location.search).get("at") === "1000ms..1110ms"`)
	p.click("button", "Whole trace")
	p.settled()
	if got := eval[string](p, `new URLSearchParams(location.search).get("at") ?? ""`); !strings.HasPrefix(got, "1") {
		t.Errorf("all of the trace that was chosen is at=%q", got)
	}
	p.wait(`!!document.querySelector(".story .requests")?.innerText.includes("165")`)
	p.click(".requests button", "165")
	p.wait(`!!document.querySelector(".story")?.innerText.includes("critical path")`)
}

// A part of a trace that is looked at closer adds up to what it has in the whole.
func TestLanesAtAnyZoom(t *testing.T) {
	first, err := url.Parse(serveRecordings(t, traced(t)))
	if err != nil {
		t.Fatal(err)
	}
	lanes := func(at string) *report.Lanes {
		t.Helper()
		u := *first
		u.Path = "/api/lanes"
		u.RawQuery = "token=" + first.Query().Get("token")
		if at != "" {
			u.RawQuery += "&at=" + at
		}
		resp, err := http.Get(u.String())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("at %s: %s %s %v", at, resp.Status, b, err)
		}
		var l report.Lanes
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		return &l
	}
	active := func(l *report.Lanes) map[string]int64 {
		out := map[string]int64{}
		for _, k := range l.Kinds {
			out[k.Kind] += k.Busy
		}
		return out
	}
	whole := active(lanes(""))
	for _, n := range []int{2, 7} {
		sum := map[string]int64{}
		end := lanes("").Whole
		for i := range n {
			from, to := end*int64(i)/int64(n), end*int64(i+1)/int64(n)
			at := ".."
			if i > 0 {
				at = strconv.FormatInt(from, 10) + "ns.."
			}
			if i < n-1 {
				at += strconv.FormatInt(to, 10) + "ns"
			}
			for kind, v := range active(lanes(at)) {
				sum[kind] += v
			}
		}
		for kind, v := range whole {
			if sum[kind] != v {
				t.Errorf("%s is active for %d ns, in %d parts for %d", kind, v, n, sum[kind])
			}
		}
	}
}

func (p *page) lanes() (left, top, width, height float64) {
	p.t.Helper()
	box := eval[struct{ X, Y, Width, Height float64 }](p,
		`(() => { const r = document.querySelector(".lane-row.times canvas").getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width, Height: r.height }; })()`)
	return box.X, box.Y, box.Width, box.Height
}

// What is in sight on the page of a trace is what all views answer for, and the other way round; a click says what was waited for.
func TestPageTrace(t *testing.T) {
	p := open(t, serveRecordings(t, traced(t)), 1400, 1000)
	p.visit("/overview")
	// It says what there is in a trace, not what costs CPU time.
	p.wait(`!!document.querySelector(".requests")?.innerText.includes("sleep in main.(*shop).refresh")`)
	if got := p.text(".cards"); !strings.Contains(got, "400 requests") || !strings.Contains(got, "Where goroutines waited") {
		t.Errorf("the overview says %q", got)
	}
	if got := p.text("main"); strings.Contains(got, "Findings") {
		t.Errorf("the overview has findings: %q", got)
	}
	p.click(".requests button", "165")
	p.wait(`location.pathname.endsWith("/trace") && document.querySelector(".path") !== null`)
	p.visit("/overview")
	p.visitTab("Trace")
	p.wait(`!!document.querySelector(".story .requests")?.innerText.includes("165")`)
	painted := `[...document.querySelectorAll(".lane-row canvas")].filter((c) => {
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		for (let i = 3; i < d.length; i += 4) if (d[i] > 0) return true;
	}).length`
	if n := eval[int](p, painted); n < 30 {
		t.Errorf("%d lanes are painted", n)
	}
	if got := p.text(".moment"); !strings.Contains(got, "in sight 109.76ms") {
		t.Errorf("at first it says %q", got)
	}

	// Drag to zoom.
	x, y, width, _ := p.lanes()
	p.do(chromedp.DragAndDropXY(x+width*30/109.76, y+8, x+width*52/109.76, y+8))
	p.wait(`/^(29|30)[.\d]*[mu]s\.\.(51|52)[.\d]*[mu]s$/.test(new URLSearchParams(location.search).get("at"))`)
	p.settled()
	p.visitTab("Top")
	if got := p.text("tbody"); !strings.Contains(got, "main.(*shop).price") {
		t.Errorf("the ranking of this time is %q", got)
	}
	// The other way round.
	p.visit("/trace?at=29ms..52ms")
	if got := p.text(".moment"); !strings.Contains(got, "in sight 23ms") || !strings.Contains(got, "29ms to 52ms") {
		t.Errorf("of that part it says %q", got)
	}
	p.wait(`document.querySelector(".headline-text").innerText.endsWith(" · 23ms long")`)
	// Keys.
	p.key("+")
	p.wait(`new URLSearchParams(location.search).get("at") === "34.75ms..46.25ms" || new URLSearchParams(location.search).get("at") === "34750us..46250us"`)
	p.key("]")
	p.wait(`new URLSearchParams(location.search).get("at").startsWith("40")`)
	p.key("-")
	p.key(kb.Escape)
	p.wait(`new URLSearchParams(location.search).get("at") === null`)
	p.settled()

	// A request, and the goroutine that it waited for.
	p.visit("/trace?at=29ms..52ms")
	lane := eval[struct{ X, Y float64 }](p, `(() => { const r = document.querySelector('[data-group="requests"] canvas').getBoundingClientRect(); return { X: r.x + r.width * 0.4, Y: r.y + 5 }; })()`)
	p.do(chromedp.MouseClickXY(lane.X, lane.Y))
	p.wait(`(document.querySelector(".story h2")?.innerText ?? "").startsWith("request ")`)
	p.wait(`document.querySelector(".path") !== null`)
	p.settled()
	if got := p.text(".story"); !strings.Contains(got, "main.(*shop).price") || !strings.Contains(got, "sleep in main.(*shop).refresh") {
		t.Errorf("of the request it says %q", got)
	}
	p.click(".path button", "sleep")
	p.wait(`document.querySelector(".story h2")?.innerText === "goroutine 21"`)
	p.wait(`document.querySelector(".story .stack") !== null`)
	if got := p.text(".story"); !strings.Contains(got, "sleep for 2") || !strings.Contains(got, "main.(*shop).load") || !strings.Contains(got, "ended by the timer") {
		t.Errorf("of the goroutine it says %q", got)
	}
	// Back is undo, and what a link shows is what its sender saw.
	p.back()
	p.wait(`(document.querySelector(".story h2")?.innerText ?? "").startsWith("request ")`)

	// A goroutine is chosen by its name, and with keys. Where it is not there at that time, the page goes to the closest time at which it is: this one
	// has ended after 16ms of 110ms.
	p.visit("/trace?focus=backgroundRead&limit=1000")
	p.click(".lane-name .link", "133 net/http")
	p.wait(`document.querySelector(".story h2")?.innerText === "goroutine 133" && document.querySelector(".story .stack") !== null`)
	p.wait(`location.href.includes("ui.t=")`)
	if at := eval[float64](p, `Number(/ui\.t=(\d+)/.exec(location.href)?.[1])`); at <= 0 || at > 16e6 {
		t.Errorf("it is looked at after %v ns, at which it is gone: %q", at, p.text(".story"))
	}
	p.key(kb.ArrowDown)
	p.wait(`!["goroutine 133", undefined].includes(document.querySelector(".story h2")?.innerText)`)
	p.key(kb.ArrowUp)
	p.wait(`document.querySelector(".story h2")?.innerText === "goroutine 133" && document.querySelector(".story .stack") !== null`)

	// A kind of goroutines alone.
	p.visit("/trace?at=29ms..52ms")
	p.click(".lane-name .link", "main.department")
	p.wait(`document.querySelectorAll('[data-group="goroutines"]').length > 0 && [...document.querySelectorAll('[data-group="goroutines"] .lane-name')].every((n) => n.innerText.includes("main.department"))`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, lane.X, lane.Y))
}

// A trace has its page in any look.
func TestPageTraceDark(t *testing.T) {
	p := open(t, serveRecordings(t, traced(t)), 1400, 1000)
	p.media("", "prefers-color-scheme=dark")
	p.visit("/trace?at=29ms..52ms")
	if n := p.colors(); n < 2 {
		t.Errorf("the lanes have %d colors in the dark", n)
	}
}
