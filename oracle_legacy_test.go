package main

import (
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// legacySubjects are the formats from before profile.proto: texts from testdata/oracle/legacy, and
// CPU profiles, which are words of 4 or 8 bytes in either order.
func (l *lab) legacySubjects(t *testing.T) []*subject {
	t.Helper()
	texts, err := filepath.Glob("testdata/oracle/legacy/*.txt")
	if err != nil || len(texts) == 0 {
		t.Fatalf("testdata/oracle/legacy: %d texts, %v", len(texts), err)
	}
	var out []*subject
	add := func(name string, b []byte) {
		out = append(out, &subject{name: "legacy-" + name, path: l.put(t, "legacy/"+name, b), every: 12})
	}
	for _, file := range texts {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".txt"), b)
	}
	for _, f := range []struct {
		name  string
		width int
		order binary.ByteOrder
	}{
		{"cpu-32-little", 4, binary.LittleEndian},
		{"cpu-32-big", 4, binary.BigEndian},
		{"cpu-64-little", 8, binary.LittleEndian},
		{"cpu-64-big", 8, binary.BigEndian},
	} {
		b := words(f.width, f.order, 0, 3, 0, 10000, 0)
		for i := range uint64(70) {
			// The second frame is the same in all samples but one, as a signal handler leaves it.
			second := uint64(0x401777)
			if i == 33 {
				second = 0x401999
			}
			b = append(b, words(f.width, f.order, 1+i%5, 4, 0x400100+i%9*16, second, 0x400200+i%4*16, 0x400300)...)
		}
		// A leaf that the unwinder saw as well, one byte further.
		b = append(b, words(f.width, f.order, 3, 4, 0x400500, 0x401777, 0x400500, 0x400300)...)
		b = append(b, words(f.width, f.order, 0, 1, 0)...)
		add(f.name, append(b, "00400000-00500000 r-xp 00000000 08:01 1234 /nowhere/bin/server\n"...))
		add(f.name+"-cut", b[:len(b)*2/3])
	}
	java := words(8, binary.LittleEndian, 0, 3, 1, 10000, 0, 2, 3, 0x10, 0x20, 0x30, 5, 2, 0x20, 0x30, 1, 1, 0x40, 0, 1, 0)
	add("cpu-java", append(java, "0x10 com.example.Main.run (Main.java:12)\n0x20 com.example.Main.main (Main.java:3)\n"+
		"0x30 java.lang.Thread.run (Thread.java:745)\n0x40 GC\n"...))
	add("cpu-no-end", words(8, binary.LittleEndian, 0, 3, 0, 10000, 0, 2, 2, 0x400100, 0x400200))
	add("cpu-header-alone", words(4, binary.LittleEndian, 0, 3, 0, 10000, 0))
	return out
}

// words encodes vs as integers of the given width.
func words(width int, order binary.ByteOrder, vs ...uint64) []byte {
	b := make([]byte, width*len(vs))
	for i, v := range vs {
		if width == 4 {
			order.PutUint32(b[4*i:], uint32(v))
		} else {
			order.PutUint64(b[8*i:], v)
		}
	}
	return b
}
