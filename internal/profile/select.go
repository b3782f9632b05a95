package profile

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// A SampleSet is some samples of a profile, by number.
type SampleSet []uint64

// NewSampleSet returns an empty set for a profile of n samples.
func NewSampleSet(n int) SampleSet { return make(SampleSet, (n+63)/64) }

// Add adds a sample. Several goroutines may add samples at a time whose numbers are in different blocks of 64.
func (s SampleSet) Add(i uint32) { s[i/64] |= 1 << (i % 64) }

// Has reports whether a sample is in the set.
func (s SampleSet) Has(i uint32) bool { return s.Bit(i) != 0 }

// Bit is 1 if a sample is in the set, else 0.
func (s SampleSet) Bit(i uint32) uint32 { return uint32(s[i/64] >> (i % 64) & 1) }

// Without takes the samples of another set out.
func (s SampleSet) Without(other SampleSet) {
	for i := range s {
		s[i] &^= other[i]
	}
}

// In reports whether all samples are in another set.
func (s SampleSet) In(other SampleSet) bool {
	for i, w := range s {
		if w&^other[i] != 0 {
			return false
		}
	}
	return true
}

// Len returns how many samples there are.
func (s SampleSet) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// deposit returns the samples of s whose place among them is in of.
func (s SampleSet) deposit(of SampleSet) SampleSet {
	out := make(SampleSet, len(s))
	at := uint32(0)
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			out[i] |= uint64(of.Bit(at)) << bits.TrailingZeros64(w)
			at++
		}
	}
	return out
}

// extract returns the places that the samples of part have among those of s.
func (s SampleSet) extract(part SampleSet) SampleSet {
	out := NewSampleSet(s.Len())
	at := uint32(0)
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			out[at/64] |= part[i] >> bits.TrailingZeros64(w) & 1 << (at % 64)
			at++
		}
	}
	return out
}

// A choice says of which profile the samples of another one were selected. Profiles are known by their columns of values,
// which nobody changes.
type choice struct {
	of, own *[]int64 // the columns of both
	samples SampleSet
}

func columns(values [][]int64) *[]int64 {
	if len(values) == 0 {
		return nil
	}
	return &values[0]
}

// chosen returns what was selected from what, or nil when p was not made by selecting samples.
func (p *Profile) chosen() *choice {
	if c := p.choice; c != nil && c.own == columns(p.values) {
		return c
	}
	return nil
}

// Filter returns p with the samples of a set only.
func (p *Profile) Filter(keep SampleSet) *Profile {
	n := keep.Len()
	if n == len(p.stack) {
		return p
	}
	q := *p
	q.stack = make([]uint32, n)
	if p.labels != nil {
		q.labels = make([]uint32, n)
	}
	q.values = make([][]int64, len(p.values))
	for k := range q.values {
		q.values[k] = make([]int64, n)
	}
	const size = 1 << 10 // words in a part
	starts := make([]int, (len(keep)+size-1)/size)
	n = 0
	for i := range starts {
		starts[i] = n
		n += keep[i*size : min((i+1)*size, len(keep))].Len()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(starts)) {
		wg.Go(func() {
			var at []int
			for i := int(next.Add(1)) - 1; i < len(starts); i = int(next.Add(1)) - 1 {
				at = at[:0]
				for j, w := range keep[i*size : min((i+1)*size, len(keep))] {
					for ; w != 0; w &= w - 1 {
						at = append(at, 64*(i*size+j)+bits.TrailingZeros64(w))
					}
				}
				pick(q.stack[starts[i]:], p.stack, at)
				if p.labels != nil {
					pick(q.labels[starts[i]:], p.labels, at)
				}
				for k, col := range p.values {
					pick(q.values[k][starts[i]:], col, at)
				}
			}
		})
	}
	wg.Wait()
	q.choice = &choice{of: columns(p.values), own: columns(q.values), samples: keep}
	if c := p.chosen(); c != nil {
		q.choice.of, q.choice.samples = c.of, c.samples.deposit(keep)
	}
	return &q
}

func pick[T any](out, xs []T, at []int) {
	out = out[:len(at)]
	for i, j := range at {
		out[i] = xs[j]
	}
}

// SelectedFrom returns which samples of q the samples of p are, when they are all that Filter left of q or of a profile that
// q was selected from; else nil.
func (p *Profile) SelectedFrom(q *Profile) SampleSet {
	same := p.stacks == q.stacks && len(p.values) == len(q.values) && len(p.stack) <= len(q.stack) &&
		len(p.Locations) > 0 && len(p.Locations) == len(q.Locations) && &p.Locations[0] == &q.Locations[0] &&
		len(p.Functions) == len(q.Functions) && (len(p.Functions) == 0 || &p.Functions[0] == &q.Functions[0])
	if !same {
		return nil
	}
	if columns(p.values) == columns(q.values) {
		all := NewSampleSet(len(q.stack))
		for i := range q.stack {
			all.Add(uint32(i))
		}
		return all
	}
	some, of := p.chosen(), q.chosen()
	switch {
	case some == nil:
		return nil
	case some.of == columns(q.values):
		return some.samples
	case of == nil || some.of != of.of || !some.samples.In(of.samples):
		return nil
	}
	return of.samples.extract(some.samples)
}
