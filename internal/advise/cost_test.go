package advise

import (
	"fmt"
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
	inputs, _ := inputsOf([]*recording.Recording{{Ref: "many", Profile: p}})
	c := collect(t.Context(), inputs, func(fn, file string) class {
		if file == "main.go" {
			return own
		}
		return std
	}, 0.01, func(*Line) bool { return true })
	if len(c.lines) != 1 || c.lines[0].key != (lineKey{"main.go", 7}) || c.lines[0].cum[cpu] != stacks {
		t.Fatalf("lines that cost something are %+v, want one that costs %d", c.lines, stacks)
	}
	l := c.lines[0]
	if n := len(l.chains); n < maxChains || n > 2*maxChains+2*digits {
		t.Errorf("%d chains are told apart, want %d and a few at most", n, 2*maxChains)
	}
	below := l.sum(func(ch *chain) bool { return ch.first() == "lib.First" && len(ch.below) > 1 })
	if below[cpu] != stacks {
		t.Errorf("%d of %d is below what the line calls", below[cpu], stacks)
	}
	leaf := l.sum(func(ch *chain) bool { return ch.below[len(ch.below)-1] == "lib.f7" })
	if want := int64((stacks + digits - 1 - 7) / digits); leaf[cpu] != want {
		t.Errorf("a leaf costs %d, want %d", leaf[cpu], want)
	}
	if len(c.notes) != 1 {
		t.Errorf("it says %q", c.notes)
	}
}

// A line that allocates by itself is the leaf in heap profiles. That it takes time by itself as well changes nothing about that.
func TestCollectLeafOfBoth(t *testing.T) {
	in := recordings(t, "cpu", "alloc_space")
	inputs, _ := inputsOf(in)
	c := collect(t.Context(), inputs, func(string, string) class { return own }, 0.01, func(*Line) bool { return true })
	if len(c.lines) != 1 {
		t.Fatalf("%d lines cost something, want one", len(c.lines))
	}
	if got := c.lines[0].sum(allocates()); got[cpu] != 0 || got[bytesMade] != 7 {
		t.Errorf("the line allocates %d bytes and takes %d ns for it, want 7 and none", got[bytesMade], got[cpu])
	}
	if got := c.lines[0].sum(func(ch *chain) bool { return ch.onCPU }); got[cpu] != 7 || got[bytesMade] != 0 {
		t.Errorf("the line takes %d ns and allocates %d bytes meanwhile, want 7 and none", got[cpu], got[bytesMade])
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
	inputs, _ := inputsOf(in)
	c := collect(t.Context(), inputs, func(string, string) class { return own }, 0.01, func(*Line) bool { return true })
	var lines []int
	for _, l := range c.lines {
		lines = append(lines, l.key.line)
	}
	if want := []int{5, 3, 4}; !slices.Equal(lines, want) {
		t.Errorf("lines %v cost something, want %v", lines, want)
	}
}
