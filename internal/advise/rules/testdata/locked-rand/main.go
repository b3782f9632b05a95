package main

import (
	"fmt"
	"math/rand"
)

func roll() int {
	return rand.Intn(6) // cost: math/rand.Intn math/rand.(*Rand).Int63 math/rand.(*lockedSource).Int63; want
}

func main() { fmt.Println(roll() < 6) }
