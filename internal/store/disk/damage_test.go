package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/unit"
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

// copy returns a copy in another folder.
func (d *damaged) copy(t *testing.T) *damaged {
	c := *d
	c.t, c.dir = t, t.TempDir()
	check(t, os.CopyFS(c.dir, os.DirFS(d.dir)))
	return &c
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
	segments := contents(t, filepath.Dir(name), segmentSuffix)
	if c, err := Check(d.dir, true); err != nil || len(c.Problems) != 1 || c.Problems[0].Moved == "" {
		t.Fatalf("mending: %+v, %v", c, err)
	}
	if kept := contents(t, filepath.Join(d.dir, damagedDir), segmentSuffix); len(kept) != len(segments) {
		t.Errorf("%d segments are kept of %d", len(kept), len(segments))
	}
	// What was lost is taken again.
	s := open(t, d.dir, d.o)
	defer s.Close()
	if out, err := s.Add(t.Context(), "main", d.f.All()); err != nil || out[0].Err != nil {
		t.Errorf("adding: %v, %v", out, err)
	}
}

func TestCatalogIsMadeAgain(t *testing.T) {
	good := newDamaged(t)
	one, _ := good.answer("service-0")
	other, _ := good.answer("service-1")
	for what, harm := range map[string]func(name string) error{
		"lost":    os.Remove,
		"garbage": func(name string) error { return os.WriteFile(name, bytes.Repeat([]byte("garbage "), 4096), 0o600) },
		"cut":     func(name string) error { return os.Truncate(name, 5000) },
		"halved":  func(name string) error { return os.Truncate(name, 12288) }, // after the pages that say where the others are
		"emptied": func(name string) error { return os.Truncate(name, 0) },
		"anew":    newCatalog,
		"same numbers": func(name string) error { // as after crashes
			d := &damaged{t: t, dir: filepath.Dir(name)}
			from := d.find(segmentSuffix, "service-1")
			to := filepath.Base(d.find(segmentSuffix, "service-0"))
			return errors.Join(os.Rename(from, filepath.Join(filepath.Dir(from), to)), os.Remove(name))
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := good.copy(t)
			check(t, harm(filepath.Join(d.dir, "catalog")))
			if _, err := Check(d.dir, true); err != nil {
				t.Fatal(err)
			}
			if got, bad := d.answer("service-0"); !same(got, one) || len(bad) > 0 {
				t.Errorf("%v, %v, want %v", got, bad, one)
			}
			if got, bad := d.answer("service-1"); !same(got, other) || len(bad) > 0 {
				t.Errorf("the other service: %v, %v, want %v", got, bad, other)
			}
			if c, err := Check(d.dir, false); err != nil || len(c.Problems) > 0 {
				t.Errorf("after mending: %+v, %v", c, err)
			}
		})
	}
}

// newCatalog puts one that names nothing in the place of a catalog.
func newCatalog(name string) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	c, err := openCatalog(name, true)
	if err != nil {
		return err
	}
	return c.db.Close()
}

// contents returns the contents of all files below a folder whose names have a suffix.
func contents(t *testing.T, dir, suffix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range list(t, dir) {
		if strings.HasSuffix(name, suffix) {
			in, err := os.ReadFile(name)
			check(t, err)
			out[name] = string(in)
		}
	}
	return out
}

