package profile

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPack packs stacks of ids of all sizes as samples hold them, and gets them back.
func TestPack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []uint64{1 << 7, 1 << 8, 1 << 14, 1<<16 - 1, 1 << 16, 1 << 21, firstLarge - 1, firstLarge, 1 << 32, 1 << 63}
	table, r := &stackTable{}, &idReader{}
	var want [][]uint64
	var at []uint32
	start, shared := -1, 0
	for i := range 3000 {
		var ids []uint64
		var wire []byte
		for range rnd.IntN(10) * rnd.IntN(30) {
			id := sizes[rnd.IntN(1+i/300)]
			if id = rnd.Uint64N(id + 1); rnd.IntN(5) == 0 {
				id = sizes[rnd.IntN(1+i/300)]
			}
			ids = append(ids, id)
		}
		if i > 0 && i%2 == 0 {
			ids = append(ids, want[rnd.IntN(i)]...) // many stacks end with what others end with
		}
		for j, id := range ids {
			if len(ids)-j == RootDepth && rootStart(wire) >= 0 != (j >= RootDepth) {
				t.Fatalf("%x has its last %d ids at %d", wire, RootDepth, rootStart(wire))
			}
			if wire = binary.AppendUvarint(wire, id); len(ids)-j == RootDepth {
				start = len(wire) - len(binary.AppendUvarint(nil, id))
			}
		}
		if len(ids) >= RootDepth && rootStart(wire) != start {
			t.Fatalf("%x has its last %d ids at %d, not at %d", wire, RootDepth, start, rootStart(wire))
		}
		a, err := r.add(table, wire)
		if err != nil {
			t.Fatalf("packing %v: %v", ids, err)
		}
		if s := table.stack(a); s.root != noRoot {
			shared++
		}
		want, at = append(want, ids), append(at, a)
	}
	if shared < 1000 {
		t.Errorf("%d stacks have a root", shared)
	}
	for i, a := range at {
		var got []uint64
		stack := table.stack(a)
		for _, l := range stack.Append(nil) {
			got = append(got, r.numbers.id(l+1))
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("stack %d: got %v, want %v", i, got, want[i])
		}
		again := packStack(nil, stack.Append(nil), 1)
		if packed := stack.appendPacked(nil); !slices.Equal(again, packed) {
			t.Errorf("stack %d packed anew: got %x, want %x", i, again, packed)
		}
		held := table.share(again)
		for j, b := range at {
			if i%50 == 0 && table.holds(b, held) != slices.Equal(want[i], want[j]) {
				t.Errorf("stacks %d and %d, %v and %v: holds is %v", i, j, want[i], want[j], table.holds(b, held))
			}
		}
		if !table.holds(a, held) {
			t.Errorf("stack %d is not the same as itself", i)
		}
	}
	if _, err := r.pack([]byte{1, 0x80}); err != errVarint {
		t.Errorf("a number that is cut short: error %v, want %v", err, errVarint)
	}
	if _, err := r.pack(make([]byte, maxDepth+1)); err != errDeep {
		t.Errorf("a stack too deep: error %v, want %v", err, errDeep)
	}
}

// someStacks returns a profile of 2000 stacks of n locations, and the stacks. Many end alike.
func someStacks(t *testing.T, rnd *rand.Rand, n int) (*Profile, [][]uint32) {
	p := &Profile{stacks: &stackTable{}, Tables: Tables{Locations: make([]Location, n)}}
	var stacks [][]uint32
	for i := range 2000 {
		stack := make([]uint32, i%43)
		for j := range stack {
			// Many stacks end with the last location, whose number is the first that may not fit two bytes.
			if stack[j] = uint32(rnd.IntN(n)); j == len(stack)-1 && i%5 == 0 {
				stack[j] = uint32(n - 1)
			}
		}
		if i%3 == 0 && i > 43 && len(stack) >= RootDepth {
			copy(stack[len(stack)-RootDepth:], stacks[i-43][len(stack)-RootDepth:])
		}
		at, err := p.stacks.add(packStack(nil, stack, 1))
		if err != nil {
			t.Fatal(err)
		}
		p.stack, stacks = append(p.stack, at), append(stacks, stack)
	}
	return p, stacks
}

// TestHasAny asks narrow and wide stacks of all depths about sets, and looks through them one by one.
func TestHasAny(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 300, 1<<16 - 1, 1 << 16, 70_000} { // locations
		in := make([]bool, n)
		for range 1 + n/40 {
			in[rnd.IntN(n)] = true
		}
		in[n-1] = true
		p, stacks := someStacks(t, rnd, n)
		if shared := p.NumRoots(); shared == 0 || n > 1 && shared < 300 {
			t.Errorf("%d locations: %d roots", n, shared)
		}
		set := p.LocationSet(in)
		met := 0
		for i, stack := range stacks {
			want := slices.ContainsFunc(stack, func(l uint32) bool { return in[l] })
			if got := p.HasAny(i, set); got != want {
				t.Fatalf("%d locations: HasAny of %v is %v", n, stack, got)
			}
			outermost := len(stack) - 1
			for outermost >= 0 && !in[stack[outermost]] {
				outermost--
			}
			if at, depth := p.Outermost(i, set); at != outermost || depth != len(stack) {
				t.Fatalf("%d locations: Outermost of %v is %d of %d, want %d", n, stack, at, depth, outermost)
			}
			if want {
				met++
			}
		}
		if met == 0 || met == 2000 {
			t.Errorf("%d locations: %d of 2000 stacks have one", n, met)
		}
	}
}

// TestManyRoots has more roots than there may be: the stacks with the others have none, and are found again as well.
func TestManyRoots(t *testing.T) {
	x := newStackIndex(&stackTable{})
	rnd := rand.New(rand.NewPCG(5, 6))
	var stacks [][]uint32
	var at []uint32
	for i := range maxRoots + 3000 {
		stack := make([]uint32, 20)
		for j := range stack {
			stack[j] = uint32(rnd.IntN(60000))
		}
		if i%2 == 1 && i < 2000 {
			copy(stack[4:], stacks[i-1][4:])
		}
		a, err := x.intern(packStack(nil, stack, 1))
		if err != nil {
			t.Fatal(err)
		}
		stacks, at = append(stacks, stack), append(at, a)
	}
	if n := x.table.roots.narrow.index.n; n != maxRoots {
		t.Errorf("%d roots, want %d", n, maxRoots)
	}
	without := 0
	for i, stack := range stacks {
		s := x.table.stack(at[i])
		if got := s.Append(nil); !slices.Equal(got, stack) {
			t.Fatalf("stack %d: got %v, want %v", i, got, stack)
		}
		if _, ok := s.Root(); !ok {
			without++
		}
		if again, err := x.intern(packStack(nil, stack, 1)); err != nil || again != at[i] {
			t.Fatalf("stack %d: again at %d, not at %d, %v", i, again, at[i], err)
		}
	}
	if without < 1900 || without > 2100 {
		t.Errorf("%d of %d stacks have no root", without, len(stacks))
	}
}
