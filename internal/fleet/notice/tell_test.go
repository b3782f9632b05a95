package notice

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// TestCollectorIsListedWithItsCause tells that a function allocates more, and that the collector does more.
func TestCollectorIsListedWithItsCause(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		share float64       // of what is allocated
		later time.Duration // than that, the collector
		want  int           // events
	}{
		{"allocates more", 0.2, 5 * time.Minute, 1},
		{"allocates less", -0.2, 5 * time.Minute, 2},
		{"long before", 0.2, 3 * time.Hour, 2},
	} {
		events := openEvents(t)
		n := New(Options{Events: events})
		m := newMemory(1)
		change := func(kind, column, function string, source event.Source, at time.Time, share float64) {
			e := event.Event{Tenant: "t", Kind: event.Changed, Service: "api", Time: at, Change: &event.Change{
				Kind: kind, Type: profile.ValueType{Type: column}, Function: function, Source: source,
				Before: event.Cost{Value: 1}, After: event.Cost{Value: 1 + share}, Share: share,
			}}
			if err := n.add(e, nil, m); err != nil {
				t.Fatal(err)
			}
		}
		change(recording.Heap, "alloc_space", "main.read", event.Code, at, test.share)
		change(recording.CPU, "cpu", collector, event.Mix, at.Add(test.later), 0.1)
		all, _ := events.List(event.Filter{Tenant: "t"})
		if len(all) != test.want {
			t.Errorf("%s: %d events, want %d: %+v", test.name, len(all), test.want, all)
			continue
		}
		if test.want == 1 && !slices.Contains(all[0].Change.With, collector) {
			t.Errorf("%s: the collector is not listed with %+v", test.name, *all[0].Change)
		}
	}
}

// TestOneCauseOfTwoKinds tells what allocates more and then costs more as one event, in that order, and again after a restart.
func TestOneCauseOfTwoKinds(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	events := openEvents(t)
	m := newMemory(1)
	caller := m.names.id(&profile.Function{Name: "main.discount"})
	change := func(kind, column, function string, later time.Duration, share float64) {
		t.Helper()
		e := event.Event{Tenant: "t", Kind: event.Changed, Service: "shop", Time: at.Add(later), Change: &event.Change{
			Kind: kind, Type: profile.ValueType{Type: column, Unit: "bytes"}, Function: function, Source: event.Code,
			Before: event.Cost{Value: 1}, After: event.Cost{Value: 1 + share}, Share: share,
		}}
		if err := New(Options{Events: events}).add(e, map[int32]bool{caller: true}, m); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		change(recording.Heap, "alloc_space", "main.discount", 0, 0.8)
		change(recording.Heap, "alloc_space", "main.discount", 5*time.Minute, 0.8)
		change(recording.CPU, "cpu", "regexp.MustCompile", 5*time.Minute, 0.5) // which discount calls
	}
	all, _ := events.List(event.Filter{Tenant: "t"})
	if len(all) != 1 || all[0].Change.Function != "regexp.MustCompile" || len(all[0].Change.Also) != 1 || all[0].Change.Also[0].Function != "main.discount" {
		t.Fatalf("%d events: %+v", len(all), all)
	}
	change(recording.Heap, "alloc_space", "regexp.compile", 5*time.Minute, 0.8) // as after a restart: it explains what discount allocates
	if all, _ := events.List(event.Filter{Tenant: "t"}); len(all) != 1 {
		t.Errorf("what allocates more is told again: %+v", all[1].Change)
	}
	change(recording.CPU, "cpu", "main.other", 0, 0.2)
	change(recording.CPU, "cpu", "main.discount", 3*time.Hour, 0.2)
	if all, _ := events.List(event.Filter{Tenant: "t"}); len(all) != 3 {
		t.Errorf("other changes are not told: %d events", len(all))
	}
}

// TestOneCauseOfTwoKindsInAnyOrder has the CPU time told first, as where a version is compared with the one before it.
func TestOneCauseOfTwoKindsInAnyOrder(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	events := openEvents(t)
	m := newMemory(1)
	for _, kind := range []string{recording.CPU, recording.Heap, recording.CPU, recording.Heap} {
		function := map[string]string{recording.CPU: "regexp.MustCompile", recording.Heap: "main.discount"}[kind]
		e := event.Event{Tenant: "t", Kind: event.Changed, Service: "shop", Time: at, Change: &event.Change{
			Kind: kind, Type: profile.ValueType{Type: kind}, Function: function, Source: event.Code, With: []string{"regexp.MustCompile"},
			After: event.Cost{Value: 1}, Share: 0.5,
		}}
		if err := New(Options{Events: events}).add(e, nil, m); err != nil {
			t.Fatal(err)
		}
	}
	all, _ := events.List(event.Filter{Tenant: "t"})
	if len(all) != 1 || all[0].Change.Kind != recording.CPU || len(all[0].Change.Also) != 1 || all[0].Change.Also[0].Function != "main.discount" {
		t.Errorf("%d events: %+v", len(all), all)
	}
}

// TestBesideLarge leaves out a small change near a large one.
func TestBesideLarge(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	events := openEvents(t)
	for i, c := range []struct {
		function string
		later    time.Duration
		share    float64
		want     int // events
	}{
		{"main.discount", 0, 0.5, 1}, {"main.discount", 10 * time.Minute, -0.07, 1}, {"main.list", 10 * time.Minute, -0.04, 1}, {"main.read", 10 * time.Minute, 0.06, 2}, {"main.list", time.Hour, -0.04, 3},
	} {
		e := event.Event{Tenant: "t", Kind: event.Changed, Service: "shop", Time: at.Add(c.later), Change: &event.Change{
			Kind: recording.CPU, Type: profile.ValueType{Type: "cpu"}, Function: c.function, Source: event.Code,
			Before: event.Cost{Value: 1}, After: event.Cost{Value: 1 + c.share}, Share: c.share,
		}}
		if err := New(Options{Events: events}).add(e, nil, newMemory(1)); err != nil {
			t.Fatal(err)
		}
		if all, _ := events.List(event.Filter{Tenant: "t"}); len(all) != c.want {
			t.Errorf("after change %d there are %d events, want %d", i, len(all), c.want)
		}
	}
}

func openEvents(t *testing.T) *event.Log {
	t.Helper()
	events, err := event.Open(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	return events
}
