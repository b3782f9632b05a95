package profiletest

import (
	"math/bits"
	"slices"
)

// Stacks have between minDepth and maxDepth locations, and more only where that many cannot tell them apart.
const (
	minDepth = 20
	maxDepth = 60
)

// Real stacks branch rarely: at most levels all that comes through a call goes on to the same callee. In the Go
// profiles of public projects a sample adds 1 to 7 frames that no other sample has; these shares give about as many.
const (
	trunk      = 66 // per cent of the levels that do not branch…
	trunkDepth = 44 // …down to this depth
)

// rare is the number of samples below which what comes next may be another in each run.
const rare = 16

// A walker makes the stacks of samples.
//
// The samples are dealt out from the root downwards: a function that gets n of them passes each of its callees a
// share of the n, and so on until a call is left with a single sample, which goes on alone, at random. So any
// two stacks differ without anybody remembering them, the shape does not depend on chance, and every stack can be
// computed from its number alone.
type walker struct {
	*program
	kind  Kind
	n     uint64
	seed  uint64
	run   uint64
	stack []uint32
}

// shares are the cumulated probabilities of k choices, in 1<<32ths: shares[skew][k][i] belongs to choice i.
var shares = makeShares()

const maxChoices = 64

func makeShares() (all [3][maxChoices + 1][]uint64) {
	weight := func(skew, i int) uint64 {
		w := uint64(1) << 40
		for range skew + 1 {
			w /= uint64(i + 1)
		}
		return w
	}
	for skew := range all {
		for k := 1; k <= maxChoices; k++ {
			var sum uint64
			for i := range k {
				sum += weight(skew, i)
			}
			cum := make([]uint64, k)
			var to uint64
			for i := range k {
				to += weight(skew, i)
				hi, lo := bits.Mul64(to, 1<<32)
				cum[i], _ = bits.Div64(hi, lo, sum)
			}
			all[skew][k] = cum
		}
	}
	return all
}

// deal passes sample j of n on to one of the choices that cum describes. It returns the choice, and the number of
// the sample among those that get the same.
func deal(cum []uint64, j, n uint64, h uint64) (choice int, in, of uint64) {
	round := h & (1<<32 - 1) // makes the shares right on average, however few samples there are
	var from uint64
	for i, c := range cum {
		to := (n*c + round) >> 32
		if j < to {
			return i, j - from, to - from
		}
		from = to
	}
	panic("profiletest: shares do not add up to one")
}

// pick chooses by h alone.
func pick(cum []uint64, h uint64) int {
	for i, c := range cum {
		if h&(1<<32-1) < c {
			return i
		}
	}
	panic("profiletest: shares do not add up to one")
}

// sample returns the stack of sample i, from the leaf to the root, and a number to draw the rest of the sample
// from. The stack is valid until the next call.
func (w *walker) sample(i uint64) (stack []uint32, h uint64) {
	w.stack = w.stack[:0]
	j, n := w.shuffle(i), w.n
	choice, j, n := deal(shares[0][len(w.roots)], j, n, w.seed)
	fn := w.roots[choice]
	h = mix(w.seed + uint64(choice))
	for n > 1 {
		f := &w.funcs[fn]
		if len(w.stack) >= minDepth-1 {
			// Some end here, each at an instruction of its own.
			ends := min(uint64(f.bodies), n/4)
			if j < ends {
				return w.end(f, int(j), w.chain(h), h), h
			}
			j, n = j-ends, n-ends
		}
		if len(w.stack) < trunkDepth && mix(h+2)%100 < trunk {
			choice = pick(w.cum(f), mix(h+3))
		} else {
			choice, j, n = deal(w.cum(f), j, n, h)
		}
		fn = w.step(f, choice)
		h = mix(h + uint64(choice))
		// Another run of the same program has most of its rare stacks for itself.
		if n < rare && h%100 < 30 {
			h = mix(h ^ w.run)
		}
	}
	depth := minDepth + int(max(h>>8%(maxDepth-minDepth+1), h>>32%(maxDepth-minDepth+1)))
	chain := w.chain(h)
	for len(w.stack)+1+len(chain) < depth {
		f := &w.funcs[fn]
		h = mix(h)
		fn = w.step(f, pick(w.cum(f), h))
	}
	h = mix(h)
	f := &w.funcs[fn]
	return w.end(f, int(h>>32%uint64(f.bodies)), chain, h), h
}

// step goes through a call of f to its callee.
func (w *walker) step(f *function, choice int) uint32 {
	e := w.edges[f.edge+uint32(choice)]
	w.stack = append(w.stack, e.loc)
	return e.callee
}

func (w *walker) cum(f *function) []uint64 { return shares[f.skew][f.edges] }

// chain picks what the last ordinary function of a stack calls.
func (w *walker) chain(h uint64) []uint32 {
	chains := w.ends[w.kind]
	if w.kind == Heap || w.kind == CPU && h>>16%100 >= 45 {
		return nil
	}
	return chains[pick(shares[0][len(chains)], mix(h+1))]
}

// end ends the stack at an instruction of f or in the chain of calls from there.
func (w *walker) end(f *function, body int, chain []uint32, h uint64) []uint32 {
	w.stack = append(w.stack, f.loc+uint32(f.calls+body))
	for i, fn := range chain {
		h = mix(h)
		f := &w.funcs[fn]
		if i < len(chain)-1 {
			w.stack = append(w.stack, f.loc+uint32(h%uint64(f.calls)))
		} else {
			w.stack = append(w.stack, f.loc+uint32(f.calls)+uint32(h%uint64(f.bodies)))
		}
	}
	slices.Reverse(w.stack)
	return w.stack
}

// shuffle permutes the numbers below n, so that neighboring samples have little in common.
func (w *walker) shuffle(i uint64) uint64 {
	k := max(bits.Len64(w.n-1), 2)
	mask := uint64(1)<<k - 1
	for {
		for round := range uint64(3) {
			i = (i*0x9e3779b97f4a7c15 + mix(w.seed^w.run<<8^round)) & mask
			i ^= i >> (k / 2)
		}
		if i < w.n {
			return i
		}
	}
}
