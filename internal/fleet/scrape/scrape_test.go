package scrape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// TestScrape scrapes three programs for a while and holds that the store has all that they sent, to the last unit.
func TestScrape(t *testing.T) {
	const config = `
scrape_configs:
- job_name: shop
  profiles: [cpu, heap, goroutine, mutex]
  static_configs:
  - {targets: ["a:6060"], labels: {service_name: api, version: v1, pod: api-1}}
  - {targets: ["b:6060"], labels: {service_name: cart}}
  - {targets: ["c:6060"]}
`
	simulate(t, config, Options{}, func(b *bench) {
		programs := fleet(3, 12)
		for i, a := range programs {
			defer b.serve(string(rune('a'+i))+":6060", a)()
		}
		time.Sleep(12 * time.Minute)
		b.stop()
		for i, service := range []string{"api", "cart", "shop"} {
			for _, kind := range []string{"cpu", "heap", "goroutine", "mutex"} {
				want, wantN := programs[i].sent(t, kind)
				got, n := b.totals(t, service, kind)
				if !slices.Equal(got, want) || n != wantN || n < 11 || n > 12 {
					t.Errorf("%s of %s: the store has %v in %d profiles; sent were %v in %d", kind, service, got, n, want, wantN)
				}
			}
		}
		entries, _, err := b.sink.Entries(t.Context(), store.Query{Tenant: "main", Selector: store.Service("api"), From: time.Unix(0, 0), To: time.Now()}, 1000)
		if err != nil || len(entries) == 0 {
			t.Fatal(err)
		}
		for _, e := range entries {
			// The store adds which build it is.
			if got := e.Labels.With(store.Labels{{Name: store.BuildLabel}}).String(); got != `{instance="a:6060",job="shop",pod="api-1",version="v1"}` {
				t.Errorf("the labels are %s", got)
			}
			long := e.End.Sub(e.Start)
			if e.Kind == "cpu" && long != 10*time.Second || e.Kind != "cpu" && long != 0 {
				t.Errorf("a profile of kind %s lasts %s", e.Kind, long)
			}
			if want := e.Kind == "heap" || e.Kind == "mutex"; e.Counters != want {
				t.Errorf("counters of %s: %v", e.Kind, e.Counters)
			}
			asked := programs[0].times(e.Kind)
			if !slices.ContainsFunc(asked, func(a time.Time) bool { return a.Equal(e.Start) }) {
				t.Errorf("a profile of kind %s starts at %s, when none was asked for", e.Kind, e.Start)
			}
		}
		series, _ := b.sink.Series(t.Context(), store.Query{Tenant: "main", Kind: "cpu", From: time.Unix(0, 0), To: time.Now()})
		if len(series) != 3 || series[0].Labels.String() != `{job="shop",version="v1"}` {
			t.Errorf("the series are %v", series)
		}
		d := b.Status().Delivery
		if d.Waiting != 0 || d.Lost != 0 || d.Refused != 0 || d.Delivered < 12*11 {
			t.Errorf("delivery %+v", d)
		}
	})
}

// TestSchedule holds that targets are asked at a time of their own, the same after a new start, and spread over the interval.
func TestSchedule(t *testing.T) {
	var config strings.Builder
	config.WriteString("scrape_configs:\n- job_name: shop\n  profiles: [heap]\n  static_configs:\n  - targets:\n")
	const n = 40
	for i := range n {
		fmt.Fprintf(&config, "    - h%d:80\n", i)
	}
	var first []time.Duration
	for run := range 2 {
		simulate(t, config.String(), Options{}, func(b *bench) {
			if run == 1 {
				time.Sleep(17 * time.Second)
			}
			programs := fleet(1, 2)
			for i := range n {
				a := &answerer{next: programs[0].next}
				programs = append(programs, a)
				defer b.serve(fmt.Sprintf("h%d:80", i), a)()
			}
			time.Sleep(5 * time.Minute)
			b.stop()
			var within []time.Duration
			for i, a := range programs[1:] {
				asked := a.times("heap")
				if len(asked) < 4 || len(asked) > 6 {
					t.Errorf("target %d was asked %d times", i, len(asked))
					continue
				}
				for k := 1; k < len(asked); k++ {
					if d := asked[k].Sub(asked[k-1]); d != time.Minute {
						t.Errorf("target %d was asked after %s", i, d)
					}
				}
				within = append(within, time.Duration(asked[0].UnixNano()%int64(time.Minute)))
			}
			if run == 0 {
				first = within
			} else if !slices.Equal(first, within) {
				t.Error("after a new start, targets are asked at other times")
			}
		})
	}
	slices.Sort(first)
	for i := 1; i < len(first); i++ {
		if gap := first[i] - first[i-1]; gap > 10*time.Second {
			t.Errorf("nobody is asked for %s", gap)
		}
	}
}

