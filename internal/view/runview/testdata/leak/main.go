// Command leak starts goroutines that nobody can wake, and some that somebody can, and writes the profile of the leaked ones.
package main

import (
	"log"
	"os"
	"runtime/pprof"
	"time"
)

// lookup asks two replicas and returns the first answer.
func lookup(question string) string {
	answers := make(chan string)
	for _, replica := range []string{"left", "right"} {
		go func() { answers <- replica + " says " + question }()
	}
	return <-answers
}

var jobs = make(chan int)

func main() {
	for range 3 {
		go func() { <-jobs }() // can be woken
	}
	for range 5 {
		lookup("yes")
	}
	go func() { <-make(chan int) }()
	time.Sleep(50 * time.Millisecond)
	p := pprof.Lookup("goroutineleak")
	if p == nil {
		log.Fatal("no such profile")
	}
	if err := p.WriteTo(os.Stdout, 0); err != nil {
		log.Fatal(err)
	}
	jobs <- 1
}
