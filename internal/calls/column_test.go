package calls

import (
	"runtime"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// Several cores add up what one does.
func TestColumnOnCores(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 3001}))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(Measure{Profile: p}, NewFrameTable(p, Detail{Function: true}, func(s string) string { return s }))
	wantFlat, want := b.Column(p.Values(0))
	defer func(many, cores int) { manySamples = many; runtime.GOMAXPROCS(cores) }(manySamples, runtime.GOMAXPROCS(3))
	manySamples = 900
	flat, sums := b.Column(p.Values(0))
	if !slices.Equal(flat, wantFlat) || !slices.Equal(sums, want) {
		t.Errorf("on three cores the costs of frames are others")
	}
}

// TestGroupCosts compares the costs of groups of frames with those added up sample by sample, for few groups and for more than a Spread
// can tell apart.
func TestGroupCosts(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 3000, Functions: 200}))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(Measure{Profile: p}, NewFrameTable(p, Detail{Function: true, Line: true}, nil))
	const fine, coarse = 50, 7
	group, whole := make([]int32, len(b.Table.Frames)), make([]int32, fine)
	for f := range group {
		group[f] = int32(f*31) % (fine + 10)
		if group[f] > fine {
			group[f] = 0
		}
	}
	for k := range whole {
		whole[k] = fine + int32(k)%coarse
	}
	values := p.Values(0)
	wantFlat, wantCum := make([]int64, fine+coarse), make([]int64, fine+coarse)
	for i, v := range values {
		met := make(map[int32]bool)
		first := true
		for _, l := range p.Stack(i, nil) {
			for _, f := range slices.Backward(b.Table.Of(l)) {
				if k := group[f] - 1; k >= 0 {
					met[k], met[whole[k]] = true, true
					if first {
						wantFlat[k] += v
					}
				}
				first = false
			}
		}
		for k := range met {
			wantCum[k] += v
		}
	}
	for _, n := range []int{fine + coarse, profile.MaxSpread + 1} {
		flat, cum := b.GroupCosts(values, group, whole, n, nil)
		if !slices.Equal(flat[:fine], wantFlat[:fine]) || !slices.Equal(cum[:fine+coarse], wantCum) {
			t.Errorf("of %d numbers: %d %d, want %d %d", n, flat[:fine], cum[:fine+coarse], wantFlat, wantCum)
		}
	}
}
