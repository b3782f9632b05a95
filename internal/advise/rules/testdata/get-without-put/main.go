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

func main() {
	for _, s := range []string{"", "a", "ba"} {
		n, err := sometimes(s)
		fmt.Println(never(s), n, err, dirty(s), string(leaves(s)), good(s), handed().Len(), writes(s))
	}
}
