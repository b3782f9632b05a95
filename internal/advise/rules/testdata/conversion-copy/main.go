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

var errForm = fmt.Errorf("wrong form")

func parse(b []byte) (sum int, err error) {
	if len(b) > 40 {
		return 0, fmt.Errorf("%w: %d%% too long: %.10q", errForm, len(b)*100/40, string(b))
	}
	if string(b[:1]) == "+" {
		b = b[1:]
	}
	for i := range b {
		if b[i] < '0' {
			return 0, fmt.Errorf("%w: %d%%, %q in %s", errForm, i, b[i:], b)
		}
		sum += int(b[i] - '0')
	}
	return sum, nil
}

func kept(b []byte) any { return b }

type secret []byte

func (s secret) String() string { return "(secret)" }

func open(s secret) error {
	if len(s) > 3 {
		return fmt.Errorf("too long: %s", s)
	}
	return nil
}

func opened(s string) error {
	return open([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc
}

func parsed(s string) string {
	n, err := parse([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
	k := kept([]byte(s))       // cost: runtime.stringtoslicebyte runtime.mallocgc
	return fmt.Sprint(n, err, k)
}

func needed(b []byte, m map[string]int) int {
	m[string(b)] = 1 // cost: runtime.slicebytetostring runtime.mallocgc
	return len(m)
}

// It writes to the bytes.
func overwritten(b []byte) error {
	b[0] = 'x'
	if len(b) > 3 {
		return fmt.Errorf("bad %q", b)
	}
	return nil
}

func parsedText(s string) error {
	return overwritten([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc
}

func joined(sb *strings.Builder, p []byte) {
	(sb.WriteString)(string(p)) // cost: runtime.slicebytetostring runtime.mallocgc
}

func main() {
	var inParens strings.Builder
	joined(&inParens, []byte("p"))
	fmt.Println(inParens.String(), parsedText("abcd"))
	fmt.Println(opened("abcd"), opened("a"))
	fmt.Println(parsed("+123"), parsed("1 2"), parsed(strings.Repeat("1", 50)))
	for _, s := range []string{"x", "prefix", "äb"} {
		b, ok, r := texts(nil, s)
		text, err := io.ReadAll(r)
		var w strings.Builder
		fmt.Printf("%s %v %s %v %v %q %d\n", b, ok, text, err, data(&w, []byte(s)), w.String(), needed(b, map[string]int{}))
	}
}
