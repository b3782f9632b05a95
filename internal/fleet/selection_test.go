package fleet

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// Profiles of one kind that cannot be added up, or that are of another kind than their sender said, leave other kinds readable.
func TestOneKindUnreadable(t *testing.T) {
	b := newBench(t)
	for _, u := range []struct{ kind, raw string }{
		{"goroutine", "goroutine profile: total 1\n1 @ 0x1 0x2\n#\t0x1\tmain.work+0x1\t/src/main.go:7\n"},
		{"threadcreate", "threadcreate profile: total 1\n1 @ 0x1 0x2\n"},
		{"threadcreate", "main;work 3\n"}, // counts samples
		{"mutex", "goroutine profile: total 1\n1 @ 0x1 0x2\n"},
	} {
		out, err := b.Add(t.Context(), "shop", []*store.Upload{{Service: "odd", Kind: u.kind, Start: b.now, End: b.now, Raw: []byte(u.raw)}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out[0].Err)
		}
	}
	q := store.Query{Tenant: "shop", Selector: store.Service("odd"), From: b.now, To: b.now.Add(time.Second)}
	got, err := b.selected(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if kinds := slices.Sorted(maps.Keys(got.profiles)); !slices.Equal(kinds, []string{"goroutine", "threadcreate"}) {
		t.Errorf("there are profiles of %v, want goroutine and threadcreate", kinds)
	}
	if l := got.manifest.Fleet["threadcreate"]; l.Profiles != 1 || l.Processes != 1 || len(l.Notes) != 1 {
		t.Errorf("of threads there is %+v, want one profile of one process, and a note", l)
	}
	notes := strings.Join(got.manifest.Notes, "\n")
	for _, want := range []string{
		"threadcreate: 1 profile of odd left out: the metrics are samples (count), and those of the other profiles threadcreate (count)",
		"mutex: 1 profile of odd left out: stored as mutex, but the sample types are goroutine, of kind goroutine",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are %q, want %q", notes, want)
		}
	}
}

// A selection of processes that were profiled for different parts of their time says so, in the report and in its notes. One of processes that were
// profiled alike says nothing, also if some ran for a part of the time only.
func TestUneven(t *testing.T) {
	b := newBench(t)
	for service, seconds := range map[string][2]int{"uneven": {30, 10}, "even": {12, 10}} {
		for i, n := range seconds {
			for minute := range 20 {
				if service == "even" && i == 0 && minute < 10 {
					continue
				}
				began := b.now.Add(time.Duration(minute-20) * time.Minute)
				raw := fmt.Sprintf("main.work %d\n", n)
				u := &store.Upload{Service: service, Kind: "cpu", Start: began, End: began.Add(time.Duration(n) * time.Second), Raw: cpuProfile(t, raw, time.Duration(n)*time.Second),
					Row: store.NewLabels(store.Label{Name: "instance", Value: string(rune('a' + i))})}
				if out, err := b.Add(t.Context(), "shop", []*store.Upload{u}); err != nil || out[0].Err != nil {
					t.Fatal(err, out)
				}
			}
		}
	}
	ask := func(selector, verb string) (report.Head, string) {
		at, err := store.ParseRef(selector+"@-15m", b.now)
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.selected(t.Context(), store.Query{Tenant: "shop", Selector: at.Selector, From: at.From, To: at.To})
		if err != nil {
			t.Fatal(err)
		}
		rec, metric, err := recording.Made("store:"+selector, out.manifest, out.profiles).Pick("", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := profileview.Top([]*recording.Recording{rec}, query.Query{View: verb, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := render.Text(&text, answer, render.Options{}); err != nil {
			t.Fatal(err)
		}
		return answer.(*report.Top).Head, text.String()
	}
	head, text := ask("uneven", "top")
	const want = "samples of all processes are added up, and a of uneven was profiled for 50% of its time, but b of uneven for 16.7%: the same CPU time counts 3 times as much in the first"
	if u := head.Uneven; u == nil || u.Most.Process != "a" || u.Least.Process != "b" || math.Abs(u.Most.Share-0.5) > 0.01 || math.Abs(u.Least.Share-1.0/6) > 0.01 || !strings.Contains(text, want) {
		t.Errorf("of processes that are profiled unevenly it says %+v:\n%s", u, text)
	}
	for _, selector := range []string{"even", `uneven{instance="a"}`} {
		if head, text := ask(selector, "top"); head.Uneven != nil || strings.Contains(text, "added up") {
			t.Errorf("of %s it says %+v:\n%s", selector, head.Uneven, text)
		}
	}
}

// cpuProfile returns a CPU profile of one function, with 100 samples for each second that it costs.
func cpuProfile(t *testing.T, folded string, took time.Duration) []byte {
	t.Helper()
	p, err := profile.Parse(strings.NewReader(folded))
	if err != nil {
		t.Fatal(err)
	}
	h := p.Header
	h.SampleTypes, h.DurationNanos = []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, int64(took)
	var raw bytes.Buffer
	if err := p.MapValues(func(_ int, v int64) int64 { return v * 1e9 }).WithHeader(h).Write(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}
