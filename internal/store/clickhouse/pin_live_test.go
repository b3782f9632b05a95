//go:build live || nightly

package clickhouse

import (
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/testrun"
)

// expire deletes what retention deletes at last: everything, but what is said to be seen after now.
func expire(t *testing.T, s *Store) {
	t.Helper()
	for _, table := range []string{"profiles", "streams", "samples", "received", "samples_hour", "samples_day"} {
		if err := s.db.exec(t.Context(), "TRUNCATE TABLE "+s.table(table)); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"stacks", "frames", "sets", "heads"} {
		if err := s.db.exec(t.Context(), "ALTER TABLE "+s.table(table)+" DELETE WHERE seen <= now() SETTINGS mutations_sync = 2"); err != nil {
			t.Fatal(err)
		}
	}
	s.dictionaries, s.heads = map[string]*dictionary{}, map[headKey]*head{}
}

// TestRetention asks for what pins keep when all else has expired, as of the store on disk.
func TestRetention(t *testing.T) {
	testrun.Nightly(t, "takes a minute of CPU time; TestPinned asks for single pins")
	storetest.Retention(t, func(t *testing.T, now func() time.Time) store.Store {
		s := withMemo(openAt(t, anyServer(t).address, newDatabase(), now))
		s.layout.Keep, s.layout.Hours, s.layout.Days = 7*24*time.Hour, 30*24*time.Hour, 400*24*time.Hour
		return s
	}, func(t *testing.T, s store.Store) { expire(t, s.(*Store)) })
}

// TestPinned asks for what pins keep when all else has expired.
func TestPinned(t *testing.T) {
	f, _ := fleet()
	f.Every = 10 * time.Minute
	f.Kinds = []string{"cpu", "heap"}
	all := f.All()
	end := f.Start.Add(10 * time.Hour)
	now := func() time.Time { return end }
	database := newDatabase()
	s := withMemo(openAt(t, anyServer(t).address, database, now))
	defer s.Close()
	// These are expired by hand: an engine deletes when it likes.
	s.layout.Keep, s.layout.Hours, s.layout.Days = 7*24*time.Hour, 30*24*time.Hour, 400*24*time.Hour
	late := all[len(all)-1]
	add(t, s, all[:len(all)-1])
	want := storetest.NewMemory()
	want.Now = now
	if _, err := want.Add(t.Context(), "main", copies(all)); err != nil {
		t.Fatal(err)
	}
	query := func(kind string, from, to time.Duration) store.Query {
		return store.Query{Tenant: "main", Kind: kind, From: f.Start.Add(from), To: f.Start.Add(to)}
	}
	cpu, heap := query("cpu", 15*time.Minute, 45*time.Minute), query("heap", 15*time.Minute, 45*time.Minute)
	afterwards := query(late.Kind, late.Start.Sub(f.Start), late.Start.Sub(f.Start)+time.Minute)
	for name, q := range map[string]store.Query{"it's": cpu, "heap": heap, "late": afterwards} {
		for range 2 { // twice is once
			if err := s.Pin(t.Context(), q, store.Pin{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	end = end.Add(2 * copyEvery)
	add(t, s, []*store.Upload{late}) // after its pin was made

	check := func(when string, queries ...store.Query) {
		t.Helper()
		for _, q := range queries {
			got, err := s.Merge(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %s: %v", when, q.Kind, err)
				continue
			}
			w, err := want.Merge(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if storetest.Dump(got.Profile) != storetest.Dump(w.Profile) || len(got.Damage) > 0 || got.Profiles != w.Profiles {
				t.Errorf("%s: %s differs; %d profiles, want %d; damage %v", when, q.Kind, got.Profiles, w.Profiles, got.Damage)
			}
			entries, _, err := s.Entries(t.Context(), q, 1000)
			if err != nil || len(entries) != w.Profiles {
				t.Errorf("%s: %s: %d entries, %v, want %d", when, q.Kind, len(entries), err, w.Profiles)
				continue
			}
			for _, e := range entries {
				_, one, raw, err := s.Profile(t.Context(), q, e.ID)
				if err != nil {
					t.Errorf("%s: profile %v: %v", when, e.ID, err)
					continue
				}
				_, w, wantRaw, err := want.Profile(t.Context(), q, e.ID)
				if err != nil {
					t.Fatal(err)
				}
				if q.Kind == late.Kind && q.From.Equal(afterwards.From) && string(raw) != string(wantRaw) {
					t.Errorf("%s: of profile %v, %d bytes are kept as they came in, want %d", when, e.ID, len(raw), len(wantRaw))
				}
				if storetest.Dump(one) != storetest.Dump(w) {
					t.Errorf("%s: profile %v differs", when, e.ID)
				}
			}
		}
	}
	check("before", cpu, heap, afterwards)
	expire(t, s)
	check("after retention", cpu, heap, afterwards)
	if _, err := s.Merge(t.Context(), query("goroutine", 0, 10*time.Hour)); err == nil {
		t.Error("goroutines are left, which nobody has pinned")
	}

	// A second pin keeps what only the first has.
	if err := s.Pin(t.Context(), cpu, store.Pin{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Unpin(t.Context(), "main", "it's"); err != nil {
		t.Fatal(err)
	}
	check("with one of two pins", cpu, heap)
	if err := s.Unpin(t.Context(), "main", "second"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Merge(t.Context(), cpu); err == nil {
		t.Errorf("%d profiles are left without a pin", got.Profiles)
	}
	check("without the other pins", heap)
}

// TestMigrate opens a database of an earlier version of hone: one without what has been added since, and with a pin from then.
func TestMigrate(t *testing.T) {
	f, _ := fleet()
	f.Every, f.Kinds = 10*time.Minute, []string{"heap"}
	end := f.Start.Add(10 * time.Hour)
	now := func() time.Time { return end }
	at, database := anyServer(t).address, newDatabase()
	s := openAt(t, at, database, now)
	add(t, s, f.All())
	pinned := store.Query{Tenant: "main", Kind: "heap", From: f.Start.Add(15 * time.Minute), To: f.Start.Add(45 * time.Minute)}
	if err := s.Pin(t.Context(), pinned, store.Pin{Name: "before"}); err != nil {
		t.Fatal(err)
	}
	whole := pinned
	whole.From, whole.To = f.Start, end
	entries := func(q store.Query) int {
		t.Helper()
		list, _, err := s.Entries(t.Context(), q, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	want := entries(pinned)
	expire(t, s)
	for _, statement := range []string{
		"ALTER TABLE " + s.table("pinned_profiles") + " DROP COLUMN baseline", "DROP TABLE " + s.table("received"), "DROP TABLE " + s.table("pinned_received"),
		"ALTER TABLE " + s.table("streams") + " DROP COLUMN labels", // an alias
	} {
		if err := s.db.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	for range 2 { // the second time, nothing is missing
		s = openAt(t, at, database, now)
		defer s.Close()
		if got := entries(pinned); got != want || want == 0 {
			t.Errorf("%d profiles are pinned, want %d", got, want)
		}
		if got := entries(whole); got != want {
			t.Errorf("%d profiles are shown, of which %d are only what those of the pin are compared with", got, got-want)
		}
	}
	add(t, s, f.All()[:4])
	if got := entries(whole); got <= want {
		t.Errorf("%d profiles after more came in, want more than %d", got, want)
	}
}
