package cost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// Where every stack is another, what is below a line is told apart less and less, and all of it still counts.
func TestCollectManyStacks(t *testing.T) {
	const digits, stacks = 600, 2*maxChains + 50_000
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	add := func(name, file string) uint32 {
		n := uint32(len(b.Locations))
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: file})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: n, Line: 7}}})
		return n
	}
	for i := range digits {
		add(fmt.Sprint("lib.f", i), "")
	}
	first, own1 := add("lib.First", ""), add("main.work", "main.go")
	b.Renumber()
	for i := range uint32(stacks) {
		b.Add([]uint32{i % digits, i / digits % digits, i / digits / digits, first, own1}, 0, []int64{1})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	inputs, _ := InputsOf([]*recording.Recording{{Ref: "many", Profile: p}})
	c := Collect(t.Context(), inputs, Whose{Class: func(fn, file string) Class {
		if file == "main.go" {
			return Own
		}
		return Std
	}}, 0.01, func(*Line) bool { return true })
	if len(c.Lines) != 1 || c.Lines[0].Key != (LineKey{"main.go", 7}) || c.Lines[0].Cum[CPU] != stacks {
		t.Fatalf("lines that cost something are %+v, want one that costs %d", c.Lines, stacks)
	}
	l := c.Lines[0]
	if n := len(l.Chains); n < maxChains || n > 2*maxChains+2*digits {
		t.Errorf("%d chains are told apart, want %d and a few at most", n, 2*maxChains)
	}
	below := l.Sum(func(ch *Chain) bool { return ch.First() == "lib.First" && len(ch.Below) > 1 })
	if below[CPU] != stacks {
		t.Errorf("%d of %d is below what the line calls", below[CPU], stacks)
	}
	leaf := l.Sum(func(ch *Chain) bool { return ch.Below[len(ch.Below)-1] == "lib.f7" })
	if want := int64((stacks + digits - 1 - 7) / digits); leaf[CPU] != want {
		t.Errorf("a leaf costs %d, want %d", leaf[CPU], want)
	}
	if len(c.Notes) != 1 {
		t.Errorf("it says %q", c.Notes)
	}
}

// A line that allocates by itself is the leaf in heap profiles. That it takes time by itself as well changes nothing about that.
func TestCollectLeafOfBoth(t *testing.T) {
	in := recordings(t, "cpu", "alloc_space")
	inputs, _ := InputsOf(in)
	c := Collect(t.Context(), inputs, Whose{Class: func(string, string) Class { return Own }}, 0.01, func(*Line) bool { return true })
	if len(c.Lines) != 1 {
		t.Fatalf("%d lines cost something, want one", len(c.Lines))
	}
	if got := c.Lines[0].Sum(Allocates()); got[CPU] != 0 || got[BytesMade] != 7 {
		t.Errorf("the line allocates %d bytes and takes %d ns for it, want 7 and none", got[BytesMade], got[CPU])
	}
	if got := c.Lines[0].Sum(func(ch *Chain) bool { return ch.OnCPU }); got[CPU] != 7 || got[BytesMade] != 0 {
		t.Errorf("the line takes %d ns and allocates %d bytes meanwhile, want 7 and none", got[CPU], got[BytesMade])
	}
}

// recordings returns one of each metric with a sample of weight 7 in the same line.
func recordings(t *testing.T, metrics ...string) (out []*recording.Recording) {
	for _, m := range metrics {
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: m, Unit: "count"}}})
		b.Functions = []profile.Function{{Name: "main.work", SystemName: "main.work", File: "main.go"}}
		b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: 0, Line: 3}}}}
		b.Renumber()
		b.Add([]uint32{0}, 0, []int64{7})
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &recording.Recording{Ref: m, Profile: p})
	}
	return out
}

// One sample of CPU time is chance, and no reason to say something about a line; what the line allocates still is.
func TestOneSampleIsChance(t *testing.T) {
	const period = 10_000_000
	value := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	b := profile.NewBuilder(profile.Header{
		SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, value}, PeriodType: value, Period: period,
	})
	b.Functions = []profile.Function{{Name: "main.work", SystemName: "main.work", File: "main.go"}}
	for i, samples := range []int64{1, 2, 7, 1} {
		// Line 3 allocates.
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Line: int64(3 + i)}}})
		b.Add([]uint32{uint32(i)}, 0, []int64{samples, samples * period})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	in := append(recordings(t, "alloc_space"), &recording.Recording{Ref: "cpu", Profile: p})
	inputs, _ := InputsOf(in)
	c := Collect(t.Context(), inputs, Whose{Class: func(string, string) Class { return Own }}, 0.01, func(*Line) bool { return true })
	var lines []int
	for _, l := range c.Lines {
		lines = append(lines, l.Key.Line)
	}
	if want := []int{5, 3, 4}; !slices.Equal(lines, want) {
		t.Errorf("lines %v cost something, want %v", lines, want)
	}
}

