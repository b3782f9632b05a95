package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/store"
)

// counted is a store that counts what is added to it.
type counted struct {
	store.Store
	stored, repeated, refused, failed, bytes atomic.Int64
}

func (c *counted) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	out, err := c.Store.Add(ctx, tenant, uploads)
	if err != nil {
		c.failed.Add(int64(len(uploads)))
		return out, err
	}
	for i, o := range out {
		switch {
		case o.Err != nil:
			c.refused.Add(1)
		case o.Repeated:
			c.repeated.Add(1)
		default:
			c.stored.Add(1)
			c.bytes.Add(int64(len(uploads[i].Raw)))
		}
	}
	return out, nil
}

// Add adds uploads to the store, as those do that are received.
func (s *Server) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	return s.counted.Add(ctx, tenant, uploads)
}

// A sized store knows what it takes of the disk.
type sized interface {
	// Sizes returns the bytes of what is stored, and of what waits to be.
	Sizes() (stored, waiting int64)
}

// metrics answers Prometheus.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request, _ string) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := bufio.NewWriter(w)
	metric := func(name, kind, help string, values ...any) {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for i := 0; i+1 < len(values); i += 2 {
			fmt.Fprintf(out, "%s%s %d\n", name, values[i], values[i+1])
		}
	}
	c := s.counted
	metric("hone_profiles_total", "counter", "Profiles that came in, by what became of them.",
		`{outcome="stored"}`, c.stored.Load(), `{outcome="repeated"}`, c.repeated.Load(), `{outcome="refused"}`, c.refused.Load(), `{outcome="failed"}`, c.failed.Load())
	metric("hone_profile_bytes_total", "counter", "Bytes of profiles that were stored, as they came in.", "", c.bytes.Load())
	if st, ok := c.Store.(sized); ok {
		stored, waiting := st.Sizes()
		metric("hone_store_bytes", "gauge", "Bytes of the store on the disk.", `{part="stored"}`, stored, `{part="log"}`, waiting)
	}
	if s.Shelf != nil {
		metric("hone_shelf_bytes", "gauge", "Bytes of recordings on the shelf.", "", s.Shelf.Size())
	}
	if s.Scraper != nil {
		status := s.Scraper.Status()
		up := map[scrape.Health]int{}
		for _, t := range status.Targets {
			for _, p := range t.Profiles {
				up[p.Health]++
			}
		}
		var values []any
		for _, h := range []scrape.Health{scrape.Up, scrape.Down, scrape.Unknown} {
			values = append(values, "{health="+strconv.Quote(string(h))+"}", up[h])
		}
		metric("hone_scrape_profiles", "gauge", "Profiles that targets are asked for, by whether the last attempt gave one.", values...)
	}
	return out.Flush()
}
