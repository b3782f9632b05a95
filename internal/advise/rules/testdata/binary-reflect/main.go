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

func main() {
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
