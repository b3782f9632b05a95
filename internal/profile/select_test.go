package profile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered returns a profile of n samples whose values are their numbers.
func numbered(t *testing.T, n int) *Profile {
	t.Helper()
	b := NewBuilder(Header{SampleTypes: []ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	b.Functions = []Function{{Name: "f"}, {Name: "g"}}
	b.Locations = []Location{{Mapping: NoMapping, Lines: []Line{{Function: 0}}}, {Mapping: NoMapping, Lines: []Line{{Function: 1}}}}
	for i := range n {
		b.Add([]uint32{uint32(i % 2)}, 0, []int64{1, int64(i)})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// some returns about a share of the samples of p.
func some(p *Profile, share float64) (SampleSet, []int64) {
	set := NewSampleSet(p.NumSamples())
	var values []int64
	for i, v := range p.Values(1) {
		if rand.Float64() < share {
			set.Add(uint32(i))
			values = append(values, v)
		}
	}
	return set, values
}

func TestFilter(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 1000, 70_000, 200_000} {
		p := numbered(t, n)
		once, values := some(p, 0.7)
		a := p.Filter(once)
		if !slices.Equal(a.Values(1), values) {
			t.Fatalf("%d samples: a filter leaves others than those of the set", n)
		}
		for i, v := range values {
			if got := a.Stack(i, nil); !slices.Equal(got, []uint32{uint32(v % 2)}) {
				t.Fatalf("%d samples: sample %d is on %v", n, v, got)
			}
		}
		twice, values := some(a, 0.5)
		b := a.Filter(twice)
		if !slices.Equal(b.Values(1), values) {
			t.Fatalf("%d samples: a second filter leaves others than those of the set", n)
		}
		for _, of := range []*Profile{p, a, b} {
			from := b.SelectedFrom(of)
			if from == nil {
				t.Fatalf("%d samples: it is not known where samples are from", n)
			}
			var got []int64
			for i, v := range of.Values(1) {
				if from.Has(uint32(i)) {
					got = append(got, v)
				}
			}
			if !slices.Equal(got, values) {
				t.Fatalf("%d samples: they are said to be others", n)
			}
		}
		if a.NumSamples() > b.NumSamples() && a.SelectedFrom(b) != nil {
			t.Errorf("%d samples are said to be from fewer", n)
		}
		if c := b.Scale([]float64{3, 3}); c.NumSamples() > 0 && c.SelectedFrom(p) != nil {
			t.Errorf("%d samples with other values are said to be the same", n)
		}
		if other := numbered(t, n); b.SelectedFrom(other) != nil {
			t.Errorf("%d samples are said to be from another profile", n)
		}
	}
}
