package storetest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A Held is processes of a service that hold the same number of goroutines each.
type Held struct {
	Version    string
	Instances  int
	From       time.Duration // since the start of the day
	To         time.Duration
	Every      time.Duration
	Goroutines int64
	Late       time.Duration // that a profile comes at most after its time
}

// levels are what services of a store hold, and how many processes that is on average.
var levels = []struct {
	Service   string
	Held      []Held
	Level     int64
	Processes float64
}{
	{"one", []Held{{"v1", 2, 3 * time.Hour, 4 * time.Hour, time.Minute, 100, 0}}, 200, 2},
	{"side-by-side", []Held{
		{"v1", 1, 3 * time.Hour, 4 * time.Hour, time.Minute, 100, 0}, {"v2", 1, 3 * time.Hour, 4 * time.Hour, time.Minute, 100, 0},
		{"v3", 2, 3 * time.Hour, 4 * time.Hour, time.Minute, 50, 0},
	}, 300, 4},
	{"replaced", []Held{
		{"v1", 1, 3 * time.Hour, 3*time.Hour + 30*time.Minute, time.Minute, 100, 0}, {"v2", 1, 3*time.Hour + 30*time.Minute, 4 * time.Hour, time.Minute, 100, 0},
	}, 100, 1},
	{"one-more-often", []Held{{"v1", 1, 3 * time.Hour, 4 * time.Hour, 10 * time.Second, 100, 0}, {"v2", 1, 3*time.Hour + 30*time.Second, 4*time.Hour + 30*time.Second, time.Minute, 300, 0}}, 400, 2},
	{"one-version-more-often", []Held{{"v1", 1, 3 * time.Hour, 4 * time.Hour, 10 * time.Second, 100, 0}, {"v1", 2, 3*time.Hour + 30*time.Second, 4*time.Hour + 30*time.Second, time.Minute, 300, 0}}, 700, 3},
	{"slower-later", []Held{{"v1", 1, 3 * time.Hour, 3*time.Hour + 30*time.Minute, 10 * time.Second, 100, 0}, {"v1", 1, 3*time.Hour + 30*time.Minute, 4 * time.Hour, 5 * time.Minute, 500, 0}}, 300, 1},
	{"a-few-lost", []Held{
		{"v1", 1, 3 * time.Hour, 3*time.Hour + 30*time.Minute, time.Minute, 100, 0}, {"v1", 1, 3*time.Hour + 32*time.Minute, 4 * time.Hour, time.Minute, 200, 0}, {"v2", 1, 3 * time.Hour, 4 * time.Hour, time.Minute, 10, 0},
	}, 157, 2},
	{"late", []Held{{"v1", 10, 3 * time.Hour, 4 * time.Hour, time.Minute, 100, 50 * time.Second}}, 1000, 10},
	{"all-day", []Held{{"v1", 1, 0, 24 * time.Hour, 10 * time.Minute, 100, 0}, {"v2", 1, 12 * time.Hour, 24 * time.Hour, 10 * time.Minute, 40, 0}}, 120, 1.5},
}

// Levels asks what services of several versions hold, before and after what settle does, which makes sums of the profiles or does what else should change
// nothing.
func Levels(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store, settle ...func(t *testing.T, s store.Store)) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, func() time.Time { return day.Add(24 * time.Hour) })
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	ctx := context.Background()
	var all []*store.Upload
	for _, l := range levels {
		for _, h := range l.Held {
			for i := range h.Instances {
				for at := h.From; at < h.To; at += h.Every {
					all = append(all, h.upload(t, l.Service, h.instance(i), day.Add(at+h.late(at, i)+time.Duration(i)*time.Second)))
				}
			}
		}
	}
	out, err := s.Add(ctx, "main", all)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	ask := func(when string) {
		t.Helper()
		for _, l := range levels {
			q := store.Query{Tenant: "main", Selector: store.Service(l.Service), Kind: "goroutine", From: day, To: day.Add(24 * time.Hour)}
			merged, err := s.Merge(ctx, q)
			if err != nil {
				t.Fatalf("%s, %s: %v", when, l.Service, err)
			}
			if got := total(merged.Profile, 0); !near(float64(got), float64(l.Level)) {
				t.Errorf("%s, %s: %d goroutines, want %d", when, l.Service, got, l.Level)
			}
			q.Means = true
			lines, err := s.Totals(ctx, q, 1000*time.Hour, nil)
			if err != nil || len(lines) != 1 || len(lines[0].Points) != 1 || len(lines[0].Means) != 1 {
				t.Fatalf("%s, %s: %+v, %v, want one point", when, l.Service, lines, err)
			}
			p := lines[0].Points[0]
			if !near(float64(p.Values[0]), float64(l.Level)) {
				t.Errorf("%s, %s: %d goroutines in all of the time, want %d", when, l.Service, p.Values[0], l.Level)
			}
			m := lines[0].Means[0]
			if n := m.Alive.Seconds() / m.Ran.Seconds(); !near(n, l.Processes) {
				t.Errorf("%s, %s: %v processes, want %v", when, l.Service, n, l.Processes)
			}
			if v := m.Values[0] / m.Ran.Seconds(); !near(v, float64(l.Level)) {
				t.Errorf("%s, %s: %v goroutines while there were processes, want %d", when, l.Service, v, l.Level)
			}
		}
	}
	ask("as they came in")
	for i, do := range settle {
		do(t, s)
		ask(fmt.Sprint("after step ", i))
	}
}

