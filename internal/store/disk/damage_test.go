package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A damaged is a store with profiles of two services in several segments, closed, and what it answered.
type damaged struct {
	t   *testing.T
	dir string
	o   Options
	f   storetest.Fleet
}

func newDamaged(t *testing.T) *damaged {
	f := storetest.Small()
	f.Services, f.Every, f.Rounds = 2, 30*time.Minute, 6
	d := &damaged{t: t, dir: t.TempDir(), o: testOptions(func() time.Time { return f.Start.Add(5 * time.Hour) }), f: f}
	s := open(t, d.dir, d.o)
	for i, u := range f.All() {
		if _, err := s.Add(context.Background(), "main", []*store.Upload{u}); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			check(t, s.Flush())
		}
	}
	check(t, s.Close())
	return d
}

// totals returns what a store answers, and what it says is damaged.
func (d *damaged) totals(s *Store, service string) (map[string]int64, []error) {
	d.t.Helper()
	out := map[string]int64{}
	var bad []error
	for _, kind := range d.f.Kinds {
		q := store.Query{Tenant: "main", Selector: store.Service(service), Kind: kind, From: d.f.Start, To: d.f.Start.Add(24 * time.Hour), Fold: store.Sum}
		m, err := s.Merge(context.Background(), q)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		bad = append(bad, m.Damage...)
		for k, typ := range m.Profile.SampleTypes {
			out[kind+" "+typ.Type] = sum(m.Profile.Values(k))
		}
	}
	return out, bad
}

func (d *damaged) answer(service string) (map[string]int64, []error) {
	d.t.Helper()
	s := open(d.t, d.dir, d.o)
	defer s.Close()
	return d.totals(s, service)
}

func (d *damaged) find(suffix, service string) string {
	d.t.Helper()
	for _, name := range list(d.t, d.dir) {
		if strings.HasSuffix(name, suffix) && strings.Contains(name, service) {
			return name
		}
	}
	d.t.Fatalf("there is no file *%s of %s", suffix, service)
	return ""
}

func same(a, b map[string]int64) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

func TestBadSegment(t *testing.T) {
	d := newDamaged(t)
	one, _ := d.answer("service-0")
	other, _ := d.answer("service-1")
	if c, err := Check(d.dir, false); err != nil || len(c.Problems) > 0 {
		t.Fatalf("of a good store: %+v, %v", c, err)
	}
	name := d.find(segmentSuffix, "service-0")
	in, err := os.ReadFile(name)
	check(t, err)
	for i := 20; i < len(in); i += 37 { // everywhere
		in[i] ^= 0x40
	}
	check(t, os.WriteFile(name, in, 0o600))

	got, bad := d.answer("service-0")
	if len(bad) == 0 || !strings.Contains(bad[0].Error(), filepath.Base(name)) {
		t.Errorf("damage: %v, want one that names %s", bad, filepath.Base(name))
	}
	if same(got, one) {
		t.Error("what is damaged is in the answer")
	}
	if len(got) == 0 {
		t.Error("the other segments of the service are not in the answer")
	}
	if got, bad := d.answer("service-1"); !same(got, other) || len(bad) > 0 {
		t.Errorf("the other service: %v, %v, want %v", got, bad, other)
	}
	c, err := Check(d.dir, false)
	if err != nil || len(c.Problems) != 1 || !strings.HasSuffix(c.Problems[0].File, filepath.Base(name)) {
		t.Fatalf("check: %+v, %v", c, err)
	}
	if c, err = Check(d.dir, true); err != nil || len(c.Problems) != 1 || !c.Problems[0].Mended {
		t.Fatalf("mending: %+v, %v", c, err)
	}
	if again, bad := d.answer("service-0"); len(bad) > 0 || !same(again, got) {
		t.Errorf("after mending: %v, %v, want %v", again, bad, got)
	}
	// What was lost is taken again.
	s := open(t, d.dir, d.o)
	if _, err := s.Add(context.Background(), "main", d.f.All()); err != nil {
		t.Fatal(err)
	}
	if got, _ := d.totals(s, "service-0"); !same(got, one) {
		t.Errorf("after sending all again: %v, want %v", got, one)
	}
	check(t, s.Close())
}

func TestBadNames(t *testing.T) {
	d := newDamaged(t)
	other, _ := d.answer("service-1")
	name := d.find(namesFile, "service-0")
	check(t, os.Truncate(name, 100))
	if got, bad := d.answer("service-0"); len(got) > 0 || len(bad) == 0 {
		t.Errorf("%v, %v", got, bad)
	}
	if got, _ := d.answer("service-1"); !same(got, other) {
		t.Errorf("the other service: %v, want %v", got, other)
	}
}

func TestCatalogIsMadeAgain(t *testing.T) {
	for what, harm := range map[string]func(name string) error{
		"lost":    os.Remove,
		"garbage": func(name string) error { return os.WriteFile(name, bytes.Repeat([]byte("garbage "), 4096), 0o600) },
		"cut":     func(name string) error { return os.Truncate(name, 5000) },
	} {
		t.Run(what, func(t *testing.T) {
			d := newDamaged(t)
			one, _ := d.answer("service-0")
			check(t, harm(filepath.Join(d.dir, "catalog")))
			if _, err := Check(d.dir, true); err != nil {
				t.Fatal(err)
			}
			if got, bad := d.answer("service-0"); !same(got, one) || len(bad) > 0 {
				t.Errorf("%v, %v, want %v", got, bad, one)
			}
			if c, err := Check(d.dir, false); err != nil || len(c.Problems) > 0 {
				t.Errorf("after mending: %+v, %v", c, err)
			}
		})
	}
}

