package main

import "fmt"

// A test sets the bytes.
type message struct{ wholeOfIt []byte }

func (m *message) head() string {
	return string(m.wholeOfIt[:1]) // cost: runtime.slicebytetostring; want
}

func (m *message) tail() string {
	return string(m.wholeOfIt[1:]) // cost: runtime.slicebytetostring
}

func hard() {
	m := &message{wholeOfIt: []byte("abc")}
	fmt.Println(m.head(), m.tail())
}
