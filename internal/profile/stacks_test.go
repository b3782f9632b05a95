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
	for i := range 3000 {
		var ids []uint64
		var wire []byte
		for range rnd.IntN(10) * rnd.IntN(30) {
			id := sizes[rnd.IntN(1+i/300)]
			if id = rnd.Uint64N(id + 1); rnd.IntN(5) == 0 {
				id = sizes[rnd.IntN(1+i/300)]
			}
			ids = append(ids, id)
			wire = binary.AppendUvarint(wire, id)
		}
		packed, err := r.pack(wire)
		if err != nil {
			t.Fatalf("packing %v: %v", ids, err)
		}
		a, err := table.add(packed)
		if err != nil {
			t.Fatal(err)
		}
		want, at = append(want, ids), append(at, a)
	}
	for i, a := range at {
		var got []uint64
		for _, l := range unpackStack(nil, table.get(a)) {
			got = append(got, r.id(l+1))
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("stack %d: got %v, want %v", i, got, want[i])
		}
		again := packStack(nil, unpackStack(nil, table.get(a)), 1)
		if !slices.Equal(again, cutStack(table.get(a))) {
			t.Errorf("stack %d packed anew: got %x, want %x", i, again, cutStack(table.get(a)))
		}
	}
	if _, err := r.pack([]byte{1, 0x80}); err != errVarint {
		t.Errorf("a number that is cut short: error %v, want %v", err, errVarint)
	}
	if _, err := r.pack(make([]byte, maxDepth+1)); err != errDeep {
		t.Errorf("a stack too deep: error %v, want %v", err, errDeep)
	}
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
		set := NewLocationSet(in)
		met := 0
		for i := range 2000 {
			stack := make([]uint32, i%23)
			want := false
			for j := range stack {
				// Many stacks end with the last location, whose number is the first that may not fit two bytes.
				if stack[j] = uint32(rnd.IntN(n)); j == len(stack)-1 && i%5 == 0 {
					stack[j] = uint32(n - 1)
				}
				want = want || in[stack[j]]
			}
			// What comes after a stack is no part of it.
			packed := appendStack(packStack(nil, stack, 1), []uint32{uint32(n - 1)}, 1)
			depth, wide, body := headOf(packed)
			if got := (Stack{body, depth, wide}).HasAny(set); got != want {
				t.Fatalf("%d locations: HasAny of %v is %v", n, stack, got)
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
