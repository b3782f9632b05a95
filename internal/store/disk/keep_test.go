package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

const day = 24 * time.Hour

// later maintains a store as if time had passed.
func later(t *testing.T, s *Store, d time.Duration) {
	t.Helper()
	now := s.Now
	s.Now = func() time.Time { return now().Add(d) }
	check(t, s.Maintain(context.Background()))
	s.Now = now
}

// TestRetention asks for what pins keep of what was dropped at once, and of what became sums before.
func TestRetention(t *testing.T) {
	if testing.Short() {
		t.Skip("adds up weeks of profiles")
	}
	for name, steps := range map[string][]time.Duration{"dropped": {60 * day}, "summed": {3 * day, 12 * day, 60 * day}} {
		t.Run(name, func(t *testing.T) {
			flushed := func(t *testing.T, now func() time.Time) store.Store {
				o := testOptions(now)
				o.Detail, o.Hours, o.Days = day, 10*day, 30*day
				s := open(t, t.TempDir(), o)
				return &after{s, func() { check(t, s.Flush()) }}
			}
			storetest.Retention(t, flushed, func(t *testing.T, s store.Store) {
				for _, d := range steps {
					later(t, s.(*after).Store, d)
				}
			})
		})
	}
}

// TestSums asks about parts of hours and days that are sums.
func TestSums(t *testing.T) {
	storetest.Sums(t, func(t *testing.T, now func() time.Time) store.SumStore {
		o := testOptions(now)
		o.Detail, o.Hours, o.Days = day, 10*day, 100*day
		return open(t, t.TempDir(), o)
	}, func(t *testing.T, s store.SumStore) {
		check(t, s.(*Store).Flush())
		check(t, s.(*Store).Maintain(t.Context()))
	})
}

// A pinnedStore is a day of a service, with a pin of one heap profile that is compared with one before.
type pinnedStore struct {
	*Store
	t    *testing.T
	dir  string
	want *storetest.Memory
	day  store.Query
	pin  store.Query
}

func newPinned(t *testing.T, o Options, services int) *pinnedStore {
	f := storetest.Small()
	f.Services, f.Every, f.Rounds, f.Deploy = services, 10*time.Minute, 140, 7 // names of many versions
	f.Start = time.Date(2026, 9, 1, 0, 0, 7, 0, time.UTC)
	f.Kinds = []string{"cpu", "heap"}
	now := f.Start.Add(day)
	o.Limits, o.Now, o.unsynced = store.DefaultLimits, func() time.Time { return now }, true
	p := &pinnedStore{t: t, dir: t.TempDir(), want: storetest.NewMemory()}
	p.Store = open(t, p.dir, o)
	p.want.Now = o.Now
	t.Cleanup(func() { check(t, p.Close()) })
	all := f.All()
	for _, u := range all {
		if strings.HasSuffix(u.Row.Get("instance"), ".1:80") {
			u.Row = nil // sums have no such label either
		}
	}
	for _, to := range []store.Store{p.Store, p.want} {
		if _, err := to.Add(t.Context(), "main", all); err != nil {
			t.Fatal(err)
		}
	}
	check(t, p.Flush())
	p.day = store.Query{Tenant: "main", Selector: store.Service("service-0"), From: f.Start.Add(-time.Hour), To: f.Start.Add(2 * day)}
	p.pin = p.day
	p.pin.Selector = append(p.pin.Selector, store.Matcher{Name: "instance", Op: store.Is, Value: ""})
	// It is one of the first of its hour, and compared with one of the hour before.
	p.pin.Kind, p.pin.From, p.pin.To = "heap", f.Start.Add(48*f.Every+time.Second), f.Start.Add(49*f.Every)
	if _, err := p.want.Merge(t.Context(), p.pin); err != nil {
		t.Fatal(err)
	}
	for _, s := range []store.Store{p.Store, p.want} {
		check(t, s.Pin(t.Context(), p.pin, store.Pin{Name: "spike"}))
	}
	return p
}

// same holds answers to a question against Memory.
func (p *pinnedStore) same(when string, q store.Query) {
	p.t.Helper()
	got, err := p.Merge(p.t.Context(), q)
	want, wantErr := p.want.Merge(p.t.Context(), q)
	if err != nil || wantErr != nil {
		p.t.Fatalf("%s: %v, want %v", when, err, wantErr)
	}
	if got.Profiles != want.Profiles || len(got.Damage) > 0 || storetest.Dump(got.Profile) != storetest.Dump(want.Profile) {
		p.t.Errorf("%s: %d profiles, want %d; or their samples differ; damage %v", when, got.Profiles, want.Profiles, got.Damage)
	}
}

