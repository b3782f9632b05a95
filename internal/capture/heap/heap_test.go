package heap

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

func TestKnown(t *testing.T) {
	for _, v := range []string{"go1.22.12", "go1.25.5 X:greenteagc", "go1.26.8-X:nogreenteagc", "go1.27rc1", "go1.27.3"} {
		if err := known(v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{"go1.21.13", "go1.28", "go1.28rc1", "devel go1.28-abc", "gccgo", ""} {
		var unknown *VersionError
		if err := known(v); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", v, err)
		}
	}
}

func TestStepName(t *testing.T) {
	tests := []struct {
		path          string
		inside, group bool
		want          string
	}{
		{".next", false, false, ".next"},
		{"[].inner.b", false, false, "[].inner.b"},
		{".captured fb", false, false, "captured fb"},
		{".dirPtr", true, false, ""},
		{"[].slots[].key.name", true, true, "key.name"},
		{".slots[].elem", true, true, "value"},
		{".keys[]", true, true, "key"},
		{"[].values[][]", true, true, "value[]"},
		{".overflow", true, true, ""},
	}
	for _, test := range tests {
		if got := stepName(test.path, test.inside, test.group); got != test.want {
			t.Errorf("stepName(%q, %t, %t) = %q; want %q", test.path, test.inside, test.group, got, test.want)
		}
	}
}

func TestPieces(t *testing.T) {
	tests := []struct {
		name string
		expr []byte
		want []frameVar
	}{
		{"on the stack", []byte{0x91, 0x68}, []frameVar{{off: -24, size: 24}}},
		{"at the frame", []byte{0x9c}, []frameVar{{size: 24}}},
		{"in a register", []byte{0x50}, nil},
		{"on the heap", []byte{0x91, 0x70, 0x06}, []frameVar{{off: -16, size: 8, deref: true}}},
		{"in parts", []byte{0x91, 0x60, 0x93, 8, 0x52, 0x93, 8, 0x91, 0x70, 0x93, 8}, []frameVar{{off: -32, size: 8}, {off: -16, size: 8, at: 16}}},
		{"nowhere", nil, nil},
		{"damaged", []byte{0x91, 0xff}, []frameVar{{off: 127, size: 24}}},
	}
	for _, test := range tests {
		if got := pieces(test.expr, 24); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v; want %+v", test.name, got, test.want)
		}
	}
}

