package cost

import (
	"slices"
	"strings"
)

// Waited is how much of waiting there is in a cost: from the side of those that wait, or of those that let them.
func Waited(c *Cost) int64 { return max(c[Blocked], c[Held]) }

// Below is what calls of functions cost: those that the line calls first.
func Below(names ...string) func(*Chain) bool {
	return func(c *Chain) bool { return slices.Contains(names, c.First()) }
}

// Through is what passes one of some functions anywhere.
func Through(names ...string) func(*Chain) bool {
	return func(c *Chain) bool { return c.Has(names...) }
}

// Allocates is what a line allocates by itself: heap profiles leave out the functions of the runtime that do it, CPU
// profiles have them.
func Allocates(leaves ...string) func(*Chain) bool {
	return func(c *Chain) bool {
		if len(c.Below) == 0 {
			return !c.OnCPU
		}
		return c.Direct() && (len(leaves) == 0 && c.Has("runtime.mallocgc", "runtime.newobject") || slices.ContainsFunc(c.Below, func(b string) bool {
			return slices.ContainsFunc(leaves, func(l string) bool { return strings.HasPrefix(b, "runtime."+l) })
		}))
	}
}

// Either is what one of some matches.
func Either(matches ...func(*Chain) bool) func(*Chain) bool {
	return func(c *Chain) bool {
		return slices.ContainsFunc(matches, func(m func(*Chain) bool) bool { return m(c) })
	}
}

// Growing is what making a slice larger costs.
func Growing() func(*Chain) bool { return Allocates("growslice") }
