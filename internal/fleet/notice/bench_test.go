package notice_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/notice"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// BenchmarkServiceHour looks at an hour of CPU and heap profiles, of about 117 kB, of ten processes of a service, once a minute each.
func BenchmarkServiceHour(b *testing.B) {
	ctx := context.Background()
	fleet := storetest.Like117kB()
	fleet.Instances, fleet.Rounds = 10, 60
	now := fleet.Start.Add(64 * time.Minute)
	s, err := disk.Open(b.TempDir(), disk.Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	fleet.Uploads(func(u *store.Upload) bool {
		_, err = s.Add(ctx, "t", []*store.Upload{u})
		return err == nil
	})
	if err == nil {
		err = s.Flush()
	}
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		events, err := event.Open(filepath.Join(b.TempDir(), "events.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		n := notice.New(notice.Options{Store: s, Events: events, Now: func() time.Time { return now }})
		if err := n.Look(ctx); err != nil {
			b.Fatal(err)
		}
		events.Close()
	}
}
