package profile

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSpread spreads narrow and wide stacks of all depths, and looks every location up.
func TestSpread(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, tt := range []struct{ locations, numbers, short int }{
		{1, 1, 1},
		{300, 20, 100},     // every list is short
		{3000, 400, 50},    // half of them are not
		{3000, 400, 0},     // none
		{60_000, 9000, 95}, // as in profiles
		{70_000, MaxSpread, 95},
	} {
		lists := make([][]int32, tt.locations)
		for l := range lists {
			size := rnd.IntN(5)
			if rnd.IntN(100) >= tt.short {
				size += 5
			}
			for range size {
				lists[l] = append(lists[l], int32(rnd.IntN(tt.numbers)))
			}
		}
		p, stacks := someStacks(t, rnd, tt.locations)
		s := p.NewSpread(tt.numbers, func(l uint32) []int32 { return lists[l] })
		met := make([]bool, tt.locations)
		roots := 0
		for i, stack := range stacks {
			if i%7 == 3 {
				continue // what is only on these is not met
			}
			var all []uint16
			for _, l := range stack {
				met[l] = true
				for _, x := range slices.Backward(lists[l]) {
					all = append(all, uint16(x))
				}
			}
			packed, root := s.Stack(i)
			if len(packed)%8 != 0 {
				t.Fatalf("%+v: stack %d takes %d bytes", tt, i, len(packed))
			}
			var own []uint16
			for ; len(packed) > 0; packed = packed[2:] {
				own = append(own, binary.LittleEndian.Uint16(packed))
			}
			padding := 0
			for len(own) > 0 && own[len(own)-1] == uint16(tt.numbers) {
				own, padding = own[:len(own)-1], padding+1
			}
			if padding > 3 {
				t.Fatalf("%+v: stack %d is filled up with %d numbers", tt, i, padding)
			}
			rest, ok := cutPrefix(all, own)
			if !ok || !slices.Equal(once(rest), root) {
				t.Fatalf("%+v: stack %d of %v is %v and %v", tt, i, all, own, root)
			}
			if root != nil {
				roots++
			}
		}
		if tt.locations < 1<<16 && roots < 1000 || roots == len(stacks) {
			t.Errorf("%+v: %d stacks have a root of their own", tt, roots)
		}
		for l, want := range met {
			if s.Met(uint32(l)) != want {
				t.Fatalf("%+v: location %d was met: %v", tt, l, !want)
			}
		}
	}
}

// once returns numbers without those that were there before.
func once(all []uint16) (out []uint16) {
	for _, x := range all {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func cutPrefix(all, prefix []uint16) (rest []uint16, ok bool) {
	if len(all) < len(prefix) || !slices.Equal(all[:len(prefix)], prefix) {
		return nil, false
	}
	return all[len(prefix):], true
}