// TestTornLog cuts the log in many places.
func TestTornLog(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Rounds, f.Kinds = 1, 2, []string{"goroutine"}
	all := f.All()
	o := testOptions(func() time.Time { return f.Start.Add(time.Hour) })
	dir := t.TempDir()
	s := open(t, dir, o)
	var ends []int64
	for _, u := range all {
		if _, err := s.Add(context.Background(), "main", []*store.Upload{u}); err != nil {
			t.Fatal(err)
		}
		size, _ := s.wal.state()
		ends = append(ends, size)
	}
	log, err := os.ReadFile(s.wal.name(1))
	check(t, err)
	s.catalog.db.Close() // as if it had been killed
	q := store.Query{Tenant: "main", Selector: store.Service("service-0"), From: f.Start, To: f.Start.Add(time.Hour)}
	for cut := int64(0); cut < int64(len(log)); cut += 1 + int64(len(log))/29 {
		dir := t.TempDir()
		check(t, os.MkdirAll(filepath.Join(dir, "log"), 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "log", "0000000000000001.wal"), log[:cut], 0o600))
		want := 0
		for _, end := range ends {
			if end <= cut {
				want++
			}
		}
		s := open(t, dir, o)
		entries, _, err := s.Entries(context.Background(), q, 100)
		if err != nil || len(entries) != want {
			t.Errorf("cut at %d: %d profiles, %v, want %d", cut, len(entries), err, want)
		}
		// The next ones go on.
		again := all[len(all)-1]
		again.Parsed = nil
		if out, err := s.Add(context.Background(), "main", []*store.Upload{again}); err != nil || out[0].Err != nil {
			t.Errorf("cut at %d: adding: %v, %v", cut, out, err)
		}
		check(t, s.Close())
	}
}

// TestFullDisk lets every write fail for a while, one after the other, as on a disk that is full.
func TestFullDisk(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Kinds = 2, []string{"cpu", "heap"}
	o := testOptions(func() time.Time { return f.Start.Add(3 * time.Hour) })
	var left, failed int
	o.Fault = func(op string) error {
		if left--; left < 0 {
			failed++
			return &os.PathError{Op: op, Path: "somewhere", Err: syscall.ENOSPC}
		}
		return nil
	}
	left = 1 << 30
	s := open(t, t.TempDir(), o)
	want := storetest.NewMemory()
	want.Now = o.Now
	ctx := context.Background()
	d := &damaged{t: t, f: f}
	for i, u := range f.All() {
		c := *u
		if _, err := want.Add(ctx, "main", []*store.Upload{&c}); err != nil {
			t.Fatal(err)
		}
		left = i % 5
		for tries := 0; ; {
			_, err := s.Add(ctx, "main", []*store.Upload{u})
			if err == nil {
				break
			}
			if !errors.Is(err, store.ErrFull) {
				t.Fatalf("adding: %v, want one that says that the store is full", err)
			}
			if _, bad := d.totals(s, "service-0"); i > 3 && len(bad) > 0 {
				t.Fatalf("asking a full store: %v", bad)
			}
			tries++
			left = tries // somebody made a little room
		}
		if i%7 == 0 {
			if err := s.Flush(); err != nil && !errors.Is(err, store.ErrFull) {
				t.Fatal(err)
			}
		}
	}
	if failed == 0 {
		t.Fatal("no write failed")
	}
	left = 1 << 30
	for _, service := range []string{"service-0", "service-1"} {
		for _, kind := range f.Kinds {
			q := store.Query{Tenant: "main", Selector: store.Service(service), Kind: kind, From: f.Start, To: f.Start.Add(24 * time.Hour), Fold: store.Sum}
			got, err := s.Merge(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			w, err := want.Merge(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if storetest.Dump(got.Profile) != storetest.Dump(w.Profile) {
				t.Errorf("%s of %s differs", kind, service)
			}
		}
	}
	check(t, s.Flush())
	if files, err := s.wal.files(); err != nil || len(files) > 0 {
		t.Errorf("the log after all is in segments: %v, %v", files, err)
	}
	check(t, s.Close())
	if c, err := Check(s.dir, false); err != nil || len(c.Problems) > 0 {
		t.Errorf("check: %+v, %v", c, err)
	}
}

// TestTooMuch holds the store within its bytes.
func TestTooMuch(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Every, f.Rounds = 1, 6*time.Hour, 60
	o := testOptions(func() time.Time { return f.Start.Add(16 * 24 * time.Hour) })
	o.Bytes = 120 << 10
	s := open(t, t.TempDir(), o)
	defer s.Close()
	ctx := context.Background()
	for i, u := range f.All() {
		_, err := s.Add(ctx, "main", []*store.Upload{u})
		if err != nil && !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if i%16 == 15 || err != nil {
			check(t, s.Flush())
			check(t, s.Maintain(ctx))
		}
		if s.size > o.Bytes {
			t.Fatalf("there are %d bytes, more than %d", s.size, o.Bytes)
		}
	}
	entries, _, err := s.Entries(ctx, store.Query{Tenant: "main", To: o.Now()}, 10)
	if err != nil || len(entries) == 0 || entries[0].Start.Before(f.Start.Add(14*24*time.Hour)) {
		t.Errorf("the newest: %v, %v", entries, err)
	}
}
