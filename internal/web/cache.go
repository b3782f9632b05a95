package web

import (
	"sync"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

const (
	cacheBytes = 64 << 20
	cacheTrees = 2
	cacheCosts = 32 << 20
)

// A memory caches answers, trees of pictures, and costs of functions. It removes the least recently used ones.
type memory struct {
	answers *cache.Cache[string, []byte]
	trees   *cache.Cache[string, *tree]
	costs   *recording.Memo
	mu      sync.Mutex // held while looking up a tree, but not while making one
}

func newMemory() *memory {
	return &memory{
		answers: cache.New[string](cacheBytes, func(body []byte) int64 { return int64(len(body)) }),
		trees:   cache.New[string, *tree](cacheTrees, nil),
		costs:   recording.NewMemo(cacheCosts),
	}
}

// A tree is made by the first request for it; later ones wait for it.
type tree struct {
	of    string // key without the steps that only select samples
	steps int    // that select the samples
	made  func() (*profileview.Flames, error)
	there atomic.Pointer[profileview.Flames] // set when the tree is complete
}

// made returns the complete trees, the most recently used first.
func (c *memory) made() []*profileview.Flames {
	var out []*profileview.Flames
	for _, t := range c.trees.All() {
		if f := t.there.Load(); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (c *memory) keep(key string, body []byte) {
	if len(body) <= cacheBytes/4 {
		c.answers.Put(key, body)
	}
}

// tree returns the tree for a key, and makes it if necessary. It starts from a tree with more samples, if there is one.
func (c *memory) tree(key, of string, steps int, make func(known ...*profileview.Flames) (*profileview.Flames, error)) (*profileview.Flames, error) {
	t := c.find(key, of, steps, make)
	f, err := t.made()
	t.there.Store(f)
	if err != nil {
		c.trees.Remove(key, func(other *tree) bool { return other == t }) // free its place for other trees
	}
	return f, err
}

// find returns the tree for a key, which may not be complete, or a new one.
func (c *memory) find(key, of string, steps int, make func(known ...*profileview.Flames) (*profileview.Flames, error)) *tree {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.trees.Get(key); ok {
		return t
	}
	t := &tree{of: of, steps: steps}
	var start *tree
	startKey := ""
	for k, other := range c.trees.All() {
		if other.of == of && other.steps < steps && (start == nil || other.steps < start.steps) {
			start, startKey = other, k
		}
	}
	if start == nil {
		t.made = sync.OnceValues(func() (*profileview.Flames, error) { return make() })
	} else {
		c.trees.Get(startKey) // mark it as used, because the next filter will start from it, too
		t.made = sync.OnceValues(func() (*profileview.Flames, error) {
			known, err := start.made()
			if err != nil {
				return make()
			}
			return make(known)
		})
	}
	c.trees.Put(key, t)
	return t
}
