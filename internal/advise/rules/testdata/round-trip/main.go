package main

import "fmt"

func pingPong(n int) int {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v + 1
		}
	}()
	v := 0
	for v < n {
		ping <- v  // cost: [delay] runtime.chansend1; want
		v = <-pong // cost: [delay] runtime.chanrecv1
	}
	close(ping)
	return v
}

func main() { fmt.Println(pingPong(3)) }
