package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// BenchmarkFlame asks for the flame graph of an hour, as Grafana does.
func BenchmarkFlame(b *testing.B) {
	f := storetest.Like117kB()
	f.Rounds = 61
	now := f.Start.Add(2 * time.Hour)
	s, err := disk.Open(b.TempDir(), disk.Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	tokens, err := token.Open(filepath.Join(b.TempDir(), "tokens.json"))
	if err != nil {
		b.Fatal(err)
	}
	server := New(Options{Store: s, Tokens: tokens, Now: func() time.Time { return now }})
	f.Uploads(func(u *store.Upload) bool {
		_, err = s.Add(context.Background(), token.DefaultTenant, []*store.Upload{u})
		return err == nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	for kind, id := range map[string]string{"cpu": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "heap": "memory:inuse_space:bytes:space:bytes"} {
		body := fmt.Sprintf(`{"profile_typeID":%q,"label_selector":"{service_name=\"service-0\"}","start":%d,"end":%d,"max_nodes":8192}`,
			id, f.Start.Truncate(time.Hour).UnixMilli(), f.Start.Truncate(time.Hour).Add(time.Hour).UnixMilli())
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/querier.v1.QuerierService/SelectMergeStacktraces", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
