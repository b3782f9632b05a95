package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// loadRun is a load run of which nothing but the requests was recorded.
func loadRun() *recording.Recording {
	l := &latency.Log{
		Format: latency.Format, Target: "http://localhost:8080/pad", Method: "GET", Engine: "epoll", Rate: 100, Conns: 2,
		Took: 4 * time.Second, Counts: latency.Counts{
			Asked: 400, Sent: 400, Answered: 390, Good: 380, Status: map[int]int64{200: 380, 500: 10}, Errors: map[latency.Cause]int64{latency.Reset: 10},
		},
	}
	for i := range 390 {
		l.Service.Add(time.Duration(i+1) * time.Millisecond)
		l.Response.Add(time.Duration(2*i+2) * time.Millisecond)
	}
	for i := range 4 {
		l.Rows = append(l.Rows, latency.Row{
			From: time.Duration(i) * time.Second, For: time.Second, Sent: 100, Answered: 97, Good: 95, Errors: 3,
			Mean: 3e6, P50: 2e6, P90: 4e6, P99: 5e6, Max: 9e6,
		})
	}
	rec := recording.LoadRun.Of("load.hone", l)
	rec.Profile, rec.Manifest = &profile.Profile{}, &recording.Manifest{Format: recording.Format, How: recording.Loaded}
	return rec
}

// A load run is shown by the second and by percentile, and so is what came of requests.
func TestPageLoad(t *testing.T) {
	p := open(t, serveRecordings(t, loadRun()), 1280, 800)
	p.visit("/load")
	if got := p.text(".percents"); !strings.HasPrefix(got, "50%") || !strings.Contains(got, "99%") {
		t.Errorf("below the percentiles there is %q", got)
	}
	got := strings.Join(eval[[]string](p, `[...document.querySelectorAll("main tr, .main tr")].map((tr) => [...tr.cells].map((c) => c.innerText).join("|"))`), "\n")
	for _, want := range []string{"50%|195.04ms|390.07ms|", "380|95.00%|status 200", "10|2.50%|status 500", "10|2.50%|connection reset"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q of\n%s", want, got)
		}
	}
	painted := eval[[]int](p, `[...document.querySelectorAll("canvas")].map((c) => {
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const seen = new Set();
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
		return seen.size;
	})`)
	if len(painted) != 4 {
		t.Errorf("there are %d canvases, want latency, answers, their times, and percentiles", len(painted))
	}
	for i, n := range painted {
		if n < 2 {
			t.Errorf("canvas %d has %d colors", i, n)
		}
	}
	if tab := p.text(".tabs [aria-current]"); !strings.Contains(tab, "Load") {
		t.Errorf("the tab is %q", tab)
	}
}

func TestPageLoadAccessibility(t *testing.T) {
	p := open(t, serveRecordings(t, loadRun()), 390, 844)
	p.visit("/load")
	if over := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		t.Errorf("it is %d pixels wider than the screen", over)
	}
	p.accessible("load", "html")
}
