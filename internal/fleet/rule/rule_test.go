package rule

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A bench is a watcher over a store in memory, with a clock of its own.
type bench struct {
	*Watcher
	t     *testing.T
	store *storetest.Memory
	now   time.Time
	clock time.Duration // of processes, ahead of ours

	service string // of the profiles that are added; "" is api
}

func newBench(t *testing.T, config string, o Options) *bench {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hone.yml")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, cfg, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: storetest.NewMemory(), now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)}
	b.store.Now = func() time.Time { return b.now }
	log, err := event.Open(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	o.Store, o.Events, o.Tenant, o.Now = b.store, log, "t", func() time.Time { return b.now }
	o.wait = func(ctx context.Context, d time.Duration) {}
	b.Watcher = New(cfg, o)
	return b
}

// add adds a profile: what each function costs, of the last ten seconds of a minute.
func (b *bench) add(kind string, labels map[string]string, costs map[string][]int64) {
	b.t.Helper()
	now := b.now.Add(b.clock)
	h := profile.Header{TimeNanos: now.UnixNano()}
	u := &store.Upload{Service: cmp.Or(b.service, "api"), Kind: kind, Start: now.Add(-10 * time.Second), End: now.Add(-10 * time.Second)}
	switch kind {
	case "cpu":
		h.SampleTypes = []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
		h.DurationNanos, u.End = int64(10*time.Second), now
	case "heap":
		h.SampleTypes = []profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
		u.Counters = true
	case recording.Process:
		h.SampleTypes = []profile.ValueType{{Type: "rss", Unit: "bytes"}}
	case "goroutine":
		h.SampleTypes = []profile.ValueType{{Type: "goroutine", Unit: "count"}}
	}
	p := profile.NewBuilder(h)
	i := uint32(0)
	for name, values := range costs {
		p.Functions = append(p.Functions, profile.Function{ID: uint64(i + 1), Name: name})
		p.Locations = append(p.Locations, profile.Location{ID: uint64(i + 1), Mapping: profile.NoMapping, Lines: []profile.Line{{Function: i}}})
		p.Add([]uint32{i}, 0, values)
		i++
	}
	made, err := p.Profile()
	if err != nil {
		b.t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := made.Write(&raw); err != nil {
		b.t.Fatal(err)
	}
	u.Raw = raw.Bytes()
	for name, v := range labels {
		if name == "version" {
			u.Labels = store.NewLabels(append(u.Labels, store.Label{Name: name, Value: v})...)
		} else {
			u.Row = store.NewLabels(append(u.Row, store.Label{Name: name, Value: v})...)
		}
	}
	out, err := b.store.Add(context.Background(), "t", []*store.Upload{u})
	if err != nil || out[0].Err != nil {
		b.t.Fatal(err, out)
	}
}

// minute goes on by a minute and looks.
func (b *bench) minute() {
	b.t.Helper()
	if err := b.rules(context.Background(), b.now); err != nil {
		b.t.Fatal(err)
	}
	if err := b.restarts(context.Background(), b.now); err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(time.Minute)
}

// events returns what happened, the oldest first, with minutes since the beginning.
func (b *bench) events() string {
	list, _ := b.opt.Events.List(event.Filter{Tenant: "t"})
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, fmt.Sprintf("%d %s", int(list[i].Time.Sub(time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC))/time.Minute), list[i].Text()))
	}
	return strings.Join(out, "\n")
}

