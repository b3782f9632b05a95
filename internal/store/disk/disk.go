// Package disk is a store.Store in files: columns by service and hour, which take a fiftieth of the size of the profiles that came in, and
// one catalog. See docs/format/store.md.
//
// Add appends a profile to the log, syncs the log, and adds the profile to memory, where queries find it. Flush writes the profiles in
// memory to segments. Maintain merges segments, removes profiles that are too old or exceed the size limit, and keeps memory small.
package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// Options tune a store. The zero Options are for tests.
type Options struct {
	Limits store.Limits
	Now    func() time.Time // nil means time.Now

	// How long to keep profiles: single ones, then sums of hours, then sums of days. Each must be at least as long as the one before. Zero means
	// forever.
	Detail, Hours, Days time.Duration

	// Bytes limits the disk space. Zero means no limit.
	Bytes int64

	// FlushBytes and FlushAfter limit the log, and so the time that Open takes after a crash.
	FlushBytes int64
	FlushAfter time.Duration

	// Memory limits the memory for names that were not used lately.
	Memory int64

	// For tests: Fault can fail writes, and unsynced skips syncing.
	Fault    func(op string) error
	unsynced bool
}

// Defaults are the options of hone serve.
var Defaults = Options{
	Limits: store.DefaultLimits,
	Detail: 7 * 24 * time.Hour, Hours: 30 * 24 * time.Hour, Days: 400 * 24 * time.Hour,
	Bytes:      20 << 30,
	FlushBytes: 32 << 20, FlushAfter: 3 * time.Minute,
	Memory: 48 << 20,
}

