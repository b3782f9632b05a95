package disk

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// hours is two hours of profiles of a real size.
var hours = sync.OnceValue(func() []*store.Upload {
	f := storetest.Like117kB()
	f.Rounds = 120
	return f.All()
})

func filled(b *testing.B) *Store {
	all := hours()
	now := all[0].Start.Add(3 * time.Hour)
	s, err := Open(b.TempDir(), testOptions(func() time.Time { return now }))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	for _, u := range all {
		c := *u
		if _, err := s.Add(context.Background(), "main", []*store.Upload{&c}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkAdd(b *testing.B) {
	all := hours()
	size := int64(0)
	for _, u := range all {
		size += int64(len(u.Raw))
	}
	b.SetBytes(size)
	for b.Loop() {
		s := filled(b)
		b.ReportMetric(float64(s.size)/float64(len(all)), "B/profile")
		b.ReportMetric(float64(size)/float64(s.size), "smaller")
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(len(all)), "ms/profile")
	}
}

func BenchmarkMerge(b *testing.B) {
	s := filled(b)
	start := hours()[0].Start
	for _, bench := range []struct {
		name, kind string
		from, to   time.Duration
	}{
		{"cpu-hour", "cpu", 0, time.Hour}, {"cpu-part", "cpu", 10 * time.Minute, 40 * time.Minute},
		{"heap-hour", "heap", 0, time.Hour}, {"heap-part", "heap", 10 * time.Minute, 40 * time.Minute},
	} {
		q := store.Query{
			Tenant: "main", Selector: store.Service("service-0"), Kind: bench.kind,
			From: start.Truncate(time.Hour).Add(bench.from), To: start.Truncate(time.Hour).Add(bench.to),
		}
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Merge(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
