package main

import (
	"bufio"
	"fmt"
	"os"
)

func lines(f *os.File, list []string) {
	for _, s := range list {
		f.WriteString(s) // cost: os.(*File).WriteString os.(*File).Write internal/poll.(*FD).Write; want
	}
}

func good(w *bufio.Writer, list []string) {
	for _, s := range list {
		w.WriteString(s) // cost: bufio.(*Writer).WriteString bufio.(*Writer).Flush os.(*File).Write internal/poll.(*FD).Write
	}
}

func main() {
	lines(os.Stdout, []string{"a\n"})
	w := bufio.NewWriter(os.Stdout)
	good(w, []string{"b\n"})
	w.Flush()
	fmt.Println()
}