func (b *bench) want(want string) {
	b.t.Helper()
	if got := b.events(); got != strings.TrimSpace(want) {
		b.t.Errorf("events:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

func cpu(seconds float64) []int64 { return []int64{int64(seconds * 100), int64(seconds * 1e9)} }

func heap(allocated, inuse int64) []int64 { return []int64{allocated, allocated, inuse, inuse} }

// A rule that is broken for long enough is one event, which ends, and is quiet for its cooldown afterwards.
func TestShare(t *testing.T) {
	b := newBench(t, `
rules:
  - {name: price, service: api, function: main.price, when: share > 20%, for: 3m, over: 1m, cooldown: 30m}
  - {name: any, service: api, function: '/^main\./', when: share > 90%, for: 3m, over: 1m}
  - {name: gc, service: api, when: gc > 30%, for: 3m, over: 1m}
`, Options{})
	at := func(minutes int, price, gc float64) {
		for range minutes {
			b.add("cpu", map[string]string{"version": "v1"}, map[string][]int64{"main.price": cpu(price), "runtime.gcBgMarkWorker": cpu(gc), "net/http.serve": cpu(10 - price - gc)})
			b.minute()
		}
	}
	at(5, 1, 1)
	at(2, 5, 1) // too short
	at(5, 1, 1)
	b.want("")
	at(5, 3, 5)
	at(5, 4, 5)
	at(10, 1, 1)
	b.want(`
12 rule price: main.price costs 30% of version v1 of api, later 40% (limit 20%), for 540s
12 rule gc: garbage collection costs 50% of version v1 of api (limit 30%), for 540s`)
	at(10, 3, 1)
	b.want(`
12 rule price: main.price costs 30% of version v1 of api, later 40% (limit 20%), for 540s
12 rule gc: garbage collection costs 50% of version v1 of api (limit 30%), for 540s`)
	if got := fmt.Sprint(b.Measured()); got != "[{t any api v1 0.3} {t gc api v1 0.1} {t price api v1 0.3}]" {
		t.Errorf("the rules measured %s", got)
	}
	at(30, 3, 1)
	if n := strings.Count(b.events(), "price"); n != 4 {
		t.Errorf("after the cooldown:\n%s", b.events())
	}
	b.Reload(nil)
	if b.minute(); len(b.Measured()) > 0 {
		t.Errorf("without rules there is %v", b.Measured())
	}
}

// A rule about what the store has never had is listed with what there is instead, and logged once, and is no event. With data, it is a rule like others.
func TestRulesWithoutData(t *testing.T) {
	var log bytes.Buffer
	b := newBench(t, `
rules:
  - {name: typo, service: apo, when: cores > 1, for: 0s, over: 1m}
  - {name: pattern, service: '{service_name=~"shop-.*"}', when: cores > 1}
  - {name: label, service: 'api{zone="eu"}', when: cores > 1}
  - {name: version, service: 'api{version="version-2"}', when: cores > 1}
  - {name: memory, service: api, when: rss > 1GB}
  - {name: good, service: api, when: cores > 1, for: 0s, over: 1m}
  - {name: elsewhere, tenant: other, service: api, when: cores > 1}
`, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	list := func(tenant string) string {
		var out []string
		for _, r := range b.WithoutData(tenant) {
			out = append(out, r.Rule+": "+r.Text)
		}
		return strings.Join(out, "\n")
	}
	minutes := func(n int) {
		for range n {
			b.add("cpu", map[string]string{"version": "version-1"}, map[string][]int64{"main.work": cpu(1)})
			b.minute()
		}
	}
	minutes(1)
	const want = `label: no data for api{zone="eu"}: no profile has the label zone; known labels are version
memory: no process profiles of api; there are profiles of the kinds cpu
pattern: no data for {service_name=~"shop-.*"}; known services are api
typo: no data for service apo (did you mean api?); known services are api
version: no data for api{version="version-2"}: no profile has this version (did you mean version-1?); known values are version-1`
	if got := list("t"); got != want {
		t.Errorf("rules without data:\n%s\nwant:\n%s", got, want)
	}
	if got := list("other"); got != "elsewhere: no data for service api; the store has no profiles" {
		t.Errorf("rules of another tenant without data:\n%s", got)
	}
	if log.Len() > 0 {
		t.Errorf("logged before the first profiles can be there:\n%s", &log)
	}
	minutes(30)
	if n := strings.Count(log.String(), `level=WARN msg="a rule has no data and cannot fire" rule=typo tenant=t why="no data for service apo (did you mean api?); known services are api"`); n != 1 {
		t.Errorf("the log says %d times that a rule has no data:\n%s", n, &log)
	}
	b.want("")
	b.service = "apo"
	b.add("cpu", nil, map[string][]int64{"main.work": cpu(20)})
	b.service = ""
	b.minute()
	if strings.Contains(list("t"), "typo") || !strings.Contains(log.String(), `msg="a rule has data now" rule=typo`) {
		t.Errorf("with data, there are\n%s\nand the log is\n%s", list("t"), &log)
	}
	if !strings.Contains(b.events(), "rule typo: apo costs") {
		t.Errorf("with data, the rule does not fire: %s", b.events())
	}
	minutes(30) // silent services are not unknown ones
	if strings.Contains(list("t"), "typo") {
		t.Errorf("a service that is silent counts as unknown:\n%s", list("t"))
	}
	b.Reload(nil)
	if b.minute(); list("t") != "" {
		t.Errorf("without rules there is\n%s", list("t"))
	}
}

// Limits of processes are about the largest, and what grows is compared with what was usual.
func TestLevelsAndGrowth(t *testing.T) {
	b := newBench(t, `
rules:
  - {name: leak, when: goroutines > 1000, for: 0s, over: 2m}
  - {name: heap, when: heap > 1MB, for: 0s, over: 2m}
  - {name: near, when: memory > 90%, memory: 4MB, for: 0s, over: 2m}
  - {name: whole, when: rss > 6MB, for: 0s, over: 2m}
  - {name: more, when: cores > 150% of usual, for: 0s, over: 2m, usual: 1h}
  - {name: busy, when: cores > 4, for: 0s, over: 2m}
`, Options{})
	for n := range 70 {
		for _, instance := range []string{"a", "b"} {
			labels := map[string]string{"instance": instance}
			used, goroutines, live := 10.0, int64(10), int64(1<<10)
			if n >= 65 {
				used = 25
				if instance == "b" {
					goroutines, live = 2000, 4<<20
				}
			}
			b.add("cpu", labels, map[string][]int64{"main.f": cpu(used)})
			b.add("goroutine", labels, map[string][]int64{"main.f": {goroutines}})
			b.add("heap", labels, map[string][]int64{"main.f": heap(1<<20+int64(n), live)})
			b.add(recording.Process, labels, map[string][]int64{"(resident memory)": {2*live + 1<<10}})
		}
		b.minute()
	}
	got := b.events()
	for _, want := range []string{
		"65 rule leak: b of api has 2000 goroutines (limit 1000)",
		"65 rule heap: b of api holds 4MB of live heap (limit 1MB)",
		"65 rule near: b of api uses 100% of the memory that it may have (limit 90%)",
		"65 rule whole: b of api uses 8MB of resident memory (limit 6MB)",
		"rule more: api costs ", "more than usual (limit 50% more)",
		"rule busy: api costs 5 cores (limit 4 cores)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 6 {
		t.Errorf("%d events:\n%s", n, got)
	}
	list, _ := b.opt.Events.List(event.Filter{Tenant: "t"})
	for _, e := range list {
		if (e.Rule.Name == "heap" || e.Rule.Name == "whole") && e.Labels.Get("instance") != "b" {
			t.Errorf("the wrong process: %v", e.Labels)
		}
	}
}

// What comes late is not measured as what is now, and a process whose clock is wrong is.
func TestLateAndWrongClocks(t *testing.T) {
	const rules = "rules: [{name: busy, when: cores > 1, for: 2m, over: 2m}, {name: big, when: heap > 1MB, for: 2m, over: 2m}]"
	quiet := func(b *bench, n int) {
		b.add("cpu", map[string]string{"instance": "a"}, map[string][]int64{"main.f": cpu(1)})
		b.add("heap", map[string]string{"instance": "a"}, map[string][]int64{"main.f": heap(1<<20+int64(n), 1<<10)})
	}
	busy := func(b *bench, n int, instance string) {
		b.add("cpu", map[string]string{"instance": instance}, map[string][]int64{"main.f": cpu(50)})
		b.add("heap", map[string]string{"instance": instance}, map[string][]int64{"main.f": heap(1<<20+int64(n), 4<<20)})
	}

	t.Run("late", func(t *testing.T) {
		b := newBench(t, rules, Options{})
		for n := range 20 {
			quiet(b, 100+n)
			b.clock = -30 * time.Minute
			busy(b, n, "a") // of half an hour ago, in the order of time
			b.clock = 0
			b.minute()
		}
		b.want("")
	})
	t.Run("out of order", func(t *testing.T) {
		b := newBench(t, rules, Options{})
		for n := range 20 {
			b.clock = 0
			quiet(b, 1000*(n+1))
			if n > 3 {
				b.clock = -90 * time.Second // heap profiles with smaller counters, after those with larger ones
				quiet(b, 1000*(n-1)-500)
			}
			b.clock = 0
			b.minute()
		}
		b.want("") // no restart
	})
	for name, clock := range map[string]time.Duration{"impossible": 24 * 365 * time.Hour, "long ago": -50 * 365 * 24 * time.Hour, "ahead": 8 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, rules, Options{})
			for n := range 30 {
				b.clock = clock
				busy(b, n, "b")
				b.clock = 0
				b.minute()
			}
			got := b.events()
			for _, want := range []string{"rule busy: api costs 5 cores", "rule big: b of api holds 4MB"} {
				if strings.Count(got, want) != 1 {
					t.Errorf("want one %q in\n%s", want, got)
				}
			}
		})
	}
}

// An event that goes on is taken up by the next server, and ends when its rule is gone.
func TestTakeUp(t *testing.T) {
	b := newBench(t, "rules: [{name: busy, when: cores > 1, for: 0s, over: 2m}]", Options{})
	b.add("cpu", nil, map[string][]int64{"main.f": cpu(20)})
	b.minute()
	next := New(b.config(), b.opt)
	next.takeUp(b.now)
	b.Watcher = next
	b.add("cpu", nil, map[string][]int64{"main.f": cpu(20)})
	b.minute()
	b.want("0 rule busy: api costs 2 cores (limit 1 cores)")
	b.Reload(nil)
	b.minute()
	if got := b.events(); !strings.Contains(got, ", for ") {
		t.Errorf("it goes on without its rule: %s", got)
	}
}

// An event of a version or a process ends soon after its last profile, whether the server is restarted or not, and says why. One of a service whose
// processes all are silent lasts longer, and one of a version that is seldom profiled goes on.
func TestGone(t *testing.T) {
	const rules = `
rules:
  - {name: price, function: main.price, when: share > 20%, for: 5m, over: 2m}
  - {name: leak, when: goroutines > 1000, for: 5m, over: 2m}
`
	gone := func(t *testing.T, every, goneAt, minutes int, others, restarts bool) *bench {
		b := newBench(t, rules, Options{})
		for n := range minutes {
			if n < goneAt && n%every == 0 {
				b.add("cpu", map[string]string{"version": "v1", "instance": "a"}, map[string][]int64{"main.price": cpu(5), "main.f": cpu(5)})
				b.add("goroutine", map[string]string{"version": "v1", "instance": "a"}, map[string][]int64{"main.f": {2000}})
			}
			if others && n > 0 {
				b.add("cpu", map[string]string{"version": "v2", "instance": "b"}, map[string][]int64{"main.f": cpu(5)})
				b.add("goroutine", map[string]string{"version": "v2", "instance": "b"}, map[string][]int64{"main.f": {10}})
			}
			b.minute()
			if restarts && n%7 == 6 {
				b.Watcher = New(b.config(), b.opt)
				b.takeUp(b.now)
			}
		}
		return b
	}
	const price, leak = "rule price: main.price costs 50% of version v1 of api (limit 20%)", "rule leak: a of api has 2000 goroutines (limit 1000)"
	ends := func(t *testing.T, b *bench, want ...string) {
		t.Helper()
		got := strings.Split(b.events(), "\n")
		slices.Sort(got)
		for i := range want {
			want[i] = "0 " + want[i]
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	t.Run("version and process", func(t *testing.T) {
		for _, restarts := range []bool{false, true} {
			ends(t, gone(t, 1, 10, 14, true, restarts), price, leak)
			// The last profile begins ten seconds before its minute ends.
			ends(t, gone(t, 1, 10, 22, true, restarts), price+", for 530s, until version v1 of api was gone", leak+", for 530s, until a of api was gone")
		}
	})
	t.Run("service", func(t *testing.T) {
		for _, restarts := range []bool{false, true} {
			ends(t, gone(t, 1, 10, 38, false, restarts), price, leak)
			ends(t, gone(t, 1, 10, 46, false, restarts), price+", for 530s, until version v1 of api was gone", leak+", for 530s, until a of api was gone")
		}
	})
	t.Run("seldom", func(t *testing.T) {
		b := gone(t, 4, 40, 40, true, true)
		if got := b.events(); !strings.Contains(got, price) || strings.Contains(got, "version v1 of api was gone") {
			t.Errorf("events:\n%s", got)
		}
	})
}

// A rule about what is usual goes on over a restart of the server.
func TestTakeUpUsual(t *testing.T) {
	b := newBench(t, "rules: [{name: more, when: cores > 150% of usual, for: 0s, over: 2m, usual: 1h}]", Options{})
	for n := range 140 {
		used := 10.0
		if n >= 65 {
			used = 25
		}
		b.add("cpu", nil, map[string][]int64{"main.f": cpu(used)})
		b.minute()
		if n == 70 {
			b.Watcher = New(b.config(), b.opt)
			b.takeUp(b.now)
		}
	}
	list, _ := b.opt.Events.List(event.Filter{Tenant: "t"})
	if len(list) != 1 || !list[0].Ended.IsZero() {
		t.Errorf("events:\n%s", b.events())
	}
}

func TestRestarts(t *testing.T) {
	b := newBench(t, "", Options{})
	limits := map[string]string{"a": "100MB", "b": "100MB", "c": "100MB", "d": "20MB"}
	at := func(instance, version string, allocated, inuse int64) {
		b.add("heap", map[string]string{"instance": instance, "version": version, "memory_limit": limits[instance]}, map[string][]int64{"main.f": heap(allocated, inuse)})
	}
	for n := range int64(8) {
		at("a", "v1", 1000+n*100, (10+6*n)<<20)
		at("b", "v1", 1000+n*100, 10<<20)
		at("c", "v1", 1000+n*100-n%2*110, 10<<20) // an estimate may go down
		at("d", "v1", 1000+n*100, (10+6*n)<<20)   // above its limit, which nobody enforces
		b.minute()
	}
	at("a", "v1", 100, 1<<20)
	at("b", "v1", 100, 1<<20)
	at("c", "v2", 100, 1<<20) // a deploy
	at("d", "v1", 100, 1<<20)
	b.minute()
	got := b.events()
	for _, want := range []string{
		"7 a of api was restarted because it probably ran out of memory (52MB of 100MB in use)", "7 b of api was restarted (10MB of 100MB in use)",
		"7 d of api was restarted (52MB in use)",
	} {
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("events:\n%s\nwant %s", got, want)
		}
	}
	pins, _ := b.store.Pins(context.Background(), "t")
	if len(pins) != 3 || !strings.Contains(pins[0].Query.Selector.String()+pins[1].Query.Selector.String()+pins[2].Query.Selector.String(), `instance="a"`) {
		t.Errorf("pins: %v", pins)
	}
	at("b", "v1", 10, 1<<20) // again, which is the same event
	b.minute()
	if got := b.events(); !strings.Contains(got, "b of api was restarted 2 times") || strings.Count(got, "\n") != 2 {
		t.Errorf("events:\n%s", got)
	}
	// A server that looks again finds nothing new, wherever it begins.
	seen := b.events()
	var again *Watcher
	for later := range 10 {
		again = New(nil, b.opt)
		if err := again.restarts(context.Background(), b.now.Add(time.Duration(later)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got := b.events(); got != seen {
			t.Fatalf("a server that began %d minutes later has the events:\n%s\nwant:\n%s", later, got, seen)
		}
	}
	// Somebody who knows says so.
	told, err := again.Told(context.Background(), "t", event.Event{Kind: event.Killed, Service: "api", Labels: store.Labels{{Name: "instance", Value: "a"}}, Time: b.now})
	if text := told.Text(); err != nil || text != "a of api was killed because it ran out of memory (52MB of 100MB in use)" {
		t.Errorf("told, the event is %q, %v", text, err)
	}
	// Pins do not last for ever.
	if err := b.oldPins(context.Background(), b.now.Add(15*day)); err != nil {
		t.Fatal(err)
	}
	if pins, _ := b.store.Pins(context.Background(), "t"); len(pins) != 0 {
		t.Errorf("old pins: %v", pins)
	}
}

// A restart that a server sees and the next one reads again is one; one that happens in between is another.
func TestRestartsOfServers(t *testing.T) {
	for _, instance := range []string{"a", ""} {
		b := newBench(t, "", Options{})
		allocated, rounds := int64(1000), int64(0)
		round := func(restarted bool) {
			t.Helper()
			if allocated += 1000; restarted {
				allocated /= 4
			}
			rounds++
			b.add("heap", map[string]string{"instance": instance}, map[string][]int64{"main.f": heap(allocated, 1<<20+rounds)})
			if err := b.restarts(context.Background(), b.now); err != nil {
				t.Fatal(err)
			}
			b.now = b.now.Add(time.Minute)
		}
		server := func() { b.Watcher = New(nil, b.opt) }
		want := func(times int, round int64) { // of the last profile before the last restart
			t.Helper()
			list, _ := b.opt.Events.List(event.Filter{Tenant: "t"})
			if len(list) != 1 || max(1, list[0].Process.Times) != times || list[0].Process.Memory != 1<<20+round {
				t.Errorf("instance %q, after %d rounds: %s\nwant %d times, and the memory of round %d", instance, rounds, b.events(), times, round)
			}
		}
		round(false)
		round(true)
		want(1, 1)
		server()
		round(false)
		want(1, 1)
		round(true)
		want(2, 3)
		for range 3 {
			server()
			round(false)
			want(2, 3)
		}
		server()
		round(true) // while no server looked
		want(3, 7)
		server()
		round(false)
		want(3, 7)
		if instance == "" {
			continue // hone does not know then which process it is
		}
		// What a server reads again may begin after the last restart that was counted.
		b.now = b.now.Add(2 * time.Minute)
		round(false)
		b.now = b.now.Add(7 * time.Minute)
		server()
		round(true)
		want(4, rounds-1)
	}
}

// Processes that send with the same labels seem to be one that is restarted all the time.
func TestSharedLabels(t *testing.T) {
	b := newBench(t, "", Options{})
	for n := range int64(40) {
		b.add("heap", map[string]string{"version": "v1"}, map[string][]int64{"main.f": heap(5000-4000*(n%2)+n, 10<<20)})
		b.add("heap", map[string]string{"version": "v2", "instance": "a"}, map[string][]int64{"main.f": heap(1000+n, 10<<20)})
		b.minute()
	}
	b.want("0 a process of api seems to be several that send profiles with the same labels: give each a label instance")
	again := New(nil, b.opt)
	for n := range int64(4) {
		b.add("heap", map[string]string{"version": "v1"}, map[string][]int64{"main.f": heap(5000-4000*(n%2)+n+40, 10<<20)})
		if err := again.restarts(context.Background(), b.now); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(time.Minute)
	}
	if got := b.events(); strings.Contains(got, "\n") {
		t.Errorf("a server that looks again finds:\n%s", got)
	}
}

// What somebody tells of and what was seen are one event.
func TestTold(t *testing.T) {
	b := newBench(t, "", Options{})
	ctx := context.Background()
	instance := store.Labels{{Name: "instance", Value: "a"}}
	tell := func(e event.Event) string {
		t.Helper()
		got, err := b.Told(ctx, "t", e)
		if err != nil {
			t.Fatal(err)
		}
		return got.ID
	}
	first := tell(event.Event{Kind: event.Restarted, Service: "api", Labels: instance, Time: b.now})
	if tell(event.Event{Kind: event.Killed, Service: "api", Labels: instance, Time: b.now.Add(time.Minute)}) != first {
		t.Error("a kill is another event than the restart")
	}
	deploy := event.Event{Kind: event.Deployed, Service: "api", Time: b.now, Deploy: &event.Deploy{Version: "v2"}}
	if once := tell(deploy); tell(deploy) != once {
		t.Error("a deploy is there twice")
	}
	got := b.events()
	if !strings.Contains(got, "0 a of api was killed") || !strings.Contains(got, "version v2 of api was deployed") || strings.Count(got, "\n") != 1 {
		t.Errorf("events:\n%s", got)
	}
	for n := range mostTold {
		_, err := b.Told(ctx, "t", event.Event{Kind: event.Restarted, Service: fmt.Sprint(n), Time: b.now})
		if n == mostTold-1 && err != ErrMany {
			t.Errorf("after %d events: %v", n, err)
		}
		if n == 20 {
			b.today.of[keyOf("told", "t")] = mostTold - 1 // Add syncs each, which takes long
		} else if n > 20 {
			if _, err := b.Told(ctx, "t", event.Event{Kind: event.Restarted, Service: "last", Time: b.now}); err != ErrMany {
				t.Errorf("beyond the limit: %v", err)
			}
			return
		}
	}
}

// A receiver is a web hook that answers as a test wants.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.bodies, r.heads = append(r.bodies, string(body)), append(r.heads, req.Header)
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies
}

func hookOf(b *bench) *sender {
	for _, s := range b.senders {
		return s
	}
	return nil
}

func TestHook(t *testing.T) {
	n := 0
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n < 3 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	})
	b := newBench(t, "actions: [{on: [oom], service: api, webhook: {name: chat, url: '"+r.URL+"/secret', secret: key, headers: {X-Team: shop}}}]", Options{})
	e := event.Event{ID: "1", Tenant: "t", Kind: event.Killed, Service: "<!channel>", Time: b.now}
	if err := b.opt.Events.Add(e); err != nil {
		t.Fatal(err)
	}
	s := hookOf(b)
	if err := s.send(context.Background(), message{textOf(&e), "began", e}); err != nil {
		t.Fatal(err)
	}
	if n != 3 {
		t.Errorf("%d attempts", n)
	}
	var m message
	if err := json.Unmarshal([]byte(r.bodies[0]), &m); err != nil || m.Event.ID != "1" || m.Status != "began" {
		t.Errorf("%v: %s", err, r.bodies[0])
	}
	if !strings.Contains(m.Text, "&lt;!channel&gt;") {
		t.Errorf("a name is markup: %s", m.Text)
	}
	sum := hmac.New(sha256.New, []byte("key"))
	io.WriteString(sum, r.heads[2].Get(timeHeader)+"."+r.bodies[2])
	if got := r.heads[2].Get(signatureHeader); got != "sha256="+hex.EncodeToString(sum.Sum(nil)) || r.heads[2].Get("X-Team") != "shop" {
		t.Errorf("headers: %v", r.heads[2])
	}
}

// A receiver that is broken, or means harm, is a failure in the event, and nothing waits for it.
func TestHostileReceivers(t *testing.T) {
	elsewhere := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // of the failure; "" is none
		tries  int
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "redirects", 1},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, "HTTP 403", 1},
		"fails": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "999999999999")
			http.Error(w, "no", http.StatusTooManyRequests)
		}, "HTTP 429 Too Many Requests, after 6 attempts", mostTries},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-forever:
			}
		}, "no answer within 1s, after 6 attempts", mostTries},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, c.answer)
			b := newBench(t, "actions: [{webhook: {name: chat, timeout: 1s, url: '"+r.URL+"/password'}}]", Options{})
			e := event.Event{ID: "1", Tenant: "t", Kind: event.Killed, Service: "api", Time: b.now}
			if err := b.opt.Events.Add(e); err != nil {
				t.Fatal(err)
			}
			s := hookOf(b)
			err := s.send(context.Background(), message{Event: e})
			s.told(&e, err)
			kept := b.opt.Events.Get("t", "1")
			switch {
			case len(kept.Told) != 1 || kept.Told[0].To != "chat",
				c.want == "" && (kept.Told[0].Failed != "" || kept.Told[0].Sent.IsZero()),
				!strings.Contains(kept.Told[0].Failed, c.want), strings.Contains(kept.Told[0].Failed, "password"):
				t.Errorf("told: %+v", kept.Told)
			}
			if n := len(r.got()); n != c.tries {
				t.Errorf("%d attempts", n)
			}
		})
	}
	t.Cleanup(func() {
		if len(elsewhere.got()) > 0 {
			t.Error("a redirect was followed")
		}
	})
}

