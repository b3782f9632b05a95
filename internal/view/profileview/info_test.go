package profileview

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

func info(t *testing.T, p *profile.Profile) *report.Info {
	t.Helper()
	r, err := Info(recorded(p), query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*report.Info)
}

func TestInfo(t *testing.T) {
	b := profile.NewBuilder(profile.Header{
		SampleTypes:   []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultType:   "samples",
		TimeNanos:     1000,
		DurationNanos: 2000,
		PeriodType:    profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        100,
		Comments:      []string{"by hand"},
		DocURL:        "https://example.com/doc",
		DropFrames:    "drop",
		KeepFrames:    "keep",
	})
	b.Notes = []string{"guessed"}
	b.Mappings = []profile.Mapping{
		{File: "/bin/app", BuildID: "abc", Start: 1, Limit: 2}, {File: "/lib/c.so"}, {File: "[vdso]", HasFunctions: true}, {},
	}
	b.Functions = []profile.Function{{Name: "f"}, {}}
	line := func(f uint32) []profile.Line { return []profile.Line{{Function: f}} }
	b.Locations = []profile.Location{
		{Lines: line(0)}, {Lines: line(0)}, {Mapping: 1, Lines: line(0)}, {Mapping: 1, Lines: line(1)}, {Mapping: 1},
		{Mapping: profile.NoMapping},
	}
	sets := []uint32{
		b.Labels([]profile.Label{{Key: "user", Str: "x"}, {Key: "bytes", Numeric: true, Num: 3}}),
		b.Labels([]profile.Label{{Key: "endpoint", Str: "/"}}),
		b.Labels([]profile.Label{{Key: "unused", Str: ""}}),
	}
	b.Add([]uint32{0, 2}, sets[0], []int64{1, 100})
	b.Add([]uint32{0, 2}, sets[1], []int64{2, -200})
	b.Add([]uint32{1, 2}, 0, []int64{3, 300})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	want := &report.Info{
		Head: report.Head{
			File: "app", BuildID: "abc", Comments: []string{"by hand"}, Metric: "samples", Unit: "count",
			Doc: "https://example.com/doc", Time: 1000, Duration: 2000, Total: 6,
			Notes: hint.Said("guessed", "3 of 6 locations have no function name"),
		},
		Types:   []report.TypeTotal{{Type: "samples", Unit: "count", Total: 6, Default: true}, {Type: "cpu", Unit: "nanoseconds", Total: 200}},
		Samples: 3, Contexts: 2, Locations: 6, Functions: 2,
		Labels: []string{"bytes", "endpoint", "user"},
		Mappings: []report.MappingInfo{
			{File: "/bin/app", BuildID: "abc", Start: 1, Limit: 2, Named: true, Locations: 2},
			{File: "/lib/c.so", Locations: 3},
			{File: "[vdso]", Named: true},
			{},
		},
		Period: 100, PeriodType: "cpu", PeriodUnit: "nanoseconds", DropFrames: "drop", KeepFrames: "keep",
	}
	if got := info(t, p); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(p.Notes) != 1 {
		t.Errorf("notes of the profile became %q", p.Notes)
	}
}

func TestInfoOfEmptyProfile(t *testing.T) {
	p, err := profile.NewBuilder(profile.Header{Comments: []string{"empty"}}).Profile()
	if err != nil {
		t.Fatal(err)
	}
	got := info(t, p)
	want := &report.Info{Labels: []string{}, Head: report.Head{Comments: []string{"empty"}, Notes: hint.Said("the profile has no samples")}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := Info(nil, query.Query{}); err == nil {
		t.Error("no error for no profile")
	}
	if _, err := Info(recorded(nil), query.Query{}); err == nil {
		t.Error("no error for a recording without a profile")
	}
}

// A CPU limit is a fact of the machine that a recording is of.
func TestInfoMachine(t *testing.T) {
	p, err := profile.NewBuilder(profile.Header{}).Profile()
	if err != nil {
		t.Fatal(err)
	}
	in := recorded(p)
	in[0].Manifest = &recording.Manifest{Machine: &recording.Machine{OS: "linux", Arch: "arm64", CPUs: 2, CPULimit: "0.5"}}
	r, err := Info(in, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for b := range r.Blocks() {
		facts, ok := b.(report.Facts)
		if !ok {
			continue
		}
		want := report.Fact{Name: "machine", Value: "2 cores, limited to 0.5 cores, linux/arm64"}
		if !slices.Contains(facts.Items, want) {
			t.Errorf("facts are %v, want one to be %v", facts.Items, want)
		}
		return
	}
	t.Error("there are no facts")
}

func TestInfoCorpus(t *testing.T) {
	for name, p := range corpus(t) {
		got := info(t, p)
		if got.Samples != p.NumSamples() || len(got.Types) != len(p.SampleTypes) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
