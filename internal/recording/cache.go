package recording

import (
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
)

// maxKept is how many profiles a partCache holds.
const maxKept = 8

// A partCache remembers the profiles that were read last: a page asks many questions about the same part. Whoever asks
// first for one reads it. The others who want that one wait for it, and those who want another one do not.
type partCache struct {
	mu   sync.Mutex
	kept []*keptPart // the last used first
}

// A keptPart is a profile that was read, or is being read.
type keptPart struct {
	key  string
	read func() (*profile.Profile, error)
}

func (c *partCache) get(key string, read func() (*profile.Profile, error)) (*profile.Profile, error) {
	k := c.part(key, read)
	done := false
	defer func() {
		if !done {
			c.remove(k) // what could not be read may be there the next time
		}
	}()
	p, err := k.read()
	done = err == nil
	return p, err
}

// part returns the entry of a key, which is then the last used one.
func (c *partCache) part(key string, read func() (*profile.Profile, error)) *keptPart {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &keptPart{key, sync.OnceValues(read)}
	if i := slices.IndexFunc(c.kept, func(k *keptPart) bool { return k.key == key }); i >= 0 {
		k = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else if len(c.kept) == maxKept {
		c.kept = c.kept[:maxKept-1]
	}
	c.kept = slices.Insert(c.kept, 0, k)
	return k
}

func (c *partCache) remove(k *keptPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(other *keptPart) bool { return other == k })
}
