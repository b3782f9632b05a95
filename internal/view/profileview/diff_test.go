package profileview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

func diff(t testing.TB, after, before *profile.Profile, q query.Query) *report.Diff {
	t.Helper()
	r, err := Diff(recorded(after, before), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return r.(*report.Diff)
}

// table returns the rows of d as text: flat before and after, cum before and after, name.
func table(d *report.Diff) string {
	var b strings.Builder
	for _, r := range d.Rows {
		fmt.Fprintf(&b, "%d→%d %d→%d %s\n", r.FlatBefore, r.Flat, r.CumBefore, r.Cum, r.Frame.String())
	}
	return b.String()
}

func TestDiff(t *testing.T) {
	tests := []struct {
		name, before, after, q string
		want                   string // without the indent of the test
		trimming               report.Trimming
		notes                  string
	}{
		{
			"what changed most first", "main;a 10\nmain;b 5\nmain;c 1\n", "main;a 7\nmain;b 6\nmain;c 1\nmain;d 2\n", "diff",
			`10→7 10→7 a
			 0→2 0→2 d
			 5→6 5→6 b`,
			report.Trimming{Shown: 3, Of: 3, Dropped: 2, Accounted: 15}, "",
		},
		{
			"all of it", "main;a 10\nmain;c 1\n", "main;a 7\nmain;c 1\n", "diff min=0",
			`10→7 10→7 a
			 0→0 11→8 main
			 1→1 1→1 c`,
			report.Trimming{Shown: 3, Of: 3, Accounted: 8}, "",
		},
		{
			"by cum", "main;f;a 10\n", "main;f;a 10\nmain;f;b 1\nmain;g;b 1\n", "diff cum",
			`0→2 0→2 b
			 0→0 10→12 main
			 0→0 10→11 f
			 0→0 0→1 g`,
			report.Trimming{Shown: 4, Of: 4, Dropped: 1, Accounted: 2}, "",
		},
		{
			"recursion counts once", "f;f;f 3\n", "f;f 5\n", "diff",
			`3→5 3→5 f`,
			report.Trimming{Shown: 1, Of: 1, Accounted: 5}, "",
		},
		{
			"limit", "a 1\nb 1\nc 1\n", "a 2\nb 4\nc 3\n", "diff limit=2",
			`1→4 1→4 b
			 1→3 1→3 c`,
			report.Trimming{Shown: 2, Of: 3, Accounted: 7}, "",
		},
		{
			"small changes", "a 1000\nb 1000\n", "a 1100\nb 1009\n", "diff min=1%",
			`1000→1100 1000→1100 a`,
			report.Trimming{Shown: 1, Of: 1, Dropped: 1, Below: 21, Accounted: 1100}, "",
		},
		{
			"only more", "a 5\nb 1\nmain;x 2\n", "a 1\nb 2\nmain;x 1\n", "diff positive",
			`1→2 1→2 b`,
			report.Trimming{Shown: 1, Of: 1, Accounted: 2}, "",
		},
		{
			"normalized", "main;a 2\nmain;b 2\n", "main;a 6\nmain;b 2\n", "diff normalize",
			`4→6 4→6 a
			 4→2 4→2 b`,
			report.Trimming{Shown: 2, Of: 2, Dropped: 1, Accounted: 8},
			"before is scaled by 2, from 4 to 8",
		},
		{
			"small samples are not rounded away", "a;b;c 1\na;b;d 1\na;b;e 1\nx 3\n", "a;b 3\n", "diff normalize by=file",
			``,
			report.Trimming{Dropped: 1}, "before is scaled by 0.5, from 6 to 3",
		},
		{
			"filters", "main;a;x 1\nmain;b;x 2\n", "main;a;x 3\nmain;b;x 9\n", "diff focus=^a$",
			`1→3 1→3 x
			 0→0 1→3 a
			 0→0 1→3 main`,
			report.Trimming{Shown: 3, Of: 3, Accounted: 3}, "",
		},
		{
			"filter without a match", "a 1\n", "a 2\n", "diff focus=zzz",
			``, report.Trimming{}, "focus matched no samples",
		},
		{
			"only on one side of a filter", "a 1\nb 2\n", "b 3\nc;a 5\n", "diff focus=c",
			`0→5 0→5 a
			 0→0 0→5 c`,
			report.Trimming{Shown: 2, Of: 2, Accounted: 5}, "",
		},
		{
			"no function in common", "a 1\n", "b 1\n", "diff",
			`1→0 1→0 a
			 0→1 0→1 b`,
			report.Trimming{Shown: 2, Of: 2, Accounted: 1},
			"the two profiles have no function in common: are they of the same program?",
		},
		{
			"nothing before", "", "a 1\n", "diff normalize",
			`0→1 0→1 a`,
			report.Trimming{Shown: 1, Of: 1, Accounted: 1}, "before has no samples of samples",
		},
		{
			"nothing after", "a 1\n", "", "diff",
			`1→0 1→0 a`,
			report.Trimming{Shown: 1, Of: 1}, "after has no samples of samples",
		},
		{"nothing at all", "", "", "diff", ``, report.Trimming{}, "before has no samples of samples|after has no samples of samples"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := diff(t, folded(t, tt.after), folded(t, tt.before), parse(t, tt.q))
			want := strings.ReplaceAll(strings.ReplaceAll(tt.want, "\t", ""), "\n ", "\n")
			if want != "" {
				want += "\n"
			}
			if got := table(d); got != want {
				t.Errorf("%s is\n%swant\n%s", tt.q, got, want)
			}
			if d.Trimming != tt.trimming {
				t.Errorf("trimming is %+v, want %+v", d.Trimming, tt.trimming)
			}
			if got := strings.ReplaceAll(d.Notes.String(), "\n", "|"); got != tt.notes {
				t.Errorf("notes are %q, want %q", got, tt.notes)
			}
		})
	}
}

