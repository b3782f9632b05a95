package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

func stamp(b []byte, t time.Time) []byte {
	return append(b, t.Format(time.RFC3339)...) // cost: time.Time.Format; want
}

func encode(w *bytes.Buffer, b []byte) {
	w.WriteString(base64.StdEncoding.EncodeToString(b)) // cost: encoding/base64.(*Encoding).EncodeToString; want
}

func address(a netip.Addr) []byte {
	return []byte(a.String()) // cost: net/netip.Addr.String; want
}

func number(b []byte, n *big.Int) []byte {
	return append(b, n.String()...) // cost: math/big.(*Int).String; want
}

// shown is what rule fmt-text looks at.
func shown(n int, s string) []byte {
	return []byte(fmt.Sprintf("%05d %v", n, []string{s})) // cost: fmt.Sprintf
}

// kept is a string in the end.
func kept(t time.Time) string {
	return t.Format(time.Kitchen) // cost: time.Time.Format
}

type line []byte

// typed is given a type that has methods of its own.
func typed(b line, t time.Time) any {
	return append(b, t.Format(time.RFC3339)...) // cost: time.Time.Format; want
}

func typedAlone(t time.Time) any {
	return line(t.Format(time.RFC3339)) // cost: time.Time.Format; want
}

// empty is not nil.
func empty(b []byte, t time.Time) ([]byte, []byte) {
	return []byte(base64.StdEncoding.EncodeToString(b)), // cost: encoding/base64.(*Encoding).EncodeToString; want
		[]byte(t.Format(".999")) // cost: time.Time.Format; want
}

// over encodes what it overwrites, if it is given two parts of one array.
func over(to, b []byte) []byte {
	return append(to, base64.StdEncoding.EncodeToString(b)...) // cost: encoding/base64.(*Encoding).EncodeToString; want
}

func fresh(b []byte) []byte {
	to := make([]byte, 0, 64)
	to = append(to, base64.StdEncoding.EncodeToString(b)...) // cost: encoding/base64.(*Encoding).EncodeToString; want
	return to
}

type day struct{ time.Time }

func (day) AppendFormat(b []byte, layout string) []byte { return append(b, "a day"...) }

// own has a twin of its own.
func own(b []byte, d day) []byte {
	return append(b, d.Format(time.RFC3339)...) // cost: time.Time.Format
}

type counted struct {
	*bytes.Buffer
	n int
}

func (c *counted) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.Buffer.Write(b)
}

// uncounted writes in a way that is not counted.
func uncounted(c *counted, b []byte) {
	c.WriteString(base64.StdEncoding.EncodeToString(b)) // cost: encoding/base64.(*Encoding).EncodeToString; want
}

// later would append to a part of the buffer that is not free any more.
func later(w *bytes.Buffer, t time.Time) {
	defer w.WriteString(t.Format(time.Kitchen)) // cost: time.Time.Format; want
	w.WriteString("first ")
}

func main() {
	var w bytes.Buffer
	later(&w, time.Unix(1e9, 0).UTC())
	at := time.Unix(1e9, 0).UTC()
	fmt.Printf("%T %T %s %s %s\n", typed(nil, at), typedAlone(at), over(nil, []byte("ab")), fresh([]byte("ab")), own(nil, day{at}))
	none, nothing := empty(nil, at)
	fmt.Println(none == nil, nothing == nil)
	c := &counted{Buffer: &w}
	uncounted(c, []byte("ab"))
	fmt.Println(c.n, w.String())
	w.Reset()
	encode(&w, []byte("abc"))
	t := time.Unix(1e9, 0).UTC()
	fmt.Printf("%s %s %s %s %s %s\n", stamp([]byte("at "), t), w.String(), address(netip.MustParseAddr("10.0.0.1")), number(nil, big.NewInt(12)), shown(3, "x"), kept(t))
}
