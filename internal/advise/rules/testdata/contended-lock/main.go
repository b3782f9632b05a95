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

func main() {
	t := tally{count: map[string]int{}}
	t.Add(1)
	var s setting
	s.Set(s.Get() + 1)
	var c counter
	c.Inc()
	fmt.Println(t.count, s.value, c.n)
}