// oneSample returns a profile of one sample with these sample types, a build and a duration.
func oneSample(t *testing.T, build string, seconds int64, types ...string) *profile.Profile {
	t.Helper()
	h := profile.Header{DurationNanos: seconds * 1e9}
	var v []int64
	for i, name := range types {
		h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: name, Unit: "bytes"})
		v = append(v, int64(i+1))
	}
	b := profile.NewBuilder(h)
	b.Mappings = []profile.Mapping{{File: "/bin/app", BuildID: build}}
	b.Functions = []profile.Function{{Name: "f", File: "f.go"}}
	b.Locations = []profile.Location{{Lines: []profile.Line{{Line: 3}}}}
	b.Add([]uint32{0}, 0, v)
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDiffNotes(t *testing.T) {
	tests := []struct {
		after, before *profile.Profile
		q, notes      string
	}{
		{oneSample(t, "1", 30, "cpu"), oneSample(t, "2", 10, "cpu"), "diff", "before was recorded for 10s and after for 30s; per=second compares costs per second, and normalize shares"},
		{oneSample(t, "1", 30, "cpu"), oneSample(t, "2", 10, "cpu"), "diff normalize", "before is scaled by 1, from 1B to 1B"},
		{oneSample(t, "1", 30, "inuse_space"), oneSample(t, "2", 10, "inuse_space"), "diff", ""},
		{oneSample(t, "1", 11, "cpu"), oneSample(t, "2", 10, "cpu"), "diff", ""},
		{oneSample(t, "1", 30, "cpu"), oneSample(t, "2", 0, "cpu"), "diff", ""},
		{oneSample(t, "1", 0, "cpu"), oneSample(t, "2", 0, "cpu"), "diff by=line", "the two profiles are of different builds: code that moved appears as two frames"},
		{oneSample(t, "1", 0, "cpu"), oneSample(t, "1", 0, "cpu"), "diff by=line", ""},
		{oneSample(t, "1", 0, "cpu"), oneSample(t, "", 0, "cpu"), "diff by=address", ""},
	}
	for _, tt := range tests {
		d := diff(t, tt.after, tt.before, parse(t, tt.q))
		if got := strings.ReplaceAll(d.Notes.String(), "\n", "|"); got != tt.notes {
			t.Errorf("%s: notes are %q, want %q", tt.q, got, tt.notes)
		}
	}
}

// TestLeft checks what heads say that filters leave of a total.
func TestLeft(t *testing.T) {
	left := func(h *report.Head) string {
		if h.Left == nil {
			return fmt.Sprint(h.Total)
		}
		return fmt.Sprintf("%d of %d", *h.Left, h.Total)
	}
	now, was := folded(t, "main;a 6\nmain;b 2\n"), folded(t, "main;a 1\nmain;b 2\nmain;c 1\n")
	for _, tt := range []struct{ q, now, was string }{
		{"top", "8", "4"},
		{"top focus=main", "8", "4"},
		{"top focus=a$", "6 of 8", "1 of 4"},
		{"top ignore=c", "8", "3 of 4"},
		{"top focus=nothing", "0 of 8", "0 of 4"},
		{"top focus=b hide=main", "2 of 8", "2 of 4"},
		{"top focus=a$ relative", "6", "1"},
		{"top focus=a$ normalize", "6 of 8", "2 of 8"}, // before is scaled by 2
	} {
		q := parse(t, tt.q)
		r, err := Top(recorded(now, was), q)
		if err != nil {
			t.Fatal(tt.q, err)
		}
		both := r.(*report.Top)
		if now, was := left(&both.Head), left(both.Before); now != tt.now || was != tt.was {
			t.Errorf("%s: %s, and %s before; want %s and %s", tt.q, now, was, tt.now, tt.was)
		}
		if q.Normalize {
			continue
		}
		if r, err = Top(recorded(now), q); err != nil {
			t.Fatal(tt.q, err)
		}
		if got := left(&r.(*report.Top).Head); got != tt.now {
			t.Errorf("%s: %s alone, want %s", tt.q, got, tt.now)
		}
	}
}

