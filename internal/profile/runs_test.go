package profile

import (
	"slices"
	"testing"
)

// TestRuns checks that equal runs are equal locations, from either end of a stack.
func TestRuns(t *testing.T) {
	known := make(map[Run][]uint32)
	for _, step := range []uint32{1, 7000} { // narrow and wide
		var stack []uint32
		for i := range uint32(40) {
			stack = append(stack, i*i*step)
		}
		table := &stackTable{}
		at, err := table.add(packStack(nil, stack, 1))
		if err != nil {
			t.Fatal(err)
		}
		s := table.stack(at)
		if _, ok := s.Root(); !ok {
			t.Fatal("the stack has no root")
		}
		depth, wide := s.Len(), s.wide
		for _, inverted := range []bool{false, true} {
			next := func(left, n int) []uint32 {
				var out []uint32
				for i := range n {
					at := left - 1 - i
					if inverted {
						at = depth - left + i
					}
					out = append(out, s.At(at))
				}
				return out
			}
			clear(known)
			for left := depth; left > 0; left-- {
				for most := 1; most <= MaxRun; most *= 2 {
					run := s.Run(left, most, inverted)
					want := next(left, int(run.N))
					if got, seen := known[run]; seen && !slices.Equal(got, want) {
						t.Errorf("one run for %v and %v", got, want)
					}
					known[run] = want
					if n := int(run.N); n == 0 || n > most && n != RootDepth || n < min(most, left) && !wide {
						t.Errorf("wide %v, inverted %v: a run of %d where %d are left and %d asked for", wide, inverted, n, left, most)
					}
				}
			}
			// All locations are different, so no runs but those that end with the stack are equal.
			if len(known) < 3*depth {
				t.Errorf("wide %v, inverted %v: %d different runs", wide, inverted, len(known))
			}
		}
	}
}
