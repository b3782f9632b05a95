package objfile

import (
	"bytes"
	"compress/gzip"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A tableForm is one of the forms that pclntab had.
type tableForm struct {
	magic uint32
	bo    binary.AppendByteOrder
	ptr   int
}

// encode writes a table of two functions: a at text, in a.go lines 10 and 12, then in the inlined b.go line 7, and b at
// text+0x40, line 70000 of b.go. It is the reverse of what the runtime does, and as in the runtime's own tables an
// address or a file may be missing.
func (f tableForm) encode(text uint64) []byte {
	word := func(b []byte, v uint64) []byte {
		if f.ptr == 4 {
			return f.bo.AppendUint32(b, uint32(v))
		}
		return f.bo.AppendUint64(b, v)
	}
	new118 := f.magic == 0xfffffff0 || f.magic == 0xfffffff1
	entry := func(b []byte, v uint64) []byte { // an address or an offset
		if new118 {
			return f.bo.AppendUint32(b, uint32(v))
		}
		return word(b, v)
	}
	entrySize := f.ptr
	if new118 {
		entrySize = 4
		text = 0
	}

	names := []byte("main.a\x00main.b\x00")
	files := []byte("a.go\x00b.go\x00")
	// Tables of values start behind a byte: offset 0 means none.
	values := []byte{0}
	at := func(pairs ...int) (off uint32) { // change of value, bytes
		off = uint32(len(values))
		for i := 0; i < len(pairs); i += 2 {
			values = binary.AppendVarint(values, int64(pairs[i]))
			values = binary.AppendUvarint(values, uint64(pairs[i+1]))
		}
		values = append(values, 0)
		return off
	}
	first := 0
	if f.magic == 0xfffffffb {
		first = 1 // files were numbered from 1
	}
	filesA := at(first+1, 0x20, 1, 0x20)
	linesA := at(11, 0x10, 2, 0x10, -5, 0x20)
	filesB := at(first+2, 0x10)
	linesB := at(70001, 0x10)

	record := func(addr uint64, name, files, lines uint32) []byte {
		b := entry(nil, addr)
		for _, v := range []uint32{name, 0, 0, 0, files, lines, 0, 0, 0} {
			b = f.bo.AppendUint32(b, v)
		}
		return b
	}
	tabSize := 5 * entrySize
	recSize := entrySize + 36

	head := f.bo.AppendUint32(nil, f.magic)
	head = append(head, 0, 0, 1, byte(f.ptr))
	if f.magic == 0xfffffffb {
		// Everything is one block, to the start of which all offsets count.
		base := 8 + f.ptr + tabSize + 4
		namesAt := base + 2*recSize
		filesAt := namesAt + len(names)
		tableAt := filesAt + len(files)
		valuesAt := tableAt + 12
		b := word(head, 2)
		for i, addr := range []uint64{text, text + 0x40} {
			b = entry(entry(b, addr), uint64(base+i*recSize))
		}
		b = entry(b, text+0x50)
		b = f.bo.AppendUint32(b, uint32(tableAt))
		b = append(b, record(text, uint32(namesAt), uint32(valuesAt)+filesA, uint32(valuesAt)+linesA)...)
		b = append(b, record(text+0x40, uint32(namesAt+7), uint32(valuesAt)+filesB, uint32(valuesAt)+linesB)...)
		b = append(append(b, names...), files...)
		for _, v := range []int{3, filesAt, filesAt + 5} {
			b = f.bo.AppendUint32(b, uint32(v))
		}
		return append(b, values...)
	}

	units := f.bo.AppendUint32(f.bo.AppendUint32(nil, 0), 5)
	words := 7
	if new118 {
		words = 8
	}
	parts := [][]byte{names, units, files, values}
	b := word(word(head, 2), 2)
	if new118 {
		b = word(b, 0)
	}
	off := 8 + words*f.ptr
	for _, p := range parts {
		b = word(b, uint64(off))
		off += len(p)
	}
	b = word(b, uint64(off))
	for _, p := range parts {
		b = append(b, p...)
	}
	for i, addr := range []uint64{text, text + 0x40} {
		b = entry(entry(b, addr), uint64(tabSize+i*recSize))
	}
	b = entry(b, text+0x50)
	b = append(b, record(text, 0, filesA, linesA)...)
	return append(b, record(text+0x40, 7, filesB, linesB)...)
}

// tableForms are all that a Go release had.
func tableForms() []tableForm {
	var forms []tableForm
	for _, magic := range []uint32{0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1} {
		for _, bo := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			forms = append(forms, tableForm{magic, bo, 4}, tableForm{magic, bo, 8})
		}
	}
	return forms
}

func TestLineTable(t *testing.T) {
	const text = 0x1000
	want := map[uint64]Frame{
		0x0fff: {},
		0x1000: {"main.a", "a.go", 10},
		0x100f: {"main.a", "a.go", 10},
		0x1010: {"main.a", "a.go", 12},
		0x1020: {"main.a", "b.go", 7},
		0x103f: {"main.a", "b.go", 7},
		0x1040: {"main.b", "b.go", 70000},
		0x104f: {"main.b", "b.go", 70000},
		0x1050: {},
	}
	for _, f := range tableForms() {
		t.Run(fmt.Sprintf("%x %v %d", f.magic, f.bo, f.ptr), func(t *testing.T) {
			data := f.encode(text)
			oracle, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
			if err != nil {
				t.Fatal(err)
			}
			table := newLineTable(data, text)
			if table == nil {
				t.Fatal("not a table")
			}
			for addr, want := range want {
				got, ok := table.lookup(addr)
				if got != want || ok != (want != Frame{}) {
					t.Errorf("%#x is %+v, %t, want %+v", addr, got, ok, want)
				}
				if file, line, fn := oracle.PCToLine(addr); fn != nil && got != (Frame{fn.Name, file, line}) || ok != (fn != nil) {
					t.Errorf("%#x is %+v, debug/gosym has %v %s:%d", addr, got, fn, file, line)
				}
			}
		})
	}
}

// TestLineTable115 reads a real table of before Go 1.16, from the tests of debug/gosym.
func TestLineTable115(t *testing.T) {
	packed, err := os.Open(filepath.Join(goroot(t), "src/debug/gosym/testdata/pcln115.gz"))
	if err != nil {
		t.Skip(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	const text = 0x1001000
	oracle, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil || len(oracle.Funcs) == 0 {
		t.Fatalf("debug/gosym: %v", err)
	}
	table := newLineTable(data, text)
	if table == nil {
		t.Fatal("not a table")
	}
	sameLines(t, table.lookup, oracle)
}

// FuzzLineTable damages tables. Lookups have to end, without a panic, and the strings they return must be bounded.
func FuzzLineTable(f *testing.F) {
	for _, form := range tableForms() {
		f.Add(form.encode(0x1000))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table := newLineTable(data, 0x1000)
		if table == nil {
			return
		}
		for pc := uint64(0xff8); pc < 0x1060; pc += 8 {
			fr, ok := table.lookup(pc)
			if !ok && fr != (Frame{}) {
				t.Errorf("%#x is %+v, but not found", pc, fr)
			}
			if !bytes.Contains(data, []byte(fr.Func)) || !bytes.Contains(data, []byte(fr.File)) {
				t.Errorf("%#x is %+v, which is not in the table", pc, fr)
			}
		}
	})
}
