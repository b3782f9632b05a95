package inflate

import (
	"math/bits"
	"sync"
)

const (
	maxLit  = 286
	maxDist = 30
	maxCode = 15 // bits of a code word

	litBits  = 10
	distBits = 9
)

// An entry of a table is what a code word stands for:
//
//	bits 0–5    bits of the code word and of the extra bits after it
//	bits 8–11   bits of the code word
//	bit  6, 7, 12–15  flags
//	bits 16–31  literal, or two of them; base of a length or distance; or where a second table begins
const (
	totalBits  = 63
	codeShift  = 8
	valueShift = 16
	pairShift  = 12

	isLiteral = 1 << 6
	isPair    = 1 << pairShift // two literals
	isSpecial = 1 << 7         // any of the following
	isLink    = 1 << 13        // to a second table, with its bits where bits of the code word would be
	isEnd     = 1 << 14        // of the block
	isBad     = 1 << 15        // no code word
	bad       = isSpecial | isBad
)

type litTable struct {
	first  [1 << litBits]uint32
	second []uint32
}

type distTable struct {
	first  [1 << distBits]uint32
	second []uint32
}

// find returns the entry of the code word that b begins with. It never returns a pair of literals.
func (t *litTable) find(b uint64) uint32 {
	e := t.first[b&(1<<litBits-1)]
	if e&isLink != 0 {
		e = t.second[e>>valueShift+uint32(b>>litBits)&(1<<(e>>codeShift&15)-1)]
	}
	if e&isPair != 0 {
		// The first of two literals, with the length that its code word has alone.
		n := e >> codeShift & 15
		e = e&(0xff<<valueShift) | isLiteral | n<<codeShift | n
	}
	return e
}

// find returns the entry of the code word that b begins with.
func (t *distTable) find(b uint64) uint32 {
	e := t.first[b&(1<<distBits-1)]
	if e&isLink != 0 {
		e = t.second[e>>valueShift+uint32(b>>distBits)&(1<<(e>>codeShift&15)-1)]
	}
	return e
}

// litSymbols and distSymbols are entries without the bits of their code words.
var litSymbols, distSymbols = symbols()

func symbols() (lit [288]uint32, dist [32]uint32) {
	for i := range 256 {
		lit[i] = uint32(i)<<valueShift | isLiteral
	}
	lit[256] = isSpecial | isEnd
	base := uint32(3)
	for i := range uint32(28) {
		extra := uint32(0)
		if i >= 8 {
			extra = i/4 - 1
		}
		lit[257+i] = base<<valueShift | extra
		base += 1 << extra
	}
	lit[285] = 258 << valueShift
	lit[286], lit[287] = bad, bad
	base = 1
	for i := range uint32(30) {
		extra := uint32(0)
		if i >= 4 {
			extra = i/2 - 1
		}
		dist[i] = base<<valueShift | extra
		base += 1 << extra
	}
	dist[30], dist[31] = bad, bad
	return lit, dist
}

// build fills a table for code words of given lengths and reports whether they make a code. It takes the codes that
// compress/flate takes: complete ones, one of a single word of one bit, and the one of no words.
func build(first []uint32, second []uint32, lens []uint8, symbols []uint32) ([]uint32, bool) {
	second = second[:0]
	var count [maxCode + 1]int
	for _, n := range lens {
		count[n]++
	}
	count[0] = 0
	longest := maxCode
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	var next [maxCode + 2]uint32
	code := uint32(0)
	for n := 1; n <= longest; n++ {
		code <<= 1
		next[n] = code
		code += uint32(count[n])
	}
	if longest == 0 || code == 1 && longest == 1 {
		for i := range first {
			first[i] = bad
		}
	} else if code != 1<<longest {
		return second, false
	}
	width := bits.Len(uint(len(first) - 1))
	linkBits := max(0, longest-width)
	if linkBits > 0 {
		// Links first: every code word longer than the table is wide begins with one.
		for i := next[width+1] >> 1; i < 1<<width; i++ {
			at := bits.Reverse32(i) >> (32 - width)
			first[at] = isSpecial | isLink | uint32(len(second))<<valueShift | uint32(linkBits)<<codeShift
			for range 1 << linkBits {
				second = append(second, bad)
			}
		}
	}
	for sym, n := range lens {
		if n == 0 {
			continue
		}
		word := bits.Reverse32(next[n]) >> (32 - n)
		next[n]++
		e := symbols[sym]
		e = e&^totalBits | uint32(n)<<codeShift | (e&totalBits + uint32(n))
		if e&isBad != 0 {
			e = bad
		}
		table, at, step := first, int(word), 1<<n
		if int(n) > width {
			link := first[at&(len(first)-1)]
			table = second[link>>valueShift:][:1<<linkBits]
			at, step = at>>width, 1<<(int(n)-width)
		}
		for ; at < len(table); at += step {
			table[at] = e
		}
	}
	return second, true
}