// TestDiffMetric checks that the sample type is that of the new side, also where the base has others.
func TestDiffMetric(t *testing.T) {
	after, before := oneSample(t, "", 0, "a", "b", "c"), oneSample(t, "", 0, "x", "c", "b")
	tests := []struct{ metric, name, want, err string }{
		{"", "c", "2→3 2→3 f\n", ""},
		{"b", "b", "3→2 3→2 f\n", ""},
		{"1", "b", "3→2 3→2 f\n", ""},
		{"a", "", "", "only one profile has sample type a; both have b, c"},
		{"x", "", "", `the profile has no metric x; it has `},
	}
	for _, tt := range tests {
		r, err := Diff(recorded(after, before), query.Query{Metric: tt.metric})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("metric %q: %v, want error %s", tt.metric, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("metric %q: %v", tt.metric, err)
			continue
		}
		d := r.(*report.Diff)
		if got := table(d); got != tt.want || d.Metric != tt.name || d.Before.Metric != tt.name {
			t.Errorf("metric %q: %s and %s\n%swant %s\n%s", tt.metric, d.Metric, d.Before.Metric, got, tt.name, tt.want)
		}
	}
}

func TestDiffErrors(t *testing.T) {
	a := folded(t, "a 1\n")
	tests := []struct {
		in  []*profile.Profile
		q   query.Query
		err string
	}{
		{[]*profile.Profile{a}, query.Query{}, "give a base"},
		{[]*profile.Profile{a, nil}, query.Query{}, "has no profile"},
		{[]*profile.Profile{nil, a}, query.Query{}, "has no profile"},
		{[]*profile.Profile{a, a}, query.Query{Mean: true}, "means of two profiles cannot be compared"},
		{[]*profile.Profile{a, a}, query.Query{By: "color"}, "cannot group by"},
		{[]*profile.Profile{a, a}, query.Query{By: "label:"}, "say which one"},
		{[]*profile.Profile{a, oneSample(t, "", 0, "x")}, query.Query{}, "comparing test.pprof with test.pprof: "},
		{[]*profile.Profile{a, a}, query.Query{Steps: []query.Step{{Op: query.Focus, Arg: "("}}}, "missing closing )"},
	}
	for _, tt := range tests {
		if _, err := Diff(recorded(tt.in...), tt.q); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%v: %v, want error %s", tt.q, err, tt.err)
		}
	}
}

// TestDiffCorpus checks that a profile does not differ from itself, and that both sides agree with top.
func TestDiffCorpus(t *testing.T) {
	profiles := corpus(t)
	profiles["made"] = folded(t, "main;a;b 3\nmain;a 2\nmain;c_[i] 1\n")
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			if d := diff(t, p, p, query.Query{}); len(d.Rows) > 0 {
				t.Errorf("%d rows differ, the first is %+v", len(d.Rows), d.Rows[0])
			}
			d := diff(t, p, p, query.Query{Min: -1})
			for _, r := range d.Rows {
				if r.Flat != r.FlatBefore || r.Cum != r.CumBefore {
					t.Errorf("%+v differs", r)
				}
			}
			r, err := Top(recorded(p), query.Query{Min: -1})
			if err != nil {
				t.Fatal(err)
			}
			top := r.(*report.Top)
			if d.Total != top.Total || d.Before.Total != top.Total {
				t.Errorf("totals are %d and %d, want %d", d.Before.Total, d.Total, top.Total)
			}
			for _, row := range top.Rows {
				if !slices.ContainsFunc(d.Rows, func(r report.DiffRow) bool {
					return r.Frame == row.Frame && r.Flat == row.Flat && r.Cum == row.Cum
				}) {
					t.Errorf("%s with %d and %d is not there", row.Frame.String(), row.Flat, row.Cum)
				}
			}
		})
	}
}
