package profile

import (
	"slices"
	"testing"
)

// TestRuns checks that equal runs are equal locations, from either end of a stack.
func TestRuns(t *testing.T) {
	type key struct {
		run Run
		n   int
	}
	known := make(map[key][]uint32)
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
		depth := s.Len()
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
			check := func(left int, run Run, n int) {
				want := next(left, n)
				got, seen := known[key{run, n}]
				if seen && !slices.Equal(got, want) {
					t.Errorf("one run for %v and %v", got, want)
				}
				known[key{run, n}] = want
			}
			runs := 0
			for left := depth; left > 0; left-- {
				run, n := s.Run(left, inverted)
				if n == 0 {
					continue
				}
				runs++
				check(left, run, n)
			}
			if runs < 30 || len(known) != runs {
				t.Errorf("wide %v, inverted %v: %d different runs of %d", s.wide, inverted, len(known), runs)
			}
		}
	}
}
