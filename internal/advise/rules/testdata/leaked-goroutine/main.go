package main

import "fmt"

func ask(name string) string { return name }

func lookup() string {
	answers := make(chan string)
	for _, name := range []string{"left", "left"} {
		go func() {
			answers <- ask(name) // cost: [goroutine] runtime.gopark runtime.chansend runtime.chansend1; want
		}()
	}
	return <-answers
}

func work(jobs chan int) {
	go func() {
		jobs <- 1 // cost: [goroutine] runtime.gopark runtime.chansend runtime.chansend1
	}()
}

func main() {
	jobs := make(chan int, 1)
	work(jobs)
	fmt.Println(lookup(), <-jobs)
}