// checked closes the store, holds Check against what is expected, and opens it again.
func (p *pinnedStore) checked(when string, mend bool, problems int) {
	p.t.Helper()
	check(p.t, p.Close())
	c, err := Check(p.dir, mend)
	if err != nil || len(c.Problems) != problems {
		p.t.Errorf("%s: check: %+v, %v, want %d problems", when, c, err, problems)
	}
	was := p.size
	p.Store = open(p.t, p.dir, p.Options)
	if p.size != was && problems == 0 {
		p.t.Errorf("%s: %d bytes after opening, before %d", when, p.size, was)
	}
}

// onDisk returns the bytes of all files but the catalog and the log.
func (p *pinnedStore) onDisk() (n int64) {
	p.t.Helper()
	for _, name := range list(p.t, filepath.Join(p.dir, dataDir)) {
		info, err := os.Stat(name)
		if err != nil {
			p.t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestRawOfPinned holds that profiles that were pinned when they came in are kept byte for byte, when all around them is dropped or becomes sums, and
// those that were not are not.
func TestRawOfPinned(t *testing.T) {
	for name, steps := range map[string][]time.Duration{"dropped": {60 * day}, "summed": {3 * day, 12 * day, 60 * day}} {
		t.Run(name, func(t *testing.T) {
			f := storetest.Small()
			f.Kinds = []string{"cpu", "heap"}
			o := testOptions(func() time.Time { return f.Start.Add(12 * time.Hour) })
			o.Detail, o.Hours, o.Days = day, 10*day, 30*day
			var synced []string
			o.Fault = func(op string) error { synced = append(synced, op); return nil }
			dir := t.TempDir()
			s := open(t, dir, o)
			all := f.All()
			of := func(u *store.Upload) store.Query {
				return store.Query{Tenant: "main", Selector: store.Service(u.Service), Kind: u.Kind, From: u.Start, To: u.Start.Add(time.Nanosecond)}
			}
			pinned := all[len(all)/3]
			check(t, s.Pin(t.Context(), of(pinned), store.Pin{Name: "spike"}))
			_, err := s.Add(t.Context(), "main", all)
			check(t, err)
			check(t, s.Flush())
			for _, folder := range []string{filepath.Join(dir, dataDir), filepath.Dir(s.all()[0].dir), s.all()[0].dir} {
				if !slices.Contains(synced, "sync "+folder) {
					t.Errorf("%s is not on stable storage, only %q", folder, synced)
				}
			}
			bytes := func(when string, u *store.Upload) []byte {
				t.Helper()
				_, _, raw, err := s.Profile(t.Context(), of(u), u.ID)
				if err != nil && u == pinned {
					t.Fatalf("%s: %v", when, err)
				}
				return raw
			}
			for _, d := range steps {
				later(t, s, d)
				if got := bytes(d.String(), pinned); string(got) != string(pinned.Raw) {
					t.Errorf("after %v the pinned profile has %d bytes, want those %d that came in", d, len(got), len(pinned.Raw))
				}
				for _, u := range all {
					if u.Service == pinned.Service && !u.Start.Equal(pinned.Start) && bytes(d.String(), u) != nil {
						t.Errorf("after %v a profile that is not pinned is kept as it came in", d)
					}
				}
			}
			was := s.size
			check(t, s.Close())
			s = open(t, dir, o)
			defer s.Close()
			if s.size != was || string(bytes("opened again", pinned)) != string(pinned.Raw) {
				t.Errorf("opened again, the store has %d bytes, before %d; or the profile is gone", s.size, was)
			}
			check(t, s.Unpin(t.Context(), "main", "spike"))
			later(t, s, 60*day)
			if s.size != 0 {
				t.Errorf("without the pin %d bytes are left", s.size)
			}
		})
	}
}

// TestLabelsOfSums asks for names and values of labels of days that are sums: the names of their functions are not read.
func TestLabelsOfSums(t *testing.T) {
	f := storetest.Small()
	o := testOptions(func() time.Time { return f.Start.Add(12 * time.Hour) })
	o.Detail, o.Hours, o.Days = day, 10*day, 30*day
	s := open(t, t.TempDir(), o)
	defer s.Close()
	_, err := s.Add(t.Context(), "main", f.All())
	check(t, err)
	check(t, s.Flush())
	q := store.Query{Tenant: "main", From: f.Start.Add(-day), To: f.Start.Add(2 * day)}
	before, _, err := s.Values(t.Context(), q, "version", "", 100)
	check(t, err)
	later(t, s, 3*day)
	for _, b := range s.all() {
		b.dict = nil
	}
	names, err := s.Names(t.Context(), q)
	check(t, err)
	values, _, err := s.Values(t.Context(), q, "version", "", 100)
	check(t, err)
	services, _, err := s.Values(t.Context(), q, store.ServiceLabel, "service-0", 100)
	check(t, err)
	if !slices.Contains(names, "version") || !slices.Contains(names, store.ServiceLabel) || slices.Contains(names, "instance") ||
		len(values) == 0 || !slices.Equal(values, before) || len(services) != 1 {
		t.Errorf("names %q, versions %q, before %q, services %q", names, values, before, services)
	}
	for _, b := range s.all() {
		if b.dict != nil {
			t.Errorf("the names of %s were read", b.Service)
		}
	}
}

// TestOnePinnedProfile counts what one profile keeps of a day.
func TestOnePinnedProfile(t *testing.T) {
	p := newPinned(t, Options{Detail: day, Hours: 10 * day, Days: 30 * day}, 1)
	before := p.onDisk()
	later(t, p.Store, 60*day)
	p.want.Expire()
	p.same("the pin", p.pin)
	all := p.day
	all.Kind = "heap"
	p.same("the day", all)
	if s, err := p.Series(t.Context(), p.day); err != nil || len(s) != 1 || s[0].Profiles != 1 {
		t.Errorf("series: %+v, %v", s, err)
	}
	left := p.onDisk()
	t.Logf("%d bytes, of them left %d", before, left)
	if left > before/25 || left != p.size {
		t.Errorf("%d bytes are left of %d, and the store counts %d", left, before, p.size)
	}
	p.checked("after retention", false, 0)
	p.same("opened again", p.pin)
	files := list(t, p.dir)
	later(t, p.Store, 60*day)
	if again := list(t, p.dir); len(again) != len(files) || again[1] != files[1] {
		t.Errorf("what had nothing to do wrote %q, before there was %q", again, files)
	}
	p.all()[0].dict = nil
	later(t, p.Store, 60*day)
	if p.all()[0].dict != nil {
		t.Error("names are read each time")
	}

	check(t, p.Close())
	check(t, os.Remove(filepath.Join(p.dir, "catalog")))
	p.Store = &Store{}
	if c, err := Check(p.dir, true); err != nil || len(c.Problems) != 1 || c.Profiles != 2 {
		t.Errorf("without a catalog: %+v, %v", c, err)
	}
	p.Store = open(t, p.dir, testOptions(p.want.Now))
	p.same("with a new catalog", p.pin)

	p.Detail, p.Hours, p.Days = day, 10*day, 30*day // the catalog had the pin
	later(t, p.Store, 60*day)
	if n := p.onDisk(); n != 0 || p.size != 0 {
		t.Errorf("without the pin %d bytes are left; the store counts %d", n, p.size)
	}
}

// TestPinnedProfilesAndSums asks for a day of which all but one profile are sums: nothing counts twice.
func TestPinnedProfilesAndSums(t *testing.T) {
	if testing.Short() {
		t.Skip("adds up weeks of profiles")
	}
	p := newPinned(t, Options{Detail: day, Hours: 10 * day}, 1)
	half := p.day
	half.Kind, half.From, half.To = "cpu", p.pin.From.Truncate(time.Hour), p.pin.From.Truncate(time.Hour).Add(30*time.Minute)
	check(t, p.Pin(t.Context(), half, store.Pin{Name: "half an hour"}))
	size := p.size
	for _, d := range []time.Duration{3 * day, 12 * day} {
		later(t, p.Store, d)
		p.same("the pin", p.pin)
		p.same("the pin of half an hour", half)
		for _, kind := range []string{"cpu", "heap"} {
			q := p.day
			q.Kind = kind
			got, err := p.Merge(t.Context(), q)
			want, wantErr := p.want.Merge(t.Context(), q)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			if got.Profiles != want.Profiles {
				t.Errorf("%d profiles of %s, want %d", got.Profiles, kind, want.Profiles)
			}
			for k, typ := range want.Profile.SampleTypes {
				if a, b := sum(got.Profile.Values(k)), sum(want.Profile.Values(k)); a != b && store.NatureOf(kind, typ.Type, false) != store.Level {
					t.Errorf("%s of %s is %d, want %d", typ.Type, kind, a, b)
				}
			}
		}
		if p.size >= size {
			t.Errorf("%d bytes, before %d", p.size, size)
		}
		size = p.size
		p.checked("after "+d.String(), false, 0)
	}
	check(t, p.Unpin(t.Context(), "main", "spike"))
	check(t, p.Unpin(t.Context(), "main", "half an hour"))
	later(t, p.Store, 12*day)
	if entries, _, err := p.Entries(t.Context(), p.day, 10); err != nil || len(entries) != 0 {
		t.Errorf("entries without the pin: %v, %v", entries, err)
	}
	q := p.day
	q.Kind = "heap"
	got, err := p.Merge(t.Context(), q)
	want, wantErr := p.want.Merge(t.Context(), q)
	if err != nil || wantErr != nil || got.Profiles != want.Profiles || sum(got.Profile.Values(0)) != sum(want.Profile.Values(0)) {
		t.Errorf("without the pin the day is another: %v, %v", err, wantErr)
	}
}

// TestPinnedWithinBytes drops what is too much, and not what is pinned.
func TestPinnedWithinBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("adds weeks of profiles")
	}
	p := newPinned(t, Options{}, 2)
	before := p.size
	p.Bytes = before * 3 / 4
	later(t, p.Store, 0)
	if p.size > p.Bytes {
		t.Errorf("%d bytes, the limit is %d", p.size, p.Bytes)
	}
	p.same("the pin", p.pin)
	if m, err := p.Merge(t.Context(), p.pin); err != nil || m.Profiles != 1 {
		t.Errorf("%v, %v", m, err)
	}
	if entries, _, err := p.Entries(t.Context(), p.day, 1000); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v, want only what is pinned", len(entries), err)
	}
	other := p.day
	other.Selector, other.Kind = store.Service("service-1"), "heap"
	p.same("the other service", other)
}

