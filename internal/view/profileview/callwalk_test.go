package profileview

import (
	"fmt"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
)

// TestNarrowAndWideRuns checks that stacks whose locations take two bytes each and stacks whose locations take three are
// told apart when both have the same bytes, from either end.
func TestNarrowAndWideRuns(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	for i := range uint32(70_000) {
		b.Functions = append(b.Functions, profile.Function{Name: fmt.Sprintf("f%05x", i+1)})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: i}}})
	}
	b.Renumber()
	stack := func(numbers ...uint32) []uint32 {
		for i := range numbers {
			numbers[i]-- // a location has the number after its index
		}
		return numbers
	}
	// Packed, both are 02 01 01 five times, and a 00 that belongs to the second one only.
	wide := stack(0x10102, 0x10102, 0x10102, 0x10102, 0x10102)
	narrow := stack(0x0102, 0x0201, 0x0101, 0x0102, 0x0201, 0x0101, 0x0102, 0x0001)
	const each = 20_000 // enough for all cores
	for range each {
		b.Add(wide, 0, []int64{1})
		b.Add(narrow, 0, []int64{1})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.StackAt(0), p.StackAt(1); outermost(t, &a, false) != outermost(t, &b, false) || outermost(t, &a, true) != outermost(t, &b, true) {
		t.Fatal("the runs differ, so that this tests nothing")
	}
	for _, q := range []query.Query{{}, {Invert: true}} {
		f, err := NewFlames(recorded(p), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Flame(q)
		if err != nil {
			t.Fatal(err)
		}
		var depths []int
		for _, n := range got.Root.Children {
			if n.Cum != each {
				t.Errorf("%s: %s costs %d, want %d", q, n.Frame.String(), n.Cum, each)
			}
			depth := 1
			for ; len(n.Children) > 0; n = n.Children[0] {
				depth++
			}
			depths = append(depths, depth)
		}
		if len(depths) != 2 || depths[0]+depths[1] != len(wide)+len(narrow) {
			t.Errorf("%s: stacks are %d calls deep, want %d and %d\n%s", q, depths, len(wide), len(narrow), outline(got))
		}
	}
}

func outermost(t *testing.T, s *profile.Stack, inverted bool) profile.Run {
	t.Helper()
	run, n := s.Run(s.Len(), inverted)
	if n == 0 {
		t.Fatalf("a stack of %d has no run", s.Len())
	}
	return run
}
