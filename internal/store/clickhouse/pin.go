package clickhouse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/store"
)

// Pin implements store.Store.
func (s *Store) Pin(ctx context.Context, q store.Query, pin store.Pin) error {
	pin.Query = q
	b, err := json.Marshal(pin)
	if err != nil {
		return err
	}
	if err := s.copyPinned(ctx, &q, pin.Name); err != nil {
		return fmt.Errorf("copying the profiles of pin %s: %w", strconv.Quote(pin.Name), err)
	}
	s.forgetPins(q.Tenant)
	return s.writePin(ctx, q.Tenant, pin.Name, string(b))
}

// withPinned returns a subquery of columns of a table and of what pins keep of it.
func (s *Store) withPinned(table, columns, condition string) string {
	kept := condition
	if table == "profiles" {
		kept = both(condition, "baseline = 0")
	}
	return fmt.Sprintf("(SELECT %s FROM %s WHERE %s UNION ALL SELECT %s FROM %s WHERE %s)",
		columns, s.table(table), condition, columns, s.table(pinnedPrefix+table), kept)
}

// Columns of the tables that pins have copies of.
var pinnedColumns = map[string]string{
	"profiles": "tenant, service, kind, stream, start, id, key, end, counters, clock, head, time, duration, rows, series, totals",
	"streams":  "tenant, service, kind, stream, names, values, row_names, row_values, types, first, last",
	"samples":  "tenant, service, kind, hour, stack, key, labels, series, v0, v1, v2, v3, more",
	"received": "tenant, service, kind, stream, own, start, id, bytes",
}

// copyPinned copies what q selects, and what its counters are compared with, to where nothing expires. To copy it again changes nothing.
func (s *Store) copyPinned(ctx context.Context, q *store.Query, pin string) error {
	all, err := s.rows(ctx, q)
	if err != nil {
		return err
	}
	var rows []*row
	for _, r := range all {
		if r.pin == "" || r.pin != pin {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.start, b.start) })
	for some := range slices.Chunk(rows, maxKeys/2) { // it has two lists
		var keys, streams []uint64
		var ids []string
		for _, r := range some {
			keys, streams, ids = append(keys, r.key), append(streams, r.stream.id), append(ids, quote(r.id))
		}
		slices.Sort(streams)
		streams = slices.Compact(streams)
		first, last := some[0].start, some[len(some)-1].start
		const second = int64(time.Second)
		ofProfiles := fmt.Sprintf("start >= %d AND start <= %d AND key IN %s", first, last, list(keys))
		copyTo := func(table, condition string) error {
			// What another pin has may be nowhere else any more.
			for _, from := range []string{both(s.table(table)+" WHERE "+where(q), condition),
				both(s.table(pinnedPrefix+table)+" WHERE "+where(q), "pin != "+quote(pin), condition)} {
				columns := pinnedColumns[table]
				into, values := columns, columns
				if table == "profiles" { // what counters are compared with is not part of the pin
					into, values = columns+", baseline", fmt.Sprintf("%s, start < %d", columns, nanos(q.From))
				}
				if err := s.db.exec(ctx, fmt.Sprintf("INSERT INTO %s (pin, %s) SETTINGS distributed_foreground_insert = 1 SELECT %s, %s FROM %s",
					s.table(pinnedPrefix+table), into, quote(pin), values, from)); err != nil {
					return err
				}
			}
			return nil
		}
		// Profiles come last: a profile that is there has all that it needs.
		if err := copyTo("streams", "stream IN "+list(streams)); err != nil {
			return err
		}
		if err := copyTo("samples", fmt.Sprintf("hour >= %d AND hour <= %d AND key IN %s", first/second/hour*hour, last/second/hour*hour, list(keys))); err != nil {
			return err
		}
		if err := copyTo("received", "stream IN "+list(streams)+" AND id IN ("+strings.Join(ids, ",")+")"); err != nil {
			return err
		}
		if err := s.keepReferences(ctx, q, pin, ofProfiles); err != nil {
			return err
		}
		if err := copyTo("profiles", ofProfiles); err != nil {
			return err
		}
	}
	return nil
}

