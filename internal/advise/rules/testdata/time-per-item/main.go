package main

import (
	"fmt"
	"time"
)

func wait(c chan int) (n int) {
	for {
		select {
		case x, ok := <-c:
			if !ok {
				return n
			}
			n += x
		case <-time.After(time.Minute): // cost: time.After time.NewTimer; want
			return n
		}
	}
}

func once() time.Time {
	return time.Now() // cost: time.Now
}

func main() {
	c := make(chan int, 1)
	c <- 1
	close(c)
	fmt.Println(wait(c), once().IsZero())
}
