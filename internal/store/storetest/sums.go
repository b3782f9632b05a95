package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Sums asks about parts of hours and days of which only sums are left. The store of open keeps single profiles for a day and hourly sums for ten days, and age
// does what it does when it is later.
func Sums(t *testing.T, open func(t *testing.T, now func() time.Time) store.SumStore, age func(t *testing.T, s store.SumStore)) {
	f := Small()
	f.Services, f.Every, f.Rounds, f.Deploy = 2, 5*time.Minute, 40, 20 // from 9:57 to 13:12; version v1 begins at 11:37
	f.Kinds = []string{"cpu", "goroutine"}
	now := f.Start.Add(12 * time.Hour)
	var sums store.SumStore
	p := newPair(t, func(t *testing.T, now func() time.Time) store.Store {
		sums = open(t, now)
		return sums
	}, func() time.Time { return now })
	ctx := context.Background()
	p.add("main", f.All()...)
	day := f.Start.Truncate(24 * time.Hour)
	at := func(hour, minute int) time.Time {
		return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	}
	query := func(selector, kind string, from, to time.Time) store.Query {
		return store.Query{Tenant: "main", Selector: mustSelect(t, selector), Kind: kind, From: from, To: to}
	}
	pinned := query("service-1", "cpu", at(10, 10), at(10, 25))
	if err := p.got.Pin(ctx, pinned, store.Pin{Name: "pin"}); err != nil {
		t.Fatal(err)
	}
	// same compares what is left of a time with the profiles of the whole hours and days.
	same := func(when string, q store.Query, from, to time.Time) {
		t.Helper()
		got, err := p.got.Merge(ctx, q)
		whole := q
		whole.From, whole.To = from, to
		want, wantErr := p.want.Merge(ctx, whole)
		if err != nil || wantErr != nil {
			t.Errorf("%s: %v, %v", when, err, wantErr)
			return
		}
		if got.Profiles != want.Profiles || len(got.Damage) > 0 {
			t.Errorf("%s: %d profiles, want %d; damage %v", when, got.Profiles, want.Profiles, got.Damage)
		}
		for k, typ := range want.Profile.SampleTypes {
			if got, want := total(got.Profile, k), total(want.Profile, k); got != want && store.NatureOf(q.Kind, typ.Type, false) != store.Level {
				t.Errorf("%s: %s is %d, want %d", when, typ.Type, got, want)
			}
		}
		if got, want := len(got.Profile.Functions), len(want.Profile.Functions); got != want {
			t.Errorf("%s: there are %d functions, want %d", when, got, want)
		}
		lines, err := p.got.Totals(ctx, q, 5*time.Minute, nil)
		// Totals may still be of single profiles, of which there may be none in that part. No point is before it.
		if err != nil || len(lines) > 1 || len(lines) == 1 && lines[0].Points[0].Time.Before(q.From.Truncate(5*time.Minute)) {
			t.Errorf("%s: totals %+v, %v", when, lines, err)
		}
		left, err := sums.Sums(ctx, q)
		if err != nil || left == nil || !left.From.Equal(from) || !left.To.Equal(to) || left.Beyond(q) != (q.From.After(from) || q.To.Before(to)) {
			t.Errorf("%s: it says that there are %v, %v", when, left, err)
		}
	}
	nothing := func(when string, q store.Query) {
		t.Helper()
		var none *store.NothingError
		if got, err := p.got.Merge(ctx, q); !errors.As(err, &none) {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
	}
	if left, err := sums.Sums(ctx, query("service-0", "cpu", at(12, 10), at(12, 40))); err != nil || left != nil {
		t.Errorf("at first, it says that there are %v, %v", left, err)
	}
	pin := func() {
		t.Helper()
		got, err := p.got.Merge(ctx, pinned)
		want, wantErr := p.want.Merge(ctx, pinned)
		if err != nil || wantErr != nil || Dump(got.Profile) != Dump(want.Profile) {
			t.Errorf("what is pinned is another: %v, %v", err, wantErr)
		}
	}

	now = now.Add(3 * 24 * time.Hour)
	age(t, sums)
	for _, kind := range f.Kinds {
		same("an hour of "+kind, query("service-0", kind, at(12, 0), at(13, 0)), at(12, 0), at(13, 0))
		same("a part of an hour of "+kind, query("service-0", kind, at(12, 10), at(12, 40)), at(12, 0), at(13, 0))
		same("two parts of "+kind, query("service-0", kind, at(11, 50), at(12, 20)), at(11, 0), at(13, 0))
		same("the end of the first version, of "+kind, query(`service-0{version="v0"}`, kind, at(11, 30), at(12, 0)), at(11, 0), at(12, 0))
	}
	nothing("before the second version", query(`service-0{version="v1"}`, "cpu", at(11, 0), at(11, 30)))
	nothing("before the first profile", query("service-0", "cpu", at(9, 0), at(9, 30)))
	pin()

	now = now.Add(12 * 24 * time.Hour)
	age(t, sums)
	same("an hour of a day", query("service-0", "cpu", at(12, 10), at(13, 10)), day, day.Add(24*time.Hour))
	same("an hour of a version", query(`service-0{version="v0"}`, "cpu", at(12, 10), at(13, 10)), day, day.Add(24*time.Hour))
	nothing("an hour before the second version", query(`service-0{version="v1"}`, "cpu", at(10, 10), at(11, 10)))
	pin()
}
