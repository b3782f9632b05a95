package cost

import (
	"slices"

	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// A LineKey is a line as a profile names it.
type LineKey struct {
	File string
	Line int
}

// A Line is what a line of source costs, and what it is below it that does.
type Line struct {
	Key     LineKey
	Func    string // as the profile names it
	Start   int    // line where the function begins, or 0
	Cum     Cost
	Made    [2]int64 // objects and bytes that no line of the module below it makes
	Started Cost     // on stacks of main, or of what runs before it
	Chains  []*Chain
	byHash  map[hash]*Chain // of what is below, while it is being collected
}

// A Chain is what lies between a line and the leaf of stacks, and what the stacks cost.
type Chain struct {
	Below []string // functions, that which the line calls first; none when the line itself is the leaf
	Traits
	Cost Cost
	ids  []int32 // the same as below
	next *Chain  // another with the same hash
}

// Traits tell samples of one stack apart: no chain is of two kinds.
type Traits struct {
	labels string
	OnCPU  bool  // of CPU time: only such samples have functions of the runtime
	Size   int64 // of the heap: of each object, as a power of two that is no less; 0 when it isn't known
}

// First returns the function that the line calls.
func (c *Chain) First() string {
	if len(c.Below) == 0 {
		return ""
	}
	return c.Below[0]
}

// Has reports whether a function is anywhere in the chain.
func (c *Chain) Has(fns ...string) bool {
	return slices.ContainsFunc(c.Below, func(b string) bool { return slices.Contains(fns, b) })
}

// Direct reports whether nothing but the runtime is below the line: it allocates, copies or locks by itself.
func (c *Chain) Direct() bool {
	return !slices.ContainsFunc(c.Below, func(b string) bool { return !symbol.IsRuntime(b) })
}

// Sum adds up the chains that match.
func (l *Line) Sum(match func(*Chain) bool) (out Cost) {
	if l == nil {
		return out
	}
	for _, c := range l.Chains {
		if match(c) {
			out.Add(&c.Cost)
		}
	}
	return out
}

// known returns the chain of what is below, or nil when there is none yet.
func (l *Line) known(b under, t Traits) *Chain {
	ch := l.byHash[b.hash]
	for ch != nil && (ch.Traits != t || !b.is(ch.ids)) {
		ch = ch.next
	}
	return ch
}

func (l *Line) add(b under, t Traits) *Chain {
	if l.byHash == nil {
		l.byHash = make(map[hash]*Chain)
	}
	ch := &Chain{Traits: t, ids: make([]int32, b.len()), next: l.byHash[b.hash]}
	for i := range ch.ids {
		ch.ids[i] = b.fn(i)
	}
	l.byHash[b.hash] = ch
	l.Chains = append(l.Chains, ch)
	return ch
}

// StartsOnly reports whether all that a line costs is on stacks of main or of what runs before it: tests and benchmarks may call
// functions that the program itself calls once.
func (l *Line) StartsOnly() bool {
	for _, m := range []Metric{CPU, BytesMade, ObjectsMade} {
		if l.Started[m] < l.Cum[m]-l.Cum[m]/100 {
			return false
		}
	}
	return true
}
