package main

import (
	"fmt"
	"sync"
)

func run(n int) (sum int) {
	jobs := make(chan *int, n)
	for i := range n { // want
		x := i // cost: runtime.newobject
		jobs <- &x
	}
	close(jobs)
	var wg sync.WaitGroup
	wg.Go(func() {
		for x := range jobs {
			sum += *x
		}
	})
	wg.Wait()
	return sum
}

func main() { fmt.Println(run(4)) }
