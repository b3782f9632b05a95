package perf

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func TestParseMaps(t *testing.T) {
	const in = `00400000-0049e000 r-xp 00001000 fd:00 1234                               /usr/bin/app
0049e000-00500000 r--p 0009e000 fd:00 1234                               /usr/bin/app
7f0000000000-7f0000001000 r-xp 00000000 00:00 0 
7f0000001000-7f0000002000 rwxp 00000000 08:01 77                         /tmp/a b\012c (deleted)
7ffd0aa00000-7ffd0aa02000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`
	want := []mapping{
		{0x400000, 0x49e000, 0x1000, "/usr/bin/app", false},
		{0x7f0000000000, 0x7f0000001000, 0, "", false},
		{0x7f0000001000, 0x7f0000002000, 0, "/tmp/a b\nc", true},
		{0x7ffd0aa00000, 0x7ffd0aa02000, 0, "[vdso]", false},
		{0xffffffffff600000, 0xffffffffff601000, 0, "[vsyscall]", false},
	}
	got, err := parseMaps(strings.NewReader(in))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("parseMaps = %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"x", "2-1 r-xp 0 0:0 0", "1-2 r-xp 0", "1-3 r-xp 0 0:0 0\n2-4 r-xp 0 0:0 0", "1 r-xp 0 0:0 0"} {
		if got, err := parseMaps(strings.NewReader(bad)); err == nil {
			t.Errorf("parseMaps(%q) = %+v; want an error", bad, got)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add("00400000-0049e000 r-xp 00001000 fd:00 1234   /usr/bin/app\n7f0000000000-7f0000001000 r-xp 0 0:0 0 \n")
	f.Add("1-2 --xp 0 0:0 0 /a (deleted)")
	f.Fuzz(func(t *testing.T, in string) {
		maps, err := parseMaps(strings.NewReader(in))
		if err != nil {
			return
		}
		s := &space{places: make(map[uint64]*place)}
		for i, m := range maps {
			if m.start >= m.end || i > 0 && m.start < maps[i-1].end {
				t.Errorf("%+v is not in order", maps)
			}
			s.maps = append(s.maps, &maps[i])
		}
		for _, m := range s.maps {
			if s.mapped(m.start) != m || s.mapped(m.end-1) != m {
				t.Errorf("%+v is not found", m)
			}
		}
	})
}

// kernelRecord is a record as the kernel writes it.
func kernelRecord(kind uint32, words ...uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, 2) // in the user's part
	b = binary.LittleEndian.AppendUint16(b, uint16(8+8*len(words)))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func TestParse(t *testing.T) {
	ids := func(process, thread uint64) uint64 { return process | thread<<32 }
	in := slices.Concat(
		kernelRecord(recordSample, ids(7, 8), 5, ^uint64(127), 0xffffffff81000000, chainUser, 0x1000, 0x2000, 2, 0xbeef, 0xcafe, 16, 111, 222, 8),
		kernelRecord(recordLost, 1, 42),
		kernelRecord(recordThrottle, 1, 2, 3),
		kernelRecord(77, 1, 2, 3),                                         // of a kind that is not known
		kernelRecord(recordSample, ids(9, 9), 1, 0x3000, 0, 0),            // of another process
		kernelRecord(recordSample, ids(7, 7), 2, chainUser, 0x4000, 0, 0), // without registers and stack
		kernelRecord(recordSample, ids(7, 7), 1<<40),
		kernelRecord(recordSample, ids(7, 7), 0, 0, 0), // without a chain
	)
	var got []sample
	counts := layout{process: 7, registers: 2, order: binary.LittleEndian}.parse(in, func(s *sample) {
		c := *s
		c.chain, c.stack = slices.Clone(s.chain), slices.Clone(s.stack)
		got = append(got, c)
	})
	if want := (tally{lost: 42, damaged: 1, throttled: 1}); counts != want {
		t.Errorf("tally is %+v; want %+v", counts, want)
	}
	if len(got) != 2 {
		t.Fatalf("%d samples; want 2: %+v", len(got), got)
	}
	a := got[0]
	if a.thread != 8 || !slices.Equal(a.chain, []uint64{0x1000, 0x2000}) || a.lr != 0xbeef || a.sp != 0xcafe || len(a.stack) != 8 || a.stack[0] != 111 {
		t.Errorf("first sample is %+v", a)
	}
	if b := got[1]; b.thread != 7 || !slices.Equal(b.chain, []uint64{0x4000}) || b.sp != 0 || b.stack != nil {
		t.Errorf("second sample is %+v", b)
	}
}

// FuzzParse feeds the reader of records with garbage: it must end, count what it cannot read, and stay inside.
func FuzzParse(f *testing.F) {
	f.Add(kernelRecord(recordSample, 7, 2, chainUser, 0x1000, 1, 0xcafe, 8, 111, 8), 1)
	f.Add(kernelRecord(recordLost, 1, 42), 0)
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0, 0}, 2)
	f.Fuzz(func(t *testing.T, in []byte, registers int) {
		l := layout{registers: ((registers % 3) + 3) % 3, order: binary.LittleEndian}
		before := slices.Clone(in)
		n := int64(0)
		counts := l.parse(in, func(s *sample) {
			n++
			if len(s.chain) == 0 || len(s.chain) > maxChain || len(s.stack) > len(in) {
				t.Errorf("sample %+v", s)
			}
		})
		if most := int64(len(in)/8 + 1); n+counts.damaged+counts.throttled > most || counts.lost < 0 {
			t.Errorf("%d bytes have %d samples and %+v", len(in), n, counts)
		}
		if !slices.Equal(in, before) {
			t.Error("the input was changed")
		}
	})
}

func TestWithoutTypes(t *testing.T) {
	for in, want := range map[string]string{
		"main.main":                      "main.main",
		"main.(*box[go.shape.int]).get":  "main.(*box[...]).get",
		"main.f[go.shape.[]uint8].func1": "main.f[...].func1",
		"a]b[":                           "a]b[",
	} {
		if got := withoutTypes(in); got != want {
			t.Errorf("withoutTypes(%q) = %q; want %q", in, got, want)
		}
	}
}
