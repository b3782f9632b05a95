package main

import (
	"fmt"
	"strconv"
	"sync"
)

type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (t *tally) Add(word int) {
	t.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	defer t.mu.Unlock()
	t.count["word "+strconv.Itoa(word)]++
}

type setting struct {
	mu    sync.RWMutex
	value int
}

func (s *setting) Get() int {
	s.mu.RLock() // cost: [delay] sync.(*RWMutex).RLock; want
	defer s.mu.RUnlock()
	return s.value
}

func (s *setting) Set(v int) {
	s.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock
	s.value = v
	s.mu.Unlock()
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Inc() {
	c.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	c.n++
	c.mu.Unlock()
}

// A gauge has its word used in all ways that an atomic has a method for.
type gauge struct {
	name string
	mu   sync.RWMutex // guards n
	n    int
}

func (g *gauge) add(n int) {
	g.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock; want
	g.n += n
	g.mu.Unlock()
}

func (g *gauge) set(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n = n
}

func (g *gauge) get() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

func (g *gauge) text() string {
	g.mu.Lock()
	n := g.n
	g.mu.Unlock()
	return g.name + strconv.Itoa(n)
}

type twice struct {
	mu sync.Mutex
	n  int
}

func (t *twice) inc() {
	t.mu.Lock() // cost: [delay] sync.(*Mutex).Lock; want
	t.n++
	t.mu.Unlock()
}

func (t *twice) double() {
	t.mu.Lock()
	t.n = 2 * t.n
	t.mu.Unlock()
}

func main() {
	g := &gauge{name: "g"}
	g.set(3)
	g.add(4)
	var d twice
	d.inc()
	d.double()
	fmt.Println(g.get(), g.text(), d.n)
	t := tally{count: map[string]int{}}
	t.Add(1)
	var s setting
	s.Set(s.Get() + 1)
	var c counter
	c.Inc()
	fmt.Println(t.count, s.value, c.n)
}

// A cache locks in two places of one function.
type cache struct {
	mu    sync.RWMutex
	known map[string][]byte
}

func (c *cache) get(name string) []byte {
	c.mu.RLock() // cost: [delay] sync.(*RWMutex).RLock; want
	b, ok := c.known[name]
	c.mu.RUnlock()
	if !ok {
		b = append(append(b, name...), name...)
		c.mu.Lock() // cost: [delay] sync.(*RWMutex).Lock
		if len(c.known) > 1000 {
			clear(c.known)
		}
		c.known[name] = b
		c.mu.Unlock()
	}
	return b
}
