//go:build live || nightly

package clickhouse

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A failing is a client whose calls fail: some before they reach the database, some after.
type failing struct {
	client
	rng  *rand.Rand
	odds float64
}

var errBroken = errors.New("the connection broke")

func (f *failing) insert(ctx context.Context, table, token string, columns []column) error {
	if f.rng.Float64() < f.odds {
		return errBroken
	}
	if err := f.client.insert(ctx, table, token, columns); err != nil {
		return err
	}
	if f.rng.Float64() < f.odds {
		return errBroken // the answer was lost
	}
	return nil
}

func copies(uploads []*store.Upload) []*store.Upload {
	out := make([]*store.Upload, len(uploads))
	for i, u := range uploads {
		c := *u
		c.Parsed = nil
		out[i] = &c
	}
	return out
}

// exactly holds a store against one in memory that has been given each upload once.
func exactly(t *testing.T, s *Store, all []*store.Upload, now func() time.Time) {
	t.Helper()
	for _, from := range []int{1, 1000} { // by sums of hours and days, and by samples
		s.sumsFrom = from
		exactlyOnce(t, s, all, now)
	}
}

func exactlyOnce(t *testing.T, s *Store, all []*store.Upload, now func() time.Time) {
	t.Helper()
	want := storetest.NewMemory()
	want.Now = now
	if _, err := want.Add(t.Context(), "main", copies(all)); err != nil {
		t.Fatal(err)
	}
	first, last := all[0].Start, all[0].Start
	kinds := map[string]bool{}
	for _, u := range all {
		kinds[u.Kind] = true
		if u.Start.Before(first) {
			first = u.Start
		}
		if u.Start.After(last) {
			last = u.Start
		}
	}
	for kind := range kinds {
		for _, fold := range []store.Fold{store.Natural, store.Sum} {
			q := store.Query{Tenant: "main", Kind: kind, From: first, To: last.Add(1), Fold: fold}
			a, err := s.Merge(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			b, err := want.Merge(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if a.Profiles != b.Profiles || a.Streams != b.Streams || len(a.Damage) > 0 {
				t.Errorf("%s: %d profiles of %d streams, want %d of %d; damage %v", kind, a.Profiles, a.Streams, b.Profiles, b.Streams, a.Damage)
			}
			if storetest.Dump(a.Profile) != storetest.Dump(b.Profile) {
				t.Errorf("%s: the sum of fold %d is another one than of each profile once", kind, fold)
			}
		}
	}
}

func fleet() (storetest.Fleet, func() time.Time) {
	f := storetest.Small()
	f.Services, f.Rounds, f.Kinds = 2, 4, []string{"cpu", "heap"}
	end := f.Start.Add(time.Duration(f.Rounds+1) * f.Every)
	return f, func() time.Time { return end }
}

// TestRetries adds a fleet through a connection that breaks all the time, again and again and each time in other batches, by two
// servers that know nothing of each other.
func TestRetries(t *testing.T) {
	f, now := fleet()
	all := f.All()
	database := newDatabase()
	rng := rand.New(rand.NewPCG(3, 4))
	var servers []*Store
	for range 2 {
		s := openAt(t, anyServer(t).address, database, now)
		defer s.Close()
		s.db = &failing{client: s.db, rng: rng, odds: 0.12}
		servers = append(servers, s)
	}
	kept := map[*store.Upload]bool{}
	failures := 0
	for round := 0; len(kept) < len(all); round++ {
		if round > 200 {
			t.Fatal("nothing gets through")
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(u *store.Upload) bool { return kept[u] && rng.IntN(4) > 0 })
		rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for len(rest) > 0 {
			n := min(len(rest), 1+rng.IntN(9))
			if _, err := servers[rng.IntN(2)].Add(t.Context(), "main", copies(rest[:n])); err == nil {
				for _, u := range rest[:n] {
					kept[u] = true
				}
			} else if failures++; !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
	}
	if failures < 10 {
		t.Errorf("only %d attempts failed", failures)
	}
	whole := withMemo(openAt(t, anyServer(t).address, database, now))
	defer whole.Close()
	exactly(t, whole, all, now)
	for _, o := range add(t, whole, all) {
		if !o.Repeated {
			t.Fatal("an upload is not recognized")
		}
	}
	exactly(t, whole, all, now)
}

func add(t *testing.T, s *Store, uploads []*store.Upload) []store.Outcome {
	t.Helper()
	out, err := s.Add(t.Context(), "main", copies(uploads))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// late lets the profiles of a server arrive only when those of another one have, so that both keep the same uploads.
type late struct {
	client
	before func()
}

func (l *late) insert(ctx context.Context, table, token string, columns []column) error {
	if table == "profiles" {
		l.before()
	}
	return l.client.insert(ctx, table, token, columns)
}

// TestSameMoment gives two servers the same uploads at the same moment: neither finds those of the other, and both keep them.
func TestSameMoment(t *testing.T) {
	f, now := fleet()
	all := f.All()
	database := newDatabase()
	one, two := openAt(t, anyServer(t).address, database, now), openAt(t, anyServer(t).address, database, now)
	defer one.Close()
	defer two.Close()
	one.db = &late{one.db, func() { add(t, two, all) }}
	for _, o := range add(t, one, all) {
		if o.Repeated {
			t.Fatal("the uploads were found, so this tests nothing")
		}
	}
	var rows, ids []uint64
	if err := two.db.query(t.Context(), "SELECT count(), uniqExact(id) FROM "+two.table("profiles"), &rows, &ids); err != nil {
		t.Fatal(err)
	}
	if rows[0] != 2*uint64(len(all)) || ids[0] != uint64(len(all)) {
		t.Fatalf("%d rows of %d profiles, so this tests nothing", rows[0], ids[0])
	}
	exactly(t, two, all, now)
	if err := two.db.exec(t.Context(), "OPTIMIZE TABLE "+two.table("profiles")+" FINAL"); err != nil {
		t.Fatal(err)
	}
	exactly(t, two, all, now)
}

// TestSentTwice sends the same request twice, as a proxy may.
func TestSentTwice(t *testing.T) {
	f, now := fleet()
	all := f.All()
	s := openAt(t, anyServer(t).address, newDatabase(), now)
	defer s.Close()
	once := s.db
	s.db = &twice{once}
	add(t, s, all)
	s.db = once
	exactly(t, s, all, now)
	for _, table := range []string{"samples", "samples_hour", "samples_day"} {
		var sums []int64
		err := s.db.query(t.Context(), "SELECT sum(v0) FROM "+s.table(table)+" WHERE kind = 'cpu'", &sums)
		if want := int64(f.Services * f.Instances * f.Rounds * f.Ticks); err != nil || sums[0] != want {
			t.Errorf("%s: %d ticks, %v, want %d", table, sums, err, want)
		}
	}
}

type twice struct{ client }

func (c *twice) insert(ctx context.Context, table, token string, columns []column) error {
	if err := c.client.insert(ctx, table, token, columns); err != nil {
		return err
	}
	return c.client.insert(ctx, table, token, columns)
}

// TestServerAway takes the server away and brings it back.
func TestServerAway(t *testing.T) {
	f, now := fleet()
	all := f.All()
	dir := t.TempDir()
	srv := start(t, dir, "127.0.0.1:0")
	at := srv.address
	s := openAt(t, at, "away", now)
	defer s.Close()
	half := len(all) / 2
	add(t, s, all[:half])
	srv.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.Add(ctx, "main", copies(all[half:])); err == nil || ctx.Err() != nil {
		t.Errorf("adding while the server is away: %v, %v", err, ctx.Err())
	}
	srv = start(t, dir, at)
	defer func() { srv.kill() }()
	add(t, s, all[half-3:])
	exactly(t, s, all, now)

	// A server that takes requests and does not answer: the time that the caller gives it counts.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	a, err := ParseAddress("clickhouse://someone:hunter2@" + silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(short, a, Options{}); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a server that is silent: %v", err)
	}
}

// TestServerKilled kills the server in the middle of inserts, wherever they are, until all is in.
func TestServerKilled(t *testing.T) {
	f, now := fleet()
	all := f.All()
	dir := t.TempDir()
	srv := start(t, dir, "127.0.0.1:0")
	to := srv.address
	// Between the store and the server, a proxy counts bytes and kills the server when there were enough.
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	var left atomic.Int64
	left.Store(1 << 40)
	dead := make(chan bool, 1)
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer up.Close()
				go func() {
					io.Copy(c, up)
					c.Close()
				}()
				buf := make([]byte, 512)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if _, err := up.Write(buf[:n]); err != nil {
						return
					}
					if was := left.Add(int64(-n)); was <= 0 && was > int64(-n) {
						srv.process.Process.Kill()
						dead <- true
					}
				}
			}()
		}
	}()
	s := openAt(t, proxy.Addr().String(), "killed", now)
	defer s.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	kills := 0
	for rest := all; len(rest) > 0; {
		n := min(len(rest), 1+rng.IntN(12))
		if kills < 6 {
			left.Store(int64(500 + rng.IntN(30_000)))
		} else {
			left.Store(1 << 40)
		}
		_, err := s.Add(t.Context(), "main", copies(rest[:n]))
		select {
		case <-dead:
			kills++
			srv.process.Wait()
			srv = start(t, dir, to)
		default:
			if err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			rest = rest[n:]
		}
	}
	defer func() { srv.kill() }()
	if kills < 6 {
		t.Errorf("the server was killed only %d times", kills)
	}
	exactly(t, s, all, now)
	for i, o := range add(t, s, all) {
		if !o.Repeated {
			t.Errorf("upload %d was lost", i)
		}
	}
	exactly(t, s, all, now)
}