// TestBusy holds that hone comes back later when somebody else takes a CPU profile, and counts it.
func TestBusy(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [cpu], static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 10)[0]
		a.busy = 2
		defer b.serve("a:80", a)()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		asked := a.times("cpu")
		if len(asked) < 3 || asked[2].Sub(asked[0]) > 50*time.Second || asked[1].Sub(asked[0]) < 5*time.Second {
			t.Fatalf("asked at %v", asked)
		}
		st := b.profile("a:80", "cpu")
		if st.Busy != 2 || st.Failures != 0 || st.Profiles == 0 || st.Health != Up || st.Err != nil {
			t.Errorf("status %+v", st)
		}
		// One that never becomes free is asked a few times a minute, and never later than its next turn.
		a.mu.Lock()
		a.busy = 1 << 30
		a.mu.Unlock()
		before := len(a.times("cpu"))
		time.Sleep(10 * time.Minute)
		st = b.profile("a:80", "cpu")
		if n := len(a.times("cpu")) - before; n < 10 || n > 40 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		if st.Health != Down || st.Err == nil || st.Err.Cause != CauseBusy {
			t.Errorf("status %+v", st)
		}
	})
}

// TestAlwaysBusy holds that a process of which somebody else takes CPU profiles all the time fails after some intervals, is logged once, and works again.
func TestAlwaysBusy(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [cpu], static_configs: [{targets: ['a:80']}]}]"
	var log bytes.Buffer
	simulate(t, config, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(b *bench) {
		a := fleet(1, 10)[0]
		busy := func(n int) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.busy = n
		}
		failing := func() *report.Targets {
			synctest.Wait()
			st := b.Status()
			return st.Failing("main", time.Now())
		}
		defer b.serve("a:80", a)()
		time.Sleep(2 * time.Minute)
		busy(1 << 30)
		began := time.Now()
		time.Sleep(2 * time.Minute)
		if got := failing(); got.Failing != 0 || log.Len() > 0 {
			t.Errorf("while another client takes two profiles, %+v and the log says %s", got, &log)
		}
		time.Sleep(8 * time.Minute)
		got := failing()
		if got.Failing != 1 || len(got.Rows) != 1 {
			t.Fatalf("after ten minutes in which another client took CPU profiles: %+v", got)
		}
		row := got.Rows[0]
		if want := "another client takes a CPU profile whenever hone asks: HTTP 500 Internal Server Error: Could not enable CPU profiling: cpu profiling already in use"; row.Why != want {
			t.Errorf("it fails because %q, want %q", row.Why, want)
		}
		if since := row.Since.Sub(began); since < 0 || since > time.Minute || !row.Good.Before(row.Since) || row.Good.IsZero() {
			t.Errorf("it fails since %v after it began; the last profile is of %v", since, row.Good)
		}
		if n := strings.Count(log.String(), `msg="scrape failed"`); n != 1 {
			t.Errorf("the log says %d times that it failed:\n%s", n, &log)
		}
		busy(0)
		time.Sleep(2 * time.Minute)
		if got := failing(); got.Failing != 0 || !strings.Contains(log.String(), "scrape works again") {
			t.Errorf("once it is free, %+v and the log says %s", got, &log)
		}
	})
}

