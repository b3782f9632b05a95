package querier

import (
	"context"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A ready store has added up all that it is asked for.
type ready struct {
	*storetest.Memory
	m *store.Merged
}

func (r ready) Merge(context.Context, store.Query) (*store.Merged, error) { return r.m, nil }

// BenchmarkFlame is what it takes to make the flame graph of an hour of profiles that are merged.
func BenchmarkFlame(b *testing.B) {
	fleet := storetest.Like117kB()
	fleet.Start, fleet.Rounds, fleet.Kinds = begin, 60, []string{"cpu"}
	all := storetest.NewMemory()
	all.Now = func() time.Time { return end.Add(time.Hour) }
	if _, err := all.Add(context.Background(), "shop", fleet.All()); err != nil {
		b.Fatal(err)
	}
	m, err := all.Merge(context.Background(), store.Query{Tenant: "shop", Kind: "cpu", From: begin, To: begin.Add(2 * time.Hour)})
	if err != nil {
		b.Fatal(err)
	}
	s := New(Options{Store: ready{all, m}})
	c := &call{ctx: context.Background(), tenant: "shop"}
	req := &stacktracesRequest{ProfileTypeID: cpuType, LabelSelector: "{}", Start: begin.UnixMilli(), End: begin.Add(time.Hour).UnixMilli()}
	b.ReportAllocs()
	for b.Loop() {
		t := newTree()
		if err := s.grow(c, t, 0, req, nil); err != nil {
			b.Fatal(err)
		}
		_ = message.Marshal(shown(t, 0, defaultNodes))
	}
}