// TestPrograms runs the programs that make masks of large types before Go 1.24.
func TestPrograms(t *testing.T) {
	tests := []struct {
		name    string
		program []byte
		words   uint64
		want    []byte
	}{
		{"literal", []byte{3, 0b101, 0}, 3, []byte{0b101}},
		{"repeated", []byte{2, 0b01, 0x82, 4, 0}, 10, []byte{0b01010101, 0b01}},
		{"too long", []byte{2, 0b01, 0x82, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, 10, nil},
		{"of nothing", []byte{0x83, 1, 0}, 10, nil},
	}
	for _, test := range tests {
		p := &program{reader: &reader{memory: fixed(test.program)}}
		if got := p.runProgram(0, test.words); !slices.Equal(got, test.want) {
			t.Errorf("%s: %b; want %b", test.name, got, test.want)
		}
	}
}

// fixed is a memory from 0 on.
type fixed []byte

func (f fixed) read(addr uint64, b []byte) error {
	clear(b)
	if addr < uint64(len(f)) {
		copy(b, f[addr:])
	}
	return nil
}

func (f fixed) readMany(pieces []piece, b []byte) error {
	for _, p := range pieces {
		_ = f.read(p.addr, b[:p.size])
		b = b[p.size:]
	}
	return nil
}

// TestFind finds the objects of spans of some sizes.
func TestFind(t *testing.T) {
	const base = 0xc000000000
	p := &program{reader: &reader{}, limit: 1 << 30, spans: []span{
		{base: base + 2*heapPage, end: base + 2*heapPage + 8*1024, size: 1024, count: 8, pages: 1, headers: true},
		{base: base, end: base + 48*170, size: 48, count: 170, pages: 1, divide: 1<<32/48 + 1},
		{base: base + arenaBytes, end: base + arenaBytes + 5*heapPage, size: 5 * heapPage, count: 1, pages: 5},
	}}
	if err := p.number(); err != nil {
		t.Fatal(err)
	}
	p.header = 8
	tests := []struct {
		addr     uint64
		slot     uint32 // in the heap
		found    bool
		interior bool
	}{
		{base, 0, true, false},
		{base + 47, 0, true, true},
		{base + 48, 1, true, false},
		{base + 48*170 - 1, 169, true, true},
		{base + 48*170, 0, false, false},
		{base + heapPage, 0, false, false},
		{base + 2*heapPage + 8, 170, true, false},
		{base + 2*heapPage + 1024 + 16, 171, true, true},
		{base + arenaBytes + 4*heapPage, 178, true, true},
		{base - 1, 0, false, false},
		{1 << 60, 0, false, false},
		{0, 0, false, false},
	}
	for _, test := range tests {
		s, i := p.find(test.addr)
		if (s != nil) != test.found || s != nil && (s.first+i != test.slot || p.isInterior(s, i, test.addr) != test.interior) {
			t.Errorf("find(%#x) = %+v, %d; want slot %d, %t", test.addr, s, i, test.slot, test.found)
		}
	}
	for slot := range p.slots {
		if s := p.spanOf(slot); slot < s.first || slot >= s.first+s.count {
			t.Errorf("slot %d is in the span from %d on", slot, s.first)
		}
	}
	for _, dense := range []bool{true, false} { // spans far apart are in a map
		if !dense {
			p.dense = nil
		}
		if s, i := p.find(base + 96); s == nil || i != 2 {
			t.Errorf("find = %v, %d", s, i)
		}
	}
}

func TestReader(t *testing.T) {
	b := make([]byte, 3*pageSize)
	for i := range uint64(len(b) / 8) {
		binary.LittleEndian.PutUint64(b[i*8:], i)
	}
	r := &reader{memory: fixed(b)}
	if v := r.u64(pageSize); v != pageSize/8 {
		t.Errorf("u64 = %d", v)
	}
	if v := r.u32(pageSize - 2); v != pageSize/8<<16 {
		t.Errorf("u32 over the end of a page = %#x", v)
	}
	if v := r.u8(8); v != 1 {
		t.Errorf("u8 = %d", v)
	}
}

// FuzzDebug reads debug data that may be damaged.
func FuzzDebug(f *testing.F) {
	// a unit of version 5 with a struct
	table := []byte{1, tagUnit, 1, attrLanguage, 0x0b, 0, 0, 2, tagStruct, 0, attrName, 0x08, attrByteSize, 0x0b, 0, 0, 0}
	info := []byte{17, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1, languageGo, 2, 'm', '.', 'T', 0, 8, 0}
	f.Add(info, table, []byte{4, 0, 8, 2, 0x91, 0x68, 0})
	f.Fuzz(func(t *testing.T, info, table, lists []byte) {
		d := &debugInfo{
			sections: map[string][]byte{"info": info, "abbrev": table, "loclists": lists, "rnglists": lists, "loc": lists, "ranges": lists, "str": lists, "addr": lists},
			abbrevs:  map[uint64][]abbrev{}, structs: map[string]uint64{}, consts: map[string]int64{}, rtypes: map[uint64]uint64{},
		}
		if d.readUnits() != nil {
			return
		}
		for _, u := range d.units {
			if d.index(u, func([]byte) bool { return true }) != nil {
				return
			}
		}
		ts := newTypes(d)
		for name := range d.structs {
			n := ts.named(name)
			ts.leaf(objectType(n<<1), 8)
			ts.leaf(objectType(n<<1|1), 8)
		}
		for _, fn := range d.funcs {
			_, _ = d.variables(fn.low)
			_, _, _ = d.captured(fn.low)
		}
	})
}

// TestNames has what variables and timers are called.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"&job": "job", "~r0": "result 1", "~p1": "parameter 2", "~rest": "~rest", "i": "i"} {
		if got := varName(name); got != want {
			t.Errorf("varName(%q) = %q, want %q", name, got, want)
		}
	}
	for function, want := range map[string]string{
		"main.(*Cache).expire-fm": "timer: main.(*Cache).expire", "main.main.func1": "timer: main.main.func1", "time.sendTime": "timer: sends on a channel", "": "timer",
	} {
		if got := timerName(function); got != want {
			t.Errorf("timerName(%q) = %q, want %q", function, got, want)
		}
	}
}

// TestEnough has heaps for which there is enough memory, and is not.
func TestEnough(t *testing.T) {
	tests := []struct {
		slots                             uint32
		objects, spare, edges, stackWords uint64
		err                               bool
	}{
		{slots: 10_000_000, objects: 10_000_000, edges: 399_000_000},
		{slots: 10_000_000, objects: 10_000_000, edges: 401_000_000, err: true},
		{slots: 10_000_000, objects: 10_000_000, spare: 1 << 30, edges: 20_000_000},
		{slots: 10_000_000, objects: 10_000_000, spare: 1 << 30, edges: 30_000_000, err: true},
		{slots: 10_000_000, objects: 10_000_000, spare: 600_000_000, err: true},
		{slots: 20_000_000, objects: 1_000_000, spare: 600_000_000}, // what is free takes less
		{slots: 1, objects: 1, spare: 1 << 60, edges: 401_000_000, err: true},
		{slots: 1, objects: 1, spare: 600_000_000, stackWords: 1_000_000},
		{slots: 1, objects: 1, spare: 600_000_000, stackWords: 2_000_000, err: true},
	}
	for _, test := range tests {
		p := &program{slots: test.slots, objects: test.objects, spare: test.spare}
		p.chunks.Store(int64(test.edges/edgeChunk) + maxWorkers + 1)
		err := p.enough(test.stackWords)
		if (err != nil) != test.err {
			t.Errorf("%+v: %v", test, err)
		}
		if e, ok := errors.AsType[*MemoryError](err); ok && (e.Spare != test.spare || e.Need <= e.Spare) {
			t.Errorf("%+v: %+v", test, e)
		}
	}
}
