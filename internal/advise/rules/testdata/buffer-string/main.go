package main

import (
	"bytes"
	"fmt"
)

func text(n int) string {
	var b bytes.Buffer
	b.WriteString("n=")
	fmt.Fprint(&b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

func both(n int) (string, []byte) {
	var b bytes.Buffer
	fmt.Fprint(&b, n)
	return b.String(), b.Bytes() // cost: bytes.(*Buffer).String; want
}

func main() {
	s, b := both(2)
	fmt.Println(text(1), s, b)
}

// It is the bytes that are wanted.
func raw(n int) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, n) // cost: [cpu] fmt.Fprint
	return b.Bytes()
}
