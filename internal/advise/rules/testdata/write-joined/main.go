package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

type named int

type speaking int

func (speaking) String() string { return "speaking" }

func sum(w io.Writer, s string, n int) {
	w.Write([]byte("<b>" + s + "</b> " + fmt.Sprint(n) + "!\n")) // cost: runtime.concatstring5 runtime.mallocgc; want
}

func sprintf(w io.Writer, s string, d time.Duration) (int, error) {
	n, err := w.Write([]byte(fmt.Sprintf("%s.%v|%q\n", s, d, s))) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	return n, err
}

func unknownVerb(w io.Writer, v any) {
	w.Write([]byte(fmt.Sprintf("%5d|%v\n", 7, v))) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
}

func fprintf(w io.Writer, f float64, n named, b bool, u uint8) error {
	if _, err := fmt.Fprintf(w, "%g %.3f %v %d %t %c%%\n", f, f, f, n, b, 'x'); err != nil { // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
		return err
	}
	return nil
}

func loop(w io.Writer, names []string) {
	for i, name := range names {
		fmt.Fprintf(w, "%d=%s\n", i, name) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
	}
}

func buffered(w *bufio.Writer, n int) {
	fmt.Fprintf(w, "n is %d\n", n) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

func local(n int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "n=%d", n) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
	return b.String()
}

func byParts(b *strings.Builder, s string, raw []byte) {
	fmt.Fprintf(b, "-%s: %s", s, raw) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

func stringer(w io.Writer, s speaking) {
	fmt.Fprintf(w, "%v\n", s) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

func plain(w io.Writer, s string) {
	w.Write([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
}

func builder(w *bytes.Buffer, s string) {
	w.Write([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
}

// A hash copies the string, whoever asks for it.
func hashed(h hash.Hash, s string) {
	h.Write([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func counting(c *counter, s string) {
	c.Write([]byte(s)) // cost: runtime.stringtoslicebyte runtime.mallocgc; want
}

func second(w io.Writer, n int) {
	if n == 0 {
		return
	} else if _, err := fmt.Fprintf(w, "else %d\n", n); err != nil { // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
		return
	}
}

func inner(w *bufio.Writer) string {
	w.WriteString("inner ")
	return "said"
}

// What inner writes comes first.
func nested(w *bufio.Writer) {
	fmt.Fprintf(w, "outer %s\n", inner(w)) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

// The writer costs something, fmt does not.
func slow(w io.Writer, n int) {
	fmt.Fprintf(w, "%d\n", n) // cost: fmt.Fprintf os.(*File).Write
}

// A textWriter may be a file, to which each part is written by itself.
type textWriter interface {
	io.Writer
	WriteString(s string) (int, error)
}

// A bufWriter has a buffer.
type bufWriter interface {
	textWriter
	WriteByte(c byte) error
	Flush() error
}

func texts(w textWriter, tag string, raw []byte) {
	_, _ = fmt.Fprintf(w, "<%s", tag)            // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
	_, _ = fmt.Fprintf(w, "</%s>%s\n", tag, raw) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

func textsBuffered(w bufWriter, tag, more string) {
	fmt.Fprintf(w, "<%s", tag+more)            // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
	_, _ = w.Write([]byte("<" + tag + "/>\n")) // cost: runtime.concatstring3 runtime.mallocgc; want
}

// A number is no text, and a buffer for it would be larger than what fmt allocates.
func oneNumber(w textWriter, n int) {
	fmt.Fprintf(w, "%d\n", n) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

// A buffer is one object in place of two.
func twoNumbers(w io.Writer, a, b int) {
	fmt.Fprintf(w, "%d %d\n", a, b) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
	fmt.Fprintf(w, "%d-%d\n", a, b) // cost: fmt.Fprintf fmt.(*pp).doPrintf; want
}

func good(w io.Writer, b []byte) {
	w.Write(strconv.AppendInt(b, 1, 10)) // cost: os.(*File).Write
}

func main() {
	late(os.Stdout)
	var u upper
	loud(&u, "loud")
	fmt.Println(u.String())
	w := os.Stdout
	sum(w, "x", 1)
	sprintf(w, `say "é"`, 1500*time.Millisecond)
	unknownVerb(w, "any")
	for _, f := range []float64{0, 1, -1, 1e6, 1e20, 1e21, 1e-7, 0.1, math.Pi, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		fprintf(w, f, 3, f > 1, 200)
	}
	loop(w, []string{"a", "b"})
	b := bufio.NewWriter(w)
	buffered(b, math.MinInt64)
	nested(b)
	b.Flush()
	fmt.Println(local(-5))
	var parts strings.Builder
	byParts(&parts, "a", []byte("b"))
	fmt.Println(parts.String())
	stringer(w, 1)
	plain(w, "plain\n")
	h := sha1.New()
	hashed(h, "hashed")
	fmt.Printf("%x\n", h.Sum(nil))
	counting(new(counter), "counted")
	builder(new(bytes.Buffer), "x")
	second(w, 2)
	slow(w, 3)
	texts(w, "td", []byte("raw"))
	textsBuffered(b, "a", "b")
	b.Flush()
	oneNumber(w, 3)
	twoNumbers(w, 4, 5)
	good(w, nil)
}

// What is formatted now shows what there is now.
func late(w io.Writer) {
	p := &struct{ n int }{1}
	defer w.Write([]byte(fmt.Sprintf("%v\n", p))) // cost: fmt.Sprintf fmt.(*pp).doPrintf; want
	p.n = 2
}

// An upper writer has only a Write of its own.
type upper struct{ bytes.Buffer }

func (u *upper) Write(b []byte) (int, error) { return u.Buffer.Write(bytes.ToUpper(b)) }

func loud(w *upper, s string) {
	w.Write([]byte(s))       // cost: runtime.stringtoslicebyte; want
	w.Write([]byte(s + "!")) // cost: runtime.stringtoslicebyte; want
}
