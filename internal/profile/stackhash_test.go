package profile

import (
	"bytes"
	"slices"
	"testing"
)

// hashed returns a profile whose locations are numbered from first on, so that the same stacks can be of other tables.
func hashed(t *testing.T, reversed bool, shift uint64) *Profile {
	t.Helper()
	b := NewBuilder(Header{SampleTypes: []ValueType{{Type: "samples", Unit: "count"}}})
	b.Mappings = []Mapping{
		{File: "/srv/api", BuildID: "abc", Start: 0x400000, Limit: 0x800000},
		{File: "/lib/libc.so.6", Start: 0x7f0000 + shift, Limit: 0x7f9000 + shift, Offset: 0x1000},
	}
	b.Functions = []Function{
		{Name: "main.main", SystemName: "main.main", File: "/src/main.go", StartLine: 10},
		{Name: "main.(*T).Run", SystemName: "main.(*T).Run", File: "/src/t.go", StartLine: 3},
		{Name: "operator new", SystemName: "_Znwm", File: "new.cc"},
	}
	b.Locations = []Location{
		{Address: 0x401000 + shift, Lines: []Line{{Function: 0, Line: 12}}},
		{Address: 0x402000 + shift, Lines: []Line{{Function: 1, Line: 5}, {Function: 0, Line: 13}}}, // Run is inlined
		{Mapping: 1, Address: 0x7f0123 + shift},
		{Mapping: 1, Address: 0x7f0456 + shift, Lines: []Line{{Function: 2, Line: 9, Column: 4}}},
		{Mapping: NoMapping, Address: 0xdead},
		{Mapping: NoMapping, Lines: []Line{{Function: 1, Line: -1}}, Folded: true},
	}
	at := func(i uint32) uint32 { return i }
	if reversed {
		slices.Reverse(b.Functions)
		for i := range b.Locations {
			for j := range b.Locations[i].Lines {
				line := &b.Locations[i].Lines[j]
				line.Function = uint32(len(b.Functions)) - 1 - line.Function
			}
		}
		slices.Reverse(b.Locations)
		n := uint32(len(b.Locations))
		at = func(i uint32) uint32 { return n - 1 - i }
	}
	b.Renumber()
	deep := make([]uint32, 3*RootDepth)
	for i := range deep {
		deep[i] = at(uint32(i % 2))
	}
	for _, stack := range [][]uint32{{at(0)}, {at(1), at(0)}, {at(0), at(1)}, {at(2), at(1)}, {at(3), at(2)}, {at(4)}, {at(5)}, nil, deep, deep} {
		b.Add(stack, b.Labels([]Label{{Key: "k", Str: string(rune('a' + len(stack)))}}), []int64{1})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStackHashes pins the hashes: stores keep them, so another value for a stack makes all of them new.
func TestStackHashes(t *testing.T) {
	want := []uint64{
		0x7799803abc1c9d3a, 0xd27c42e5abf6c7a6, 0xfd005e3ce08c19b0, 0x8d183cd7bb2117e5, 0x46a5631fb3431e75,
		0xd0df950eb7fd0318, 0xbf76e63a1c64e31c, 0xef46db3751d8e999, 0x4e5162164f741763, 0x4e5162164f741763,
	}
	p := hashed(t, false, 0)
	got := p.StackHashes()
	if !slices.Equal(got, want) {
		t.Errorf("hashes %#x, want %#x", got, want)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(got))); len(distinct) != len(got)-1 {
		t.Errorf("%d hashes of %d stacks", len(distinct), len(got)-1)
	}
	var packed bytes.Buffer
	if err := p.Write(&packed); err != nil {
		t.Fatal(err)
	}
	read, err := ParseBytes(packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]*Profile{
		"other order": hashed(t, true, 0), "loaded elsewhere": hashed(t, false, 0x77000), "written and read": read,
	} {
		h := q.StackHashes()
		if !slices.Equal(h, want) {
			t.Errorf("%s: hashes %#x, want %#x", name, h, want)
		}
	}
	if got, want := (LabelSet{{Key: "endpoint", Str: "/a"}, {Key: "bytes", Numeric: true, Num: -7, Unit: "B", HasUnit: true}}).Hash(), uint64(0xfb5bc54d11e06269); got != want {
		t.Errorf("hash of labels %#x, want %#x", got, want)
	}
}
