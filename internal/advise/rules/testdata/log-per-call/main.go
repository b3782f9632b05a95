package main

import (
	"fmt"
	"io"
	"log"
)

func handle(l *log.Logger, n int) {
	l.Printf("handled %d", n) // cost: log.(*Logger).Printf log.(*Logger).output fmt.Appendf, log.(*Logger).Printf log.(*Logger).output os.(*File).Write, [delay] log.(*Logger).Printf log.(*Logger).output sync.(*Mutex).Lock; want
}

func main() {
	handle(log.New(io.Discard, "", 0), 1)
	fmt.Println("done")
}

// It writes what it is there to write.
func write(w io.Writer, n int) {
	fmt.Fprintf(w, "handled %d\n", n) // cost: [cpu] fmt.Fprintf
}
