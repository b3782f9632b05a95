package main

import "fmt"

type flag bool

func (f flag) String() string { return "flag" }

// What is looked up has a type of its own.
func flagged(list []int16) {
	seen := make(map[int16]flag)
	for _, x := range list {
		seen[x] = true // cost: runtime.mapassign; want
	}
	v := seen[3]
	fmt.Println(v, len(seen))
}

// A test takes members out.
type visitor struct{ wasThere map[uint16]bool }

func (v *visitor) visit(x uint16) {
	v.wasThere[x] = true // cost: runtime.mapassign; want
}

func hard() {
	flagged([]int16{3})
	v := &visitor{wasThere: make(map[uint16]bool)}
	v.visit(3)
	fmt.Println(v.wasThere[3])
}
