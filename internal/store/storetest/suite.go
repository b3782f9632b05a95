package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/testrun"
)

// Run holds a store against Memory. Open returns an empty store whose clock is now; it is closed by Run.
// The parts named rare are left to the nightly run.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store, rare ...string) {
	for _, part := range []struct {
		name string
		test func(*testing.T, func(*testing.T, func() time.Time) store.Store)
	}{
		{"answers", answers}, {"deployed", deployed}, {"shuffled", shuffled}, {"repeated", repeated}, {"tenants", tenants}, {"refused", refused},
		{"clocks", clocks}, {"kinds", oddKinds}, {"misfits", misfits}, {"metrics", otherMetrics}, {"restarts", restarts}, {"rates", rates}, {"courses", coursesOf}, {"shared", sharedLabels}, {"pins", pins}, {"received", received}, {"together", together},
	} {
		t.Run(part.name, func(t *testing.T) {
			if slices.Contains(rare, part.name) {
				testrun.Nightly(t, "asks all questions of the store once more")
			}
			part.test(t, open)
		})
	}
}

// nowOf returns a clock that stands at the end of a fleet.
func nowOf(f Fleet) func() time.Time {
	end := f.Start.Add(time.Duration(f.Rounds+1) * f.Every)
	return func() time.Time { return end }
}

func answers(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	p := newPair(t, open, nowOf(f))
	for batch := range slices.Chunk(f.All(), 13) {
		p.add("main", batch...)
	}
	p.askAll("main", f)
	if _, ok := p.got.(store.CallStore); ok && (p.asTrees == 0 || p.merged == 0) {
		t.Errorf("%d questions were answered as trees of calls, and %d only as profiles", p.asTrees, p.merged)
	}
}

// deployed asks about a service of which each profile has another version, most of whose stacks are new.
func deployed(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Deploy, f.Rounds, f.Kinds = 1, 1, 16, []string{"cpu", "heap", "goroutine"}
	f.Functions, f.Stacks = 80, 60
	p := newPair(t, open, nowOf(f))
	half := len(f.All()) / 2
	for i, batch := range [][]*store.Upload{f.All()[:half], f.All()[half:]} {
		p.add("main", batch...)
		for _, kind := range f.Kinds {
			p.ask(fmt.Sprint(kind, " ", i), store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: kind, From: f.Start.Add(3 * time.Minute), To: f.Start.Add(time.Hour)})
		}
	}
}

