package main

import (
	"fmt"
	"math/rand"
)

func roll() int {
	return rand.Intn(6) // cost: math/rand.Intn math/rand.(*Rand).Int63 math/rand.(*lockedSource).Int63; want
}

func main() { fmt.Println(roll() < 6) }

// A source of its own has no lock.
func rollOwn(r *rand.Rand) int {
	return r.Intn(6) // cost: [cpu] math/rand.(*Rand).Intn math/rand.(*Rand).Int31n
}
