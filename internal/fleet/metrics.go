package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
)

// counted is a store that counts uploads.
type counted struct {
	store.Store

	mu sync.Mutex
	of map[string]*counts // by tenant
}

// counts are the outcomes of a tenant's uploads.
type counts struct{ stored, repeated, refused, failed, bytes atomic.Int64 }

// mostTenants is the maximum number of tenants with their own counts. Others are counted together, as "".
const mostTenants = 1000

// counts returns the counts of a tenant.
func (c *counted) counts(tenant string) *counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]*counts{}
	}
	if c.of[tenant] == nil && len(c.of) >= mostTenants {
		tenant = ""
	}
	if c.of[tenant] == nil {
		c.of[tenant] = &counts{}
	}
	return c.of[tenant]
}

// tenants returns the tenants with counts, sorted.
func (c *counted) tenants() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.of))
}

func (c *counted) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	n := c.counts(tenant)
	out, err := c.Store.Add(ctx, tenant, uploads)
	switch {
	case errors.Is(err, store.ErrFull):
		n.refused.Add(int64(len(uploads)))
		return out, err
	case err != nil:
		n.failed.Add(int64(len(uploads)))
		return out, err
	}
	for i, o := range out {
		switch {
		case o.Err != nil:
			n.refused.Add(1)
		case o.Repeated:
			n.repeated.Add(1)
		default:
			n.stored.Add(1)
			n.bytes.Add(int64(len(uploads[i].Raw)))
		}
	}
	return out, nil
}

// Add adds uploads to the store, and counts them like received ones.
func (s *Server) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	return s.counted.Add(ctx, tenant, uploads)
}

// A sized store knows its size on disk.
type sized interface {
	// Sizes returns the bytes of segments and of the log.
	Sizes() (stored, waiting int64)
}

// labels formats labels for Prometheus, without empty values.
func labels(of ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var out []string
	for i := 0; i+1 < len(of); i += 2 {
		if of[i+1] != "" {
			out = append(out, of[i]+`="`+escape.Replace(strings.ToValidUTF8(of[i+1], "\uFFFD"))+`"`)
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// metrics answers Prometheus: about one tenant or, with an admin token, about all tenants and the server.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, who token.Who) error {
	tenants := []string{who.Tenant}
	all := ofAllTenants(r, who)
	if all {
		tenants = s.counted.tenants()
	}
	if len(tenants) == 0 {
		tenants = []string{who.Tenant}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := bufio.NewWriter(w)
	metric := func(name, kind, help string, values ...any) {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for i := 0; i+1 < len(values); i += 2 {
			fmt.Fprintf(out, "%s%s %v\n", name, values[i], values[i+1])
		}
	}
	c := s.counted
	var profiles, received []any
	for _, t := range tenants {
		n, of := c.counts(t), strings.Trim(labels("tenant", t), "{}")
		profiles = append(profiles, "{"+of+`,outcome="stored"}`, n.stored.Load(), "{"+of+`,outcome="repeated"}`, n.repeated.Load(),
			"{"+of+`,outcome="refused"}`, n.refused.Load(), "{"+of+`,outcome="failed"}`, n.failed.Load())
		received = append(received, "{"+of+"}", n.bytes.Load())
	}
	metric("hone_profiles_total", "counter", "Received profiles, by tenant and outcome.", profiles...)
	metric("hone_profile_bytes_total", "counter", "Bytes of profiles that were stored, as they came in.", received...)
	if s.Rules != nil {
		var values []any
		for _, m := range s.Rules.Measured() {
			if all || m.Tenant == who.Tenant {
				values = append(values, labels("tenant", m.Tenant, "rule", m.Rule, "service", m.Service, "version", m.Version), m.Value)
			}
		}
		if len(values) > 0 {
			metric("hone_rule_value", "gauge", "What a rule measured last: shares and growth as factors, sizes in bytes.", values...)
		}
	}
	if !all {
		return out.Flush()
	}
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
