package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

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
		functions := q
		functions.Functions = true
		if outlined, err := p.got.Merge(ctx, functions); err != nil {
			p.t.Fatalf("merge of functions: %v", err)
		} else {
			same("merge of functions, "+what, Dump(withoutLines(outlined.Profile)), Dump(withoutLines(want.Profile)), nil, nil)
			same("facts of merge of functions, "+what, facts(outlined), facts(want), nil, nil)
		}
		if trees, ok := p.got.(store.CallStore); ok {
			p.calls(ctx, trees, q, want.Profile, func(got, want map[string]int64) { same("calls, "+what, got, want, nil, nil) })
		}
		for _, by := range [][]string{nil, {"version"}, {store.ServiceLabel, "instance"}} {
			steps := []time.Duration{3 * time.Minute}
			if by == nil {
				steps = append(steps, 1000*time.Hour) // all in one step
			}
			for _, step := range steps {
				q := q
				q.Means = q.Fold == store.Natural
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

// withoutLines returns a profile as those see it who only look at functions.
func withoutLines(p *profile.Profile) *profile.Profile {
	t := p.Tables
	t.Functions, t.Locations = slices.Clone(t.Functions), slices.Clone(t.Locations)
	for i := range t.Functions {
		t.Functions[i].StartLine = 0
	}
	for i := range t.Locations {
		l := &t.Locations[i]
		l.Lines = slices.Clone(l.Lines)
		for j := range l.Lines {
			l.Lines[j].Line, l.Lines[j].Column = 0, 0
		}
	}
	return p.WithTables(t)
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
		Shared            *store.Shared
	}{m.Profiles, m.Streams, m.First, m.Last, h.SampleTypes, h.DefaultType, h.PeriodType, h.Period, h.TimeNanos, h.DurationNanos, m.Damage, m.Shared})
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

// entries returns all profiles that are expected to be there.
func (p *pair) entries(tenant string, f Fleet) []store.Entry {
	p.t.Helper()
	all, _, err := p.want.Entries(context.Background(), store.Query{Tenant: tenant, From: f.Start.Add(-time.Hour), To: f.Start.Add(48 * time.Hour)}, 10000)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}
