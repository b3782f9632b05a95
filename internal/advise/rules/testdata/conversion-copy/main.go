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

type logged struct {
	bytes.Buffer
	writes int
}

func (l *logged) Write(b []byte) (int, error) {
	l.writes++
	return l.Buffer.Write(b)
}

// uncounted has a Write of its own.
func uncounted(l *logged, b []byte) {
	l.WriteString(string(b)) // cost: runtime.slicebytetostring runtime.mallocgc
}

// later has the bytes that there are when it begins.
func later(w *bytes.Buffer, b []byte) {
	defer w.WriteString(string(b)) // cost: runtime.slicebytetostring runtime.mallocgc
	b[0] = 'X'
}

// itself writes what the buffer may move before.
func itself(w *bytes.Buffer) {
	w.WriteString(string(w.Bytes())) // cost: runtime.slicebytetostring runtime.mallocgc
}

// anybody may keep what it is given.
func anybody(w io.Writer, b []byte) {
	io.WriteString(w, string(b)) // cost: runtime.slicebytetostring runtime.mallocgc; want
}

func addressed(b []byte) int {
	var w bytes.Buffer
	io.WriteString(&w, string(b)) // cost: runtime.slicebytetostring runtime.mallocgc; want
	return w.Len()
}

// asked asks what it reads.
func asked(r io.Reader) bool {
	_, ok := r.(*bytes.Reader)
	return ok
}

func reader(s string) (bool, error) {
	ok := asked(bytes.NewReader([]byte(s)))                // cost: runtime.stringtoslicebyte runtime.mallocgc; want
	_, err := io.ReadAll(bytes.NewReader([]byte(s + "."))) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
	return ok, err
}

// changing looks for what changes where it looks.
func changing(b []byte, next func() string) bool {
	return strings.Contains(string(b), next()) // cost: runtime.slicebytetostring runtime.mallocgc; want
}

func main() {
	l := &logged{}
	uncounted(l, []byte("ab"))
	some := []byte("abc")
	later(&l.Buffer, some)
	l.Buffer.ReadByte()
	itself(&l.Buffer)
	anybody(&l.Buffer, some)
	fmt.Println(l.writes, l.String(), addressed(some))
	_, err := reader("s")
	fmt.Println(err, changing(some, func() string { return "b" }))
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
