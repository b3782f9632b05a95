package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

func put(w *bytes.Buffer, n uint32) {
	binary.Write(w, binary.LittleEndian, n) // cost: encoding/binary.Write encoding/binary.intDataSize; want
}

func send(w io.Writer, n int64, p point) error {
	if err := binary.Write(w, binary.BigEndian, n); err != nil { // cost: encoding/binary.Write encoding/binary.intDataSize; want
		return err
	}
	return binary.Write(w, binary.BigEndian, p) // cost: encoding/binary.Write encoding/binary.intDataSize; want
}

func count(w *bytes.Buffer, list []string) error {
	return binary.Write(w, binary.BigEndian, uint16(len(list))) // cost: encoding/binary.Write encoding/binary.intDataSize; want
}

type point struct{ X, Y int32 }

// last writes what makes the number first.
func last(w *bytes.Buffer, number func() uint32) error {
	return binary.Write(w, binary.BigEndian, number()) // cost: encoding/binary.Write encoding/binary.intDataSize; want
}

// own is a variable, whose address is passed.
func own(n uint32) ([]byte, error) {
	var b bytes.Buffer
	err := binary.Write(&b, binary.BigEndian, n) // cost: encoding/binary.Write encoding/binary.intDataSize; want
	return b.Bytes(), err
}

func main() {
	var l bytes.Buffer
	fmt.Println(last(&l, func() uint32 { l.WriteString("first"); return 1 }), l.Bytes())
	fmt.Println(own(3))
	var out bytes.Buffer
	fmt.Println(send(&out, -2, point{1, 2}), count(&out, []string{"a"}), out.Bytes())
	var w bytes.Buffer
	put(&w, 7)
	fmt.Println(w.Bytes())
}

// Nothing asks for a type here.
func add(b []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(b, n) // cost: [cpu] runtime.growslice
}
