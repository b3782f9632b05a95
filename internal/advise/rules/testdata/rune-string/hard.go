package main

import (
	"bufio"
	"os"
)

// A hidden writer has a WriteRune of its own.
type hidden struct{ *bufio.Writer }

func (w hidden) WriteRune(r rune) (int, error) { return w.Writer.WriteRune('*') }

func hide(w hidden, r rune) {
	w.WriteString(string(r)) // cost: runtime.intstring; want
}

func hard() {
	out := bufio.NewWriter(os.Stdout)
	hide(hidden{out}, 'x')
	out.Flush()
}
