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

func main() {
	list, pads := make([]counter, 2), make([]padded, 2)
	count(list, pads, 1)
	fmt.Println(list[1].n.Load(), pads[1].n.Load())
}
