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

func pointed(n int) string {
	b := &bytes.Buffer{}
	b.WriteString("n=")
	fmt.Fprint(b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

func made(n int) string {
	b := new(bytes.Buffer)
	fmt.Fprint(b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

func valued(n int) string {
	var b = bytes.Buffer{}
	fmt.Fprint(&b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

// Who is given it may want a Buffer.
func given(n int) string {
	b := &bytes.Buffer{}
	write(b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

func write(b *bytes.Buffer, n int) { fmt.Fprint(b, n) }

// It begins with something.
func begun(n int) string {
	b := bytes.NewBuffer([]byte("n="))
	fmt.Fprint(b, n)
	return b.String() // cost: bytes.(*Buffer).String; want
}

// again would begin with new memory each time.
func again(n int) (all []string) {
	var b bytes.Buffer
	for i := range n {
		b.Reset()
		fmt.Fprint(&b, i)
		all = append(all, b.String()) // cost: bytes.(*Buffer).String; want
	}
	return all
}

func asked() (string, int) {
	var b bytes.Buffer
	b.WriteString("a")
	return b.String(), b.Cap() // cost: bytes.(*Buffer).String; want
}

// named shows what it is.
func named() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%T", &b)
	return b.String() // cost: bytes.(*Buffer).String; want
}

func main() {
	fmt.Println(again(2), named())
	fmt.Println(asked())
	s, b := both(2)
	fmt.Println(text(1), s, b)
	fmt.Println(pointed(2), made(3), valued(4), given(5), begun(6))
}

// It is the bytes that are wanted.
func raw(n int) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, n) // cost: [cpu] fmt.Fprint
	return b.Bytes()
}