// Many events do not wait for a receiver: what does not fit is a failure.
func TestFullQueue(t *testing.T) {
	b := newBench(t, "actions: [{webhook: {name: chat, url: 'http://127.0.0.1:1/'}}]", Options{})
	for n := range mostQueue + 2 {
		b.tell(b.config().Actions[0], message{Event: event.Event{ID: fmt.Sprint(n), Tenant: "t"}})
		if n == mostQueue {
			if err := b.opt.Events.Add(event.Event{ID: fmt.Sprint(n + 1), Tenant: "t", Kind: event.Killed}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e := b.opt.Events.Get("t", fmt.Sprint(mostQueue+1)); len(e.Told) != 1 || !strings.Contains(e.Told[0].Failed, "100 events wait") {
		t.Errorf("told: %+v", e.Told)
	}
}

// Pins and captures are made when an event begins, and not again when it changes.
func TestActions(t *testing.T) {
	kept := ""
	asked := 0
	o := Options{
		Ask: func(_ context.Context, d scrape.Deeper) (*scrape.Deep, error) {
			if asked++; d.Instance != "a" || d.Service != "api" || d.CPU != 30*time.Second || d.Trace != 5*time.Second {
				t.Errorf("asked for %+v", d)
			}
			at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
			return &scrape.Deep{Address: "http://a", Began: at, Ended: at.Add(time.Minute), Parts: []scrape.DeepPart{
				{Kind: "goroutine", From: at, To: at.Add(time.Second), Raw: []byte("goroutine profile: total 1\n")},
				{Kind: scrape.TraceKind, From: at, To: at.Add(time.Second), Raw: []byte("go 1.26 trace")},
			}}, nil
		},
		Keep: func(_ context.Context, tenant, name, file string) (string, error) {
			r, err := recording.Open(file)
			if err != nil {
				return "", err
			}
			defer r.Close()
			kept = fmt.Sprintf("%s %s %d", tenant, name, len(r.Parts))
			return "id7", nil
		},
	}
	b := newBench(t, `
actions:
  - {on: [oom, rule busy], service: '{service_name=~"a.*"}', pin: {before: 5m, after: 2m}, capture: {}}
rules: [{name: busy, when: cores > 1}]
`, o)
	var capturing sync.WaitGroup
	e := event.Event{ID: "1", Tenant: "t", Kind: event.Killed, Service: "api", Time: b.now, Labels: store.Labels{{Name: "instance", Value: "a"}}}
	other := event.Event{ID: "2", Tenant: "t", Kind: event.Killed, Service: "web", Time: b.now}
	if err := b.opt.Events.Add(e); err != nil {
		t.Fatal(err)
	}
	if err := b.opt.Events.Add(other); err != nil {
		t.Fatal(err)
	}
	for len(b.news) > 0 {
		b.heed(context.Background(), <-b.news, &capturing)
		capturing.Wait()
	}
	pins, _ := b.store.Pins(context.Background(), "t")
	if len(pins) != 1 || pins[0].Query.From != b.now.Add(-5*time.Minute) || pins[0].Query.To != b.now.Add(2*time.Minute) || b.opt.Events.Get("t", "1").Pin != pins[0].Name {
		t.Errorf("pins: %+v", pins)
	}
	if asked != 1 || kept != "t api 2026-09-01 10:00 1" {
		t.Errorf("asked %d times, kept %q", asked, kept)
	}
	if got := b.events(); !strings.Contains(got, "a recording of api was taken") {
		t.Errorf("events:\n%s", got)
	}
	// Within its cooldown a service is left alone.
	e.ID = "3"
	b.heed(context.Background(), news{nil, &e}, &capturing)
	capturing.Wait()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A capture that failed does not keep the next one from being tried.
func TestFailedCapture(t *testing.T) {
	asked, b0 := 0, time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	b := newBench(t, "actions: [{on: [oom], capture: {cooldown: 30m, daily: 3}}]", Options{
		Ask: func(context.Context, scrape.Deeper) (*scrape.Deep, error) {
			if asked++; asked < 2 {
				return nil, fmt.Errorf("connection refused")
			}
			at := b0
			return &scrape.Deep{Address: "http://a", Began: at, Ended: at, Parts: []scrape.DeepPart{{Kind: "goroutine", From: at, To: at, Raw: []byte("goroutine profile: total 1\n")}}}, nil
		},
		Keep: func(context.Context, string, string, string) (string, error) { return "id", nil },
	})
	var capturing sync.WaitGroup
	for n, want := range []int{1, 2, 2} { // the second one succeeds, and has a cooldown
		e := event.Event{ID: fmt.Sprint(n), Tenant: "t", Kind: event.Killed, Service: "api", Time: b.now}
		b.heed(context.Background(), news{nil, &e}, &capturing)
		capturing.Wait()
		if asked != want {
			t.Errorf("after event %d: asked %d times, want %d", n, asked, want)
		}
		b.now = b.now.Add(time.Minute)
	}
}

// Mistakes are named by place, with what would be possible, and no secret is shown.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{name: a, when: speed > 4}]":                                     `hone.yml:1:25: the quantity "speed" is not known; the choices are share, cores, heap, rss, goroutines, gc, memory`,
		"rules: [{name: a, when: cores}]":                                         `is not a condition such as cores > 4`,
		"rules: [{name: a, when: heap > 4}]":                                      `is not a condition such as heap > 1GB`,
		"rules: [{name: a, when: gc > 400%}]":                                     `is not a condition such as gc > 25%`,
		"rules: [{name: a, when: cores > 50% of usual}]":                          `is not how much more than usual`,
		"rules: [{name: a, when: share > 5%}]":                                    `function and a share go together`,
		"rules: [{name: a, when: share > 5%, function: '/(/'}]":                   `missing closing )`,
		"rules: [{name: a, whem: cores > 4}]":                                     `unknown key "whem"; did you mean when?`,
		"rules: [{when: cores > 4}]":                                              `the rule has no name`,
		"rules: [{name: a, when: cores > 4}, {name: a, when: cores > 5}]":         `is there twice`,
		"rules: [{name: a, when: cores > 4, service: 'a{'}]":                      `the selector`,
		"actions: [{on: [ohm], pin: {}}]":                                         `the kind of event "ohm" is not known; did you mean oom?`,
		"actions: [{on: [rule a], pin: {}}]":                                      `the rule "a" is not known`,
		"actions: [{on: [oom]}]":                                                  `the action does nothing`,
		"actions: [{webhook: {url: 'ftp://user:hunter2@a/'}}]":                    `the url is not one such as https://`,
		"rules: [{name: a, when: cores < 5}]":                                     `is not a condition such as cores > 4: a rule finds what is more than a limit`,
		"actions: [{webhook: {url: 'http://a:99999/'}}]":                          `hone.yml:1:21: the port of a URL is a number from 1 to 65535`,
		"actions: [{webhook: {}}]":                                                `the webhook has no url`,
		"actions: [{webhook: {url: 'http://a/', headers: {Host: b}}}]":            `"Host" is not the name of a header that can be set`,
		"actions: [{webhook: {url: 'http://a/'}}, {webhook: {url: 'http://a/'}}]": `another webhook is called a, too`,
	} {
		name := filepath.Join(t.TempDir(), "hone.yml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Load(name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
	}
}