// TestStartWithoutCatalog starts a server, which takes profiles, before anybody mends the store.
func TestStartWithoutCatalog(t *testing.T) {
	good := newDamaged(t)
	one, _ := good.answer("service-0")
	for what, harm := range map[string]func(name string) error{
		"lost":    os.Remove,
		"emptied": func(name string) error { return os.Truncate(name, 0) },
		"anew":    newCatalog,
	} {
		t.Run(what, func(t *testing.T) {
			d := good.copy(t)
			segments := contents(t, d.dir, segmentSuffix)
			check(t, harm(filepath.Join(d.dir, "catalog")))
			s := open(t, d.dir, d.o)
			if bad := s.Damage(); len(bad) != 1 || !strings.Contains(bad[0].Error(), unit.Counted(len(segments), "segment")) {
				t.Errorf("it says %v, want one that tells of %d segments", bad, len(segments))
			}
			f := d.f
			f.Start, f.Rounds = f.Start.Add(4*time.Hour), 1
			if _, err := s.Add(t.Context(), "main", f.All()); err != nil {
				t.Fatal(err)
			}
			check(t, s.Close())
			now := contents(t, d.dir, segmentSuffix)
			for name, in := range segments {
				if now[name] != in {
					t.Errorf("%s has changed", name)
				}
			}
			if len(now) == len(segments) {
				t.Error("there are no new segments")
			}
			if c, err := Check(d.dir, true); err != nil || len(c.Problems) > 0 {
				t.Errorf("check: %+v, %v", c, err)
			}
			s = open(t, d.dir, d.o)
			defer s.Close()
			if bad := s.Damage(); len(bad) > 0 {
				t.Errorf("the next start says %v", bad)
			}
			q := store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: "cpu", From: d.f.Start, To: d.f.Start.Add(4 * time.Hour), Fold: store.Sum}
			m, err := s.Merge(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for k, typ := range m.Profile.SampleTypes {
				if got := sum(m.Profile.Values(k)); got != one["cpu "+typ.Type] {
					t.Errorf("%s is %d, want %d", typ.Type, got, one["cpu "+typ.Type])
				}
			}
		})
	}
}

// TestStartWithBadCatalog is told what to do, since starting without the pins could drop what is pinned.
func TestStartWithBadCatalog(t *testing.T) {
	good := newDamaged(t)
	for what, harm := range map[string]func(name string) error{
		"garbage": func(name string) error { return os.WriteFile(name, bytes.Repeat([]byte("garbage "), 4096), 0o600) },
		"cut":     func(name string) error { return os.Truncate(name, 12288) },
	} {
		t.Run(what, func(t *testing.T) {
			d := good.copy(t)
			check(t, harm(filepath.Join(d.dir, "catalog")))
			before := contents(t, d.dir, "")
			_, err := Open(d.dir, d.o)
			if next := hint.Next(err).String(); !errors.Is(err, errCatalog) || !strings.Contains(next, "serve check data="+d.dir+" mend") {
				t.Errorf("error %v, hint %q", err, next)
			}
			if after := contents(t, d.dir, ""); !maps.Equal(after, before) {
				t.Error("files have changed")
			}
		})
	}
}

