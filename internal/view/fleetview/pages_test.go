package fleetview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

var start = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)

// cpuLine returns a line of CPU time by minutes: of so many processes, each on half a core, of which ten seconds are profiled.
func cpuLine(labels store.Labels, first int, processes ...int) store.Line {
	l := store.Line{Labels: labels, Types: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for i, n := range processes {
		if n == 0 {
			continue
		}
		l.Points = append(l.Points, store.Point{
			Time: start.Add(time.Duration(first+i) * time.Minute), Values: []int64{1, int64(n) * 5e9}, Profiles: n, Streams: n, Covered: time.Duration(n) * 10 * time.Second,
		})
		l.Means = append(l.Means, meanOf(first+i, time.Minute, n, 0, float64(n)*30e9))
	}
	return l
}

// meanOf returns what so many processes did in a minute, of which they ran for some time.
func meanOf(minute int, ran time.Duration, processes int, values ...float64) store.Mean {
	return store.Mean{Time: start.Add(time.Duration(minute) * time.Minute), Values: values, Alive: time.Duration(processes) * ran, Ran: ran, Told: ran, Any: time.Minute}
}

func label(name, value string) store.Labels {
	return store.NewLabels(store.Label{Name: name, Value: value})
}

var cpuSeries = []store.Series{{Service: "api", Kind: recording.CPU, Types: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Profiles: 7}}

func ask(t *testing.T, ref string) (*report.Selection, store.Ref) {
	t.Helper()
	of, at, err := Selected(ref, start.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return of, at
}

func TestNewWindow(t *testing.T) {
	for _, c := range []struct{ length, want time.Duration }{
		{15 * time.Minute, time.Minute}, {time.Hour, time.Minute}, {6 * time.Hour, 2 * time.Minute}, {24 * time.Hour, 10 * time.Minute},
		{30 * 24 * time.Hour, 6 * time.Hour}, {3000 * 24 * time.Hour, 17 * 24 * time.Hour},
	} {
		if got := NewWindow(start, start.Add(c.length), 180).Step; got != c.want {
			t.Errorf("steps of %s are %s, want %s", c.length, got, c.want)
		}
	}
}

// A value in a step is the mean over the time in which there was any process, so that lines of single processes add up to that of all.
func TestPartOfAStep(t *testing.T) {
	of, at := ask(t, "api@-10m")
	w := Window{at.From, at.From.Add(2*time.Minute + 20*time.Second), time.Minute}
	anything := func(means ...store.Mean) []store.Mean {
		for i := range means {
			means[i].Any = w.part(means[i].Time)
		}
		return means
	}
	line := func(pod string, means ...store.Mean) store.Line {
		return store.Line{Labels: label("pod", pod), Types: cpuSeries[0].Types, Means: anything(means...)}
	}
	// One runs for a minute and a half, another one takes its place; a third one begins in the middle of the first minute, and runs to the end.
	parts := []store.Line{
		line("a", meanOf(0, time.Minute, 1, 60e9), meanOf(1, 30*time.Second, 1, 30e9)), line("b", meanOf(1, 30*time.Second, 1, 30e9), meanOf(2, 20*time.Second, 1, 20e9)),
		line("c", meanOf(0, 30*time.Second, 1, 15e9), meanOf(1, time.Minute, 1, 30e9), meanOf(2, 20*time.Second, 1, 10e9)),
	}
	all := store.Line{Types: cpuSeries[0].Types, Means: []store.Mean{
		{Time: start, Values: []float64{75e9}, Alive: 90 * time.Second, Ran: time.Minute, Told: time.Minute},
		{Time: start.Add(time.Minute), Values: []float64{90e9}, Alive: 2 * time.Minute, Ran: time.Minute, Told: time.Minute},
		{Time: start.Add(2 * time.Minute), Values: []float64{30e9}, Alive: 40 * time.Second, Ran: 20 * time.Second, Told: 20 * time.Second},
	}}
	want := []float64{1.25, 1.5, 1.5}
	g := Graph(of, at, &Measures[0], "", []store.Line{all}, nil, cpuSeries, w)
	for i, p := range g.Lines[0].Points {
		if p[1] != want[i] {
			t.Errorf("in minute %d there are %v cores, want %v", i, p[1], want[i])
		}
	}
	if g.Lines[0].Mean != 195.0/140 {
		t.Errorf("there are %v cores on average, want %v", g.Lines[0].Mean, 195.0/140)
	}
	g = Graph(of, at, &Measures[0], "pod", parts, nil, cpuSeries, w)
	sums, share := map[float64]float64{}, 0.0
	for _, l := range g.Lines {
		share += l.Share
		for _, p := range l.Points {
			sums[p[0]] += p[1]
		}
		if want := map[string]float64{"a": 1, "b": 1, "c": 0.5}[l.Name]; l.Mean != want {
			t.Errorf("%s uses %v cores while it runs, want %v", l.Name, l.Mean, want)
		}
	}
	for i, p := range Graph(of, at, &Measures[0], "", []store.Line{all}, nil, cpuSeries, w).Lines[0].Points {
		if sums[p[0]] != want[i] {
			t.Errorf("in minute %d, processes use %v cores, want %v", i, sums[p[0]], want[i])
		}
	}
	if share != 1 {
		t.Errorf("the shares add up to %v", share)
	}
	labels := Labels(of, at, &Measures[0], []string{"pod"}, [][]store.Line{parts}).Labels[0]
	for i, want := range []report.ValueShare{{Value: "a", Share: 90.0 / 195}, {Value: "c", Share: 55.0 / 195}, {Value: "b", Share: 50.0 / 195}} {
		if got := labels.Values[i]; got.Value != want.Value || got.Share != want.Share {
			t.Errorf("%s has %v, want %s with %v", got.Value, got.Share, want.Value, want.Share)
		}
	}
	if n := Processes([]store.Line{all}, w); n != 250.0/140 {
		t.Errorf("there are %v processes, want %v", n, 250.0/140)
	}
}

// Profiles of one service may differ in their sample types: side by side, one after the other, or all the time.
func TestSampleTypesDiffer(t *testing.T) {
	w := Window{start, start.Add(2 * time.Minute), time.Minute}
	other := []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"}}
	lines := []store.Line{
		{Types: cpuSeries[0].Types, Means: []store.Mean{meanOf(0, time.Minute, 1, 60e9), meanOf(1, 30*time.Second, 1, 30e9)}},
		{Types: other, Means: []store.Mean{meanOf(0, time.Minute, 1, 30e9, 0), meanOf(1, 30*time.Second, 1, 15e9, 0)}},
	}
	lines = append(lines, store.Line{Types: []profile.ValueType{{Type: "samples", Unit: "count"}}, Means: []store.Mean{meanOf(0, time.Minute, 1, 100)}}) // says nothing of cores
	if got := Cores(lines, w); got != 135.0/120 {
		t.Errorf("there are %v cores, want %v", got, 135.0/120)
	}
}

// Versions are in the order in which they were deployed: while one takes the place of another, both have profiles.
func TestVersionsInOrder(t *testing.T) {
	now := start.Add(24 * time.Hour)
	ran := func(version string, first, last time.Duration) store.Series {
		return store.Series{Service: "api", Kind: recording.CPU, Labels: label("version", version), First: now.Add(-first), Last: now.Add(-last)}
	}
	for _, c := range []struct {
		name    string
		series  []store.Series
		want    []string
		version string // as it is shown
	}{
		{"one after the other", []store.Series{ran("b", time.Hour, 0), ran("a", 3*time.Hour, time.Hour)}, []string{"a", "b"}, "a → b"},
		{"taking its place now", []store.Series{ran("b", time.Minute, 40*time.Second), ran("a", 3*time.Hour, 10*time.Second)}, []string{"a", "b"}, "a, b"},
		{"back again", []store.Series{ran("b", 2*time.Hour, time.Hour), ran("a", 3*time.Hour, 0)}, []string{"b", "a"}, "a"},
		{"of two kinds", []store.Series{ran("b", 2*time.Hour, 0), ran("a", 9*time.Hour, 8*time.Hour), ran("b", 3*time.Hour, time.Minute)}, []string{"a", "b"}, "a → b"},
		{"side by side all the time", []store.Series{ran("b", 24*time.Hour, 20*time.Second), ran("a", 24*time.Hour-time.Minute, 0)}, []string{"a", "b"}, "a, b"},
		{"side by side, then one", []store.Series{ran("b", 24*time.Hour, 2*time.Hour), ran("a", 24*time.Hour-time.Minute, 0)}, []string{"b", "a"}, "a"},
	} {
		rows := Services(nil, nil, c.series, Window{start, now, 24 * time.Minute}).Rows
		if len(rows) != 1 || !slices.Equal(rows[0].Versions, c.want) {
			t.Errorf("%s: %+v, want %v", c.name, rows, c.want)
		}
		r := &report.Services{From: start, To: now, Rows: rows}
		for b := range r.Blocks() {
			if table, ok := b.(report.Table); ok && table.Rows[0][8] != c.version {
				t.Errorf("%s: the version is %q, want %q", c.name, table.Rows[0][8], c.version)
			}
		}
	}
}

// The change is against the time before, which is as long.
func TestChangeOfServices(t *testing.T) {
	from := start.Add(5 * time.Minute)
	service := label(store.ServiceLabel, "api")
	rows := Services(Totals{recording.CPU: {cpuLine(service, 5, 4, 4, 4, 4, 4)}}, []store.Line{cpuLine(service, 0, 2, 2, 2, 2, 2)}, cpuSeries, Window{from, from.Add(5 * time.Minute), time.Minute}).Rows
	if len(rows) != 1 || rows[0].Before != 1 || rows[0].Cores != 2 {
		t.Errorf("%+v, want 1 core before and 2 now", rows)
	}
	few := []store.Line{cpuLine(service, 0, 2, 2)}
	rows = Services(Totals{recording.CPU: {cpuLine(service, 5, 4, 4, 4, 4, 4)}}, few, cpuSeries, Window{from, from.Add(5 * time.Minute), time.Minute}).Rows
	if len(rows) != 1 || rows[0].Before != 0 || rows[0].Cores != 2 {
		t.Errorf("%+v, want no time before with profiles in two of five minutes", rows)
	}
}

// What no profile of a service says is unknown, not zero.
func TestUnknownMeasures(t *testing.T) {
	types := func(name string) []profile.ValueType { return []profile.ValueType{{Type: name, Unit: "count"}} }
	got := Services(nil, nil, []store.Series{
		{Service: "folded", Kind: recording.CPU, Types: types("samples")},
		{Service: "live", Kind: recording.Heap, Types: types("inuse_space")},
		{Service: "whole", Kind: recording.CPU, Types: types("cpu")},
		{Service: "whole", Kind: recording.CPU, Types: types("cpu"), Labels: label("version", "v2")},
	}, Window{start, start.Add(time.Hour), time.Minute})
	want := map[string][]string{"folded": {}, "live": {"live"}, "whole": {"cores"}}
	for _, r := range got.Rows {
		if !slices.Equal(r.Measures, want[r.Service]) {
			t.Errorf("%s has the measures %v, want %v", r.Service, r.Measures, want[r.Service])
		}
	}
	for b := range got.Blocks() {
		table, ok := b.(report.Table)
		if !ok {
			continue
		}
		column := map[string]int{"cores": 0, "allocated": 2, "live": 3, "goroutines": 4}
		for i, r := range got.Rows {
			for name, at := range column {
				if known := table.Rows[i][at] != nil; known != slices.Contains(r.Measures, name) {
					t.Errorf("the table has %v for %s of %s", table.Rows[i][at], name, r.Service)
				}
			}
		}
	}
}

func TestGraphBy(t *testing.T) {
	of, at := ask(t, "api@-10m")
	var lines []store.Line
	for i := range 12 {
		lines = append(lines, cpuLine(label("pod", string(rune('a'+i))), 0, 12-i, 12-i))
	}
	lines = append(lines, cpuLine(nil, 0, 1, 1))
	g := Graph(of, at, &Measures[0], "pod", lines, nil, cpuSeries, Window{at.From, at.To, time.Minute})
	if len(g.Lines) != mostLines+1 || g.Rest != 5 || g.Lines[0].Name != "a" || g.Lines[0].Selector != `api{pod="a"}` || g.Lines[mostLines].Name != "others" {
		t.Fatalf("the lines are %+v, and %d others", g.Lines, g.Rest)
	}
	sum := 0.0
	for _, l := range g.Lines {
		sum += l.Share
	}
	if sum < 0.999 || sum > 1.001 {
		t.Errorf("shares add up to %v", sum)
	}
	if g.Lines[mostLines].Mean != (4+3+2+1+1)/2.0 {
		t.Errorf("the others use %v cores", g.Lines[mostLines].Mean)
	}
}

func TestDeploys(t *testing.T) {
	of := func(service, name, value string) store.Labels {
		return store.NewLabels(store.Label{Name: store.ServiceLabel, Value: service}, store.Label{Name: name, Value: value})
	}
	got := Deploys([]store.Line{
		cpuLine(of("api", "version", "v2"), 5, 1, 1),
		cpuLine(of("api", "version", "v1"), 0, 1, 1, 1, 1, 1),
		cpuLine(of("job", store.BuildLabel, "a-build-with-a-long-name"), 3, 1, 1),
		cpuLine(of("job", store.BuildLabel, "b"), 0, 1, 1),
		cpuLine(of("calm", "version", "v1"), 0, 1, 1),
	}, time.Minute)
	if len(got["calm"]) != 0 || len(got["api"]) != 1 || len(got["job"]) != 1 {
		t.Fatalf("deploys are %+v", got)
	}
	want := report.Deploy{At: start.Add(5 * time.Minute).UnixMilli(), Version: "v2", Before: "v1", Selector: `api{version="v2"}`, Base: `api{version="v1"}`}
	if got["api"][0] != want {
		t.Errorf("the deploy is %+v, want %+v", got["api"][0], want)
	}
	if d := got["job"][0]; d.Selector != `job{build_id="a-build-with-a-long-name"}` || len(d.Version) > 20 || d.Before != "b" {
		t.Errorf("the build is %+v", d)
	}
}

// What a page takes away or adds is a selector that can be read.
func TestSelected(t *testing.T) {
	of, at := ask(t, `store:api{version="v\"2", pod!~"a.*"}@-5m..-1m`)
	if of.Service != "api" || of.Time != "-5m..-1m" || of.To-of.From != 240_000 || len(of.Matchers) != 2 {
		t.Fatalf("the selection is %+v", of)
	}
	for _, m := range of.Matchers {
		if _, err := store.ParseSelector(m.Without); err != nil || strings.Contains(m.Without, m.Name) {
			t.Errorf("without %s it is %q: %v", m.Name, m.Without, err)
		}
	}
	l := Labels(of, at, &Measures[0], []string{"version"}, [][]store.Line{{cpuLine(label("version", `v"2`), 0, 3), cpuLine(nil, 0, 1)}})
	values := l.Labels[0].Values
	if len(values) != 2 || values[0].Share != 0.75 || values[0].Only != `api{pod!~"a.*", version="v\"2"}` || values[1].Only != `api{pod!~"a.*", version=""}` {
		t.Errorf("the values are %+v", values)
	}
	for _, v := range values {
		for _, s := range []string{v.Only, v.Except} {
			if _, err := store.ParseSelector(s); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
	}
	if alone, _ := ask(t, `store:{service_name="a b"}`); alone.Service != "a b" || len(alone.Matchers) != 0 {
		t.Errorf("a service with a space is %+v", alone)
	}
	if _, _, err := Selected("store:api@-1h..-2h", start); err == nil {
		t.Error("a time that ends before it begins is taken")
	}
}

func TestHeat(t *testing.T) {
	of, at := ask(t, "api@-10m")
	var entries []store.Entry
	for i := range 20 {
		e := store.Entry{
			ID: store.ID{byte(i)}, Service: "api", Kind: recording.CPU, Labels: label("instance", []string{"a", "b"}[i%2]), Types: cpuSeries[0].Types,
			Start: start.Add(time.Duration(i/2) * time.Minute), Totals: []int64{int64(i+1) * 1e9},
		}
		e.End = e.Start.Add(10 * time.Second)
		entries = append(entries, e)
	}
	w := NewWindow(at.From, at.To, 5)
	h := Heat(of, at, &Measures[0], "instance", entries, false, cpuSeries, w)
	if h.Columns != 5 || h.Profiles != 20 || len(h.Rows) != 2 || h.Rows[0].Name != "b" || h.Max != 2 || len(h.Rows[0].Cells) != 5 || h.Rows[0].Cells[4].N != 2 {
		t.Errorf("by instance it is %+v", h)
	}
	best := h.Rows[0].Cells[4].Highest
	if want := `store:api{profile_id="13` + strings.Repeat("00", 15) + `"}@2026-09-01T10:09:00Z..2026-09-01T10:09:01Z`; best.Ref != want || best.Value != 2 || h.Highest[0] != best {
		t.Errorf("the highest is %+v, want %s", best, want)
	}
	byValue := Heat(of, at, &Measures[0], "", entries, false, cpuSeries, w)
	n := 0
	for _, r := range byValue.Rows {
		for _, c := range r.Cells {
			n += c.N
		}
	}
	if len(byValue.Rows) != rangeRows || n != 20 || byValue.Rows[0].High != 2 || !slices.IsSortedFunc(byValue.Rows, func(a, b report.HeatRow) int { return int(b.Low*100 - a.Low*100) }) {
		t.Errorf("by value there are %d profiles in %+v", n, byValue.Rows)
	}
	if empty := Heat(of, at, &Measures[0], "", nil, false, nil, w); len(empty.Rows) != 0 {
		t.Errorf("of nothing it is %+v", empty)
	}
}

func TestBases(t *testing.T) {
	of, at := ask(t, "store:api@-5m")
	b := Bases(of, at, []string{"v1", "v2", "v3"})
	var all []string
	for _, one := range b.Bases {
		all = append(all, one.Title+": "+one.Ref+" "+one.Base)
	}
	want := []string{
		"the time before it: store:api@-5m store:api@2026-09-01T10:00:00Z..2026-09-01T10:05:00Z",
		"the same time yesterday: store:api@-5m store:api@2026-08-31T10:05:00Z..2026-08-31T10:10:00Z",
		"the same time last week: store:api@-5m store:api@2026-08-25T10:05:00Z..2026-08-25T10:10:00Z",
		`version v3 against v2: store:api{version="v3"}@-5m store:api{version="v2"}@-5m`,
		`version v2 against v1: store:api{version="v2"}@-5m store:api{version="v1"}@-5m`,
	}
	if !slices.Equal(all, want) {
		t.Errorf("it can be compared with\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}