// keepReferences keeps what the samples of a pin refer to. Such things expire when they were not seen for long, so these are said to be
// seen so late that they do not expire before the times of ClickHouse end.
func (s *Store) keepReferences(ctx context.Context, q *store.Query, pin, ofProfiles string) error {
	seen := time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC).Add(-s.layout.referred()).Unix()
	tenant := "tenant = " + quote(q.Tenant)
	ofSamples := func(id string) string {
		return fmt.Sprintf("(service, %s) GLOBAL IN (SELECT service, %s FROM %s WHERE %s AND pin = %s)", id, id, s.table(pinnedPrefix+"samples"), tenant, quote(pin))
	}
	for _, c := range []struct{ table, columns, condition string }{
		{"stacks", "stack, frames", ofSamples("stack")},
		{"frames", "frame, folded, address, mapped, file, build, mapping, functions, systems, files, starts, lines, columns", fmt.Sprintf(
			"(service, frame) GLOBAL IN (SELECT service, arrayJoin(frames) FROM %s WHERE %s AND %s)", s.table("stacks"), tenant, ofSamples("stack"))},
		{"sets", "labels, keys, texts, kinds, numbers, units", ofSamples("labels")},
		{"heads", "head, text", fmt.Sprintf("(service, head) GLOBAL IN (SELECT service, head FROM %s WHERE %s)", s.table("profiles"), both(where(q), ofProfiles))},
	} {
		if err := s.db.exec(ctx, fmt.Sprintf("INSERT INTO %s (tenant, service, %s, seen) SETTINGS distributed_foreground_insert = 1 SELECT tenant, service, %s, toDateTime(%d, 'UTC') FROM %s WHERE %s AND %s",
			s.table(c.table), c.columns, c.columns, seen, s.table(c.table), tenant, c.condition)); err != nil {
			return err
		}
	}
	return nil
}

// copyEvery is how often pins are looked at for profiles that came in after the pin was made.
const copyEvery = time.Hour

// copyAgain copies what came in late for pins whose time is not over for long. What fails is done when something is added the next time.
func (s *Store) copyAgain(ctx context.Context, tenant string) {
	now := s.now()
	s.mu.Lock()
	due := s.layout.Keep > 0 && now.Sub(s.copied[tenant]).Abs() >= copyEvery
	if due {
		s.copied[tenant] = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	pins, err := s.Pins(ctx, tenant)
	for _, p := range pins {
		if err == nil && p.Query.To.After(now.Add(-s.layout.Keep)) {
			err = s.copyPinned(ctx, &p.Query, p.Name)
		}
	}
	if err != nil {
		s.mu.Lock()
		delete(s.copied, tenant)
		s.mu.Unlock()
	}
}

// A readPins is the pins of a tenant, and when they were read.
type readPins struct {
	list []store.Pin
	at   time.Time
}

// pinsEvery is how often pins are read again that other servers may have made.
const pinsEvery = time.Minute

// pinsOf returns the pins of a tenant, as they were a moment ago.
func (s *Store) pinsOf(ctx context.Context, tenant string) ([]store.Pin, error) {
	now := s.now()
	s.mu.Lock()
	known := s.pins[tenant]
	s.mu.Unlock()
	if known != nil && now.Sub(known.at).Abs() < pinsEvery {
		return known.list, nil
	}
	all, err := s.Pins(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.pins[tenant] = &readPins{all, now}
	s.mu.Unlock()
	return all, nil
}

// forgetPins has the pins of a tenant read again.
func (s *Store) forgetPins(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pins, tenant)
}

// markBaselines marks those profiles of pins that only counters are compared with, where the column was added just now.
func (s *Store) markBaselines(ctx context.Context) error {
	var tenants []string
	if err := s.db.query(ctx, "SELECT CAST(tenant, 'String') AS t FROM "+s.table("pins")+" GROUP BY t", &tenants); err != nil {
		return err
	}
	for _, tenant := range tenants {
		pins, err := s.Pins(ctx, tenant)
		if err != nil {
			return err
		}
		for _, p := range pins {
			if err := s.changePinned(ctx, "profiles", fmt.Sprintf("UPDATE baseline = 1 WHERE start < %d AND", nanos(p.Query.From)), tenant, p.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// changePinned changes or deletes rows that only a pin keeps.
func (s *Store) changePinned(ctx context.Context, table, change, tenant, pin string) error {
	on := ""
	if s.layout.Cluster != "" {
		on = "_local ON CLUSTER " + s.layout.Cluster
	}
	return s.db.exec(ctx, fmt.Sprintf("ALTER TABLE %s%s %s tenant = %s AND pin = %s SETTINGS mutations_sync = 2",
		s.table(pinnedPrefix+table), on, change, quote(tenant), quote(pin)))
}

// dropPinned deletes what only a pin keeps. Stacks and names stay; they are little.
func (s *Store) dropPinned(ctx context.Context, tenant, pin string) error {
	for _, table := range []string{"profiles", "samples", "received", "streams"} {
		if err := s.changePinned(ctx, table, "DELETE WHERE", tenant, pin); err != nil {
			return fmt.Errorf("deleting the profiles of pin %s: %w", strconv.Quote(pin), err)
		}
	}
	return nil
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
	if err := s.writePin(ctx, tenant, name, ""); err != nil {
		return err
	}
	return s.dropPinned(ctx, tenant, name)
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
	order.Stable(out, func(a, b store.Pin) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
