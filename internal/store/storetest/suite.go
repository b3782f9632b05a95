package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
		{"answers", answers}, {"shuffled", shuffled}, {"repeated", repeated}, {"tenants", tenants}, {"refused", refused},
		{"clocks", clocks}, {"kinds", oddKinds}, {"pins", pins}, {"received", received}, {"together", together},
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

// pair is a store and what it is held against.
type pair struct {
	t    *testing.T
	got  store.Store
	want *Memory

	asTrees, merged int // answers of a store.CallStore, and those that only Merge has
}

func newPair(t *testing.T, open func(*testing.T, func() time.Time) store.Store, now func() time.Time) *pair {
	t.Helper()
	p := &pair{t: t, got: open(t, now), want: NewMemory()}
	p.want.Now = now
	t.Cleanup(func() {
		if err := p.got.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return p
}

// add adds copies of uploads to both.
func (p *pair) add(tenant string, uploads ...*store.Upload) []store.Outcome {
	p.t.Helper()
	copies := func() []*store.Upload {
		out := make([]*store.Upload, len(uploads))
		for i, u := range uploads {
			c := *u
			c.Raw = bytes.Clone(u.Raw)
			c.Parsed = nil
			out[i] = &c
		}
		return out
	}
	ctx := context.Background()
	want, err := p.want.Add(ctx, tenant, copies())
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := p.got.Add(ctx, tenant, copies())
	if err != nil {
		p.t.Fatalf("adding: %v", err)
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Repeated != want[i].Repeated || (got[i].Err == nil) != (want[i].Err == nil) {
			p.t.Fatalf("outcome of upload %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	return got
}

// ask asks both everything there is to ask about q.
func (p *pair) ask(name string, q store.Query) {
	p.t.Helper()
	ctx := context.Background()
	same := func(what string, got, want any, err, wantErr error) {
		p.t.Helper()
		switch {
		case (err == nil) != (wantErr == nil):
			p.t.Errorf("%s: %s: error %v, want %v", name, what, err, wantErr)
		case err == nil && text(got) != text(want):
			p.t.Errorf("%s: %s differs:\n%s", name, what, firstDifference(text(got), text(want)))
		}
	}
	gotSeries, err := p.got.Series(ctx, q)
	wantSeries, wantErr := p.want.Series(ctx, q)
	same("series", gotSeries, wantSeries, err, wantErr)

	gotNames, err := p.got.Names(ctx, q)
	wantNames, wantErr := p.want.Names(ctx, q)
	same("names of labels", gotNames, wantNames, err, wantErr)
	for _, label := range []string{store.ServiceLabel, "version", "instance", "nothing"} {
		for _, limit := range []int{1, 100} {
			got, more, err := p.got.Values(ctx, q, label, "", limit)
			want, wantMore, wantErr := p.want.Values(ctx, q, label, "", limit)
			same("values of "+label, fmt.Sprint(got, more), fmt.Sprint(want, wantMore), err, wantErr)
		}
	}
	gotEntries, more, err := p.got.Entries(ctx, q, 20)
	wantEntries, wantMore, wantErr := p.want.Entries(ctx, q, 20)
	same("entries", gotEntries, wantEntries, err, wantErr)
	same("whether there are more entries", more, wantMore, err, wantErr)
	if q.Kind == "" {
		return
	}
	for _, fold := range []store.Fold{store.Natural, store.Sum} {
		q.Fold = fold
		what := map[store.Fold]string{store.Natural: "natural", store.Sum: "sum"}[fold]
		got, err := p.got.Merge(ctx, q)
		want, wantErr := p.want.Merge(ctx, q)
		if err != nil || wantErr != nil {
			same("merge, "+what, nil, nil, err, wantErr)
			continue
		}
		same("merge, "+what, Dump(got.Profile), Dump(want.Profile), nil, nil)
		same("facts of merge, "+what, facts(got), facts(want), nil, nil)
		if trees, ok := p.got.(store.CallStore); ok {
			p.calls(ctx, trees, q, want.Profile, func(got, want map[string]int64) { same("calls, "+what, got, want, nil, nil) })
		}
		for _, by := range [][]string{nil, {"version"}, {store.ServiceLabel, "instance"}} {
			for _, step := range []time.Duration{3 * time.Minute} {
				got, err := p.got.Totals(ctx, q, step, by)
				want, wantErr := p.want.Totals(ctx, q, step, by)
				same(fmt.Sprintf("totals, %s, by %v in steps of %v", what, by, step), got, want, err, wantErr)
			}
		}
	}
}

// calls holds trees of calls against the profile that Merge makes of the same.
func (p *pair) calls(ctx context.Context, s store.CallStore, q store.Query, merged *profile.Profile, same func(got, want map[string]int64)) {
	p.t.Helper()
	for k, typ := range merged.SampleTypes {
		trees, err := s.Calls(ctx, q, typ)
		if err != nil {
			p.t.Fatalf("calls of %v: %v", typ, err)
		}
		if trees == nil {
			p.merged++
			continue
		}
		p.asTrees++
		got, want := map[string]int64{}, map[string]int64{}
		for _, t := range trees {
			paths := make([]string, len(t.Nodes))
			for i, n := range t.Nodes[1:] {
				paths[i+1] = paths[n.Parent] + strings.Join(t.Functions(n.Frame, nil), ";") + ";"
			}
			for _, c := range t.Costs {
				got[paths[c.Node]] += c.Value
			}
		}
		var stack []uint32
		for i, v := range merged.Values(k) {
			path := ""
			stack = merged.Stack(i, stack[:0])
			for _, at := range slices.Backward(stack) {
				l := &merged.Locations[at]
				if len(l.Lines) == 0 {
					path += fmt.Sprintf("%x;", l.Address)
				}
				for _, line := range slices.Backward(l.Lines) {
					path += merged.Functions[line.Function].Name + ";"
				}
			}
			want[path] += v
		}
		zero := func(_ string, v int64) bool { return v == 0 }
		maps.DeleteFunc(got, zero)
		maps.DeleteFunc(want, zero)
		same(got, want)
	}
}

func facts(m *store.Merged) string {
	h := m.Profile.Header
	return text(struct {
		Profiles, Streams int
		First, Last       time.Time
		Types             []profile.ValueType
		Default           string
		PeriodType        profile.ValueType
		Period            int64
		Time, Duration    int64
		Damage            []error
	}{m.Profiles, m.Streams, m.First, m.Last, h.SampleTypes, h.DefaultType, h.PeriodType, h.Period, h.TimeNanos, h.DurationNanos, m.Damage})
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	if string(out) == "null" {
		return "[]"
	}
	return string(out)
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			line := "(end)"
			if i < len(b) {
				line = b[i]
			}
			return fmt.Sprintf("line %d of %d, want %d lines\n got  %s\n want %s", i+1, len(a), len(b), profile.Shorten(a[i], 600), profile.Shorten(line, 600))
		}
	}
	return fmt.Sprintf("%d lines, want %d; the first that is missing: %s", len(a), len(b), profile.Shorten(b[len(a)], 600))
}

// Dump returns the samples of p in words that do not depend on how its tables are ordered.
func Dump(p *profile.Profile) string {
	sums := map[string][]int64{}
	var buf []uint32
	for i := range p.NumSamples() {
		var b strings.Builder
		buf = p.Stack(i, buf[:0])
		for _, at := range buf {
			l := &p.Locations[at]
			file := ""
			if l.Mapping != profile.NoMapping {
				file = p.Mappings[l.Mapping].File
			}
			if len(l.Lines) == 0 {
				fmt.Fprintf(&b, "%#x in %s;", l.Address, file)
			}
			for j, line := range l.Lines {
				f := &p.Functions[line.Function]
				fmt.Fprintf(&b, "%s %s:%d from %d in %s inlined %v;", f.Name, f.File, line.Line, f.StartLine, file, j < len(l.Lines)-1)
			}
		}
		for _, l := range p.LabelSets()[p.Label(i)] {
			fmt.Fprintf(&b, " %s=%s%d%s", l.Key, l.Str, l.Num, l.Unit)
		}
		key := b.String()
		if sums[key] == nil {
			sums[key] = make([]int64, len(p.SampleTypes))
		}
		for k := range sums[key] {
			sums[key][k] += p.Values(k)[i]
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		if slices.ContainsFunc(sums[key], func(v int64) bool { return v != 0 }) {
			fmt.Fprintln(&b, sums[key], key)
		}
	}
	return b.String()
}

func mustSelect(t *testing.T, text string) store.Selector {
	t.Helper()
	s, err := store.ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// askAll asks about parts of a fleet.
func (p *pair) askAll(tenant string, f Fleet) {
	p.t.Helper()
	end := f.Start.Add(time.Duration(f.Rounds+1) * f.Every)
	spans := map[string][2]time.Time{
		"all":     {f.Start.Add(-time.Hour), end},
		"the end": {f.Start.Add(4 * f.Every), end},
		"within":  {f.Start.Add(2*f.Every + 2*time.Second), f.Start.Add(6 * f.Every)},
		"none":    {end, end.Add(time.Hour)},
	}
	for span, at := range spans {
		if span == "none" {
			p.ask("none", store.Query{Tenant: tenant, Selector: store.Service("service-1"), Kind: "cpu", From: at[0], To: at[1]})
			continue
		}
		for _, selector := range []string{
			"service-1", `{service_name=~"service-[12]", version!="v0"}`, `service-2{instance=~"10.0.[01].1:80"}`,
		} {
			for _, kind := range append([]string{""}, f.Kinds...) {
				q := store.Query{Tenant: tenant, Selector: mustSelect(p.t, selector), Kind: kind, From: at[0], To: at[1]}
				p.ask(fmt.Sprintf("%s of %s, %s", kind, selector, span), q)
			}
		}
	}
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
	f.Services, f.Rounds, f.Kinds = 1, 2, []string{"cpu"}
	p := newPair(t, open, nowOf(f))
	all := f.All()
	for i, at := range []time.Time{time.Unix(0, 0), time.Unix(7, 0), f.Start.Add(365 * 24 * time.Hour), {}} {
		all[i].Start, all[i].End = at, at
	}
	p.add("main", all...)
	p.askAll("main", f)
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
		b.Renumber()
		made, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if err := made.Write(&raw); err != nil {
			t.Fatal(err)
		}
		start := f.Start.Add(time.Duration(at) * time.Second)
		return &store.Upload{Service: service, Kind: kind, Start: start, End: start.Add(time.Second), Raw: raw.Bytes()}
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
		t.Errorf("taking away a pin that is not there: %v", err)
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

// receivedOf holds that the bytes of all profiles that q selects are those that came in.
func (p *pair) receivedOf(when string, q store.Query) {
	p.t.Helper()
	all, _, err := p.want.Entries(context.Background(), q, 10_000)
	if err != nil || len(all) == 0 {
		p.t.Fatalf("%s: %d profiles, %v", when, len(all), err)
	}
	for _, e := range all {
		got, want := p.bytesOf(q.Tenant, &e)
		if !bytes.Equal(got, want) {
			p.t.Errorf("%s: the %s profile of %v has %d bytes that are not the %d that came in", when, e.Kind, e.Start, len(got), len(want))
		}
	}
}

// bytesOf returns the bytes of a profile of both.
func (p *pair) bytesOf(tenant string, e *store.Entry) (got, want []byte) {
	p.t.Helper()
	q := store.Query{Tenant: tenant, Selector: store.Service(e.Service), Kind: e.Kind, From: e.Start, To: e.Start.Add(1)}
	_, _, got, err := p.got.Profile(context.Background(), q, e.ID)
	_, _, want, wantErr := p.want.Profile(context.Background(), q, e.ID)
	if err != nil || wantErr != nil {
		p.t.Fatal(err, wantErr)
	}
	return got, want
}

// newest holds that the bytes of the newest profile of each series are those that came in, and those of others, too, where they are kept.
func (p *pair) newest(tenant string) {
	p.t.Helper()
	all, _, err := p.want.Entries(context.Background(), store.Query{Tenant: tenant, To: p.want.Now().Add(24 * time.Hour)}, 10_000)
	if err != nil {
		p.t.Fatal(err)
	}
	series := map[string]bool{}
	for _, e := range all { // the newest first
		got, want := p.bytesOf(tenant, &e)
		key := e.Service + e.Kind + e.Labels.Get("version")
		if (got != nil || !series[key]) && !bytes.Equal(got, want) {
			p.t.Errorf("the %s profile of %v of %v has %d bytes that are not the %d that came in", e.Kind, e.Start, e.Labels, len(got), len(want))
		}
		series[key] = true
	}
}

// together adds from many goroutines while others ask.
func together(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds = 2, 3
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

// entries returns all profiles that are expected to be there.
func (p *pair) entries(tenant string, f Fleet) []store.Entry {
	p.t.Helper()
	all, _, err := p.want.Entries(context.Background(), store.Query{Tenant: tenant, From: f.Start.Add(-time.Hour), To: f.Start.Add(48 * time.Hour)}, 10000)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}
