package web

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/view"
)

const (
	cacheBytes = 64 << 20
	cacheTrees = 2
)

// A cache keeps answers as they were sent, and trees that pictures were cut from. What was used last stays.
type cache struct {
	mu      sync.Mutex
	answers kept[[]byte]
	trees   kept[*tree]
	bytes   int
}

// A tree is made by the first who asks for it; the others wait.
type tree struct {
	of    string // what trees have in common that differ at most in their samples
	steps int    // that select the samples
	made  func() (*view.Flames, error)
	there atomic.Pointer[view.Flames] // once it is made
}

// made returns the trees that are there, the last used first.
func (c *cache) made() []*view.Flames {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*view.Flames
	for e := c.trees.order.Front(); e != nil; e = e.Next() {
		if f := e.Value.(entry[*tree]).value.there.Load(); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// A kept remembers values by key, in the order in which they were used.
type kept[T any] struct {
	byKey map[string]*list.Element
	order list.List // of entry[T], the last used first
}

type entry[T any] struct {
	key   string
	value T
}

func (k *kept[T]) get(key string) (value T, ok bool) {
	e, ok := k.byKey[key]
	if !ok {
		return value, false
	}
	k.order.MoveToFront(e)
	return e.Value.(entry[T]).value, true
}

// put remembers a value, and returns the one it took the place of.
func (k *kept[T]) put(key string, value T) (old T, replaced bool) {
	if k.byKey == nil {
		k.byKey = make(map[string]*list.Element)
	}
	if e, ok := k.byKey[key]; ok {
		old = e.Value.(entry[T]).value
		e.Value = entry[T]{key, value}
		k.order.MoveToFront(e)
		return old, true
	}
	k.byKey[key] = k.order.PushFront(entry[T]{key, value})
	return old, false
}

// drop forgets the value that was not used for longest.
func (k *kept[T]) drop() T {
	e := k.order.Remove(k.order.Back()).(entry[T])
	delete(k.byKey, e.key)
	return e.value
}

// remove forgets the value of a key if it is the one meant.
func (k *kept[T]) remove(key string, meant func(T) bool) {
	if e, ok := k.byKey[key]; ok && meant(e.Value.(entry[T]).value) {
		k.order.Remove(e)
		delete(k.byKey, key)
	}
}

func (c *cache) answer(key string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.get(key)
}

func (c *cache) keep(key string, body []byte) {
	if len(body) > cacheBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, _ := c.answers.put(key, body)
	for c.bytes += len(body) - len(old); c.bytes > cacheBytes; {
		c.bytes -= len(c.answers.drop())
	}
}

// tree returns the tree for a key, making it when it is not there. One of more samples, should it be there or in the
// making, is what to start from.
func (c *cache) tree(key, of string, steps int, make func(known ...*view.Flames) (*view.Flames, error)) (*view.Flames, error) {
	c.mu.Lock()
	t, ok := c.trees.get(key)
	if !ok {
		var start *list.Element
		for e := c.trees.order.Front(); e != nil; e = e.Next() {
			other := e.Value.(entry[*tree]).value
			if other.of == of && other.steps < steps && (start == nil || other.steps < start.Value.(entry[*tree]).value.steps) {
				start = e
			}
		}
		t = &tree{of: of, steps: steps}
		if start == nil {
			t.made = sync.OnceValues(func() (*view.Flames, error) { return make() })
		} else {
			c.trees.order.MoveToFront(start) // the next filter will want it, too
			more := start.Value.(entry[*tree]).value.made
			t.made = sync.OnceValues(func() (*view.Flames, error) {
				known, err := more()
				if err != nil {
					return make()
				}
				return make(known)
			})
		}
		if c.trees.put(key, t); c.trees.order.Len() > cacheTrees {
			c.trees.drop()
		}
	}
	c.mu.Unlock()
	f, err := t.made()
	t.there.Store(f)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.trees.remove(key, func(other *tree) bool { return other == t }) // its place is for trees
	}
	return f, err
}
