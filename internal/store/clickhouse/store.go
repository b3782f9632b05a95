// Package clickhouse is a store.Store in a ClickHouse database, which any number of hone servers can share. The servers do not need to know
// about each other, because samples refer to stacks, frames and labels by the hashes of their content.
//
// An upload is stored when its row in the table profiles exists. That row is written last. It names the samples by a key that is new for
// each attempt to write them, so samples of an interrupted attempt belong to no profile, and expire. An upload that is sent again is
// recognized by its ID. If two servers get the same upload at the same moment, both store it, and every query takes one of the two. So
// nothing is lost or counted twice, regardless of how batches are cut and when a server is killed. See docs/format/store-clickhouse.md.
package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Options tune a Store. The zero Options take store.DefaultLimits.
type Options struct {
	Limits *store.Limits    // nil means store.DefaultLimits
	Now    func() time.Time // nil means time.Now
}

// A Store keeps profiles in ClickHouse.
type Store struct {
	db       client
	database string
	limits   store.Limits
	now      func() time.Time
	layout   Layout
	sumsFrom int // profiles of which sums of hours and days are looked at

	mu           sync.Mutex
	known        map[string]*written  // by tenant and service
	copied       map[string]time.Time // when pins of a tenant were copied
	pins         map[string]*readPins // by tenant
	heads        map[headKey]*head
	dictionaries map[string]*dictionary // by tenant and service
}

// Open returns the store at an address, and makes its tables where there are none.
func Open(ctx context.Context, a *Address, opt Options) (*Store, error) {
	return openWith(ctx, newHTTPClient(a), a, opt)
}

// openWith is Open with another client.
func openWith(ctx context.Context, db client, a *Address, opt Options) (*Store, error) {
	s := &Store{
		db: db, database: a.Database, limits: store.DefaultLimits, now: opt.Now, layout: a.Layout, copied: map[string]time.Time{}, pins: map[string]*readPins{},
		known: map[string]*written{}, heads: map[headKey]*head{}, dictionaries: map[string]*dictionary{},
		sumsFrom: 120,
	}
	if opt.Limits != nil {
		s.limits = *opt.Limits
	}
	if s.now == nil {
		s.now = time.Now
	}
	for _, statement := range a.Statements(a.Database) {
		if err := db.exec(ctx, statement); err != nil {
			db.close()
			return nil, fmt.Errorf("making tables: %w", err)
		}
	}
	if err := s.migrate(ctx); err != nil {
		db.close()
		return nil, fmt.Errorf("bringing tables of database %s up to date: %w; hone's user needs the right ALTER ADD COLUMN", a.Database, err)
	}
	return s, nil
}

// migrate adds what tables that an earlier version of hone made lack.
func (s *Store) migrate(ctx context.Context) error {
	var tables, columns []string
	err := s.db.query(ctx, "SELECT table, name FROM system.columns WHERE database = "+quote(s.database), &tables, &columns)
	if err != nil {
		return err
	}
	there := map[string][]string{}
	for i, t := range tables {
		there[t] = append(there[t], columns[i])
	}
	for _, statement := range s.layout.additions(s.database, there) {
		if err := s.db.exec(ctx, statement); err != nil {
			return err
		}
	}
	if !slices.Contains(there[pinnedPrefix+"profiles"], "baseline") {
		return s.markBaselines(ctx)
	}
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.db.close()
	return nil
}

var _ store.Store = (*Store)(nil)

// table returns the full name of a table.
func (s *Store) table(name string) string { return s.database + "." + name }

// quote returns a text as ClickHouse reads it in a query. Nothing in it ends the text, whatever bytes it has.
func quote(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// list returns numbers as ClickHouse reads them behind IN.
func list(numbers []uint64) string {
	b := make([]byte, 0, 21*len(numbers)+2)
	b = append(b, '(')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, n)
	}
	return string(append(b, ')'))
}

// both joins conditions.
func both(conditions ...string) string {
	return strings.Join(slices.DeleteFunc(conditions, func(c string) bool { return c == "" }), " AND ")
}

// Tenants implements store.Store.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	var out []string
	err := s.db.query(ctx, "SELECT CAST(tenant, 'String') AS t FROM "+s.withPinned("streams", "tenant", "1")+" GROUP BY t ORDER BY t", &out)
	return out, err
}

// errMany says that a question is about more than fits into a query.
var errMany = errors.New("too many processes for one query; ask for a shorter time, or for fewer processes")
