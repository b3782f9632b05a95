package notice_test

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/notice"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// TestGrowth has one service leak goroutines in one of two processes, one hold more since it has more to do, and one hold more since a deploy.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("watches services for days")
	}
	ctx := context.Background()
	now := began
	memory := storetest.NewMemory()
	memory.Now = func() time.Time { return now }
	events, err := event.Open(filepath.Join(t.TempDir(), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	start := func() *notice.Noticer {
		return notice.New(notice.Options{Store: memory, Events: events, Now: func() time.Time { return now }})
	}
	n := start()
	add := func(service, kind, version, instance string, costs map[string]float64) {
		t.Helper()
		h := profile.Header{TimeNanos: now.UnixNano()}
		u := &store.Upload{
			Service: service, Kind: kind, Start: now, End: now,
			Labels: store.NewLabels(store.Label{Name: "version", Value: version}), Row: store.NewLabels(store.Label{Name: "instance", Value: instance}),
		}
		types := map[string]profile.ValueType{"cpu": {Type: "cpu", Unit: "nanoseconds"}, "goroutine": {Type: "goroutine", Unit: "count"}, "heap": {Type: "inuse_space", Unit: "bytes"}}
		h.SampleTypes = []profile.ValueType{types[kind]}
		if kind == "cpu" {
			h.DurationNanos, u.End = int64(10*time.Second), now.Add(10*time.Second)
		}
		b := profile.NewBuilder(h)
		for name, v := range costs {
			i := uint32(len(b.Functions))
			b.Functions = append(b.Functions, profile.Function{ID: uint64(i) + 1, Name: name})
			b.Locations = append(b.Locations, profile.Location{ID: uint64(i) + 1, Mapping: profile.NoMapping, Lines: []profile.Line{{Function: i}}})
			b.Add([]uint32{i}, 0, []int64{int64(v)})
		}
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if err := p.Write(&raw); err != nil {
			t.Fatal(err)
		}
		u.Raw = raw.Bytes()
		if out, err := memory.Add(ctx, "t", []*store.Upload{u}); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	run := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ { // steps of five minutes
			now = began.Add(time.Duration(i)*5*time.Minute + time.Minute)
			noise := 1 + 0.05*math.Sin(float64(i))
			wave := (1 + 0.04*float64(i)) * noise // of traffic
			leaked := 20 * float64(i%100)
			version := "v1"
			if i > 30 {
				version = "v2"
			}
			for _, in := range []string{"a", "b"} {
				add("leaky", "cpu", "v1", in, map[string]float64{"main.serve": 1e9 * noise})
				costs := map[string]float64{"main.serve": 300 * noise}
				if in == "b" {
					costs["main.watch"] = leaked
				}
				add("leaky", "goroutine", "v1", in, costs)
				add("steady", "cpu", "v1", in, map[string]float64{"main.serve": 1e9 * wave})
				add("steady", "goroutine", "v1", in, map[string]float64{"main.serve": 1000 * wave})
				add("steady", "heap", "v1", in, map[string]float64{"main.serve": 1e8 * wave})
				add("fresh", "cpu", version, in, map[string]float64{"main.serve": 1e9 * noise})
				add("fresh", "heap", version, in, map[string]float64{"main.cache": 1e8 + 1e7*float64(min(i, 60))})
			}
			now = now.Add(8 * time.Minute)
			if err := n.Look(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	changes := func() []event.Event {
		all, _ := events.List(event.Filter{Tenant: "t", Kinds: []event.Kind{event.Changed}})
		return all
	}
	run(0, 72)
	found := changes()
	if len(found) != 1 || found[0].Service != "leaky" || !found[0].Ended.IsZero() {
		t.Fatalf("%d events: %+v", len(found), found)
	}
	text := found[0].Text()
	if c := found[0].Change; c.Source != event.Growth || c.Function != "main.watch" || c.After.Value < 1.5*c.Before.Value || !strings.HasPrefix(text, "goroutines of leaky grow steadily: ") || !strings.HasSuffix(text, "in one process, most of it in main.watch") {
		t.Errorf("%s: %+v", text, *c)
	}
	n = start() // a restart of the server says nothing twice
	run(72, 100)
	if found := changes(); len(found) != 1 || !found[0].Ended.IsZero() {
		t.Errorf("after a restart: %+v", found)
	}
	run(100, 103) // the process starts again
	if found := changes(); len(found) != 1 || found[0].Ended.IsZero() {
		t.Errorf("it is over: %+v", found)
	}
}
