package profileview

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// timed returns a profile of some stacks with values of a sample type and a duration.
func timed(t *testing.T, text string, typ profile.ValueType, d time.Duration) *profile.Profile {
	t.Helper()
	p := folded(t, text)
	h := p.Header
	h.SampleTypes, h.DefaultType, h.DurationNanos = []profile.ValueType{typ}, typ.Type, d.Nanoseconds()
	return p.WithHeader(h)
}

// inStore returns a recording of a profile that a store added up of many processes.
func inStore(t *testing.T, ref, kind string, p *profile.Profile, load recording.Load) *recording.Recording {
	t.Helper()
	m := &recording.Manifest{How: recording.Stored, Started: time.Unix(0, 0), Ended: time.Unix(3600, 0), Fleet: map[string]recording.Load{kind: load}}
	rec, _, err := recording.Made(ref, m, map[string]*profile.Profile{kind: p}).Pick("", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

var perSecond = query.Query{Per: query.PerSecond}

// sidesText prints the totals of a diff as they are shown, and its notes.
func sidesText(d *report.Diff) string {
	return fmt.Sprintf("%s → %s (%s): %s", unit.Label(d.Before.Total, d.Unit), unit.Label(d.Total, d.Unit), d.Per.Unit, d.Notes)
}

// What is compared per second does not grow with the time that was profiled, nor with the number of processes.
func TestPerSecond(t *testing.T) {
	cpu, alloc := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, profile.ValueType{Type: "alloc_space", Unit: "bytes"}
	live, goroutines := profile.ValueType{Type: "inuse_space", Unit: "bytes"}, profile.ValueType{Type: "goroutine", Unit: "count"}
	delay := profile.ValueType{Type: "delay", Unit: "nanoseconds"}
	file := func(ref, text string, typ profile.ValueType, d time.Duration) *recording.Recording {
		return &recording.Recording{Ref: ref, Profile: timed(t, text, typ, d)}
	}
	of := func(kind, text string, typ profile.ValueType, load recording.Load) *recording.Recording {
		return inStore(t, "store:"+text, kind, timed(t, text, typ, time.Hour), load) // an hour is what the profiles are of, and not what was profiled
	}
	const of60and30 = "values are what one process costs per second; profiles cover 60s of before, and 30s of after"
	for _, tt := range []struct {
		after, before *recording.Recording
		want          string
	}{
		{file("new", "a 7500000000\n", cpu, 30*time.Second), file("old", "a 12000000000\n", cpu, time.Minute), "0.2 cores → 0.25 cores (cores): " + of60and30},
		{file("new", "a 7500000000\n", delay, 30*time.Second), file("old", "a 12000000000\n", delay, time.Minute), "200ms/s → 250ms/s (nanoseconds/s): " + of60and30},
		{file("new", "a 5\n", live, 0), file("old", "a 4\n", live, 0), "4B → 5B (bytes): "},
		{
			of(recording.CPU, "a 93000000000\n", cpu, recording.Load{Processes: 3, Covered: 600 * time.Second}),
			of(recording.CPU, "a 7500000000\n", cpu, recording.Load{Processes: 2, Covered: 60 * time.Second}),
			"0.125 cores → 0.155 cores (cores): values are what one process costs per second; profiles cover 60s of before, and 600s of after",
		},
		{
			of(recording.Heap, "a 6291456\n", alloc, recording.Load{Processes: 3, Covered: 3 * time.Second}),
			of(recording.Heap, "a 1048576\n", alloc, recording.Load{Processes: 2, Covered: 2 * time.Second}),
			"512kB/s → 2MB/s (bytes/s): values are what one process costs per second; profiles cover 2s of before, and 3s of after",
		},
		{
			of(recording.Heap, "a 6291456\n", live, recording.Load{Processes: 3, Covered: 3 * time.Second}),
			of(recording.Heap, "a 1048576\n", live, recording.Load{Processes: 2, Covered: 2 * time.Second}),
			"512kB → 2MB (bytes): values are what one process has on average; before had 2 processes, and after 3 processes",
		},
		{
			of(recording.Goroutine, "a 10\n", goroutines, recording.Load{Processes: 4}),
			of(recording.Goroutine, "a 10\n", goroutines, recording.Load{Processes: 1}),
			"10 → 2.5 (count): values are what one process has on average; before had 1 process, and after 4 processes",
		},
	} {
		r, err := Diff([]*recording.Recording{tt.after, tt.before}, perSecond)
		if err != nil {
			t.Errorf("want %s: %v", tt.want, err)
			continue
		}
		d := r.(*report.Diff)
		if got := sidesText(d); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		row := d.Rows[0]
		if got, want := float64(row.Flat-row.FlatBefore)*d.Per.Factor, float64(d.Total-d.Before.Total)*d.Per.Factor; got != want || unit.Label(row.Flat, d.Unit) != unit.Label(d.Total, d.Unit) {
			t.Errorf("%s: the only function changed by %g, and all by %g", tt.want, got, want)
		}
	}
}

// A side of which nobody knows the time is an error, and so are two scales.
func TestPerSecondUnknown(t *testing.T) {
	cpu := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	at := func(d time.Duration) *recording.Recording {
		return &recording.Recording{Ref: d.String(), Profile: timed(t, "a 1\n", cpu, d)}
	}
	both := perSecond
	both.Normalize = true
	wrong := perSecond
	wrong.Unit = "ms"
	for _, tt := range []struct {
		in   []*recording.Recording
		q    query.Query
		want string
	}{
		{[]*recording.Recording{at(time.Second), at(0)}, perSecond, "0s does not say how long cpu was recorded"},
		{[]*recording.Recording{at(0), at(time.Second)}, perSecond, "0s does not say how long cpu was recorded"},
		{[]*recording.Recording{at(time.Second), at(time.Second)}, both, "two scales"},
		{[]*recording.Recording{at(time.Second), at(time.Second)}, wrong, "cpu per second is shown in cores"},
		{[]*recording.Recording{inStore(t, "store:x", recording.CPU, timed(t, "a 1\n", cpu, time.Second), recording.Load{Processes: 1}), at(time.Second)}, perSecond, "store:x does not say"},
	} {
		if _, err := Diff(tt.in, tt.q); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	two := []*recording.Recording{at(time.Second), at(time.Second)}
	if _, err := Subtract(two, both); err == nil || !strings.Contains(err.Error(), "two scales") {
		t.Errorf("a difference in two scales: error %v", err)
	}
	if _, _, err := Base(two, both); err == nil || !strings.Contains(err.Error(), "two scales") {
		t.Errorf("a base in two scales: error %v", err)
	}
}

// All views of a comparison agree on what a function costs per second.
func TestPerSecondViews(t *testing.T) {
	cpu := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	in := []*recording.Recording{
		{Ref: "new", Profile: timed(t, "main;a 6000000000\nmain;b 1500000000\n", cpu, 30*time.Second)},
		{Ref: "old", Profile: timed(t, "main;a 12000000000\n", cpu, time.Minute)},
	}
	shown := func(v int64, of string) string { return unit.Label(v, of) }
	flame, err := Flame(in, perSecond)
	if err != nil {
		t.Fatal(err)
	}
	f := flame.(*report.Flame)
	if got := shown(f.Root.Before.Cum, f.Unit) + " " + shown(f.Root.Cum, f.Unit); got != "0.2 cores 0.25 cores" || f.Per == nil {
		t.Errorf("the root of the flame graph costs %s", got)
	}
	top, err := Top(in, perSecond)
	if err != nil {
		t.Fatal(err)
	}
	r := top.(*report.Top)
	if got := shown(r.Rows[0].Before.Cum, r.Unit) + " " + shown(r.Rows[0].Cum, r.Unit); got != "0.2 cores 0.2 cores" || r.Cores != 0 {
		t.Errorf("the hottest function costs %s", got)
	}
	less, err := Subtract(in, perSecond)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Tree(less, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	g := tree.(*report.Graph)
	for _, n := range g.Nodes {
		want := map[string]string{"main": "0.05 cores", "a": "0", "b": "0.05 cores"}[n.Name]
		if got := shown(n.Cum, g.Unit); got != want {
			t.Errorf("the difference of %s is %s, want %s", n.Name, got, want)
		}
	}
	q := perSecond
	base, q, err := Base(in, q)
	if err != nil || q.Per != "" {
		t.Fatal(err, q.Per)
	}
	alone, err := Top(base, q)
	if err != nil {
		t.Fatal(err)
	}
	if got := alone.(*report.Top).Total; math.Abs(float64(got)-6e9) > 1 {
		t.Errorf("the base by itself has %d ns in the time of after", got)
	}
}
