package main

import "fmt"

type stop struct{ Number int }

// A test calls it with a map.
func visitStop(s *stop, seen map[*stop]string) {
	seen[s] = "seen" // cost: runtime.mapassign_fast64ptr; want
}

func hard() {
	seen := make(map[*stop]string)
	s := new(stop)
	visitStop(s, seen)
	fmt.Println(seen[s])
}
