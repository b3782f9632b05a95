package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

func testOptions(now func() time.Time) Options {
	return Options{Limits: store.DefaultLimits, Now: now, unsynced: true}
}

// long leaves out what asks the same questions of a store in another state.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("asks all questions of a store in another state")
	}
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInMemory asks what has come in and is not in segments yet.
func TestInMemory(t *testing.T) {
	long(t)
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store { return open(t, t.TempDir(), testOptions(now)) })
}

// An after does something after each Add.
type after struct {
	*Store
	do func()
}

func (a *after) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	out, err := a.Store.Add(ctx, tenant, uploads)
	a.do()
	return out, err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestInSegments asks what is in segments, of which there are many.
func TestInSegments(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := open(t, t.TempDir(), testOptions(now))
		return &after{s, func() { check(t, s.Flush()) }}
	})
}

// rare are parts of the common tests that add the same in another order, or again: TestInMemory and TestInSegments have them.
var rare = []string{"shuffled", "repeated"}

// TestJoined asks what is in segments that were made of others.
func TestJoined(t *testing.T) {
	long(t)
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := open(t, t.TempDir(), testOptions(func() time.Time { return now().Add(time.Hour) }))
		s.Now = now
		return &after{s, func() {
			check(t, s.Flush())
			s.Now = func() time.Time { return now().Add(2 * time.Hour) } // all hours are over
			for _, b := range s.all() {
				check(t, s.compact(b))
			}
			s.Now = now
		}}
	}, rare...)
}

// A reopened is closed, or left as a crash would leave it, after each Add, and opened again.
type reopened struct {
	*Store
	mu    sync.RWMutex
	t     *testing.T
	n     int
	crash bool
}

func (r *reopened) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, err := r.Store.Add(ctx, tenant, uploads)
	if r.n++; r.n > 20 && r.n%16 > 0 {
		return out, err // it has been seen
	}
	if r.n%3 == 0 {
		check(r.t, r.Flush())
	}
	if r.crash {
		dir := r.t.TempDir()
		check(r.t, os.CopyFS(dir, os.DirFS(r.dir)))
		check(r.t, r.Store.catalog.db.Close())
		r.Store = open(r.t, dir, r.Options)
		return out, err
	}
	check(r.t, r.Store.Close())
	r.Store = open(r.t, r.dir, r.Options)
	return out, err
}

func (r *reopened) Merge(ctx context.Context, q store.Query) (*store.Merged, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.Store.Merge(ctx, q)
}

func TestReopened(t *testing.T) {
	long(t)
	for name, crash := range map[string]bool{"closed": false, "crashed": true} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
				return &reopened{Store: open(t, t.TempDir(), testOptions(now)), t: t, crash: crash}
			}, rare...)
		})
	}
}

// TestRolled holds what is left of old profiles against the profiles.
func TestRolled(t *testing.T) {
	if testing.Short() {
		t.Skip("adds up weeks of profiles")
	}
	f := storetest.Small()
	f.Services, f.Every, f.Rounds, f.Deploy = 2, 20*time.Minute, 100, 17
	f.Start = time.Date(2026, 9, 1, 20, 0, 7, 0, time.UTC)
	now := f.Start.Add(48 * time.Hour)
	o := testOptions(func() time.Time { return now })
	o.Detail, o.Hours, o.Days = 24*time.Hour, 10*24*time.Hour, 30*24*time.Hour
	s := open(t, t.TempDir(), o)
	defer s.Close()
	want := storetest.NewMemory()
	want.Now = o.Now
	ctx := context.Background()
	for batch := range slices.Chunk(f.All(), 50) {
		for _, to := range []store.Store{s, want} {
			if _, err := to.Add(ctx, "main", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	check(t, s.Flush())
	size := s.size
	for i, days := range []int{2, 4, 12} {
		now = f.Start.Add(time.Duration(days) * 24 * time.Hour)
		check(t, s.Maintain(ctx))
		check(t, s.Maintain(ctx)) // nothing is left to do
		if s.size >= size && i > 0 {
			t.Errorf("after %d days there are %d bytes, before %d", days, s.size, size)
		}
		size = s.size
		for _, kind := range f.Kinds {
			q := store.Query{Tenant: "main", Selector: store.Service("service-1"), Kind: kind, From: f.Start.Add(-24 * time.Hour), To: f.Start.Add(10 * 24 * time.Hour)}
			got, err := s.Merge(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			w, err := want.Merge(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Damage) > 0 {
				t.Error(got.Damage)
			}
			if got.Profiles != w.Profiles {
				t.Errorf("after %d days: %d profiles of %s, want %d", days, got.Profiles, kind, w.Profiles)
			}
			for k, typ := range w.Profile.SampleTypes {
				a, b := sum(got.Profile.Values(k)), sum(w.Profile.Values(k))
				if level := store.NatureOf(kind, typ.Type, false) == store.Level; a != b && (!level || a < b-b/10 || a > b+b/10) {
					t.Errorf("after %d days: %s of %s is %d, want %d", days, typ.Type, kind, a, b)
				}
			}
			if kind != "cpu" && kind != "mutex" {
				continue
			}
			if a, b := storetest.Dump(got.Profile), storetest.Dump(w.Profile); a != b {
				t.Errorf("after %d days: %s differs", days, kind)
			}
		}
	}
	old := *f.All()[0]
	out, err := s.Add(ctx, "main", []*store.Upload{&old})
	if err != nil || !errors.Is(out[0].Err, ErrTooOld) {
		t.Errorf("adding to what is summed up: %+v, %v", out, err)
	}
	now = f.Start.Add(60 * 24 * time.Hour)
	check(t, s.Maintain(ctx))
	if files := list(t, s.dir); len(files) > 1 {
		t.Errorf("after all is too old there are %q", files)
	}
	if s.size != 0 {
		t.Errorf("%d bytes are left of nothing", s.size)
	}
}

func sum(values []int64) (n int64) {
	for _, v := range values {
		n += v
	}
	return n
}

func list(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLevelsOfSums holds that what processes hold is the same after profiles become sums of hours, and these sums of days.
func TestLevelsOfSums(t *testing.T) {
	storetest.Levels(t, func(t *testing.T, now func() time.Time) store.Store {
		o := testOptions(now)
		o.Detail, o.Hours, o.Days = day, 10*day, 30*day
		return open(t, t.TempDir(), o)
	}, func(t *testing.T, s store.Store) { check(t, s.(*Store).Flush()) },
		func(t *testing.T, s store.Store) { later(t, s.(*Store), 3*day) },
		func(t *testing.T, s store.Store) { later(t, s.(*Store), 12*day) })
}
