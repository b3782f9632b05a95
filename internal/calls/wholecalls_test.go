package calls

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// TestWholeCalls finds all calls in the way for few frames and in the one for any, with all frames in the graph and with some.
func TestWholeCalls(t *testing.T) {
	parse := func(data []byte) *profile.Profile {
		p, err := profile.ParseBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	var recursive strings.Builder
	for i := range 2000 {
		// Few functions, so that the same call is often in the root of a stack and further in, too.
		for range 1 + i%60 {
			fmt.Fprintf(&recursive, "f%d;", rnd.IntN(12))
		}
		fmt.Fprintf(&recursive, "leaf%d %d\n", rnd.IntN(3), rnd.IntN(5))
	}
	for name, p := range map[string]*profile.Profile{
		"recursive": parse([]byte(recursive.String())),
		"made":      parse(profiletest.Bytes(profiletest.Config{Samples: 3000, Functions: 300})),
		"many":      parse(profiletest.Bytes(profiletest.Config{Samples: 3000, Kind: profiletest.Heap})),
	} {
		for _, d := range []Detail{{Function: true}, {Function: true, Line: true}, {Function: true, noInlines: true}} {
			for _, share := range []int{1, 2, 20} {
				for _, mean := range []bool{false, true} {
					b := NewBuilder(Measure{Profile: p, Type: len(p.SampleTypes) - 1, Mean: mean}, NewFrameTable(p, d, nil))
					b.Costs()
					kept := make([]bool, len(b.Table.Frames))
					for f := range kept {
						kept[f] = rnd.IntN(share) == 0
					}
					if kept[0] = true; share == 1 {
						kept = nil
					}
					got, want := b.Graph(kept, nil), b.Graph(kept, nil)
					findAll(newWholeCalls(b, got), 0, p.NumSamples()).link(got)
					findAll(newCallFinder(b, want, CallFilter{}), 0, p.NumSamples()).link(want)
					for i, n := range want.all {
						if !reflect.DeepEqual(callsOf(n), callsOf(got.all[i])) {
							t.Fatalf("%s, %+v, one frame in %d, mean %v: calls of frame %d are\n%v, want\n%v", name, d, share, mean, i, callsOf(got.all[i]), callsOf(n))
						}
					}
				}
			}
		}
	}
}

// callsOf returns the calls to and from a node, in their order.
func callsOf(n *Node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, e := range slices.Concat(n.In, n.Out) {
		out = append(out, fmt.Sprint(e.From.ID, e.To.ID, e.Weight, e.div, e.Inline, e.Residual))
	}
	return out
}
