package main

import (
	"fmt"
	"sync"
)

func all(list []int) (sum int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, x := range list {
		wg.Add(1)
		go func() { // cost: runtime.newproc runtime.systemstack; want
			defer wg.Done()
			mu.Lock()
			sum += x
			mu.Unlock()
		}()
	}
	wg.Wait()
	return sum
}

// serve has items that are not there before.
func serve(next func() (int, bool), done *sync.WaitGroup) {
	for {
		x, ok := next()
		if !ok {
			return
		}
		done.Add(1)
		go func() { // cost: runtime.newproc runtime.systemstack; want
			defer done.Done()
			_ = x
		}()
	}
}

func main() { fmt.Println(all([]int{1, 2})) }

// There is one for all items.
func one(list []int, done chan<- int) {
	go func() { // cost: [cpu] runtime.newproc runtime.systemstack
		sum := 0
		for _, x := range list {
			sum += x
		}
		done <- sum
	}()
}
