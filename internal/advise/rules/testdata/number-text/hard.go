package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
)

// A shout has a type that fmt asks for its text.
type shout []byte

func (s shout) String() string { return string([]byte(s)) + "!" }

func shouted(s shout, n int) {
	fmt.Println(append(s, strconv.Itoa(n)...)) // cost: strconv.Itoa; want
	s = append(s, strconv.Itoa(n)...)          // cost: strconv.Itoa; want
	fmt.Println(s)
}

// What is encoded is in the array that the text goes to.
func inPlace(b []byte) []byte {
	b = append(b[:0], hex.EncodeToString(b)...) // cost: encoding/hex.EncodeToString; want
	return b
}

func again(w *bytes.Buffer) {
	b := w.Bytes()
	w.Reset()
	w.WriteString(hex.EncodeToString(b)) // cost: encoding/hex.EncodeToString; want
}

func summed(b []byte, s string) []byte {
	sum := sha256.Sum256([]byte(s))
	b = append(b, hex.EncodeToString(sum[:4])...) // cost: encoding/hex.EncodeToString; want
	h := sha256.New()
	return append(b, hex.EncodeToString(h.Sum(nil))...) // cost: encoding/hex.EncodeToString; want
}

const precision = 2

// precise has another precision.
func precise(value string, precision int) string {
	b := append([]byte(nil), '<')
	b = append(b, value...)
	return string(strconv.AppendInt(b, int64(precision), 10))
}

func lessPrecise(f float64) string {
	return precise(strconv.FormatFloat(f, 'f', precision, 64), 5) // cost: strconv.FormatFloat; want
}

// A marked writer has a Write of its own.
type marked struct{ *bufio.Writer }

func (w marked) Write(p []byte) (int, error) { return w.Writer.Write(append([]byte("!"), p...)) }

func mark(w marked, n int) {
	w.WriteString(strconv.Itoa(n)) // cost: strconv.Itoa; want
}

// The free part would be written to before.
func atEnd(w *bytes.Buffer, n int) {
	defer w.WriteString(strconv.Itoa(n)) // cost: strconv.Itoa; want
	w.WriteString("end ")
}

func hard() {
	shouted(shout("a"), 5)
	fmt.Println(string(renamed(nil, 5)))
	fmt.Println(string(inPlace([]byte("abcd"))), lessPrecise(1.2345), string(summed(nil, "x")))
	var w bytes.Buffer
	w.WriteString("ab")
	again(&w)
	atEnd(&w, 3)
	fmt.Println(w.Len())
	out := bufio.NewWriter(os.Stdout)
	mark(marked{out}, 7)
	out.Flush()
}
