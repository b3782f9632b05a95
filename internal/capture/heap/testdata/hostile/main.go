// Command hostile makes a heap that is hard to read: hostile SHAPE N. It says how much it is, and waits for the end of its input.
package main

import (
	"container/list"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
)

type node struct {
	next *node
	item *item
}

type item struct{ name []byte }

func (i *item) expire() { i.name = nil }

type tree struct {
	left, right *tree
	item        *item
}

type many struct{ to []*many }

type stepper interface{ step() stepper }

type link struct{ inner any }

func (l *link) step() stepper { s, _ := l.inner.(stepper); return s }

var (
	head   *node
	index  map[int]*item
	doubly = list.New()
	root   *tree
	shared = &item{name: make([]byte, 64)}
	all    []*node
	dense  []*many
	chain  stepper
	call   func() int
	stop   = make(chan bool)
)

func newItem() *item { return &item{make([]byte, 8)} }

var shapes = map[string]func(n int){
	// A list.
	"list": func(n int) {
		for range n {
			head = &node{head, nil}
		}
	},
	// A list whose nodes have items, and an index of them.
	"indexed": func(n int) {
		index = make(map[int]*item, n)
		for i := range n {
			index[i] = newItem()
			head = &node{head, index[i]}
		}
	},
	// A list that leads to the end of an index.
	"doubly": func(n int) {
		for range n {
			doubly.PushBack(newItem())
		}
	},
	"tree": func(n int) {
		var grow func(n int) *tree
		grow = func(n int) *tree {
			if n == 0 {
				return nil
			}
			return &tree{grow((n - 1) / 2), grow(n - 1 - (n-1)/2), nil}
		}
		root = grow(n)
	},
	"map": func(n int) {
		index = map[int]*item{}
		for i := range n {
			index[i] = newItem()
		}
	},
	// Many that refer to one.
	"shared": func(n int) {
		for range n {
			all = append(all, &node{nil, shared})
		}
	},
	// Each of 10,000 refers to n others.
	"dense": func(n int) {
		dense = make([]*many, 10_000)
		for i := range dense {
			dense[i] = new(many)
		}
		x := uint32(1)
		for _, m := range dense {
			m.to = make([]*many, n)
			for k := range m.to {
				x = x*1664525 + 1013904223
				m.to[k] = dense[(x>>8)%uint32(len(dense))]
			}
		}
	},
	"goroutines": func(n int) {
		for range n {
			go hold(newItem())
		}
		runtime.Gosched()
	},
	// Timers that will call a function, and a goroutine that waits for another one: all are in the same heap of the runtime.
	"timers": func(n int) {
		for range n {
			time.AfterFunc(time.Hour, newItem().expire)
		}
		go hold(newItem())
		go func() { <-time.After(time.Hour) }()
		time.Sleep(10 * time.Millisecond)
	},
	// A chain through interfaces.
	"interfaces": func(n int) {
		for range n {
			chain = &link{chain}
		}
	},
	// A chain through closures.
	"closures": func(n int) {
		call = func() int { return 0 }
		for range n {
			f, i := call, newItem()
			call = func() int { return f() + len(i.name) }
		}
	},
}

//go:noinline
func hold(i *item) {
	<-stop
	runtime.KeepAlive(i)
}

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	shapes[os.Args[1]](n)
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("ready", m.HeapAlloc)
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(shared)
}
