package main

import (
	"bytes"
	"fmt"
	"strings"
)

// These tell how much room there is.
func room(s string) int {
	var b strings.Builder
	for i := range s {
		b.WriteByte(s[i]) // cost: [alloc_space] strings.(*Builder).WriteByte
	}
	return b.Cap()
}

func left(s string) int {
	var b bytes.Buffer
	for i := range s {
		b.WriteByte(s[i]) // cost: bytes.(*Buffer).WriteByte bytes.(*Buffer).grow bytes.growSlice
	}
	return roomOf(&b)
}

func roomOf(b *bytes.Buffer) int { return b.Available() }

func hard() { fmt.Println(room("abc"), left("abc")) }
