package benchview

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// dueled makes pairs of a benchmark whose new side takes so much more, and varies by a percent.
func dueled(name string, ratio float64, n int) recording.DuelBenchmark {
	r := rand.New(rand.NewPCG(1, uint64(len(name))))
	b := recording.DuelBenchmark{Pkg: "p", Name: name, How: recording.Duet, Unit: "cpu-ns/op", Stop: "decided"}
	for range n {
		drift := math.Exp(r.NormFloat64()) // of the machine, the same for both
		b.Pairs = append(b.Pairs, recording.DuelPair{
			Old: map[string]float64{"cpu-ns/op": 100 * drift, "ns/op": 200 * drift, "B/op": 64, "allocs/op": 2, "hits": 7, "MB/s": 3},
			New: map[string]float64{"cpu-ns/op": 100 * drift * ratio * math.Exp(0.01*r.NormFloat64()), "ns/op": 200 * drift, "B/op": 64, "allocs/op": 1, "hits": 8, "MB/s": 3},
		})
	}
	return b
}

func TestCompare(t *testing.T) {
	parallel := dueled("Parallel", 1, 5)
	parallel.How, parallel.Unit, parallel.Stop = recording.Alternate, "ns/op", "time"
	for i := range parallel.Pairs {
		parallel.Pairs[i].New["B/op"] = float64(40 * i) // now and then nothing
		parallel.Pairs[i].Old["allocs/op"], parallel.Pairs[i].New["allocs/op"] = float64(2+i%2), 0
	}
	d := &recording.Duel{
		Old: recording.DuelSide{Name: "main", Rev: "0123456789abcdef"}, New: recording.DuelSide{Name: "working tree", Rev: "f00", Dirty: true},
		Alpha: 0.01, Within: 0.01, Spread: 0.01, SpreadOf: 12,
		Benchmarks: []recording.DuelBenchmark{
			dueled("Slower", 1.1, 81), dueled("Faster", 0.5, 18), dueled("SameAsEver", 1, 81), parallel,
			{Pkg: "p", Name: "Broken", Fails: "new", Error: "oh"},
			{Pkg: "p", Name: "Gone", Only: "old"}, {Pkg: "q", Name: "*", Only: "new"},
		},
		Same: []string{"r"},
	}
	out, err := Compare([]*recording.Recording{recording.Versions.Of("", d)}, query.Query{View: "compare"})
	if err != nil {
		t.Fatal(err)
	}
	c := out.(*report.Compare)
	row := func(name string, what report.Dimension) *report.CompareRow {
		i := slices.IndexFunc(c.Rows, func(r report.CompareRow) bool { return r.Name == name && r.What == what })
		if i < 0 {
			t.Fatalf("there is no row of %s, %s", name, what)
		}
		return &c.Rows[i]
	}
	for _, tt := range []struct {
		name           string
		what           report.Dimension
		verdict, words string
		exact          bool
	}{
		{"Slower", "CPU time", report.Worse, "slower", false},
		{"Faster", "CPU time", report.Better, "faster", false},
		{"SameAsEver", "CPU time", report.Same, "same within 1%", false},
		{"Parallel", "time", report.Undecided, "undecided", false},
		{"Slower", "memory", report.Same, "same", true},
		{"Slower", "allocations", report.Better, "fewer", true},
		{"Slower", "hits", report.Higher, "higher", true},
		{"Parallel", "memory", report.Undecided, "undecided", false},
		{"Parallel", "allocations", report.Better, "fewer", false},
	} {
		r := row(tt.name, tt.what)
		if r.Verdict != tt.verdict || r.Words != tt.words || r.Exact != tt.exact || (r.P == nil) != r.Exact {
			t.Errorf("%s, %s: %+v, want %s", tt.name, tt.what, r, tt.words)
		}
	}
	if r := row("Faster", "CPU time"); math.Abs(r.New/r.Old-r.Ratio) > 1e-12 || r.Ratio < 0.48 || r.Ratio > 0.52 || *r.Low > -0.5 || *r.High < -0.5 || r.Unit != "sec/op" {
		t.Errorf("half the time: %+v", r)
	}
	if r := row("Parallel", "memory"); len(r.Warnings) == 0 || r.Low != nil {
		t.Errorf("zeros among other values: %+v", r)
	}
	if len(c.Failed) != 1 || len(c.Missing) != 2 || !slices.Equal(c.Identical, []string{"r"}) {
		t.Errorf("%+v", c)
	}
	if worse, undecided := c.Worst(); worse != 1 || undecided != 2 {
		t.Errorf("%d are worse, %d undecided", worse, undecided)
	}
	notes := c.Notes.String()
	if !strings.Contains(notes, "Parallel") || !strings.Contains(notes, "time ran out") {
		t.Errorf("the notes are %q", notes)
	}
	if i := slices.IndexFunc(c.Means, func(m report.CompareMean) bool { return m.What == "CPU time" }); i < 0 || c.Means[i].Of != 3 || c.Means[i].Change > -0.1 {
		t.Errorf("the means are %+v", c.Means)
	}
	if _, err := Compare([]*recording.Recording{{}}, query.Query{}); err == nil {
		t.Error("nothing was compared")
	}
}