// TestOneCPUProfileAtATime holds that a process that several jobs and labels name is asked for one CPU profile at a time.
func TestOneCPUProfileAtATime(t *testing.T) {
	const config = `
scrape_configs:
- job_name: one
  profiles: {cpu: {interval: 30s, seconds: 10}}
  static_configs: [{targets: ["a:80"]}, {targets: ["a:80"], labels: {x: y}}, {targets: ["A:80"], labels: {x: z}}]
- job_name: two
  profiles: {cpu: {interval: 20s, seconds: 12}, mutex: {delta: true, seconds: 10, interval: 20s}}
  static_configs: [{targets: ["a:80", "b:80"]}]
`
	simulate(t, config, Options{Concurrency: 3}, func(b *bench) {
		programs := fleet(2, 20)
		defer b.serve("a:80", programs[0])()
		defer b.serve("b:80", programs[1])()
		b.network.mu.Lock()
		b.network.servers["A:80"] = b.network.servers["a:80"]
		b.network.mu.Unlock()
		time.Sleep(6 * time.Minute)
		b.stop()
		missed := 0
		for _, tg := range b.Status().Targets {
			for _, p := range tg.Profiles {
				if p.Profiles == 0 {
					t.Errorf("%s of %s %s never had its turn", p.Kind, tg.Job, tg.Labels)
				}
				missed += p.Missed
			}
		}
		if programs[0].most != 1 || missed == 0 {
			t.Errorf("%d CPU profiles were taken at a time, and %d times were missed", programs[0].most, missed)
		}
	})
}

// TestSlow holds that a target that takes long to answer is asked less often, and again as usual when it does not.
func TestSlow(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, scrape_interval: 15s, profiles: [heap, goroutine], static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 10)[0]
		var slow atomic.Int64
		slow.Store(int64(4 * time.Second))
		a.delay = func(kind string) time.Duration {
			if kind == "heap" {
				return time.Duration(slow.Load())
			}
			return 0
		}
		defer b.serve("a:80", a)()
		time.Sleep(10 * time.Minute)
		if st := b.profile("a:80", "heap"); st.Every != 45*time.Second || st.Took < 4*time.Second || st.Health != Up {
			t.Errorf("status %+v", st)
		}
		if n := len(a.times("heap")); n > 15 {
			t.Errorf("the slow profile was asked for %d times", n)
		}
		slow.Store(int64(time.Hour))
		time.Sleep(10 * time.Minute)
		st := b.profile("a:80", "heap")
		if st.Err == nil || st.Err.Cause != CauseTimeout || st.Every < 90*time.Second {
			t.Errorf("status %+v", st)
		}
		if n := len(a.times("goroutine")); n < 70 {
			t.Errorf("other profiles were asked for %d times", n)
		}
		slow.Store(0)
		time.Sleep(10 * time.Minute)
		if st := b.profile("a:80", "heap"); st.Every != 15*time.Second || st.Health != Up {
			t.Errorf("status %+v", st)
		}
	})
}

