package notice

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// TestDeployInsideAStep has a service of two processes, which are replaced in the middle of a step, one seven seconds after the other. The new version needs 1.24 cores in place of one.
func TestDeployInsideAStep(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	deploy := at.Add(93 * time.Minute)
	s := storetest.NewMemory()
	now := at.Add(3 * time.Hour)
	s.Now = func() time.Time { return now }
	var all []*store.Upload
	for m := range 3 * 60 {
		start := at.Add(time.Duration(m) * time.Minute)
		version, work := "v1", int64(3e9)
		if !start.Before(deploy) {
			version, work = "v2", 4.2e9
		}
		for i, instance := range []string{"a", "b"} {
			b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: 10e9, PeriodType: profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7})
			b.Functions = []profile.Function{{Name: "main.main", File: "main.go"}, {Name: "main.work", File: "main.go"}, {Name: "main.rest", File: "main.go"}}
			for f := range uint32(3) {
				b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: f, Line: 2}}})
			}
			b.Add([]uint32{1, 0}, 0, []int64{work})
			b.Add([]uint32{2, 0}, 0, []int64{2e9})
			b.Renumber()
			p, err := b.Profile()
			if err != nil {
				t.Fatal(err)
			}
			var raw bytes.Buffer
			if err := p.Write(&raw); err != nil {
				t.Fatal(err)
			}
			begin := start.Add(time.Duration(7*i) * time.Second)
			all = append(all, &store.Upload{
				Service: "syn", Kind: recording.CPU, Start: begin, End: begin.Add(10 * time.Second), Raw: raw.Bytes(),
				Labels: store.NewLabels(store.Label{Name: "version", Value: version}), Row: store.NewLabels(store.Label{Name: "instance", Value: instance}),
			})
		}
	}
	out, err := s.Add(t.Context(), "t", all)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	events := openEvents(t)
	n := New(Options{Store: s, Events: events, Now: s.Now})
	if err := n.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := n.tenants["t"].services["syn"]
	m := of.memories[recording.CPU]
	for _, st := range m.steps {
		if math.Abs(st.Processes-2) > 1e-9 {
			t.Errorf("in the step of %v there are %v processes, want 2", st.Time, st.Processes)
		}
	}
	for _, c := range []struct {
		from, to time.Duration
		want     float64
	}{{0, 90 * time.Minute, 1}, {90 * time.Minute, 95 * time.Minute, (180*0.5 + 187*0.5 + 120*0.62 + 113*0.62) / 300}, {95 * time.Minute, 3 * time.Hour, 1.24}, {97 * time.Minute, 99 * time.Minute, 1.24}} {
		x, err := n.side(context.Background(), of, recording.CPU, m, store.Service("syn"), at.Add(c.from), at.Add(c.to))
		if err != nil {
			t.Fatal(err)
		}
		if got := x.costs.total() * x.second / 1e9; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("from %v to %v, the service costs %v cores, want %v", c.from, c.to, got, c.want)
		}
	}
	told, _ := events.List(event.Filter{Tenant: "t", Kinds: []event.Kind{event.Changed}})
	for _, e := range told {
		if e.Change.Source != event.Code || e.Change.After.Value > 0.85e9 {
			t.Errorf("%s: %+v was noticed", e.Change.Source, e.Change)
		}
	}
}
