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