// shuffled adds profiles out of order, over more than one hour and day, and asks in between.
func shuffled(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Every, f.Rounds, f.Services = 23*time.Minute, 12, 3
	f.Start = time.Date(2026, 9, 1, 21, 50, 0, 0, time.UTC)
	f.Kinds = []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	rand.New(rand.NewPCG(7, 7)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, batch := range slices.Collect(slices.Chunk(all, len(all)/3+1)) {
		p.add("main", batch...)
		if i == 0 {
			p.ask("in between", store.Query{Tenant: "main", Selector: store.Service("service-1"), Kind: "heap", From: f.Start, To: f.Start.Add(24 * time.Hour)})
		}
	}
	p.askAll("main", f)
}

func repeated(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds = 2, 3
	p := newPair(t, open, nowOf(f))
	all := f.All()
	p.add("main", all...)
	for _, o := range p.add("main", all...) {
		if !o.Repeated {
			t.Fatalf("%v is not recognized", o.ID)
		}
	}
	p.add("main", append(slices.Clone(all[:4]), all[:4]...)...)
	twice := *all[0]
	twice.Start = twice.Start.Add(time.Second)
	p.add("main", &twice, &twice)
	p.askAll("main", f)
}

func tenants(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 1, 2, []string{"cpu"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	p.add("one", all[:3]...)
	p.add("two", all[1:]...)
	q := store.Query{Selector: store.Selector{}, Kind: "cpu", From: f.Start.Add(-time.Hour), To: f.Start.Add(time.Hour)}
	for _, q.Tenant = range []string{"one", "two", "three", "../one", ""} {
		p.ask("tenant "+q.Tenant, q)
	}
	ctx := context.Background()
	got, err := p.got.Tenants(ctx)
	if err != nil || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("tenants: %q, %v", got, err)
	}
	entries, _, err := p.got.Entries(ctx, store.Query{Tenant: "one", From: q.From, To: q.To}, 1)
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries: %v, %v", entries, err)
	}
	if _, _, _, err := p.got.Profile(ctx, store.Query{Tenant: "two", From: q.From, To: q.To}, entries[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the profile of another tenant: %v", err)
	}
	e, pr, raw, err := p.got.Profile(ctx, store.Query{Tenant: "one", From: q.From, To: q.To}, entries[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	_, want, wantRaw, err := p.want.Profile(ctx, store.Query{Tenant: "one", From: q.From, To: q.To}, entries[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if text(e) != text(entries[0]) {
		t.Errorf("entry %s, want %s", text(e), text(entries[0]))
	}
	if got, want := Dump(pr), Dump(want); got != want {
		t.Errorf("profile differs:\n%s", firstDifference(got, want))
	}
	if raw != nil && !bytes.Equal(raw, wantRaw) {
		t.Error("the bytes of the profile are others")
	}
}

func refused(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 1, 1, []string{"cpu"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	broken := *all[0]
	broken.Raw = broken.Raw[:len(broken.Raw)/2]
	nothing := *all[0]
	nothing.Raw = nil
	labels := *all[0]
	labels.Row = nil
	for i := range 200 {
		labels.Row = append(labels.Row, store.Label{Name: fmt.Sprintf("l%03d", i), Value: "x"})
	}
	long := *all[0]
	long.Labels = store.NewLabels(store.Label{Name: "version", Value: strings.Repeat("v", 1<<20)})
	out := p.add("main", &broken, all[0], &nothing, &labels, &long, all[1])
	for i, o := range out {
		if kept := i == 1 || i == 5; kept != (o.Err == nil) {
			t.Errorf("upload %d: %v", i, o.Err)
		}
	}
	var limit *store.LimitError
	if !errors.As(out[3].Err, &limit) {
		t.Errorf("too many labels: %v", out[3].Err)
	}
	p.askAll("main", f)
}

func clocks(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 1, 3, []string{"cpu"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	for i, at := range []time.Time{time.Unix(0, 0), time.Unix(7, 0), f.Start.Add(365 * 24 * time.Hour), {}} {
		all[i].Start, all[i].End = at, at
	}
	all[4].End = f.Start.Add(365 * 24 * time.Hour)
	added := p.add("main", all...)
	p.askAll("main", f)
	// Profiles say the times that the store has, whatever their senders wrote into them.
	ctx := context.Background()
	for _, e := range p.entries("main", f) {
		q := store.Query{Tenant: "main", Kind: "cpu", From: e.Start, To: e.Start.Add(1)}
		_, one, _, err := p.got.Profile(ctx, q, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := p.got.Merge(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if want := e.Start.UnixNano(); one.TimeNanos != want || sum.Profile.TimeNanos != want {
			t.Errorf("a profile of %v says the time %v, and the sum with it %v", e.Start, time.Unix(0, one.TimeNanos), time.Unix(0, sum.Profile.TimeNanos))
		}
		if e.ID == added[4].ID && (!e.Clock || !e.Start.Equal(p.want.Now()) || !e.End.Equal(e.Start)) {
			t.Errorf("what ended in a year is %+v, want the time of arrival", e)
		}
	}
}

// oddKinds adds what senders other than Go send: other names, no symbols, no lines, several units, empty profiles.
func oddKinds(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Rounds = 1
	now := nowOf(f)
	p := newPair(t, open, now)
	h := profile.Header{
		SampleTypes: []profile.ValueType{{Type: "näive \"wall\"", Unit: "ticks"}},
		Comments:    []string{"a comment"}, DropFrames: "runtime.*",
	}
	upload := func(service, kind string, at int, fill func(b *profile.Builder)) *store.Upload {
		b := profile.NewBuilder(h)
		b.Mappings = []profile.Mapping{{ID: 1, File: "/bin/odd", BuildID: "abc", Limit: 1 << 40}}
		fill(b)
		raw := written(t, b)
		start := f.Start.Add(time.Duration(at) * time.Second)
		return &store.Upload{Service: service, Kind: kind, Start: start, End: start.Add(time.Second), Raw: raw}
	}
	addresses := func(b *profile.Builder) {
		b.Locations = []profile.Location{{Address: 0x1234}, {Address: 0x5678, Mapping: profile.NoMapping}, {Address: 1 << 63}}
		b.Add([]uint32{0, 1, 2}, 0, []int64{3})
		b.Add([]uint32{1}, b.Labels([]profile.Label{{Key: "k", Str: ""}, {Key: "k", Str: "b"}, {Key: "n", Numeric: true, Num: -1 << 62}}), []int64{-4})
		b.Add(nil, 0, []int64{1 << 60})
	}
	sub := mustSelect(t, "{}")
	odd := []*store.Upload{
		upload("a/../b", "../../etc", 1, addresses),
		upload("a/../b", "../../etc", 2, addresses),
		upload("A/../B", "../../ETC", 2, addresses),
		upload(strings.Repeat("long", 60), "con", 3, addresses),
		upload("<b>&\x00\"", "nul.", 4, addresses),
		upload("empty", "cpu", 5, func(*profile.Builder) {}),
	}
	// The first profile of a process that only counts: what it counted before is not known.
	h.SampleTypes = []profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	locks := upload("locks", "mutex", 6, func(b *profile.Builder) {
		b.Locations = []profile.Location{{Address: 0x1234}}
		b.Add([]uint32{0}, 0, []int64{3, 4})
	})
	locks.Counters = true
	odd = append(odd, locks)
	p.add("../ten/ant", odd...)
	for _, u := range odd {
		p.ask(u.Service, store.Query{
			Tenant: "../ten/ant", Selector: store.Selector{{Name: store.ServiceLabel, Op: store.Is, Value: u.Service}}, Kind: u.Kind, From: f.Start, To: now(),
		})
	}
	p.ask("all that is odd", store.Query{Tenant: "../ten/ant", Selector: sub, From: f.Start, To: now()})
}

func pins(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 1, 1, []string{"cpu"}
	p := newPair(t, open, nowOf(f))
	p.add("main", f.All()...)
	ctx := context.Background()
	q := store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: "cpu", From: f.Start, To: f.Start.Add(time.Minute)}
	pin := store.Pin{Name: "spike", Reason: "somebody looks into it", Made: f.Start}
	for _, s := range []store.Store{p.got, p.want} {
		if err := s.Pin(ctx, q, pin); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.got.Pins(ctx, "main")
	want, _ := p.want.Pins(ctx, "main")
	if err != nil || text(got) != text(want) {
		t.Errorf("pins: %s, %v, want %s", text(got), err, text(want))
	}
	if err := p.got.Unpin(ctx, "main", "other"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removing a pin that does not exist: %v", err)
	}
	if err := p.got.Unpin(ctx, "main", "spike"); err != nil {
		t.Error(err)
	}
	if got, err := p.got.Pins(ctx, "main"); err != nil || len(got) != 0 {
		t.Errorf("pins after Unpin: %v, %v", got, err)
	}
}

// received asks for profiles byte for byte: the newest of each series is kept so, and what is pinned when it comes in.
func received(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 1, 4, []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	ctx := context.Background()
	ahead := store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: "cpu", From: f.Start, To: f.Start.Add(f.Every)}
	for _, s := range []store.Store{p.got, p.want} {
		if err := s.Pin(ctx, ahead, store.Pin{Name: "ahead"}); err != nil {
			t.Fatal(err)
		}
	}
	all := f.All()
	for batch := range slices.Chunk(all, 7) {
		p.add("main", batch...)
	}
	p.receivedOf("at once", ahead)
	p.newest("main")
}

// together adds from many goroutines while others ask.
func together(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 2, 3, []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	ctx := context.Background()
	q := store.Query{Tenant: "main", Selector: store.Service("service-1"), Kind: "cpu", From: f.Start.Add(-time.Hour), To: f.Start.Add(time.Hour)}
	done := make(chan error)
	n := 0
	for batch := range slices.Chunk(all, len(all)/6+1) {
		n++
		var mine []*store.Upload
		for _, u := range batch {
			c := *u
			mine = append(mine, &c)
		}
		if _, err := p.want.Add(ctx, "main", mine); err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, u := range batch {
				u.Parsed = nil
				if _, err := p.got.Add(ctx, "main", []*store.Upload{u}); err != nil {
					done <- err
					return
				}
				if _, err := p.got.Merge(ctx, q); err != nil && u.Service == "service-1" && u.Kind == "cpu" {
					done <- fmt.Errorf("after adding: %w", err)
					return
				}
			}
			done <- nil
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	p.askAll("main", f)
}

// Retention holds what retention leaves of a store against Memory. Expire does what retention does when everything is too old.
func Retention(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store, expire func(t *testing.T, s store.Store)) {
	f := Small()
	f.Every, f.Rounds, f.Services = 17*time.Minute, 14, 3
	f.Start = time.Date(2026, 9, 1, 22, 10, 0, 0, time.UTC)
	f.Kinds = []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	ctx := context.Background()
	pin := func(name, selector, kind string, from, to time.Time) store.Query {
		t.Helper()
		q := store.Query{Tenant: "main", Selector: mustSelect(t, selector), Kind: kind, From: from, To: to}
		for range 2 { // twice is once
			for _, s := range []store.Store{p.got, p.want} {
				if err := s.Pin(ctx, q, store.Pin{Name: name}); err != nil {
					t.Fatal(err)
				}
			}
		}
		return q
	}
	day := time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC)
	ahead := pin("ahead", "service-0", "cpu", f.Start.Add(50*time.Minute), f.Start.Add(90*time.Minute))
	p.add("main", f.All()...)
	p.add("other", f.All()[:8]...)
	pins := map[string]store.Query{
		"cpu":      pin("cpu", "service-1", "cpu", f.Start.Add(20*time.Minute), f.Start.Add(70*time.Minute)),
		"instance": pin("instance", `service-1{instance="10.0.0.1:80"}`, "", f.Start.Add(30*time.Minute), f.Start.Add(50*time.Minute)),
		"midnight": pin("midnight", `{service_name=~"service-[12]"}`, "heap", day, day.Add(20*time.Minute)), // compared with the day before
		"version":  pin("version", `service-2{version!="v0"}`, "heap", f.Start, f.Start.Add(100*time.Minute)),
		"ahead":    ahead,
		"nothing":  pin("nothing", "service-7", "cpu", f.Start, day),
	}
	check := func(when string) {
		t.Helper()
		p.askAll("main", f)
		p.askAll("other", f)
		for name, q := range pins {
			p.ask(when+", pin "+name, q)
		}
		for _, e := range p.entries("main", f) {
			q := store.Query{Tenant: "main", From: e.Start, To: e.Start.Add(1)}
			_, got, _, err := p.got.Profile(ctx, q, e.ID)
			_, want, _, wantErr := p.want.Profile(ctx, q, e.ID)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			if got, want := Dump(got), Dump(want); got != want {
				t.Errorf("%s: profile %v differs:\n%s", when, e.ID, firstDifference(got, want))
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	both := func() {
		expire(t, p.got)
		p.want.Expire()
	}
	both()
	if n := len(p.entries("main", f)); n < 10 {
		t.Fatalf("%d profiles are left", n)
	}
	check("after retention")
	both()
	check("after retention again")
	p.receivedOf("after retention", ahead)
	for _, name := range []string{"midnight", "instance", "cpu", "version", "nothing", "ahead"} {
		for _, s := range []store.Store{p.got, p.want} {
			if err := s.Unpin(ctx, "main", name); err != nil {
				t.Fatal(err)
			}
		}
		both()
		check("without " + name)
	}
	if left := p.entries("main", f); len(left) > 0 {
		t.Errorf("%d profiles are left without a pin", len(left))
	}
}

// written returns what was built, as a file.
func written(t *testing.T, b *profile.Builder) []byte {
	t.Helper()
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := p.Write(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}
