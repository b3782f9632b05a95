package prove

import (
	"math/bits"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Some calls take a thousand times as long as others, such as those that build a graph of a given size, and say no more. A search learns
// which ones they are, by what they have in common, and makes fewer of them.

// A trait is what programs may have in common that are slow: a call of a function, or one with an argument of some size.
type trait struct {
	fn   int
	arg  int // -1 is any
	size int // of the argument: see bitsOf
}

// A cost is the least that programs with a trait took, and how many there were.
type cost struct {
	least time.Duration
	n     int
}

// Costs are those of traits that were seen.
type costs map[trait]cost

const (
	costKnown  = 2                     // so many programs say what a trait costs
	slowCost   = 20 * time.Millisecond // a function that takes so long is not called before or after the one under test
	leastDear  = 2 * time.Millisecond  // what takes less is never too long
	dearTries  = 5                     // how many programs are made for one that is not
	dearFactor = 4                     // how much longer than the quickest call of a function others may take
)

// took notes how long a program took.
func (c costs) took(p *worker.Program, took time.Duration) {
	for t := range traits(p) {
		is := c[t]
		if is.n++; is.n == 1 || took < is.least {
			is.least = took
		}
		c[t] = is
	}
}

// of returns what a trait costs at least, or 0 if that is not known. What is larger costs no less.
func (c costs) of(t trait) (least time.Duration) {
	for ; t.size >= 0; t.size-- {
		if is := c[t]; is.n >= costKnown {
			least = max(least, is.least)
		}
	}
	return least
}

// most returns the largest cost of the arguments of a program.
func (c costs) most(p *worker.Program) (most time.Duration) {
	for t := range traits(p) {
		if t.arg >= 0 {
			most = max(most, c.of(t))
		}
	}
	return most
}

// traits yields what a program has.
func traits(p *worker.Program) func(yield func(trait) bool) {
	return func(yield func(trait) bool) {
		for i := range p.Steps {
			s := &p.Steps[i]
			if !yield(trait{s.Func, -1, 0}) {
				return
			}
			for j := range s.Args {
				if !yield(trait{s.Func, j, bitsOf(&s.Args[j])}) {
					return
				}
			}
		}
	}
}

// bitsOf returns the number of bits of the largest number, text or list in a value.
func bitsOf(v *worker.Value) int {
	size := 0
	switch v.Kind {
	case worker.Int:
		size = bits.Len64(uint64(max(v.Int, 0)))
	case worker.String, worker.Reader, worker.Error:
		size = bits.Len(uint(len(v.Text)))
	case worker.List, worker.Map:
		size = bits.Len(uint(len(v.Elems)))
	}
	for i := range v.Elems {
		size = max(size, bitsOf(&v.Elems[i]))
	}
	return size
}

// tooDear reports whether a program about a target is to be left out: the more it costs, the more often.
func (f *search) tooDear(t *target, p *worker.Program) bool {
	most := f.costs.most(p)
	enough := max(leastDear, f.opt.Time/10_000, dearFactor*f.costs.of(trait{t.id, -1, 0}))
	return most > enough && f.rng.Int64N(int64(most)) >= int64(enough)
}
