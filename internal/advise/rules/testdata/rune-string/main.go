package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

func appended(b []byte, s string) []byte {
	for _, r := range s {
		b = append(b, string(r)...) // cost: [cpu] runtime.intstring runtime.encoderune; want
	}
	return b
}

func oneByte(b []byte, c byte) []byte {
	return append(b, string(c)...) // cost: [cpu] runtime.intstring; want
}

type letter int32

func named(b []byte, l letter) []byte {
	return append(b, (string(l))...) // cost: [cpu] runtime.intstring; want
}

func written(b *strings.Builder, r rune) (int, error) {
	return b.WriteString(string(r)) // cost: runtime.intstring runtime.mallocgc; want
}

func buffered(b *bytes.Buffer, r rune) {
	b.WriteString(string(r + 1)) // cost: [cpu] runtime.intstring; want
}

func flushed(w *bufio.Writer, r rune) {
	w.WriteString(string(r)) // cost: [cpu] runtime.intstring; want
}

type text []byte

// The result would be of another type.
func typed(t text, r rune) text {
	t = append(t, string(r)...) // cost: [cpu] runtime.intstring; want
	return t
}

// A rune cannot hold all values.
func large(b []byte, n int64) []byte {
	return append(b, string(rune(n))...)
}

// What costs is to make room.
func room(b []byte, r rune) []byte {
	return append(b, string(r)...) // cost: runtime.growslice
}

func copied(b []byte, s string, c []byte) []byte {
	return append(append(b, s...), string(c)...)
}

func main() {
	hard()
	for _, r := range []rune{0, 'a', 'ä', '€', '😀', 0x7f, 0x80, 0xd800, 0x10ffff, 0x110000, -1} {
		var sb strings.Builder
		var bb bytes.Buffer
		w := bufio.NewWriter(os.Stdout)
		n, err := written(&sb, r)
		buffered(&bb, r)
		flushed(w, r)
		w.Flush()
		fmt.Println(n, err, []byte(sb.String()), bb.Bytes(), appended(nil, string(r)), oneByte(nil, byte(r)), named(nil, letter(r)))
		fmt.Println(typed(nil, r), large(nil, int64(r)), room(nil, r), copied(nil, "a", []byte("b")))
	}
}