// A change that would be called by itself may be chance among many.
func TestCompareMany(t *testing.T) {
	d := &recording.Duel{Alpha: 0.2, Within: 0.001}
	for i := range 60 {
		b := dueled(strings.Repeat("x", i+1), 1, 54)
		if i == 0 {
			b = dueled("x", 1.005, 81)
		}
		d.Benchmarks = append(d.Benchmarks, b)
	}
	out, err := Compare([]*recording.Recording{recording.Versions.Of("", d)}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.(*report.Compare).Rows {
		if r.What != "CPU time" {
			continue
		}
		changed := r.Verdict == report.Worse || r.Verdict == report.Better
		if changed && *r.P > 0.05/60*5 {
			t.Errorf("%s is %s with p = %v among 60", r.Name, r.Words, *r.P)
		}
		if !changed && r.Verdict != report.Undecided && r.Verdict != report.Same {
			t.Errorf("%+v", r)
		}
	}
}

// Functions of packages that have another path on the other side are the same functions.
func TestCompareMoved(t *testing.T) {
	read := func(folded string) *profile.Profile {
		t.Helper()
		p, err := profile.Parse(strings.NewReader(folded))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	w := recording.DuelWhy{
		Name: "Hi", Kind: recording.CPU, Iters: 100, Pkg: "example.com/hi/stage4/in", Was: "example.com/hi/stage1/in",
		Old: read("example.com/hi/stage1/in.Hi;example.com/hi/stage1/in.slow 4000\nexample.com/hi/stage1/in.Hi;example.com/hi/stage1/of.Same 5000\nexample.com/hi/stage10.X 1\n"),
		New: read("example.com/hi/stage4/in.Hi 1\nexample.com/hi/stage4/in.Hi;example.com/hi/stage4/of.Same 5000\n"),
	}
	out, err := Compare([]*recording.Recording{recording.Versions.Of("", &recording.Duel{Why: []recording.DuelWhy{w}})}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range out.(*report.Compare).Why[0].Rows {
		names = append(names, r.Function)
	}
	slices.Sort(names)
	if want := []string{"example.com/hi/stage4/in.Hi", "example.com/hi/stage4/in.slow"}; !slices.Equal(names, want) {
		t.Errorf("the functions are %q, want %q", names, want)
	}
}

// The functions that made the difference are named with what they call; the runtime and package testing are not.
func TestCompareWhy(t *testing.T) {
	read := func(folded string) *profile.Profile {
		t.Helper()
		p, err := profile.Parse(strings.NewReader(folded))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	w := &recording.DuelWhy{
		Name: "Hi", Kind: recording.CPU, Iters: 100,
		Old: read("testing.(*B).runN;main.Hi;regexp.Compile;runtime.mallocgc 4000\ntesting.(*B).runN;main.Hi;fmt.Fprint 101\n"),
		New: read("testing.(*B).runN;main.Hi;fmt.Fprint 100\n"),
	}
	out, err := Compare([]*recording.Recording{recording.Versions.Of("", &recording.Duel{Why: []recording.DuelWhy{*w}})}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	why := out.(*report.Compare).Why
	if len(why) != 1 || len(why[0].Rows) != 2 || why[0].Name != "Hi" {
		t.Fatalf("%+v", why)
	}
	names := []string{why[0].Rows[0].Function, why[0].Rows[1].Function}
	slices.Sort(names)
	if !slices.Equal(names, []string{"main.Hi", "regexp.Compile"}) {
		t.Errorf("the functions are %q", names)
	}
	for _, r := range why[0].Rows {
		if d := r.CumWas - r.Cum; d < 39e-9 || d > 41e-9 || r.Flat != r.Before {
			t.Errorf("%+v, want 40 ns less with what it calls", r)
		}
	}
}

// Of how much of the heap is in use, runs of both sides have to be apart, and by more than chance makes of small heaps.
func TestCompareLive(t *testing.T) {
	const kb = 1 << 10
	for _, tt := range []struct {
		name      string
		olds, new []float64
		verdict   string
	}{
		{"less", []float64{900 * kb, 1000 * kb, 950 * kb}, []float64{30 * kb, 50 * kb, 40 * kb}, report.Better},
		{"more", []float64{30 * kb, 50 * kb, 40 * kb}, []float64{900 * kb, 1000 * kb, 950 * kb}, report.Worse},
		{"nothing before", []float64{0, 0, 0}, []float64{900 * kb, 1000 * kb, 950 * kb}, report.Worse},
		{"a twentieth", []float64{1000 * kb, 1001 * kb, 1002 * kb}, []float64{900 * kb, 950 * kb, 955 * kb}, report.Same},
		{"small", []float64{60 * kb, 61 * kb, 62 * kb}, []float64{10 * kb, 12 * kb, 11 * kb}, report.Same},
		{"mixed", []float64{900 * kb, 1000 * kb, 100 * kb}, []float64{90 * kb, 110 * kb, 100 * kb}, report.Undecided},
	} {
		b := dueled("B", 1, 9)
		for i := range tt.olds {
			b.Live = append(b.Live, recording.DuelPair{Old: map[string]float64{recording.LiveHeap: tt.olds[i]}, New: map[string]float64{recording.LiveHeap: tt.new[i]}})
		}
		out, err := Compare([]*recording.Recording{recording.Versions.Of("", &recording.Duel{Benchmarks: []recording.DuelBenchmark{b}})}, query.Query{View: "compare"})
		if err != nil {
			t.Fatal(err)
		}
		rows := out.(*report.Compare).Rows
		i := slices.IndexFunc(rows, func(r report.CompareRow) bool { return r.What == "live heap" })
		if i < 0 || rows[i].Verdict != tt.verdict || rows[i].Unit != "B" {
			t.Errorf("%s: %+v; want %s", tt.name, rows, tt.verdict)
		}
	}
}

// Runs under the profiler come one after the other. What they cost is scaled to the times that were measured side by side, so that it has no
// other sign than they have; and where it shows nothing, the code does.
func TestCompareWhyScaled(t *testing.T) {
	read := func(folded string) *profile.Profile {
		t.Helper()
		p, err := profile.Parse(strings.NewReader(folded))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	b := dueled("Hi", 1.1, 81)
	compare := func(old, new string, took [2]float64, code ...recording.DuelCode) *report.Compare {
		t.Helper()
		w := recording.DuelWhy{Pkg: b.Pkg, Name: b.Name, Kind: recording.CPU, Iters: 100, Took: took, Code: code, Old: read(old), New: read(new)}
		c, err := Duel(&recording.Duel{Benchmarks: []recording.DuelBenchmark{b}, Why: []recording.DuelWhy{w}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// The machine was half as fast when the old side ran.
	c := compare("main.Hi;main.a 10000\nmain.Hi;main.b 10000\n", "main.Hi;main.a 5000\nmain.Hi;main.b 6000\n", [2]float64{200, 110})
	row := c.Rows[0]
	if len(c.Why) != 1 || len(c.Why[0].Rows) != 2 {
		t.Fatalf("%+v", c.Why)
	}
	for _, r := range c.Why[0].Rows {
		if change := (r.Cum - r.CumWas) / (row.New - row.Old); change < 0.9 || change > 1.1 || r.Function == "main.a" {
			t.Errorf("%+v is %v of the change", r, change)
		}
	}
	code := recording.DuelCode{Function: "main.a", Diff: "-1\n+2\n"}
	if c := compare("main.Hi;main.a 100\n", "main.Hi;main.a 110\n", [2]float64{100, 110}, code); len(c.Why) != 1 || len(c.Why[0].Rows) != 0 || len(c.Why[0].Code) != 1 {
		t.Errorf("only the code shows why: %+v", c.Why)
	}
	if c := compare("main.Hi;main.a 100\n", "main.Hi;main.a 110\n", [2]float64{100, 110}); len(c.Why) != 0 || !strings.Contains(c.Notes.String(), "do not show why its CPU time changed") {
		t.Errorf("nothing shows why: %+v, %s", c.Why, c.Notes)
	}
}
