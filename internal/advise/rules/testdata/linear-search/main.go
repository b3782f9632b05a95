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
