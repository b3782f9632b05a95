package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"sync"
)

var (
	patterns = sync.Pool{New: func() any { return regexp.MustCompile("a+") }}
	filled   = sync.Pool{New: func() any { return bytes.NewBufferString("> ") }}
	buffers  = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

func never(s string) bool {
	re := patterns.Get().(*regexp.Regexp) // cost: sync.(*Pool).Get main.init.func1 regexp.MustCompile; want
	return re.MatchString(s)
}

func sometimes(s string) (int, error) {
	buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2; want
	buf.Reset()
	if s == "" {
		return 0, errors.New("empty")
	}
	buf.WriteString(s)
	n := buf.Len()
	buffers.Put(buf)
	return n, nil
}

// What would come back is not clean, and is cleaned where the pool makes empty ones.
func writes(s string) int {
	buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2; want
	buf.WriteString(s)
	return buf.Len()
}

func dirty(s string) int {
	buf := filled.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2; want
	buf.WriteString(s)
	return buf.Len()
}

func leaves(s string) []byte {
	buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2; want
	buf.Reset()
	buf.WriteString(s)
	return buf.Bytes()
}

func good(s string) int {
	buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2
	defer buffers.Put(buf)
	buf.Reset()
	if s == "" {
		return 0
	}
	buf.WriteString(s)
	return buf.Len()
}

func handed() *bytes.Buffer {
	buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2
	buf.Reset()
	return buf
}

var scratches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getScratch() *bytes.Buffer { return scratches.Get().(*bytes.Buffer) }

func putScratch(b *bytes.Buffer) {
	b.Reset()
	scratches.Put(b)
}

type encoder struct{ scratch *bytes.Buffer }

func newEncoder() *encoder {
	return &encoder{scratch: getScratch()} // cost: main.getScratch sync.(*Pool).Get main.init.func9; want
}

func (e *encoder) encode(s string) int {
	e.scratch.Reset()
	e.scratch.WriteString(s)
	return e.scratch.Len()
}

type closer struct{ scratch *bytes.Buffer }

func newCloser() *closer {
	return &closer{scratch: getScratch()} // cost: main.getScratch sync.(*Pool).Get main.init.func9
}

func (c *closer) Close() { putScratch(c.scratch) }

// rounds takes one in each of them.
func rounds(list []string) (n int) {
	for _, s := range list {
		buf := buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.init.func2; want
		buf.Reset()
		buf.WriteString(s)
		n += buf.Len()
	}
	return n
}

func main() {
	fmt.Println(rounds([]string{"a", "b"}))
	fmt.Println(newEncoder().encode("ab"))
	newCloser().Close()
	for _, s := range []string{"", "a", "ba"} {
		n, err := sometimes(s)
		fmt.Println(never(s), n, err, dirty(s), string(leaves(s)), good(s), handed().Len(), writes(s))
	}
}
