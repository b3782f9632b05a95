// Package cache keeps the values that were used last, within a budget.
//
// New makes a Cache. Do returns the value of a key, and computes it if it is not there, once for all callers. Get and Put are for values
// that are computed elsewhere.
package cache

import (
	"container/list"
	"iter"
	"sync"
)

// A Cache keeps values by key. When they cost more than its budget, those that were not used for longest go. It is safe
// for use by several goroutines, and holds no lock while a value is made.
type Cache[K comparable, V any] struct {
	budget int64
	cost   func(V) int64

	mu     sync.Mutex
	byKey  map[K]*list.Element
	order  list.List // of *entry[K, V], the last used first
	spent  int64
	making map[K]*making[V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

// A making is a value that somebody makes; others who want it wait.
type making[V any] struct {
	done  chan struct{} // closed when the others are set
	value V
	err   error
	ended bool // without a panic
}

// New returns a Cache whose values cost no more than budget together. Cost is in whatever the budget counts, such as bytes, and
// must not change; nil has each value cost 1, so that budget is how many there are.
func New[K comparable, V any](budget int64, cost func(V) int64) *Cache[K, V] {
	if cost == nil {
		cost = func(V) int64 { return 1 }
	}
	return &Cache[K, V]{budget: budget, cost: cost, byKey: make(map[K]*list.Element), making: make(map[K]*making[V])}
}

// Get returns the value of a key, which is then the last used one.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key)
}

func (c *Cache[K, V]) get(key K) (value V, ok bool) {
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value in the place of the one that the key had. One that alone costs more than the budget is not kept.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value)
}

func (c *Cache[K, V]) put(key K, value V) {
	c.remove(key)
	cost := c.cost(value)
	if cost > c.budget {
		return
	}
	for c.spent += cost; c.spent > c.budget; {
		c.remove(c.order.Back().Value.(*entry[K, V]).key)
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, cost})
}

func (c *Cache[K, V]) remove(key K) {
	if e, ok := c.byKey[key]; ok {
		c.spent -= c.order.Remove(e).(*entry[K, V]).cost
		delete(c.byKey, key)
	}
}

// Remove forgets the value of a key when meant says that it is the one.
func (c *Cache[K, V]) Remove(key K, meant func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok && meant(e.Value.(*entry[K, V]).value) {
		c.remove(key)
	}
}

// All yields the values that are there as of the call, the last used first.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*entry[K, V], 0, c.order.Len())
	for e := c.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*entry[K, V]))
	}
	return func(yield func(K, V) bool) {
		for _, e := range all {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// Do returns the value of a key. When it is not there, the first who asks makes it; others who ask for the same key meanwhile wait for
// that, and those who ask for another key do not. A value that could not be made is not kept: all who waited get the error,
// and who asks later tries again.
func (c *Cache[K, V]) Do(key K, value func() (V, error)) (V, error) {
	for {
		c.mu.Lock()
		if v, ok := c.get(key); ok {
			c.mu.Unlock()
			return v, nil
		}
		m := c.making[key]
		if m == nil {
			m = &making[V]{done: make(chan struct{})}
			c.making[key] = m
			c.mu.Unlock()
			return c.make(key, m, value)
		}
		c.mu.Unlock()
		if <-m.done; m.ended {
			return m.value, m.err
		}
		// It panicked, which is not for those who waited.
	}
}

func (c *Cache[K, V]) make(key K, m *making[V], value func() (V, error)) (V, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.making, key)
		if m.ended && m.err == nil {
			c.put(key, m.value)
		}
		close(m.done)
	}()
	m.value, m.err = value()
	m.ended = true
	return m.value, m.err
}