// TestSums asks about parts of hours and days whose samples have expired.
func TestSums(t *testing.T) {
	expire := []string{"samples", "samples_hour"}
	storetest.Sums(t, func(t *testing.T, now func() time.Time) store.SumStore {
		s := openAt(t, anyServer(t).address, newDatabase(), now)
		s.layout.Keep, s.layout.Hours, s.layout.Days = 24*time.Hour, 10*24*time.Hour, 100*24*time.Hour
		return s
	}, func(t *testing.T, s store.SumStore) {
		if err := s.(*Store).db.exec(t.Context(), "TRUNCATE TABLE "+s.(*Store).table(expire[0])); err != nil {
			t.Fatal(err)
		}
		expire = expire[1:]
	})
}

// TestExpired asks for what is left when samples of single profiles have expired.
func TestExpired(t *testing.T) {
	f, _ := fleet()
	f.Every = 10 * time.Minute // over two hours
	f.Kinds = []string{"cpu", "heap", "goroutine"}
	all := f.All()
	end := f.Start.Add(10 * time.Hour)
	now := func() time.Time { return end }
	s := openAt(t, anyServer(t).address, newDatabase(), now)
	defer s.Close()
	s.sumsFrom = 1
	add(t, s, all)
	want := storetest.NewMemory()
	want.Now = now
	if _, err := want.Add(t.Context(), "main", copies(all)); err != nil {
		t.Fatal(err)
	}
	if err := s.db.exec(t.Context(), "TRUNCATE TABLE "+s.table("samples")); err != nil {
		t.Fatal(err)
	}
	day := f.Start.Truncate(24 * time.Hour)
	for _, tt := range []struct {
		kind     string
		fold     store.Fold
		from, to time.Time
		left     bool
	}{
		{"cpu", store.Natural, day, day.Add(24 * time.Hour), true},
		{"cpu", store.Sum, day.Add(10 * time.Hour), day.Add(11 * time.Hour), true},
		{"goroutine", store.Natural, day.Add(9 * time.Hour), day.Add(11 * time.Hour), true},
		{"heap", store.Sum, day, day.Add(24 * time.Hour), true},
		{"heap", store.Natural, day, day.Add(24 * time.Hour), false},                           // sums do not say how much counters grew
		{"cpu", store.Natural, f.Start.Add(time.Minute), f.Start.Add(15 * time.Minute), false}, // a part of an hour
	} {
		q := store.Query{Tenant: "main", Kind: tt.kind, From: tt.from, To: tt.to, Fold: tt.fold}
		got, err := s.Merge(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		w, err := want.Merge(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if same := storetest.Dump(got.Profile) == storetest.Dump(w.Profile); same != tt.left || (len(got.Damage) == 0) != tt.left {
			t.Errorf("%s from %v to %v, fold %d: equal %v, want %v; damage %v", tt.kind, tt.from, tt.to, tt.fold, same, tt.left, got.Damage)
		}
	}
}
