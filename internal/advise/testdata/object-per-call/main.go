package main

import "fmt"

type loop struct{ header, parent int }

func newLoop(header int) *loop {
	return &loop{header: header} // cost: [alloc_objects*1000] runtime.newobject; want
}

func main() { fmt.Println(newLoop(1).header) }