// A Store keeps profiles in a folder.
type Store struct {
	dir string
	Options

	catalog *catalog
	wal     wal

	// gate is held for reading from writing the log to updating memory, so that a flush writes the same profiles as in the earlier log files.
	gate sync.RWMutex

	mu       sync.Mutex
	blocks   map[string]*block // by key
	sorted   []*block          // blocks sorted by key, or nil
	inFlight map[store.ID]chan struct{}
	seq      uint64 // number of the newest segment
	damage   []error
	size     int64 // bytes of segments, names and original profiles

	flushMu sync.Mutex // serializes flushes and changes of segments
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a folder, and makes the folder if necessary. It reads the log into memory.
func Open(dir string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	longer := func(d, than time.Duration) time.Duration {
		if d == 0 || than == 0 {
			return 0
		}
		return max(d, than)
	}
	o.Hours = longer(o.Hours, o.Detail)
	o.Days = longer(o.Days, o.Hours)
	if o.Bytes > 0 {
		// Profiles take far more in the log than in segments, and only segments can be dropped.
		o.FlushBytes = min(o.FlushBytes, o.Bytes/10)
	}
	s := &Store{dir: dir, Options: o, blocks: map[string]*block{}, inFlight: map[store.ID]chan struct{}{}}
	s.wal = wal{dir: filepath.Join(dir, "log"), fault: o.Fault, unsynced: o.unsynced, keep: map[uint64]bool{}}
	for _, d := range []string{s.wal.dir, filepath.Join(dir, dataDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("opening the store: %w", err)
		}
	}
	name := filepath.Join(dir, "catalog")
	lost := lostCatalog(name)
	var err error
	if s.catalog, err = openCatalogSafely(name, o.unsynced); err != nil {
		err = fmt.Errorf("opening the store %s: %w", dir, err)
		if errors.Is(err, errCatalog) {
			err = hint.Errorf(hint.Text{mending(dir), " makes it again from the segments, without pins, and keeps the old file in the folder " + damagedDir}, "%w", err)
		}
		return nil, err
	}
	if err := errors.Join(s.adopt(lost), s.load()); err != nil {
		s.catalog.db.Close()
		return nil, fmt.Errorf("opening the store %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) load() error {
	var bad error
	err := s.catalog.load(func(r *blockRecord) {
		b, err := newBlock(s.dir, *r)
		if err != nil {
			bad = err
			return
		}
		s.blocks[string(r.key())] = b
		b.newest = b.sizeOfNewest()
		s.size += r.Names + b.newest
	}, func(g *segment) {
		s.seq = max(s.seq, g.seq)
		if b := s.blocks[g.block]; b != nil {
			b.segments = append(b.segments, g)
			s.size += g.size
		}
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	files, err := s.wal.files()
	if err != nil {
		return err
	}
	for _, n := range files {
		if err := s.replay(n); err != nil {
			return err
		}
		s.wal.seq = n
	}
	return nil
}

// replay reads a log file into memory.
func (s *Store) replay(n uint64) error {
	name := s.wal.name(n)
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lost := func(err error) {
		s.wal.keep[n] = true
		s.damage = append(s.damage, fmt.Errorf("%s: %w (the file will go to the folder %s)", s.rel(name), err, damagedDir))
	}
	gaps, err := eachRecord(f, func(_ int64, tenant string, u *store.Upload) error {
		p, err := profile.ParseBytes(u.Raw)
		if err != nil {
			lost(fmt.Errorf("profile %v: %w", u.ID, err))
			return nil
		}
		u.Parsed = p
		b, err := s.locked(tenant, u.Service, u.Start)
		if err != nil {
			return err
		}
		defer b.mu.Unlock()
		there, err := b.has(u.ID, u.Start)
		if err == nil && !there {
			err = b.index(u)
		}
		if err != nil {
			lost(fmt.Errorf("profile %v: %w", u.ID, err))
		}
		return nil
	})
	for _, g := range gaps {
		if g.torn {
			s.damage = append(s.damage, fmt.Errorf("%s: %w", s.rel(name), g))
		} else {
			lost(g)
		}
	}
	return err
}

func (s *Store) rel(name string) string { return rel(s.dir, name) }

// Damage returns the errors from opening the store.
func (s *Store) Damage() []error { return s.damage }

// block returns the block of a service and time, and makes it if necessary.
func (s *Store) block(tenant, service string, at time.Time) (*block, error) {
	r := blockRecord{Tenant: tenant, Service: service, Day: at.UTC().Format(dayFormat)}
	r.Folder = folderOf(tenant) + "/" + r.Day + "/" + folderOf(service)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(r.key())
	b := s.blocks[key]
	if b == nil {
		var err error
		if b, err = newBlock(s.dir, r); err != nil {
			return nil, err
		}
		s.blocks[key], s.sorted = b, nil
	}
	return b, nil
}

// locked returns the block of a service and time, locked for writing.
func (s *Store) locked(tenant, service string, at time.Time) (*block, error) {
	for {
		b, err := s.block(tenant, service, at)
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		if !b.gone {
			return b, nil
		}
		b.mu.Unlock()
	}
}

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	if strings.ContainsRune(tenant, 0) || len(tenant) > 200 {
		return nil, fmt.Errorf("the name of the tenant %q can't be used", profile.Shorten(tenant, 60))
	}
	out := make([]store.Outcome, len(uploads))
	var take []int
	first := map[store.ID]int{}
	now := s.Now()
	for i, u := range uploads {
		out[i].Err = u.Take(tenant, s.Limits, now)
		if out[i].ID = u.ID; out[i].Err != nil {
			continue
		}
		if _, ok := first[u.ID]; ok {
			out[i].Repeated = true
			continue
		}
		first[u.ID] = i
		take = append(take, i)
	}
	// Lock blocks in the same order everywhere, to avoid deadlocks.
	slices.SortFunc(take, func(a, b int) int { return bytes.Compare(uploads[a].ID[:], uploads[b].ID[:]) })
	for n, i := range take {
		if err := s.reserve(ctx, uploads[i].ID); err != nil {
			s.release(uploads, take[:n])
			return nil, err
		}
	}
	defer s.release(uploads, take)

	s.gate.RLock()
	defer s.gate.RUnlock()
	var records [][]byte // each record has two parts
	size := 0
	var fresh []int
	for _, i := range take {
		u := uploads[i]
		b, err := s.locked(tenant, u.Service, u.Start)
		if err != nil {
			return nil, err
		}
		out[i].Repeated, err = b.has(u.ID, u.Start)
		b.mu.Unlock()
		if errors.Is(err, ErrTooOld) {
			out[i].Err = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if !out[i].Repeated {
			head := record(tenant, u)
			records = append(records, head, u.Raw)
			size += len(head) + len(u.Raw)
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return out, nil
	}
	if err := s.room(int64(size)); err != nil {
		return nil, err
	}
	if err := s.wal.append(records...); err != nil {
		return nil, err
	}
	for _, i := range fresh {
		u := uploads[i]
		b, err := s.locked(tenant, u.Service, u.Start)
		if err != nil {
			return nil, err
		}
		if _, err = b.has(u.ID, u.Start); err == nil { // the block may have been dropped meanwhile
			err = b.index(u)
		}
		b.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if u.Own {
			u.Parsed.Release()
			u.Parsed = nil
		}
	}
	return out, nil
}

// reserve waits until nobody else is adding a profile with this ID.
func (s *Store) reserve(ctx context.Context, id store.ID) error {
	for {
		s.mu.Lock()
		done, ok := s.inFlight[id]
		if !ok {
			s.inFlight[id] = make(chan struct{})
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) release(uploads []*store.Upload, which []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range which {
		close(s.inFlight[uploads[i].ID])
		delete(s.inFlight, uploads[i].ID)
	}
}

// room returns store.ErrFull if there is no room for n more bytes.
func (s *Store) room(n int64) error {
	if s.Bytes == 0 {
		return nil
	}
	logged, _ := s.wal.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+logged+n > s.Bytes {
		return fmt.Errorf("%w: it has %d bytes of %d", store.ErrFull, s.size+logged, s.Bytes)
	}
	return nil
}

// Sizes returns the bytes of segments, names and original profiles, and the bytes of the log.
func (s *Store) Sizes() (stored, waiting int64) {
	files, err := s.wal.files()
	if err == nil {
		for _, n := range files {
			if info, err := os.Stat(s.wal.name(n)); err == nil {
				waiting += info.Size()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, waiting
}

// Close flushes memory and closes the store.
func (s *Store) Close() error {
	err := s.Flush()
	s.gate.Lock()
	defer s.gate.Unlock()
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	if s.wal.f != nil {
		err = errors.Join(err, s.wal.f.Close())
		s.wal.f = nil
	}
	return errors.Join(err, s.catalog.db.Close())
}

// Tenants implements store.Store.
func (s *Store) Tenants(context.Context) ([]string, error) {
	var out []string
	for _, b := range s.all() {
		if b.hasProfiles() {
			out = append(out, b.Tenant)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// all returns the blocks sorted by key. The slice is shared.
func (s *Store) all() []*block {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted == nil {
		for _, key := range slices.Sorted(maps.Keys(s.blocks)) {
			s.sorted = append(s.sorted, s.blocks[key])
		}
	}
	return s.sorted
}

// Pin implements store.Store.
func (s *Store) Pin(_ context.Context, q store.Query, pin store.Pin) error {
	pin.Query = q
	return s.catalog.pin(&pin)
}

// Unpin implements store.Store.
func (s *Store) Unpin(_ context.Context, tenant, name string) error {
	return s.catalog.unpin(tenant, name)
}

// Pins implements store.Store.
func (s *Store) Pins(_ context.Context, tenant string) ([]store.Pin, error) {
	return s.catalog.pins(tenant, false)
}