// TestErrors holds that what answers with errors is asked less often, and what is down is found soon when it is back.
func TestErrors(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [heap, block], static_configs: [{targets: ['a:80', 'b:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		programs := fleet(2, 10)
		start := time.Now()
		defer b.serve("a:80", programs[0])()
		time.Sleep(time.Hour)
		if n := len(programs[0].times("block")); n > 12 {
			t.Errorf("a profile that is not there was asked for %d times in an hour", n)
		}
		if st := b.profile("a:80", "block"); st.Health != Down || st.Err.Cause != CauseStatus || st.Err.Status != 404 || st.Every != 8*time.Minute ||
			st.Err.Error() != "HTTP 404 Not Found: Unknown profile" {
			t.Errorf("status %+v, %v", st, st.Err)
		}
		if st := b.profile("b:80", "heap"); st.Failures < 59 || st.Err.Cause != CauseConnect || st.Err.Error() != "connection refused" || st.Since.Sub(start) > time.Minute || st.Since.IsZero() {
			t.Errorf("status %+v", st)
		}
		defer b.serve("b:80", programs[1])()
		time.Sleep(61 * time.Second)
		if st := b.profile("b:80", "heap"); st.Health != Up || !st.Since.IsZero() {
			t.Errorf("status %+v", st)
		}
		text, err := json.Marshal(b.Status())
		if err != nil || !strings.Contains(string(text), `"error":{"cause":"status","status":404,"text":"HTTP 404 Not Found: Unknown profile"}`) {
			t.Errorf("the status is %s, %v", text, err)
		}
	})
}

// TestFullStore holds that profiles wait while the store is full, that no memory beyond a limit is used, and that nothing is lost meanwhile.
func TestFullStore(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [cpu, heap, mutex], static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{Memory: 100_000}, func(b *bench) {
		a := fleet(1, 20)[0]
		defer b.serve("a:80", a)()
		time.Sleep(3 * time.Minute)
		b.sink.failWith(func([]*store.Upload) error { return fmt.Errorf("disk: %w", store.ErrFull) })
		time.Sleep(4 * time.Minute)
		d := b.Status().Delivery
		if d.Waiting < 9 || d.Lost != 0 || d.Retries == 0 || d.Err == nil || !errors.Is(d.Err, store.ErrFull) {
			t.Errorf("delivery %+v", d)
		}
		b.sink.failWith(nil)
		time.Sleep(time.Minute)
		if d := b.Status().Delivery; d.Waiting != 0 || d.Lost != 0 || d.Err != nil {
			t.Errorf("delivery %+v", d)
		}
		b.sink.failWith(func([]*store.Upload) error { return store.ErrFull })
		before := len(a.times("heap"))
		for range 40 {
			time.Sleep(time.Minute)
			if d := b.Status().Delivery; d.WaitingBytes > 100_000 {
				t.Fatalf("delivery %+v", d)
			}
		}
		d = b.Status().Delivery
		if d.Lost == 0 || b.profile("a:80", "heap").Missed == 0 || len(a.times("heap"))-before > 35 {
			t.Errorf("delivery %+v, asked %d times", d, len(a.times("heap"))-before)
		}
		b.sink.failWith(nil)
		time.Sleep(time.Minute)
		lost := b.Status().Delivery.Lost
		b.stop()
		sent, stored := 0, 0
		for _, kind := range []string{"cpu", "heap", "mutex"} {
			_, n := a.sent(t, kind)
			sent += n
			_, n = b.totals(t, "shop", kind)
			stored += n
		}
		if d := b.Status().Delivery; sent != stored+lost || d.Waiting != 0 {
			t.Errorf("%d profiles were sent, %d stored and %d lost", sent, stored, lost)
		}
	})
}

// TestLostAnswer holds that a profile is stored once when the store has it and cannot say so.
func TestLostAnswer(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [heap, cpu], static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 20)[0]
		defer b.serve("a:80", a)()
		b.sink.again = true
		calls := 0
		b.sink.failWith(func(uploads []*store.Upload) error {
			if calls++; calls%3 == 0 {
				return nil
			}
			b.sink.Add(t.Context(), "main", uploads)
			return errors.New("the connection broke")
		})
		time.Sleep(10 * time.Minute)
		b.sink.failWith(nil)
		time.Sleep(time.Minute)
		b.stop()
		for _, kind := range []string{"heap", "cpu"} {
			want, sent := a.sent(t, kind)
			if got, n := b.totals(t, "shop", kind); n != sent || !slices.Equal(got, want) {
				t.Errorf("%s: the store has %v in %d profiles; sent were %v in %d", kind, got, n, want, sent)
			}
		}
	})
}

