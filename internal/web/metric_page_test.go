package web_test

import (
	"fmt"
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

// TestPageSwitch holds that another recording is shown in the same view and by the same metric only if it has them.
func TestPageSwitch(t *testing.T) {
	leaky := web.Leaky(t)
	leaky.Ref = "leaky.hone"
	p := open(t, serveRecordings(t, traced(t), web.Recorded(t), leaky), 1280, 800)
	for _, c := range []struct {
		from string
		to   int // number of a recording
		want string
	}{
		{"/trace", 1, "/overview"},
		{"/flame?metric=blocked&focus=main", 1, "/flame?focus=main"},
		{"/flame?ref=1&metric=mutex", 0, "/flame"},
		{"/flame?ref=1&metric=cpu", 2, "/flame?metric=cpu"},
		{"/goroutines?ref=2&metric=cpu", 1, "/overview?metric=cpu"},
		{"/mem?ref=2", 0, "/overview"},
	} {
		refs := eval[[]string](p, `[...document.querySelector(".pick select").options].map((o) => o.value)`)
		from := strings.NewReplacer("ref=1", "ref="+refs[1], "ref=2", "ref="+refs[2]).Replace(c.from)
		p.visit(from)
		eval[bool](p, fmt.Sprintf(`(() => {
			const s = document.querySelector(".pick select");
			s.value = %q;
			return s.dispatchEvent(new Event("change", { bubbles: true }));
		})()`, refs[c.to]))
		p.wait(fmt.Sprintf(`new URLSearchParams(location.search).get("ref") === %q`, refs[c.to]))
		p.settled()
		got := eval[string](p, `(() => { const q = new URLSearchParams(location.search); q.delete("ref"); return location.pathname + (q.size ? "?" + q : ""); })()`)
		if problem := p.text(".problem"); got != c.want || problem != "" {
			t.Errorf("from %s, recording %d is shown at %s, want %s; %s", from, c.to, got, c.want, problem)
		}
	}
}
