package web_test

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/web"
)

// TestPageMetricByAnyName holds that the header shows the metric that is looked at, by whichever name a link asks for it,
// with the samples of that metric.
func TestPageMetricByAnyName(t *testing.T) {
	const shown = `document.querySelector(".pick.narrow select").selectedOptions[0]?.textContent ?? ""`
	p := open(t, serveRecordings(t, web.Recorded(t)), 1280, 800)
	for _, c := range []struct{ query, metric, headline string }{
		{"", "cpu", "50ns · 2s long · 5 samples"},
		{"?metric=samples", "cpu:samples", "5 · 2s long · 2 stacks"},
		{"?metric=delay", "block", "100ns · 2s long · 1 stack"},
		{"?metric=block:delay", "block", "100ns · 2s long · 1 stack"},
		{"?metric=mutex:delay", "mutex", "200ns · 2s long · 1 stack"},
		{"?metric=mutex:contentions", "mutex:contentions", "1 · 2s long · 1 stack"},
	} {
		p.visit("/overview" + c.query)
		if got := eval[string](p, shown); got != c.metric {
			t.Errorf("%q shows the metric %q, want %q", c.query, got, c.metric)
		}
		if got := p.text(".headline-text"); got != c.headline {
			t.Errorf("%q has the headline %q, want %q", c.query, got, c.headline)
		}
		if got := p.text(".choices [aria-current]"); got != c.metric {
			t.Errorf("%q marks %q among the metrics, want %q", c.query, got, c.metric)
		}
	}

	// A number stands for a sample type of a profile.
	p = open(t, serve(t, kinds(t)["heap"]), 1280, 800)
	p.visit("/top?metric=0")
	if got := eval[string](p, shown); got != "alloc objects" {
		t.Errorf("metric=0 of a heap profile shows %q", got)
	}
	if got := p.text(".headline-text"); !strings.HasSuffix(got, " stacks") {
		t.Errorf("metric=0 has the headline %q", got)
	}
}