// TestRefused holds that a profile that the store does not take keeps no other from it.
func TestRefused(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: [heap, mutex, goroutine], static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 20)[0]
		defer b.serve("a:80", a)()
		odd := 0
		b.sink.failWith(func(uploads []*store.Upload) error {
			for _, u := range uploads {
				switch u.Kind {
				case "heap":
					return &store.LimitError{What: "samples", Got: 3, Limit: 2}
				case "mutex":
					odd++
					return errors.New("odd trouble")
				}
			}
			return nil
		})
		time.Sleep(30 * time.Minute)
		d := b.Status().Delivery
		if d.Refused < 28 || d.Lost < 10 {
			t.Errorf("delivery %+v", d)
		}
		if st := b.profile("a:80", "heap"); st.Health != Up || st.Refused == nil || st.Refused.Cause != CauseRefused || st.Refused.Error() != "the profile has 3 samples; the limit is 2" {
			t.Errorf("status %+v", st)
		}
		want, sent := a.sent(t, "goroutine")
		if got, n := b.totals(t, "shop", "goroutine"); n < sent-1 || n < 29 {
			t.Errorf("the store has %v in %d, sent were %v in %d", got, n, want, sent)
		}
		if odd > 1100 {
			t.Errorf("what fails was handed over %d times", odd)
		}
	})
}

// TestReload holds that targets that stay the same are not disturbed by a new configuration, not even in the middle of a profile.
func TestReload(t *testing.T) {
	config := func(more string) string {
		return "scrape_configs:\n- {job_name: shop, profiles: {cpu: {seconds: 50, interval: 1m}}, static_configs: [{targets: ['a:80']}]}\n" + more
	}
	simulate(t, config("- {job_name: old, profiles: [heap], static_configs: [{targets: ['b:80']}]}"), Options{}, func(b *bench) {
		programs := fleet(3, 20)
		for i, a := range programs {
			defer b.serve(string(rune('a'+i))+":80", a)()
		}
		time.Sleep(90 * time.Second)
		for i := range 30 {
			job := "old"
			if i%2 == 0 {
				job = "new"
			}
			b.Reload(mustParse(t, config(fmt.Sprintf("- {job_name: %s, profiles: [heap], static_configs: [{targets: ['c:80'], labels: {n: '%d'}}]}", job, i))))
			time.Sleep(20 * time.Second)
		}
		old := len(programs[1].times("heap"))
		if n := len(programs[0].times("cpu")); n != 11 && n != 12 {
			t.Errorf("the target that stays was asked %d times in 11.5 minutes", n)
		}
		if st := b.profile("a:80", "cpu"); st.Failures != 0 || st.Profiles < 10 {
			t.Errorf("status %+v", st)
		}
		if n := len(b.Status().Targets); n != 2 {
			t.Errorf("there are %d targets", n)
		}
		time.Sleep(5 * time.Minute)
		if len(programs[1].times("heap")) != old || len(programs[2].times("heap")) == 0 {
			t.Error("a target that is gone was asked, or a new one was not")
		}
		// With another way to ask, it is asked in that way.
		b.Reload(mustParse(t, strings.Replace(config(""), "job_name: shop,", "job_name: shop, authorization: {credentials: t0ken},", 1)))
		time.Sleep(2 * time.Minute)
		programs[0].mu.Lock()
		defer programs[0].mu.Unlock()
		if auth := programs[0].auth; auth[len(auth)-1] != "Bearer t0ken" {
			t.Errorf("asked with %q", auth[len(auth)-1])
		}
		b.Reload(&Config{})
		if n := len(b.Status().Targets); n != 0 {
			t.Errorf("there are %d targets", n)
		}
	})
}