// instance returns the name of a process. Those that are sampled at times of their own are others.
func (h *Held) instance(i int) string {
	return fmt.Sprint(h.Version, "-", i, "-", h.From%time.Minute)
}

// late returns how late a profile comes, which is as good as random.
func (h *Held) late(at time.Duration, i int) time.Duration {
	if h.Late == 0 {
		return 0
	}
	return time.Duration(int(at/h.Every)*7+i*13) * time.Second % h.Late
}

// near reports whether a mean is right, but for a round more or less of a hundred.
func near(got, want float64) bool { return math.Abs(got-want) <= want/100 }

// upload returns the profile of a process.
func (h *Held) upload(t *testing.T, service, instance string, at time.Time) *store.Upload {
	t.Helper()
	b := profile.NewBuilder(profile.Header{
		SampleTypes: []profile.ValueType{{Type: "goroutine", Unit: "count"}}, PeriodType: profile.ValueType{Type: "goroutine", Unit: "count"}, Period: 1,
		TimeNanos: at.UnixNano(),
	})
	b.Functions = []profile.Function{{Name: "main.wait", File: "main.go", StartLine: 1}}
	b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 2}}}}
	b.Add([]uint32{0}, 0, []int64{h.Goroutines})
	return &store.Upload{
		Service: service, Kind: "goroutine", Start: at, End: at, Raw: written(t, b),
		Labels: store.NewLabels(store.Label{Name: "version", Value: h.Version}), Row: store.NewLabels(store.Label{Name: "instance", Value: instance}),
	}
}

// rates asks how long values of profiles grew, which is what makes rates of them.
func rates(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	p := newPair(t, open, func() time.Time { return day.Add(time.Hour) })
	heap := []profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}
	ticks := []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}
	for _, test := range []struct {
		service, kind  string
		types          []profile.ValueType
		counters       bool
		took, duration time.Duration
		grown, covered time.Duration
	}{
		{service: "counters", kind: "heap", types: heap, counters: true, grown: 3 * time.Minute},
		{service: "deltas", kind: "heap", types: heap, took: 15 * time.Second, grown: time.Minute},
		{service: "deltas-without-end", kind: "heap", types: heap, grown: 3 * time.Minute},
		{service: "deltas-with-duration", kind: "heap", types: heap, took: 15 * time.Second, duration: 10 * time.Second, covered: 40 * time.Second},
		{service: "cpu", kind: "cpu", types: ticks, took: 10 * time.Second, grown: 40 * time.Second},
		{service: "cpu-without-end", kind: "cpu", types: ticks},
		{service: "goroutines", kind: "goroutine", types: []profile.ValueType{{Type: "goroutine", Unit: "count"}}, took: 15 * time.Second},
	} {
		var all []*store.Upload
		for i := range 4 {
			at := day.Add(time.Duration(i) * time.Minute)
			b := profile.NewBuilder(profile.Header{SampleTypes: test.types, DurationNanos: int64(test.duration)})
			values := []int64{1 << 20, 1 << 20}
			if test.counters {
				values[0] *= int64(i)
			}
			b.Add(nil, 0, values[:len(test.types)])
			all = append(all, &store.Upload{Service: test.service, Kind: test.kind, Start: at, End: at.Add(test.took), Counters: test.counters, Raw: written(t, b)})
		}
		p.add("main", all...)
		q := store.Query{Tenant: "main", Selector: store.Service(test.service), Kind: test.kind, From: day, To: day.Add(time.Hour)}
		p.ask(test.service, q)
		q.Fold = store.Natural
		lines, err := p.got.Totals(context.Background(), q, 1000*time.Hour, nil)
		if err != nil || len(lines) != 1 || len(lines[0].Points) != 1 {
			t.Fatalf("%s: %+v, %v, want one point", test.service, lines, err)
		}
		if got := lines[0].Points[0]; got.Grown != test.grown || got.Covered != test.covered {
			t.Errorf("%s: values grew for %v, and %v are covered; want %v and %v", test.service, got.Grown, got.Covered, test.grown, test.covered)
		}
	}
}
