package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

func write(w io.Writer, n int) {
	b := make([]byte, 0, 64) // cost: runtime.makeslice runtime.mallocgc; want
	b = append(b, "n="...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, '\n')
	w.Write(b)
}

func rounds(w io.Writer, n int) {
	for i := range n {
		b := make([]byte, 0, 64) // cost: runtime.makeslice runtime.mallocgc; want
		b = strconv.AppendInt(b, int64(i), 10)
		w.Write(append(b, '\n'))
	}
}

// Who calls it keeps the bytes.
func kept(w io.Writer, n int) []byte {
	b := make([]byte, 0, 64) // cost: runtime.makeslice runtime.mallocgc
	b = strconv.AppendInt(b, int64(n), 10)
	w.Write(b)
	return b
}

// shadowed has two buffers of one name.
func shadowed(w io.Writer, n int) {
	b := "end\n"
	if n > 0 {
		for i := range n {
			b := make([]byte, 0, 64) // cost: runtime.makeslice runtime.mallocgc; want
			b = strconv.AppendInt(b, int64(i), 10)
			w.Write(append(b, '\n'))
		}
		fmt.Fprint(w, b)
	}
}

func main() {
	shadowed(os.Stdout, 2)
	write(os.Stdout, 1)
	write(os.Stdout, 2)
	rounds(os.Stdout, 3)
	fmt.Println(len(kept(os.Stdout, 3)))
}