// TestDelta holds that deltas are asked for with seconds, and that nothing is in them that does not add up.
func TestDelta(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, params: {debug: ['1'], seconds: ['7'], x: [y]}, profiles: {heap: {delta: true, seconds: 5}, mutex: {delta: true}, goroutine: }, static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 20)[0]
		queries := map[string]string{}
		defer b.serve("a:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.mu.Lock()
			queries[kindOf(r.URL.Path)] = r.URL.RawQuery
			a.mu.Unlock()
			a.ServeHTTP(w, r)
		}))()
		time.Sleep(5 * time.Minute)
		b.stop()
		if queries["heap"] != "seconds=5&x=y" || queries["mutex"] != "seconds=10&x=y" || queries["goroutine"] != "x=y" {
			t.Errorf("asked with %q", queries)
		}
		want, sent := a.sent(t, "heap")
		got, n := b.totals(t, "shop", "heap")
		if n != sent || !slices.Equal(got, want[:2]) {
			t.Errorf("the store has %v in %d profiles, sent were %v in %d", got, n, want, sent)
		}
		entries, _, _ := b.sink.Entries(t.Context(), store.Query{Tenant: "main", Kind: "heap", From: time.Unix(0, 0), To: time.Now()}, 10)
		for _, e := range entries {
			if e.Counters || e.End.Sub(e.Start) != 5*time.Second || len(e.Types) != 2 || e.Types[1].Type != "alloc_space" {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// TestOldGo holds that what is no delta is not taken for one: Go before 1.15 gives what it has counted since the process began.
func TestOldGo(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: {heap: {delta: true}}, static_configs: [{targets: ['a:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 2)[0]
		a.delay = func(string) time.Duration { return -10 * time.Second }
		defer b.serve("a:80", a)()
		time.Sleep(2 * time.Minute)
		if st := b.profile("a:80", "heap"); st.Profiles > 0 || st.Err == nil || st.Err.Cause != CauseFormat {
			t.Errorf("status %+v", st)
		}
	})
}

// TestStop holds that the end comes at once, also in the middle of profiles, and that what had come is not lost.
func TestStop(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, profiles: {cpu: {seconds: 50}, heap: }, static_configs: [{targets: ['a:80', 'b:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		a := fleet(1, 20)[0]
		defer b.serve("a:80", a)()
		b.sink.failWith(func([]*store.Upload) error { return store.ErrFull })
		taking := func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.cpu > 0
		}
		for !taking() || len(a.times("heap")) < 3 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		b.sink.failWith(nil)
		start := time.Now()
		b.stop()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the end took %s", took)
		}
		if _, n := b.totals(t, "shop", "heap"); n < 2 {
			t.Errorf("the store has %d profiles", n)
		}
		if err := b.Run(t.Context()); err == nil {
			t.Error("it can run twice")
		}
		b.Reload(mustParse(t, config))
	})
	// A store that never answers does not keep the program from ending.
	synctest.Test(t, func(t *testing.T) {
		n := &network{}
		defer n.serve("a:80", fleet(1, 20)[0])()
		s := New(mustParse(t, config), Options{dial: n.dial, Tenant: "main", Sink: func(ctx context.Context, _ string, _ []*store.Upload) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		start := time.Now()
		s.Run(ctx)
		if took := time.Since(start); took > 5*time.Minute+10*time.Second {
			t.Errorf("the end took %s", took-5*time.Minute)
		}
		if d := s.Status().Delivery; d.Lost == 0 || d.Waiting != 0 {
			t.Errorf("delivery %+v", d)
		}
	})
}

// TestTargetsChange holds that targets come and go as files, servers and names say, and that what is broken changes nothing.
func TestTargetsChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	config := `
scrape_configs:
- job_name: shop
  profiles: [heap]
  file_sd_configs: [{files: ["` + filepath.ToSlash(dir) + `/*.json", "` + filepath.ToSlash(dir) + `/more.yml"], refresh_interval: 5s}]
  http_sd_configs: [{url: "http://sd:80/targets?token=x", refresh_interval: 20s, basic_auth: {username: u, password: p}}]
  dns_sd_configs: [{names: [a.example], type: A, port: 6060}, {names: [_pprof._tcp.example]}]
  relabel_configs:
  - {source_labels: [__meta_filepath], regex: '.*(/[^/]*)', target_label: file}
  - {source_labels: [__meta_dns_name], target_label: zone}
  - {source_labels: [__meta_url], target_label: url}
  - {source_labels: [drop], regex: "yes", action: drop}
`
	names := &fakeNames{}
	simulate(t, config, Options{Resolver: names}, func(b *bench) {
		var mu sync.Mutex
		var status int
		var answer string
		say := func(s int, a string) {
			mu.Lock()
			defer mu.Unlock()
			status, answer = s, a
		}
		say(200, "[]")
		defer b.serve("sd:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, p, _ := r.BasicAuth(); p != "p" || r.Header.Get("X-Prometheus-Refresh-Interval-Seconds") != "20" {
				t.Errorf("headers %v", r.Header)
			}
			mu.Lock()
			defer mu.Unlock()
			w.WriteHeader(status)
			fmt.Fprint(w, answer)
		}))()
		want := func(addresses ...string) {
			t.Helper()
			time.Sleep(31 * time.Second)
			synctest.Wait()
			got := []string{}
			for _, tg := range b.Status().Targets {
				got = append(got, strings.TrimPrefix(tg.Address, "http://")+tg.Labels.Get("file")+tg.Labels.Get("zone")+tg.Labels.Get("url"))
			}
			slices.Sort(got)
			slices.Sort(addresses)
			if strings.Join(got, " ") != strings.Join(addresses, " ") {
				t.Errorf("the targets are\n%q, want\n%q", got, addresses)
			}
		}
		want()
		write("a.json", `[{"targets": ["a:1", "b:2"], "labels": {"x": "y"}}, {"targets": ["c:1"], "labels": {"drop": "yes"}}]`)
		write("more.yml", "- targets: [d:4]\n  labels: {x: z}\n")
		want("a:1/a.json", "b:2/a.json", "d:4/more.yml")
		write("a.json", `[{"targets": ["a:1"`) // half written
		want("a:1/a.json", "b:2/a.json", "d:4/more.yml")
		js := b.Status().Jobs[0]
		i := slices.IndexFunc(js.Sources, func(s Source) bool { return s.Kind == "file_sd_configs" })
		if js.Dropped != 1 || js.Sources[i].Err == nil || js.Sources[i].Targets != 4 || !strings.Contains(js.Sources[i].Err.Error(), "a.json:1: this is not a list such as") {
			t.Errorf("the job is %+v %v", js, js.Sources[i].Err)
		}
		write("a.json", `[{"targets": ["a:3", "x/y:1"]}]`)
		want("a:3/a.json", "d:4/more.yml")
		if js := b.Status().Jobs[0]; js.Wrong != 1 || js.Err == nil {
			t.Errorf("the job is %+v", js)
		}
		os.Remove(filepath.Join(dir, "a.json"))
		os.Remove(filepath.Join(dir, "more.yml"))
		say(200, `[{"targets": ["h:1"], "labels": {"__meta_x": "y"}}]`)
		want("h:1http://sd:80/targets?token=x")
		say(500, `[]`)
		want("h:1http://sd:80/targets?token=x")
		say(200, strings.Repeat(" ", 17<<20))
		want("h:1http://sd:80/targets?token=x")
		say(200, `[]`)
		names.set("10.0.0.2", "10.0.0.1")
		want("10.0.0.1:6060a.example", "10.0.0.2:6060a.example", "p1.example:8080_pprof._tcp.example")
		names.set("fail")
		want("10.0.0.1:6060a.example", "10.0.0.2:6060a.example", "p1.example:8080_pprof._tcp.example")
		names.set()
		want()
	})
}

// TestTargetLimit holds that a job asks so many targets and no more, and one that is found twice once.
func TestTargetLimit(t *testing.T) {
	const config = "scrape_configs: [{job_name: shop, target_limit: 3, profiles: [heap], static_configs: [{targets: ['a:80', 'b:80']}, {targets: ['a:80', 'c:80', 'd:80']}]}]"
	simulate(t, config, Options{}, func(b *bench) {
		programs := fleet(3, 3)
		for i, a := range programs {
			defer b.serve(string(rune('a'+i))+":80", a)()
		}
		time.Sleep(2*time.Minute + 30*time.Second)
		st := b.Status()
		if len(st.Targets) != 2 || st.Jobs[0].Found != 5 || st.Jobs[0].Over != 2 {
			t.Errorf("status %+v", st.Jobs)
		}
		if n := len(programs[0].times("heap")); n < 2 || n > 3 || len(programs[2].times("heap")) != 0 {
			t.Errorf("the target that is there twice was asked %d times", n)
		}
	})
}
