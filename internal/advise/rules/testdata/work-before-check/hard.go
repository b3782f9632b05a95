package main

import (
	"fmt"
	"strings"
)

type reader struct {
	n   int
	buf []byte
}

func (r *reader) next() bool { r.n++; r.buf[0]++; return true }

func (r *reader) grow() bool { r.buf = append(r.buf, 'x'); return true }

// The check changes what the size and the text are made of.
func sized(r *reader) int {
	b := make([]byte, len(r.buf)) // cost: runtime.makeslice
	if !r.grow() {
		return 0
	}
	return len(b)
}

func content(r *reader) string {
	s := string(r.buf) // cost: runtime.slicebytetostring; want
	if !r.next() {
		return ""
	}
	return s
}

type named struct{ name string }

// There may be no n, which panics before the check.
func letters(n *named, few bool) (out []byte) {
	defer func() {
		if recover() != nil {
			out = []byte("panic")
		}
	}()
	b := []byte(n.name) // cost: runtime.stringtoslicebyte; want
	if few {
		return nil
	}
	return b
}

// Behind the check, there is another s.
func another(s string) []byte {
	if len(s) < 100 {
		b := []byte(s) // cost: runtime.stringtoslicebyte; want
		s := "other"
		if len(s) == 0 {
			return nil
		}
		return b
	}
	return nil
}

func setTo(p *string) bool { *p = "set"; return false }

func byPointer(s string) []byte {
	p := &s
	b := []byte(s) // cost: runtime.stringtoslicebyte; want
	if setTo(p) {
		return nil
	}
	return b
}

func upperOfAnother(s string, n int) string {
	if n > 0 {
		u := strings.ToUpper(s) // cost: strings.ToUpper; want
		s := "other"
		if n > 1 {
			return u + s
		}
		return s
	}
	return ""
}

func upperByPointer(s string, n int) string {
	p := &s
	u := strings.ToUpper(s) // cost: strings.ToUpper; want
	*p = "changed"
	if n > 0 {
		return u
	}
	return ""
}

func remarked(s string, n int) string {
	u := strings.ToUpper(s) // cost: strings.ToUpper; want
	if n > 0 {              // Only large ones are shown.
		return u + "!"
	}
	return ""
}

func hard() {
	fmt.Println(sized(&reader{buf: []byte("abc")}), content(&reader{buf: []byte("abc")}), string(letters(nil, true)), string(another("a")), string(byPointer("a")))
	fmt.Println(upperOfAnother("a", 2), upperByPointer("a", 1), remarked("a", 1))
}
