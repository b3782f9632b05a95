package profile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/testrun"
)

// deepProfile returns a profile of stacks that mostly end in one of few roots, of functions from first on, and adds its samples to sum.
func deepProfile(t *testing.T, rnd *rand.Rand, first, functions, roots, samples int, sum map[string]int64) *profile.Profile {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	for i := range functions {
		name := fmt.Sprint("f", first+i)
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i), Line: 1}}})
	}
	b.Renumber()
	draw := func(n int) (stack []uint32) {
		for range n {
			stack = append(stack, uint32(rnd.IntN(functions)))
		}
		return stack
	}
	var ends [][]uint32
	for range roots {
		ends = append(ends, draw(profile.RootDepth))
	}
	labels := []uint32{0, b.Labels([]profile.Label{{Key: "k", Str: "v"}})}
	for i := range samples {
		stack := draw(rnd.IntN(9))
		if i%10 != 0 {
			stack = append(stack, ends[i%roots]...)
		}
		set := labels[rnd.IntN(50)/49]
		b.Add(stack, set, []int64{int64(i%7 + 1)})
		key := fmt.Sprint(set)
		for _, l := range stack {
			key += " " + b.Functions[l].Name
		}
		sum[key] += int64(i%7 + 1)
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sums returns what there is of each stack, with labels or without.
func sums(t *testing.T, p *profile.Profile) map[string]int64 {
	out := make(map[string]int64)
	for i, v := range p.Values(0) {
		key := fmt.Sprint(min(p.Label(i), 1))
		for _, l := range p.Stack(i, nil) {
			key += " " + p.Functions[p.Locations[l].Lines[0].Function].Name
		}
		if _, twice := out[key]; twice {
			t.Fatalf("stack %s is there twice", key)
		}
		out[key] = v
	}
	return out
}

// Stacks are added up where their roots are known already, where there are more roots than have numbers, and where they are of
// narrow locations in what is added and of wide ones in the sum.
func TestMergeDeep(t *testing.T) {
	tests := []struct {
		name                              string
		profiles, functions, roots, count int
		same                              bool // all profiles have the same functions
	}{
		{"few roots", 5, 300, 40, 3000, true},
		{"many roots", 3, 60_000, 40_000, 50_000, true},
		{"wide in the sum", 4, 30_000, 500, 10_000, false},
		{"wide", 2, 70_000, 500, 10_000, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.functions > 1000 {
				testrun.Live(t, "makes profiles of tens of thousands of functions")
			}
			rnd := rand.New(rand.NewPCG(7, 8))
			want := make(map[string]int64)
			var all []*profile.Profile
			for i := range tt.profiles {
				first := i * tt.functions
				if tt.same {
					first = 0
				}
				all = append(all, deepProfile(t, rnd, first, tt.functions, tt.roots, tt.count, want))
			}
			// Each of them once more, to be found as a whole.
			sum, err := profile.Merge(append(all, all...)...)
			if err != nil {
				t.Fatal(err)
			}
			got := sums(t, sum)
			if len(got) != len(want) {
				t.Errorf("%d stacks, want %d", len(got), len(want))
			}
			for key, v := range want {
				if got[key] != 2*v {
					t.Fatalf("stack %s has %d, want %d", key, got[key], 2*v)
				}
			}
		})
	}
}

// TestTake reads each profile into what is left of those that the sum has taken. That must be seen nowhere.
func TestTake(t *testing.T) {
	var files [][]byte
	for i, c := range []profiletest.Config{
		{Samples: 4000, Functions: 7000}, {Samples: 50}, {Samples: 9000, Functions: 20_000, Run: 1}, {Samples: 4000, Functions: 7000, Run: 2},
		{Samples: 4000, Functions: 7000, Run: 3, TablesLast: true}, {Samples: 30_000, Run: 4}, {Samples: 4000, Functions: 3000, Seed: 9}, {Samples: 4000, Functions: 7000},
	} {
		var buf bytes.Buffer
		if err := profiletest.Write(&buf, c); err != nil {
			t.Fatal(i, err)
		}
		files = append(files, buf.Bytes())
	}
	files = append(files, files...)
	read := func(file []byte) *profile.Profile {
		p, err := profile.ParseBytes(file)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	written := func(p *profile.Profile) []byte {
		var buf bytes.Buffer
		if err := p.WriteUncompressed(&buf); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	var all []*profile.Profile
	for _, f := range files {
		all = append(all, read(f))
	}
	whole, err := profile.Merge(all...)
	if err != nil {
		t.Fatal(err)
	}
	want := written(whole)
	var m profile.Merger
	for _, f := range files {
		if err := m.Take(read(f)); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := m.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(sum), want) {
		t.Fatal("the sum is another than that of Merge")
	}
	// What is read later takes nothing that the sum or another profile has.
	for i, f := range files {
		if !bytes.Equal(written(read(f)), written(all[i])) {
			t.Fatalf("profile %d is another when it is read again", i)
		}
	}
	if !bytes.Equal(written(sum), want) {
		t.Fatal("the sum is another after more profiles were read")
	}
}

// Profiles without a sample type have none in common, also when they are the same.
func TestMergeNoTypes(t *testing.T) {
	p, err := profile.NewBuilder(profile.Header{}).Profile()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Merge(p, p); !errors.Is(err, profile.ErrNothingCommon) {
		t.Errorf("merging two profiles without types: %v, want %v", err, profile.ErrNothingCommon)
	}
	if _, err := profile.Merge(p); err != nil {
		t.Errorf("merging one profile without types: %v", err)
	}
}

// A profile that does not say its period type can be added to one that does, which the sum then has.
func TestMergeNoPeriodType(t *testing.T) {
	cpu := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	of := func(h profile.Header) *profile.Profile {
		h.SampleTypes = []profile.ValueType{cpu}
		p, err := profile.NewBuilder(h).Profile()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	none, some := of(profile.Header{Period: 7}), of(profile.Header{PeriodType: cpu, Period: 5})
	for _, both := range [][]*profile.Profile{{none, some}, {some, none}} {
		sum, err := profile.Merge(both...)
		if err != nil || sum.PeriodType != cpu || sum.Period != 5 {
			t.Errorf("the sum is %+v, %v, want a period of 5ns of cpu", sum, err)
		}
	}
	if _, err := profile.Merge(some, of(profile.Header{PeriodType: profile.ValueType{Type: "space", Unit: "bytes"}})); err == nil {
		t.Error("profiles with two period types were added up")
	}
}
