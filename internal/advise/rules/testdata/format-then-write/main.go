package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

type buffer struct {
	bytes.Buffer
}

func (b *buffer) printf(format string, args ...any) {
	b.Buffer.WriteString(fmt.Sprintf(format, args...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc; want
}

func (b *buffer) println(args ...any) (int, error) {
	return b.WriteString(fmt.Sprintln(args...)) // cost: fmt.Sprintln runtime.slicebytetostring runtime.mallocgc; want
}

// A loud writer has a Write of its own, which WriteString does not go through.
type loud struct {
	bytes.Buffer
}

func (l *loud) Write(b []byte) (int, error) { return l.Buffer.Write(bytes.ToUpper(b)) }

func (l *loud) printf(format string, args ...any) {
	l.WriteString(fmt.Sprintf(format, args...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc
}

func translated(w *bufio.Writer, words map[string]string, names []string) {
	for _, name := range names {
		w.WriteString(fmt.Sprintf(words["hello"], name)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc; want
	}
}

// A Builder that stays on the stack would move to the heap for one text.
func once(format string, args ...any) string {
	var b strings.Builder
	b.WriteString(fmt.Sprintf(format, args...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc
	return b.String()
}

func many(format string, list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(fmt.Sprintf(format, s)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc; want
	}
	return b.String()
}

// A nested one writes to the buffer while it is formatted: that comes first, in both ways.
type nested struct{ b *buffer }

func (n nested) String() string {
	n.b.WriteString("inner ")
	return "outer"
}

func pick(w *buffer) *buffer { return w }

func picked(w *buffer, format string, args ...any) {
	pick(w).WriteString(fmt.Sprintf(format, args...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc
}

// A part of an argument may go on to another page.
type pages struct {
	page   *bytes.Buffer
	number int
}

func (p *pages) next() int {
	p.page = new(bytes.Buffer)
	p.number++
	return p.number
}

func (p *pages) begin(format string) {
	p.page.WriteString(fmt.Sprintf(format, p.next())) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc; want
}

func (b *buffer) length(format string) {
	b.Buffer.WriteString(fmt.Sprintf(format, b.size())) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc; want
}

func (b *buffer) size() int { return b.Len() }

// The pointer that is embedded may be another one when it is written to.
type linked struct{ *bytes.Buffer }

func (l *linked) printf(format string, args ...any) {
	l.WriteString(fmt.Sprintf(format, args...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc
}

func main() {
	var late buffer
	deferred(&late, "%v %v\n", "late")
	fmt.Print(late.String())
	p := &pages{page: new(bytes.Buffer)}
	p.begin("page %d")
	fmt.Println(p.page.String())
	(&linked{p.page}).printf("%d", 1)
	var b buffer
	b.printf("%d %s\n", 1, "one")
	fmt.Println(b.println("two", 2))
	b.printf("%v\n", nested{&b})
	b.printf("nothing\n")
	b.length("%d\n")
	picked(&b, "%x\n", 255)
	fmt.Print(b.String())
	var l loud
	l.printf("quiet %d", 3)
	fmt.Println(l.String())
	w := bufio.NewWriter(os.Stdout)
	translated(w, map[string]string{"hello": "hallo %s\n"}, []string{"a", "b"})
	w.Flush()
	fmt.Println(once("%d", 1), many("<%s>", []string{"x", "y"}))
}

// A text that is formatted now shows what there is now.
func deferred(b *buffer, format string, list ...any) {
	n := []int{1}
	list = append(list, n)
	defer b.Buffer.WriteString(fmt.Sprintf(format, list...)) // cost: fmt.Sprintf runtime.slicebytetostring runtime.mallocgc
	n[0] = 2
	b.WriteByte('<')
}