// sampledHeap is a heap profile as the runtime makes it of a program that allocates so many objects of some sizes, each size in a line
// of its own, the first in line 1.
func sampledHeap(t *testing.T, rnd *rand.Rand, rate float64, sizes, objects []int64) *recording.Recording {
	t.Helper()
	b := profile.NewBuilder(profile.Header{
		SampleTypes: []profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}},
		PeriodType:  profile.ValueType{Type: "space", Unit: "bytes"}, Period: int64(rate),
	})
	b.Functions = []profile.Function{{Name: "main.work", SystemName: "main.work", File: "main.go"}}
	for i, size := range sizes {
		seen := -math.Expm1(-float64(size) / rate)
		n := 0
		for range objects[i] {
			if rnd.Float64() < seen {
				n++
			}
		}
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Line: int64(1 + i)}}})
		if n > 0 {
			b.Add([]uint32{uint32(i)}, 0, []int64{int64(float64(n) / seen), int64(float64(n) / seen * float64(size))})
		}
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return &recording.Recording{Ref: "heap", Profile: p}
}

// A sample of a small object stands for thousands of them. What is said of its share has to hold for the objects that there were, and
// not only for those that happened to be sampled.
func TestShareHoldsForWhatWasNotSampled(t *testing.T) {
	const rate = 512 << 10
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes, objects := []int64{112, 112, 48, 64, 64 << 10}, []int64{700, 9_000, 70_000, 14_000, 7_000}
	all := int64(0)
	for _, n := range objects {
		all += n
	}
	const times = 400
	over := make([]int, len(sizes))
	highest, sum := make([]float64, len(sizes)), make([]float64, len(sizes))
	for range times {
		inputs, _ := InputsOf([]*recording.Recording{sampledHeap(t, rnd, rate, sizes, objects)})
		c := Collect(t.Context(), inputs, Whose{Class: func(string, string) Class { return Own }}, 1e-9, func(*Line) bool { return true })
		for _, l := range c.Lines {
			at := l.Key.Line - 1
			sure := c.Surely(&l.Cum, ObjectsMade)
			highest[at], sum[at] = max(highest[at], c.Part(&l.Cum, ObjectsMade)), sum[at]+sure
			if sure > float64(objects[at])/float64(all) {
				over[at]++
			}
		}
	}
	if highest[0] < 0.05 {
		t.Errorf("line 1 is never more than %.1f%% of what was sampled: the test shows nothing", 100*highest[0])
	}
	for at, n := range over {
		if n > times*8/100 {
			t.Errorf("line %d is said to be more than it is in %d of %d profiles; want 5%% of them", at+1, n, times)
		}
	}
	// Of a size that is sampled well, the bound is close.
	if share := float64(objects[2]) / float64(all); sum[2]/times < share/2 {
		t.Errorf("line 3 is %.1f%% of all objects, and %.1f%% are said to be sure", 100*share, 100*sum[2]/times)
	}
}

func TestSurely(t *testing.T) {
	const period = 10_000_000
	c := &Costs{sample: period, Total: Cost{CPU: 200 * period, BytesMade: 1000}}
	tests := []struct {
		samples  int64
		low, top float64
	}{
		{1, 0, 0}, {2, 0.001, 0.002}, {10, 0.025, 0.03}, {100, 0.4, 0.5}, {200, 1, 1},
	}
	for _, tt := range tests {
		if got := c.Surely(&Cost{CPU: tt.samples * period}, CPU); got < tt.low || got > tt.top {
			t.Errorf("%d of 200 samples are %.4f for sure, want %.4f to %.4f", tt.samples, got, tt.low, tt.top)
		}
	}
	if got := c.Surely(&Cost{BytesMade: 10}, BytesMade); got != 0.01 { // nobody says that it was sampled
		t.Errorf("10 of 1000 that were counted are %.4f", got)
	}
}

// What a benchmark does while its timer stands counts nowhere.
func TestCollectUntimed(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	add := func(name, file string, line int64) uint32 {
		n := uint32(len(b.Locations))
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: file})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: n, Line: line}}})
		return n
	}
	work, before, timed := add("p.work", "p.go", 7), add("p.BenchmarkWork", "p_test.go", 3), add("p.BenchmarkWork", "p_test.go", 5)
	b.Renumber()
	b.Add([]uint32{work, before}, 0, []int64{70})
	b.Add([]uint32{work, timed}, 0, []int64{20})
	b.Add([]uint32{timed}, 0, []int64{10})
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	inputs, _ := InputsOf([]*recording.Recording{{Ref: "p", Profile: p}})
	c := Collect(t.Context(), inputs, Whose{
		Class: func(_, file string) Class {
			if file == "p_test.go" {
				return Test
			}
			return Own
		},
		Untimed: func(_, _ string, line int) bool { return line == 3 },
	}, 0.01, func(*Line) bool { return true })
	if c.Total[CPU] != 30 || c.Untimed[CPU] != 70 || c.Tests[CPU] != 10 || len(c.Lines) != 1 || c.Lines[0].Cum[CPU] != 20 {
		t.Errorf("of %d, %d are not timed, %d are in tests, and lines are %+v", c.Total[CPU], c.Untimed[CPU], c.Tests[CPU], c.Lines)
	}
}
