package profileview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
)

// TestCutStacks holds that a note names the stacks that the runtime cut, and no others.
func TestCutStacks(t *testing.T) {
	type stack struct {
		value int64
		start string
		depth int // with main.walk above the start
	}
	cpu, heap, mutex := []string{"samples", "cpu"}, []string{"alloc_objects", "alloc_space"}, []string{"contentions", "delay"}
	main := stack{700, "main.main", 10}
	for _, tt := range []struct {
		name   string
		types  []string
		stacks []stack
		depth  int // of the note, or 0
		share  float64
	}{
		{"none is deep", cpu, []stack{main, {300, "main.main", 63}}, 0, 0},
		{"cut", cpu, []stack{main, {300, "main.visit", 64}}, 64, 0.3},
		{"cut between inlined functions", cpu, []stack{main, {100, "main.visit", 64}, {200, "main.visit", 66}}, 64, 0.3},
		{"complete by chance", cpu, []stack{main, {300, "main.main", 64}}, 0, 0},
		{"both", cpu, []stack{main, {200, "main.main", 64}, {100, "main.visit", 64}}, 64, 0.1},
		{"another recorder, without such a limit", cpu, []stack{main, {100, "main.visit", 64}, {200, "main.visit", 90}}, 0, 0},
		{"another recorder, with another limit", []string{"cpu"}, []stack{main, {300, "main.visit", 64}}, 0, 0},
		{"hardly any", cpu, []stack{{1_000_000, "main.main", 10}, {300, "main.visit", 64}}, 0, 0},
		{"heap", heap, []stack{main, {300, "main.visit", 128}}, 128, 0.3},
		{"heap with deep stacks", heap, []stack{main, {300, "main.visit", 64}}, 0, 0},
		{"heap until Go 1.22", heap, []stack{main, {300, "main.visit", 32}}, 32, 0.3},
		{"heap whose stacks end there by chance", heap, []stack{main, {290, "main.main", 31}, {10, "main.visit", 32}}, 0, 0},
		{"locks", mutex, []stack{main, {300, "main.visit", 128}}, 128, 0.3},
		{"locks with more frames", mutex, []stack{main, {100, "main.visit", 128}, {200, "main.visit", 500}}, 0, 0},
	} {
		var h profile.Header
		for _, name := range tt.types {
			h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: name, Unit: "count"})
		}
		b := profile.NewBuilder(h)
		at := make(map[string]uint32)
		location := func(name string) uint32 {
			l, ok := at[name]
			if !ok {
				l = uint32(len(b.Locations))
				at[name] = l
				b.Functions = append(b.Functions, profile.Function{ID: uint64(l + 1), Name: name})
				b.Locations = append(b.Locations, profile.Location{ID: uint64(l + 1), Mapping: profile.NoMapping, Lines: []profile.Line{{Function: l}}})
			}
			return l
		}
		for _, s := range tt.stacks {
			var stack []uint32
			for i := range s.depth - 1 {
				stack = append(stack, location(fmt.Sprint("main.walk", i%3)))
			}
			values := make([]int64, len(tt.types))
			for i := range values {
				values[i] = s.value
			}
			b.Add(append(stack, location(s.start)), 0, values)
		}
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		rec := recorded(p)[0]
		k := len(tt.types) - 1
		if c := cuttingOf(p, k); c.depth != tt.depth && tt.name != "hardly any" || tt.depth != 0 && math.Abs(c.share-tt.share) > 1e-9 {
			t.Errorf("%s: %+v, want %d and %g", tt.name, c, tt.depth, tt.share)
		}
		note := shortened(rec, k, query.Query{View: "top"}).String()
		if (note != "") != (tt.depth != 0) || tt.depth != 0 && !strings.Contains(note, fmt.Sprintf("innermost %d frames", tt.depth)) {
			t.Errorf("%s: note %q", tt.name, note)
		}
		for _, q := range []query.Query{{PProf: true}, {By: "label:endpoint"}, {View: "tags"}} {
			if note := shortened(rec, k, q); note != nil {
				t.Errorf("%s, %+v: note %q", tt.name, q, note)
			}
		}
	}
}

// TestCutStacksOfMany holds that the share is about right where not all stacks are looked at, also when they come in turns.
func TestCutStacksOfMany(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	for i, name := range []string{"main.main", "main.visit"} {
		b.Functions = append(b.Functions, profile.Function{ID: uint64(i + 1), Name: name})
		b.Locations = append(b.Locations, profile.Location{ID: uint64(i + 1), Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
	}
	cut := slices.Repeat([]uint32{1}, 64)
	for i := range 4 * enough {
		stack := []uint32{1, 0}
		if i%4 == 0 {
			stack = cut
		}
		b.Add(stack, 0, []int64{1, 10})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if c := cuttingOf(p, 1); c.depth != 64 || math.Abs(c.share-0.25) > 0.01 {
		t.Errorf("%+v, want 64 and about 0.25", c)
	}
	if note := shortened(recorded(p)[0], 1, query.Query{View: "top"}).String(); !strings.HasPrefix(note, "about 2") {
		t.Errorf("the note is %q", note)
	}
}
