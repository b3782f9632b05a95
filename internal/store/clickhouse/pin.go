package clickhouse

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Pin implements store.Store.
func (s *Store) Pin(ctx context.Context, q store.Query, pin store.Pin) error {
	pin.Query = q
	b, err := json.Marshal(pin)
	if err != nil {
		return err
	}
	return s.writePin(ctx, q.Tenant, pin.Name, string(b))
}

// Unpin implements store.Store.
func (s *Store) Unpin(ctx context.Context, tenant, name string) error {
	pins, err := s.Pins(ctx, tenant)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(pins, func(p store.Pin) bool { return p.Name == name }) {
		return store.ErrNotFound
	}
	return s.writePin(ctx, tenant, name, "")
}

// writePin writes what has become of a pin; "" is that it is gone.
func (s *Store) writePin(ctx context.Context, tenant, name, text string) error {
	version := time.Now().UnixNano() // the newest counts, so this is no matter of what the time is said to be
	return s.db.insert(ctx, "pins", newToken(), []column{
		{"tenant", []string{tenant}}, {"name", []string{name}}, {"version", []uint64{uint64(version)}},
		{"gone", []uint8{bit(text == "")}}, {"pin", []string{text}},
	})
}

// Pins implements store.Store.
func (s *Store) Pins(ctx context.Context, tenant string) ([]store.Pin, error) {
	var texts []string
	err := s.db.query(ctx, "SELECT argMax(pin, version) FROM "+s.table("pins")+" WHERE tenant = "+quote(tenant)+
		" GROUP BY name HAVING argMax(gone, version) = 0", &texts)
	if err != nil {
		return nil, err
	}
	var out []store.Pin
	for _, text := range texts {
		var pin store.Pin
		if err := json.Unmarshal([]byte(text), &pin); err != nil {
			return nil, fmt.Errorf("reading a pin: %w", err)
		}
		out = append(out, pin)
	}
	slices.SortFunc(out, func(a, b store.Pin) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
