package main

import "fmt"

func appendUnique(list []int, x int) []int {
	for _, y := range list { // cost: [cpu*50]; want
		if x == y {
			return list
		}
	}
	return append(list, x)
}

func main() { fmt.Println(appendUnique(appendUnique([]int{1}, 1), 2)) }

// It is not here that the time goes.
func contains(list []int, x int) bool {
	for _, y := range list { // cost: [cpu]
		if x == y {
			return true
		}
	}
	return false
}
