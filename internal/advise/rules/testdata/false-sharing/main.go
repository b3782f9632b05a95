package main

import (
	"fmt"
	"sync/atomic"
)

type counter struct{ n atomic.Int64 }

type padded struct {
	n atomic.Int64
	_ [120]byte
}

func count(list []counter, pads []padded, worker int) {
	list[worker].n.Add(1) // cost: sync/atomic.(*Int64).Add; want
	pads[worker].n.Add(1) // cost: sync/atomic.(*Int64).Add
}

type tagged[T any] struct {
	n   atomic.Int64
	tag T
}

// How large these are is not known here.
func countTagged[T any](list []tagged[T], worker int) {
	list[worker].n.Add(1) // cost: sync/atomic.(*Int64).Add
}

func main() {
	countTagged(make([]tagged[string], 2), 1)
	list, pads := make([]counter, 2), make([]padded, 2)
	count(list, pads, 1)
	fmt.Println(list[1].n.Load(), pads[1].n.Load())
}