// pair makes one entry of two literals wherever both their code words fit.
func (t *litTable) pair() {
	// An entry is made of one at a lower place, which must not be a pair yet.
	for i := len(t.first) - 1; i > 0; i-- {
		a := t.first[i]
		if a&isLiteral == 0 {
			continue
		}
		n := a & totalBits
		b := t.first[i>>n]
		if b&isLiteral == 0 || n+b&totalBits > litBits {
			continue
		}
		// Bits of the code word stay those of the first.
		t.first[i] = a&^totalBits | isPair | (n + b&totalBits) | b>>valueShift<<(valueShift+8)
	}
}

// fixedCodes sets up the codes of a block that brings none.
func (r *Reader) fixedCodes() {
	fixed := fixedTables()
	r.lit, r.dist = fixed.lit, fixed.dist
}

// fixedTables are shared; nobody appends to second, as no word is longer than the first table is wide.
var fixedTables = sync.OnceValue(func() *struct {
	lit  litTable
	dist distTable
} {
	var t struct {
		lit  litTable
		dist distTable
	}
	var lens [288]uint8
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	build(t.lit.first[:], nil, lens[:], litSymbols[:])
	t.lit.pair()
	for i := range 32 {
		lens[i] = 5
	}
	build(t.dist.first[:], nil, lens[:32], distSymbols[:])
	return &t
})

// dynamicCodes reads the codes that a block brings.
func (r *Reader) dynamicCodes() error {
	if err := r.need(14); err != nil {
		return err
	}
	nlit := int(r.take(5)) + 257
	ndist := int(r.take(5)) + 1
	nlen := int(r.take(4)) + 4
	if nlit > maxLit || ndist > maxDist {
		return r.corrupt()
	}
	order := [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var lens [19]uint8
	for _, i := range order[:nlen] {
		if err := r.need(3); err != nil {
			return err
		}
		lens[i] = uint8(r.take(3))
	}
	var table [1 << 7]uint32
	var symbols [19]uint32
	for i := range symbols {
		symbols[i] = uint32(i) << valueShift
	}
	if _, ok := build(table[:], nil, lens[:], symbols[:]); !ok {
		return r.corrupt()
	}
	find := func(b uint64) uint32 { return table[b&(1<<7-1)] }
	all := r.lens[:nlit+ndist]
	for i := 0; i < len(all); {
		e, err := r.entry(find)
		if err != nil {
			return err
		}
		sym := e >> valueShift
		if sym < 16 {
			all[i] = uint8(sym)
			i++
			continue
		}
		var fill uint8
		var base, extra uint
		switch sym {
		case 16:
			if i == 0 {
				return r.corrupt()
			}
			fill, base, extra = all[i-1], 3, 2
		case 17:
			base, extra = 3, 3
		case 18:
			base, extra = 11, 7
		}
		if err := r.need(extra); err != nil {
			return err
		}
		n := int(base + r.take(extra))
		if i+n > len(all) {
			return r.corrupt()
		}
		for range n {
			all[i] = fill
			i++
		}
	}
	var ok bool
	if r.lit.second, ok = build(r.lit.first[:], r.lit.second, all[:nlit], litSymbols[:]); !ok {
		return r.corrupt()
	}
	if r.dist.second, ok = build(r.dist.first[:], r.dist.second, all[nlit:], distSymbols[:]); !ok {
		return r.corrupt()
	}
	r.lit.pair()
	return nil
}