// TestRetentionFails stops retention at each write: what is there stays, and the next time succeeds.
func TestRetentionFails(t *testing.T) {
	if testing.Short() {
		t.Skip("adds up weeks of profiles")
	}
	p := newPinned(t, Options{Detail: day, Hours: 10 * day, Days: 30 * day}, 1)
	q := p.day
	q.Kind = "heap"
	broken := errors.New("broken")
	for _, at := range []string{"segment", "names"} {
		n := 0
		p.wal.fault = func(op string) error {
			if op == at {
				if n++; n > 1 || at == "names" {
					return broken
				}
			}
			return nil
		}
		now := p.Now
		p.Now = func() time.Time { return now().Add(60 * day) }
		if err := p.Maintain(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%s: error %v", at, err)
		}
		p.Now = now
		p.wal.fault = nil
		p.same("after a failed write of "+at, q)
		p.checked("after a failed write of "+at, false, 0)
	}
	// A crash before the catalog changes, and one after it, before the old files are gone.
	check(t, p.Close())
	old := t.TempDir()
	check(t, os.CopyFS(old, os.DirFS(p.dir)))
	p.Store = open(t, p.dir, p.Options)
	full := *p
	later(t, p.Store, 60*day)
	data := func(of string) string { return filepath.Join(of, dataDir) }
	files, small := len(list(t, data(old))), len(list(t, data(p.dir)))
	both := t.TempDir()
	check(t, os.CopyFS(both, os.DirFS(data(old))))
	check(t, os.CopyFS(both, os.DirFS(data(p.dir))))

	check(t, os.CopyFS(data(p.dir), os.DirFS(data(old))))
	full.Store, full.dir = open(t, old, p.Options), old
	check(t, os.RemoveAll(data(old)))
	check(t, os.CopyFS(data(old), os.DirFS(both)))
	full.same("with new files", q)
	full.checked("with new files", true, small)
	full.same("without new files", q)
	check(t, full.Close())
	check(t, os.Remove(filepath.Join(old, "catalog")))
	check(t, os.CopyFS(filepath.Join(old, "again"), os.DirFS(both)))
	check(t, os.RemoveAll(data(old)))
	check(t, os.Rename(filepath.Join(old, "again"), data(old)))
	if c, err := Check(old, true); err != nil || len(c.Problems) != 1+small {
		t.Errorf("without a catalog: %+v, %v, want %d problems", c, err, 1+small)
	}
	full.Store = open(t, old, p.Options)
	full.same("with a new catalog", q)
	check(t, full.Close())

	p.want.Expire()
	p.same("with old files", q)
	p.checked("with old files", true, files)
	p.checked("without old files", false, 0)
	p.same("without old files", q)
}