// TestUnnamedFilesStay has segments in the folder of a block that an old catalog does not name.
func TestUnnamedFilesStay(t *testing.T) {
	d := newDamaged(t)
	old, err := os.ReadFile(filepath.Join(d.dir, "catalog"))
	check(t, err)
	before := contents(t, filepath.Join(d.dir, dataDir), segmentSuffix)
	later := func(d *damaged) {
		s := open(t, d.dir, d.o)
		f := d.f
		f.Start, f.Rounds, f.Deploy = f.Start.Add(4*time.Hour), 2, 1
		if _, err := s.Add(t.Context(), "main", f.All()); err != nil {
			t.Fatal(err)
		}
		check(t, s.Close())
	}
	later(d)
	all := contents(t, filepath.Join(d.dir, dataDir), segmentSuffix)
	for what, next := range map[string]func(*damaged) int{
		"mended": func(d *damaged) int {
			c, err := Check(d.dir, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Problems {
				if !p.Mended || !strings.HasPrefix(p.Moved, damagedDir+"/") {
					t.Errorf("%+v, want one that was moved", p)
				}
			}
			return len(c.Problems)
		},
		"overwritten": func(d *damaged) int { later(d); return len(all) - len(before) },
	} {
		t.Run(what, func(t *testing.T) {
			c := d.copy(t)
			check(t, os.WriteFile(filepath.Join(c.dir, "catalog"), old, 0o600))
			if n := next(c); n != len(all)-len(before) || n == 0 {
				t.Errorf("%d segments were not named, want %d", n, len(all)-len(before))
			}
			now := map[string]bool{}
			for _, in := range contents(t, c.dir, "") {
				now[in] = true
			}
			for name, in := range all {
				if !now[in] {
					t.Errorf("%s is gone", name)
				}
			}
			if c, err := Check(c.dir, true); err != nil || slices.ContainsFunc(c.Problems, func(p Problem) bool { return !p.Mended }) {
				t.Errorf("check: %+v, %v", c, err)
			}
			if c, err := Check(c.dir, false); err != nil || len(c.Problems) > 0 {
				t.Errorf("check after mending: %+v, %v", c, err)
			}
		})
	}
}

// TestSegmentsAreNotOverwritten has a file at the next number.
func TestSegmentsAreNotOverwritten(t *testing.T) {
	d := newDamaged(t)
	s := open(t, d.dir, d.o)
	name := filepath.Join(filepath.Dir(d.find(segmentSuffix, "service-0")), fmt.Sprintf("%012d%s", s.seq+1, segmentSuffix))
	check(t, os.WriteFile(name, []byte("precious"), 0o600))
	f := d.f
	f.Start, f.Rounds, f.Services = f.Start.Add(4*time.Hour), 1, 1
	if _, err := s.Add(t.Context(), "main", f.All()); err != nil {
		t.Fatal(err)
	}
	check(t, s.Close())
	kept := contents(t, d.dir, filepath.Base(name))
	if len(kept) != 1 {
		t.Fatalf("%d files, want one", len(kept))
	}
	for _, in := range kept {
		if in != "precious" {
			t.Error("it was overwritten")
		}
	}
}

// TestBadRecord damages records of the log, all of which were acknowledged.
func TestBadRecord(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Rounds, f.Kinds = 1, 3, []string{"goroutine"}
	o := testOptions(func() time.Time { return f.Start.Add(time.Hour) })
	from := t.TempDir()
	s := open(t, from, o)
	starts := []int64{0}
	for _, u := range f.All() {
		if _, err := s.Add(t.Context(), "main", []*store.Upload{u}); err != nil {
			t.Fatal(err)
		}
		size, _ := s.wal.state()
		starts = append(starts, size)
	}
	log, err := os.ReadFile(s.wal.name(1))
	check(t, err)
	check(t, s.catalog.db.Close()) // as if it had been killed
	records := len(starts) - 1
	mid := records / 2
	q := store.Query{Tenant: "main", Selector: store.Service("service-0"), From: f.Start, To: f.Start.Add(time.Hour)}
	put := func(size uint32) func(log []byte) {
		return func(log []byte) { binary.LittleEndian.PutUint32(log[starts[mid]:], size) }
	}
	flip := func(at int64) func(log []byte) { return func(log []byte) { log[at] ^= 0xff } }
	for _, test := range []struct {
		what string
		harm func(log []byte)
		lost int64 // records
		at   int
	}{
		{"the last byte of the first", flip(starts[1] - 1), 1, 0},
		{"a checksum", flip(starts[mid] + 5), 1, mid},
		{"a byte in the middle", flip((starts[mid] + starts[mid+1]) / 2), 1, mid},
		{"the last one", flip((starts[records-1] + starts[records]) / 2), 1, records - 1},
		{"a size of nothing", put(0), 1, mid},
		{"a size that can't be", put(1 << 31), 1, mid},
		{"a size after the end", put(uint32(len(log))), 1, mid},
		{"a size within the file", put(uint32(starts[mid+1]-starts[mid]) + 1), 1, mid},
		{"zeros over two", func(log []byte) { clear(log[starts[mid]+3 : starts[mid+1]+40]) }, 2, mid},
		{"zeros at the end", func(log []byte) { clear(log[starts[records-1]:]) }, 1, records - 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			dir := t.TempDir()
			bad := slices.Clone(log)
			test.harm(bad)
			check(t, os.CopyFS(dir, os.DirFS(from)))
			name := filepath.Join(dir, "log", filepath.Base(s.wal.name(1)))
			check(t, os.WriteFile(name, bad, 0o600))
			want := gap{at: starts[test.at], size: starts[test.at+int(test.lost)] - starts[test.at]}
			mended := t.TempDir()
			check(t, os.CopyFS(mended, os.DirFS(dir)))

			if c, err := Check(dir, false); err != nil || len(c.Problems) != 1 || c.Problems[0].Err != want {
				t.Errorf("check: %+v, %v, want %v", c, err, want)
			}
			whole := func(dir string) {
				s := open(t, dir, o)
				entries, _, err := s.Entries(t.Context(), q, 100)
				if err != nil || len(entries) != records-int(test.lost) {
					t.Errorf("%d profiles, %v, want %d without %d", len(entries), err, records, test.lost)
				}
				if dir != mended && (len(s.Damage()) != 1 || !errors.Is(s.Damage()[0], want)) {
					t.Errorf("it says %v, want %v", s.Damage(), want)
				}
				check(t, s.Close())
				kept := contents(t, filepath.Join(dir, damagedDir), walSuffix)
				if len(kept) != 1 || !slices.Contains(slices.Collect(maps.Values(kept)), string(bad)) {
					t.Errorf("%d files are kept, or not the damaged one", len(kept))
				}
				if c, err := Check(dir, false); err != nil || len(c.Problems) > 0 || c.Profiles != records-int(test.lost) {
					t.Errorf("check: %+v, %v", c, err)
				}
			}
			whole(dir)
			if c, err := Check(mended, true); err != nil || len(c.Problems) != 1 || !c.Problems[0].Mended || c.Problems[0].Moved == "" {
				t.Errorf("mending: %+v, %v", c, err)
			}
			whole(mended)
		})
	}
}

