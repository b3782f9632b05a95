package main

import (
	"fmt"
	"sync"
)

func all(list []*sync.Mutex) {
	for _, m := range list {
		m.Lock()
		defer m.Unlock() // cost: runtime.deferproc runtime.newdefer; want
	}
}

func one(m *sync.Mutex) {
	m.Lock()
	defer m.Unlock() // cost: runtime.deferproc
}

func main() {
	all([]*sync.Mutex{{}, {}})
	one(new(sync.Mutex))
	fmt.Println("done")
}
