package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// misfits adds profiles of another kind than their sender says. They do not keep those from being read that fit.
func misfits(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 2, 3, []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	var all []*store.Upload
	for _, u := range f.All() {
		wrong := *u
		switch {
		case u.Kind == "heap":
			all = append(all, u)
		case u.Service == "service-0":
			wrong.Kind = "heap"
			all = append(all, &wrong)
		default: // all of a kind are wrong
			wrong.Kind = "goroutine"
			all = append(all, &wrong)
		}
	}
	p.add("main", all...)
	some := store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: "heap", From: f.Start, To: f.Start.Add(time.Hour)}
	p.ask("some misfits", some)
	none := some
	none.Selector, none.Kind = store.Service("service-1"), "goroutine"
	p.ask("nothing but misfits", none)
	merged, err := p.got.Merge(context.Background(), some)
	if err != nil || merged.Profiles != f.Rounds*f.Instances || len(merged.Damage) != f.Instances {
		t.Fatalf("%+v, %v, want %d profiles that fit and %d errors", merged, err, f.Rounds*f.Instances, f.Instances)
	}
	want := "3 profiles of service-0 left out: stored as heap, but the sample types are samples, cpu, of kind cpu"
	if got := merged.Damage[0].Error(); got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

// otherMetrics adds profiles that lack the metric of the others. They are left out, and a period type that is missing or another one is no error.
func otherMetrics(t *testing.T, open func(*testing.T, func() time.Time) store.Store) {
	f := Small()
	f.Services, f.Rounds, f.Kinds = 2, 2, []string{"cpu", "heap"}
	p := newPair(t, open, nowOf(f))
	p.add("main", f.All()...)
	upload := func(service, kind string, at int, h profile.Header, value int64) *store.Upload {
		b := profile.NewBuilder(h)
		b.Functions = []profile.Function{{Name: "main"}}
		b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0}}}}
		b.Add([]uint32{0}, 0, slices.Repeat([]int64{value}, len(h.SampleTypes)))
		raw := written(t, b)
		start := f.Start.Add(time.Duration(at) * time.Second)
		return &store.Upload{Service: service, Kind: kind, Start: start, End: start, Raw: raw}
	}
	cpu, milli := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, profile.ValueType{Type: "cpu", Unit: "milliseconds"}
	samples, odd := profile.ValueType{Type: "samples", Unit: "count"}, profile.ValueType{Type: "cpu", Unit: "count"}
	inuse := profile.ValueType{Type: "inuse_space", Unit: "bytes"}
	for i := range 20 { // more than there is time for
		p.add("main", upload("service-0", "cpu", i, profile.Header{SampleTypes: []profile.ValueType{samples}}, 3))
	}
	p.add("main",
		upload("service-0", "cpu", 30, profile.Header{SampleTypes: []profile.ValueType{cpu}}, 4),
		upload("service-0", "cpu", 31, profile.Header{SampleTypes: []profile.ValueType{milli}, PeriodType: samples, Period: 7}, 5),
		upload("service-0", "cpu", 32, profile.Header{SampleTypes: []profile.ValueType{odd}, PeriodType: odd}, 6),
		upload("service-0", "heap", 33, profile.Header{SampleTypes: []profile.ValueType{inuse}}, 7),
		upload("text", "cpu", 34, profile.Header{SampleTypes: []profile.ValueType{samples}}, 8),
		upload("text", "cpu", 35, profile.Header{SampleTypes: []profile.ValueType{samples}}, 9),
		upload("apart", "jobs", 36, profile.Header{SampleTypes: []profile.ValueType{{Type: "jobs", Unit: "count"}}}, 10),
		upload("apart", "jobs", 37, profile.Header{SampleTypes: []profile.ValueType{samples}}, 11),
	)
	for _, tt := range []struct {
		name, selector, kind string
		metric               profile.ValueType
		profiles             int
		types, notes         string
	}{
		{"time and text", "service-0", "cpu", profile.ValueType{}, f.Rounds*f.Instances + 2, "cpu", "1 profile of service-0 left out: the metrics are cpu (count), and those of the other profiles cpu (nanoseconds)\n" +
			"20 profiles of service-0 left out: the metrics are samples (count), and those of the other profiles cpu (nanoseconds)"},
		{"of two services", `{service_name=~"service-1|text"}`, "cpu", profile.ValueType{}, f.Rounds * f.Instances, "samples, cpu",
			"2 profiles of text left out: the metrics are samples (count), and those of the other profiles samples (count), cpu (nanoseconds)"},
		{"nothing but text", "text", "cpu", profile.ValueType{}, 2, "samples", ""},
		{"memory", "service-0", "heap", profile.ValueType{}, f.Rounds*f.Instances + 1, "inuse_space", ""},
		{"another kind", "apart", "jobs", profile.ValueType{}, 1, "jobs", "1 profile of apart left out: the metrics are samples (count), and those of the other profiles jobs (count)"},
		{"question about samples", `{service_name=~".*"}`, "cpu", samples, 2*f.Rounds*f.Instances + 22, "samples", ""},
		{"question about milliseconds", `{service_name=~".*"}`, "cpu", milli, 1, "cpu", ""},
		{"question without a match", "text", "cpu", cpu, 0, "", ""},
	} {
		q := store.Query{Tenant: "main", Selector: mustSelect(t, tt.selector), Kind: tt.kind, From: f.Start, To: f.Start.Add(time.Hour), Metric: tt.metric}
		p.ask(tt.name, q)
		merged, err := p.got.Merge(context.Background(), q)
		if tt.profiles == 0 {
			if !errors.As(err, new(*store.NothingError)) {
				t.Errorf("%s: %+v, %v, want none", tt.name, merged, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var notes []string
		for _, bad := range merged.Damage {
			notes = append(notes, bad.Error())
		}
		slices.Sort(notes)
		if got := strings.Join(notes, "\n"); merged.Profiles != tt.profiles || store.TypeNames(merged.Profile.SampleTypes) != tt.types || got != tt.notes {
			t.Errorf("%s: %d profiles with %s, and the notes\n%s\nwant %d with %s, and\n%s", tt.name, merged.Profiles, store.TypeNames(merged.Profile.SampleTypes), got,
				tt.profiles, tt.types, tt.notes)
		}
	}
}
