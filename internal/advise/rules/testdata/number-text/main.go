package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

func appended(b []byte, n int, f float64) []byte {
	b = append(b, strconv.Itoa(n)...)                          // cost: strconv.Itoa strconv.FormatInt; want
	b = append(b, strconv.FormatFloat(f, 'f', 3, 64)...)       // cost: strconv.FormatFloat strconv.genericFtoa; want
	return append(b, strconv.Quote(string(rune('a'+n&15)))...) // cost: strconv.Quote; want
}

func written(w *bytes.Buffer, n int64) {
	w.WriteString(strconv.FormatInt(n, 16)) // cost: strconv.FormatInt; want
}

func send(value string) string { return value + "!" }

func passed(f float64) string {
	return send(strconv.FormatFloat(f, 'g', -1, 64)) // cost: strconv.FormatFloat; want
}

// A client sends what is appended.
type client struct{ w *bytes.Buffer }

func (c *client) timing(name string, f float64) {
	c.send(name, strconv.FormatFloat(f*2, 'f', 3, 64), "ms") // cost: strconv.FormatFloat; want
}

func (c *client) count(name string, n int) {
	c.send(name, strconv.Itoa(n), "c") // cost: strconv.Itoa; want
}

// send says something.
func (c *client) send(name, value string, kind string) (n int, err error) {
	b := append([]byte(name), ':')
	b = append(b, value...) // of what was counted
	b = append(b, kind...)
	return c.w.Write(b)
}

func based(n int64, base int) string {
	return bracketed(strconv.FormatInt(n, base)) // cost: strconv.FormatInt; want
}

func bracketed(s string) string { return string(append(append([]byte("<"), s...), '>')) }

func twice(n int) []byte {
	return doubled(strconv.Itoa(n)) // cost: strconv.Itoa; want
}

func doubled(s string) []byte { return append(append([]byte(nil), s...), s...) }

func kept(n int) string {
	return strconv.Itoa(n) // cost: strconv.Itoa
}

func main() {
	hard()
	for _, n := range []int{0, -1, 1 << 40} {
		var w bytes.Buffer
		written(&w, int64(n))
		fmt.Printf("%s %s %s %s\n", appended(nil, n, float64(n)/3), &w, passed(math.Pi), kept(n))
		c := client{&w}
		c.timing("a", float64(n)/3)
		c.count("b", n)
		fmt.Printf("%s %s %s\n", &w, based(int64(n), 16), twice(n))
	}
}