// FuzzRecords reads a file of any bytes: each byte is in a record or in a gap.
func FuzzRecords(f *testing.F) {
	u := &store.Upload{Service: "api", Kind: "cpu", Row: store.Labels{{Name: "pod", Value: "a"}}, Raw: []byte("profile")}
	one := append(record("main", u), u.Raw...)
	f.Add(slices.Concat(one, one, one))
	f.Add(slices.Concat(one, one[:20], one))
	f.Add(slices.Concat(make([]byte, 20), one, one[:len(one)-1]))
	f.Fuzz(func(t *testing.T, in []byte) {
		parts := map[int64]int64{}
		gaps, err := eachRecordIn(bytes.NewReader(in), int64(len(in)), func(at int64, _ string, u *store.Upload) error {
			parts[at] = recordHead + int64(binary.LittleEndian.Uint32(in[at:]))
			return nil
		})
		check(t, err)
		for i, g := range gaps {
			parts[g.at] = g.size
			if g.size <= 0 || g.torn && i < len(gaps)-1 {
				t.Errorf("gap %d of %d: %+v", i, len(gaps), g)
			}
		}
		at := int64(0)
		for parts[at] > 0 {
			at += parts[at]
		}
		if at != int64(len(in)) {
			t.Errorf("it knows of %d bytes of %d", at, len(in))
		}
	})
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
	if c, err := Check(dir, false); err != nil || c.Profiles != 0 || c.Logged != len(all) {
		t.Errorf("check finds %+v, %v, want %d profiles in the log", c, err, len(all))
	}
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

// TestLogMakesRoom has a store that the log fills: what is old goes, instead of what is new being refused until the log is old enough.
func TestLogMakesRoom(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Every, f.Rounds, f.Kinds = 1, 6*time.Hour, 20, []string{"cpu"}
	o := testOptions(func() time.Time { return f.Start.Add(16 * 24 * time.Hour) })
	o.Bytes, o.FlushBytes, o.FlushAfter = 60<<10, 32<<20, time.Hour
	s := open(t, t.TempDir(), o)
	defer s.Close()
	for _, u := range f.All() {
		_, err := s.Add(t.Context(), "main", []*store.Upload{u})
		if errors.Is(err, store.ErrFull) {
			check(t, s.Maintain(t.Context()))
			_, err = s.Add(t.Context(), "main", []*store.Upload{u})
		}
		if err != nil {
			t.Fatalf("adding the one of %v: %v", u.Start, err)
		}
	}
}
