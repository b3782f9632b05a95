package querier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A tree says of each call what adding up all samples that begin with it says.
func TestTree(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := newTree()
		want := map[string][4]int64{}
		var sizes []int64
		for range r.IntN(40) {
			var path []uint32
			at := ""
			side, v := r.IntN(2), 1+r.Int64N(20)
			count := func(self int64) {
				w := want[at]
				w[side] += v
				w[2+side] += self
				want[at] = w
			}
			n := r.IntN(12)
			for depth := range n {
				name := string(rune('a' + r.IntN(2+depth/6)))
				path = append(path, tr.name(name))
				at += name
				if depth == n-1 {
					count(v)
				} else {
					count(0)
				}
			}
			tr.count(path, side, v)
		}
		for _, w := range want {
			sizes = append(sizes, max(w[0], w[1]))
		}
		slices.Sort(sizes)
		most := 1 + r.IntN(30)
		least := int64(0)
		if len(sizes) > most {
			least = sizes[len(sizes)-most]
		}
		maps.DeleteFunc(want, func(_ string, w [4]int64) bool { return max(w[0], w[1]) < least })

		tr.cut(most, "")
		got := map[string][4]int64{}
		var above []string // names down to a frame, which come from the root
		tr.walk(func(string) bool { return false }, func(f *frame) {
			if f.depth == 0 || f.rest {
				return
			}
			above = append(above[:f.depth-1], f.name)
			got[strings.Join(above, "")] = [4]int64{f.total[0], f.total[1], f.self[0], f.self[1]}
		})
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: at most %d frames:\n%v\nwant\n%v", seed, most, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
