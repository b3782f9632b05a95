package profileview

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// TestColumn adds up by frame in all ways: with a profile.Spread, without, for some frames only, and as a definition would.
func TestColumn(t *testing.T) {
	profiles := corpus(t)
	made, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 3000}))
	if err != nil {
		t.Fatal(err)
	}
	profiles["made"] = made
	rnd := rand.New(rand.NewPCG(1, 2))
	var recursive strings.Builder
	for i := range 500 {
		// Few functions, so that they are often in the root of a stack and further in, too.
		for range 1 + i%40 {
			fmt.Fprintf(&recursive, "f%d;", rnd.IntN(12))
		}
		fmt.Fprintf(&recursive, "leaf%d %d\n", rnd.IntN(3), rnd.IntN(5))
	}
	profiles["recursive"] = folded(t, recursive.String())
	profiles["nothing"] = folded(t, "")
	for name, p := range profiles {
		for _, d := range []calls.Detail{{Function: true}, {Function: true, Line: true}, {Address: true}} {
			b := calls.NewBuilder(calls.Measure{Profile: p}, calls.NewFrameTable(p, d, func(s string) string { return s }))
			for k := range p.SampleTypes {
				flat, sums := b.Column(p.Values(k))
				wideFlat, wideSums := b.WideColumn(p.Values(k))
				wantFlat, want := plainColumn(b, p.Values(k))
				for _, got := range []struct {
					how  string
					flat []int64
					sums []calls.Tally
				}{{"column", flat, sums}, {"wideColumn", wideFlat, wideSums}} {
					if !slices.Equal(got.flat, wantFlat) {
						t.Fatalf("%s, %+v, sample type %d: %s has flat %v, want %v", name, d, k, got.how, got.flat, wantFlat)
					}
					for f, g := range got.sums {
						if g.Seen = 0; g != want[f] {
							t.Fatalf("%s, %+v, sample type %d: %s has %+v for frame %d, want %+v", name, d, k, got.how, g, f, want[f])
						}
					}
				}
				some := make([]bool, len(b.Table.Frames))
				for f := range some {
					if some[f] = rnd.IntN(9) == 0; !some[f] {
						wantFlat[f], want[f] = 0, calls.Tally{}
					}
				}
				b.Type = k
				b.CostsOf(some, nil)
				for f, g := range b.Cum {
					if g.Seen = 0; g != want[f] || b.Flat[f] != wantFlat[f] {
						t.Fatalf("%s, %+v, sample type %d: costs of some frames have %d and %+v for frame %d, want %d and %+v", name, d, k, b.Flat[f], g, f, wantFlat[f], want[f])
					}
				}
			}
		}
	}
}

func plainColumn(b *calls.Builder, values []int64) (flat []int64, sums []calls.Tally) {
	flat, sums = make([]int64, len(b.Table.Frames)), make([]calls.Tally, len(b.Table.Frames))
	for i, v := range values {
		if v == 0 {
			continue
		}
		met := make(map[int32]bool)
		for _, l := range b.Profile.Stack(i, nil) {
			for j, f := range slices.Backward(b.Table.Of(l)) {
				if len(met) == 0 {
					flat[f] += v
				}
				if !met[f] {
					met[f] = true
					sums[f].Sum += v
				}
				sums[f].Inlined = sums[f].Inlined || j > 0
				sums[f].Called = sums[f].Called || j == 0
			}
		}
	}
	return flat, sums
}

func BenchmarkColumn(b *testing.B) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 200_000}))
	if err != nil {
		b.Fatal(err)
	}
	x := calls.NewBuilder(calls.Measure{Profile: p}, calls.NewFrameTable(p, calls.Detail{Function: true}, func(s string) string { return s }))
	b.ReportAllocs()
	for b.Loop() {
		x.Column(p.Values(0))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.NumSamples()), "ns/sample")
}
