// Package profiletest makes large Go profiles for tests and benchmarks.
//
// A profile comes from a made-up program: packages, functions, call sites and the calls between them, all drawn
// from the seed. Samples are walks through its call graph, so that they share callers near the root and differ
// towards the leaf, as the samples of a real program do. No two samples have the same stack, since Go merges
// equal ones before it writes them.
//
// The bytes are written by hand and one sample at a time: a profile of any size needs only the memory of the
// program's tables, and the encoders of hone and pprof can be tested against bytes that neither of them wrote.
package profiletest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// A Kind is what a profile measures.
type Kind int

const (
	CPU   Kind = iota // samples/count, cpu/nanoseconds
	Heap              // alloc_objects, alloc_space, inuse_objects, inuse_space
	Mutex             // contentions/count, delay/nanoseconds
)

func (k Kind) String() string {
	switch k {
	case CPU:
		return "cpu"
	case Heap:
		return "heap"
	case Mutex:
		return "mutex"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Config says which profile to make. Equal Configs make equal bytes.
type Config struct {
	Kind    Kind
	Samples int
	Seed    uint64 // which program
	Run     uint64 // which run of that program: same functions, many other stacks, other values

	Functions int // 0 means 20000; fewer than 200 are made 200. Small profiles do not reach them all.

	TablesLast  bool // all samples first, then the tables, as google/pprof writes; false means as the Go runtime does
	Labels      bool // text labels endpoint and user and the number request, on most samples
	UnpackedIDs bool // repeated numbers one field each instead of packed
	SparseIDs   bool // ids anywhere in 64 bits instead of 1, 2, 3, …
	Raw         bool // leave out gzip
}

const minFunctions = 200

// Write writes the profile that c describes.
func Write(w io.Writer, c Config) error {
	if c.Samples < 0 || c.Functions < 0 {
		return fmt.Errorf("making a profile: %d samples of %d functions: less than none", c.Samples, c.Functions)
	}
	if c.Kind < CPU || c.Kind > Mutex {
		return fmt.Errorf("making a profile: %v is not a kind", c.Kind)
	}
	c.Functions = max(cmp.Or(c.Functions, 20000), minFunctions)
	if c.Raw {
		return newEncoder(w, c).encode()
	}
	zw := gzip.NewWriter(w)
	if err := newEncoder(zw, c).encode(); err != nil {
		return err
	}
	return zw.Close()
}

// Bytes returns the profile that c describes. It panics if c describes none.
func Bytes(c Config) []byte {
	var buf bytes.Buffer
	if err := Write(&buf, c); err != nil {
		panic(err) // a buffer takes everything, so it is c that is wrong
	}
	return buf.Bytes()
}

// mix spreads x over 64 bits (the finalizer of SplitMix64). Everything random here is mix of a counter or a path,
// so that any sample can be made without those before it.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A random is a stream of random numbers. It holds only integers: floating point may differ between CPUs.
type random uint64

func (r *random) next() uint64 {
	*r++
	return mix(uint64(*r))
}

// below returns a number in [0, n).
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// low returns a number in [0, n) that prefers small ones: half of the results lie in the first eighth.
func (r *random) low(n int) int {
	const one = 1 << 20
	u := r.next() % one
	return int(u * u / one * u / one * uint64(n) / one)
}

// percent reports true p times out of a hundred.
func (r *random) percent(p int) bool { return r.below(100) < p }
