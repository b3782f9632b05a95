package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// restarts asks about processes that were started anew and have allocated more than those before, but less at one place: before and after midnight,
// in one process and in two.
func restarts(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	midnight := time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC)
	p := newPair(t, open, func() time.Time { return midnight.Add(2 * time.Hour) })
	h := profile.Header{SampleTypes: []profile.ValueType{
		{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
	}}
	upload := func(service, pod string, at time.Time, f, g int64) *store.Upload {
		b := profile.NewBuilder(h)
		b.Functions = []profile.Function{{Name: "main.f"}, {Name: "main.g"}}
		b.Locations = []profile.Location{
			{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 3}}}, {Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 1, Line: 4}}},
		}
		b.Add([]uint32{0}, 0, []int64{f, 1000 * f, 1, 1000})
		b.Add([]uint32{1}, 0, []int64{g, 1000 * g, 1, 1000})
		raw := written(t, b)
		return &store.Upload{Service: service, Kind: "heap", Row: store.NewLabels(store.Label{Name: "pod", Value: pod}), Start: at, End: at, Counters: true, Raw: raw}
	}
	for service, from := range map[string]time.Time{"hour": midnight.Add(time.Minute), "hours": midnight.Add(57 * time.Minute), "days": midnight.Add(-3 * time.Minute)} {
		var all []*store.Upload
		for i, v := range [][2]int64{{10, 1000}, {12, 1100}, {2000, 5}, {2001, 9}, {2002, 10}} {
			all = append(all, upload(service, "a", from.Add(time.Duration(i)*90*time.Second), v[0], v[1]))
			all = append(all, upload(service, "b", from.Add(time.Duration(i)*90*time.Second+time.Second), int64(i), int64(2*i)))
		}
		for batch := range slices.Chunk(all, 4) {
			for _, o := range p.add("main", batch...) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
			}
		}
		q := store.Query{Tenant: "main", Selector: store.Service(service), Kind: "heap", From: from, To: from.Add(time.Hour)}
		for _, q.Functions = range []bool{false, true} {
			p.ask(service, q)
			one := q
			one.Selector = mustSelect(t, service+`{pod="a"}`)
			p.ask(service+", one process", one)
		}
		merged, err := p.got.Merge(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		// In process a: what it grew before the restart, what the new one had allocated at first, and what it grew from then on.
		if got, want := total(merged.Profile, 0), int64(2+100+2005+1+4+1+1+4+8); got != want {
			t.Errorf("%s: %d objects were allocated, want %d:\n%s", service, got, want, Dump(merged.Profile))
		}
		for _, v := range merged.Profile.Values(0) {
			if v < 0 {
				t.Errorf("%s: allocations are negative:\n%s", service, Dump(merged.Profile))
			}
		}
	}
}

// sharedLabels asks about two processes that send with the same labels, and about two with their own.
func sharedLabels(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	p := newPair(t, open, func() time.Time { return day.Add(time.Hour) })
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}}
	for service, pods := range map[string][2]string{"same": {"", ""}, "own": {"a", "b"}} {
		var all []*store.Upload
		for i := range 24 {
			b := profile.NewBuilder(h)
			b.Add(nil, 0, []int64{int64(1000 - 900*(i%2) + i), 100})
			at := day.Add(time.Duration(i) * 30 * time.Second)
			all = append(all, &store.Upload{Service: service, Kind: "heap", Row: store.NewLabels(store.Label{Name: "pod", Value: pods[i%2]}), Start: at, End: at, Counters: true, Raw: written(t, b)})
		}
		p.add("main", all...)
		q := store.Query{Tenant: "main", Selector: store.Service(service), Kind: "heap", From: day, To: day.Add(time.Hour)}
		p.ask(service, q)
		merged, err := p.got.Merge(context.Background(), q)
		if err != nil || (merged.Shared != nil) != (service == "same") {
			t.Errorf("%s: %+v, %v", service, merged.Shared, err)
		}
	}
}
