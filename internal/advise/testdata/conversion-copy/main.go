package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

func texts(b []byte, s string) ([]byte, bool, io.Reader) {
	b = append(b, []byte(s)...)                                    // cost: runtime.stringtoslicebyte runtime.mallocgc; want
	ok := bytes.Contains([]byte(s), b[:1])                         // cost: runtime.stringtoslicebyte runtime.mallocgc; want
	return b, ok, io.MultiReader(read(bytes.NewReader([]byte(s)))) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
}

func read(r io.Reader) io.Reader { return r }

func data(w *strings.Builder, b []byte) bool {
	w.WriteString(string(b))                      // cost: runtime.slicebytetostring runtime.mallocgc; want
	return strings.HasPrefix(string(b), "prefix") // cost: runtime.slicebytetostring runtime.mallocgc; want
}

func needed(b []byte, m map[string]int) int {
	m[string(b)] = 1 // cost: runtime.slicebytetostring runtime.mallocgc
	return len(m)
}

func main() {
	for _, s := range []string{"x", "prefix", "äb"} {
		b, ok, r := texts(nil, s)
		text, err := io.ReadAll(r)
		var w strings.Builder
		fmt.Printf("%s %v %s %v %v %q %d\n", b, ok, text, err, data(&w, []byte(s)), w.String(), needed(b, map[string]int{}))
	}
}
