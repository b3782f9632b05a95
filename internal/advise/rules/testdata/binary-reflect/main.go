package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

func put(w *bytes.Buffer, n uint32) {
	binary.Write(w, binary.LittleEndian, n) // cost: encoding/binary.Write encoding/binary.intDataSize; want
}

func main() {
	var w bytes.Buffer
	put(&w, 7)
	fmt.Println(w.Bytes())
}

// Nothing asks for a type here.
func add(b []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(b, n) // cost: [cpu] runtime.growslice
}
