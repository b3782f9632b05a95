// Command everyday holds memory as servers do, says how much there is with its garbage, and waits for the end of its input.
package main

import (
	"container/list"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// A session expires: it has a timer, whose function refers to it.
type session struct {
	cart  []byte
	timer *time.Timer
}

var sessions = map[int]*session{}

func start(id int) {
	s := &session{cart: make([]byte, 8<<10)}
	s.timer = time.AfterFunc(time.Hour, func() { s.cart[0]++ })
	sessions[id] = s
}

// These have timers, too, and nothing else to do with sessions.
var (
	beat   *time.Ticker
	reload *time.Timer
)

// An upload is in a variable, and also in use by a goroutine.
type upload struct {
	buf  []byte
	next chan int
}

var uploads *upload

func (u *upload) loop() {
	for i := range u.next {
		u.buf[i]++
	}
}

// A cache of generic code keeps its entries in interfaces.
type entry[K comparable, V any] struct {
	key   K
	value V
}

type cache[K comparable, V any] struct {
	list  *list.List
	index map[K]*list.Element
}

//go:noinline
func (c *cache[K, V]) put(k K, v V) { c.index[k] = c.list.PushFront(&entry[K, V]{k, v}) }

var products = &cache[int, *session]{list.New(), map[int]*list.Element{}}

var sink []byte

func main() {
	for i := range 1000 {
		start(i)
	}
	for i := range 100 {
		products.put(i, &session{cart: make([]byte, 100)})
	}
	beat = time.NewTicker(time.Hour)
	reload = time.AfterFunc(time.Hour, func() {})
	go func() {
		for range beat.C {
		}
	}()
	uploads = &upload{buf: make([]byte, 1<<20), next: make(chan int)}
	go uploads.loop()
	time.Sleep(10 * time.Millisecond)
	for range 3 {
		runtime.GC()
	}
	debug.SetGCPercent(-1)
	for i := range 10_000 {
		sink = make([]byte, 64+i%2*4096)
	}
	sink = make([]byte, 8<<20)
	sink = nil
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("ready", m.HeapAlloc, m.HeapObjects)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
