package clean

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"testing"
)

// What the tests have for themselves, without a lock.
var (
	room   [4]byte
	copied [4]byte
	zeros  [4]int
	number [4]byte
	n      counter
)

type counter struct{ n int }

func (c *counter) next() string { c.n++; return strconv.Itoa(c.n) }

func fill(b []byte) string { copy(b, "abcd"); return string(b) }

func count(f func() string) string { return f() }

func TestSlice(t *testing.T) {
	s := New()
	s.Add(fill(room[:]))
	if !s.Has("abcd") {
		t.Error("abcd is not in the set")
	}
}

func TestCopy(t *testing.T) {
	s := New()
	s.Add(fmt.Sprint(copy(copied[:], "ab")))
	s.Has("2")
}

func TestClear(t *testing.T) {
	s := New()
	func() { clear(zeros[:]); s.Add(fmt.Sprint(zeros)) }()
	s.Has("0")
}

func TestMethod(t *testing.T) {
	s := New()
	s.Add(n.next())
	s.Add(count(n.next))
	s.Has("1")
}

func TestLibrary(t *testing.T) {
	s := New()
	s.Add(string(binary.BigEndian.AppendUint16(number[:0], 1)))
	s.Add(string(bytes.ToUpper(number[:])))
	s.Has("a")
}