// TestWhatIsLeft asks about an hour of a day that is a sum, and about a label that sums do not have.
func TestWhatIsLeft(t *testing.T) {
	f := storetest.Small()
	o := testOptions(func() time.Time { return f.Start.Add(12 * time.Hour) })
	o.Detail, o.Hours, o.Days = 12*time.Hour, 10*day, 30*day
	s := open(t, t.TempDir(), o)
	defer s.Close()
	_, err := s.Add(t.Context(), "main", f.All())
	check(t, err)
	check(t, s.Flush())
	q := store.Query{Tenant: "main", Selector: store.Service("service-1"), From: f.Start, To: f.Start.Add(time.Minute)}
	if sums, err := s.Sums(t.Context(), q); err != nil || sums != nil {
		t.Errorf("before retention there are %v, %v", sums, err)
	}
	hour := f.Start.Truncate(time.Hour)
	for _, c := range []struct {
		after    time.Duration
		from, to time.Time
		want     string // of the sums of an hour
	}{
		{3 * day, hour, hour.Add(time.Hour), "the sum of the hour"}, {12 * day, hour.Truncate(day), hour.Truncate(day).Add(day), "the sum of the day"},
	} {
		later(t, s, c.after)
		sums, err := s.Sums(t.Context(), q)
		check(t, err)
		if sums == nil || !sums.From.Equal(c.from) || !sums.To.Equal(c.to) || !sums.Beyond(q) || !strings.HasPrefix(sums.String(), c.want+" from ") ||
			!strings.HasSuffix(sums.String(), " is what is left of this time, since single profiles and their labels are kept for 12h") {
			t.Errorf("after %s there are sums %v", c.after, sums)
		}
		if all := (store.Query{From: c.from, To: c.to}); sums != nil && sums.Beyond(all) {
			t.Errorf("%s goes beyond its own time", sums)
		}
	}
	last := q
	last.From, last.To = hour.Truncate(day).Add(23*time.Hour), hour.Truncate(day).Add(day)
	none := store.Explain(t.Context(), s, last)
	if none.Found == nil || none.Found.Sums == nil || !none.Found.Sums.From.Equal(hour.Truncate(day)) {
		t.Errorf("about an hour of the day, it says %+v", none.Found)
	}
	q.Selector = append(q.Selector, store.Matcher{Name: "instance", Op: store.Is, Value: "10.0.0.1:80"})
	none = store.Explain(t.Context(), s, q)
	if none.Found == nil || none.Found.Label != "instance" || none.Found.Sums == nil || none.Found.Sums.Kept != 12*time.Hour {
		t.Errorf("about a label of single profiles, it says %+v", none.Found)
	}
}

// TestSumsBetween compares counters of a profile with those of the one before, and not with sums that start in between.
func TestSumsBetween(t *testing.T) {
	d := newDict()
	d.rows, d.shapes = make([]store.Labels, 1), make([]shape, 1)
	o := &opened{block: &block{}, dict: d, rows: map[uint32]string{}}
	at := func(minutes int64, flags uint8) *taken {
		return &taken{start: minutes * int64(time.Minute), flags: flags}
	}
	a := &answer{parts: []*part{
		{opened: o, about: []*taken{at(1, flagCounters), at(20, flagCounters)}, in: []bool{true, true}},
		{opened: o, rolled: true, about: []*taken{at(10, 0)}, in: []bool{true}},
	}}
	list := a.streams()[0]
	if f := list[2]; len(list) != 3 || f.before != list[0] {
		t.Errorf("it is compared with %+v", f.before)
	}
}
