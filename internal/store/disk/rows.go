package disk

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// encodeRows packs the samples of a profile: entries in order, each with its values.
func encodeRows(p *profile.Profile, entries []uint32) (packed []byte, totals []int64) {
	types := len(p.SampleTypes)
	order := make([]uint64, len(entries)) // entries, each with its sample
	for i, at := range entries {
		order[i] = uint64(at)<<32 | uint64(i)
	}
	slices.Sort(order)
	cols := make([][]int64, types)
	for k := range cols {
		cols[k] = p.Values(k)
	}
	totals = make([]int64, types)
	values := make([]int64, types)
	var e encoder
	e.b = make([]byte, 0, len(entries)*(2+2*types))
	last := uint32(0)
	for i := 0; i < len(order); {
		at := uint32(order[i] >> 32)
		clear(values)
		for ; i < len(order) && uint32(order[i]>>32) == at; i++ {
			for k := range values {
				values[k] += cols[k][uint32(order[i])]
			}
		}
		if allZero(values) {
			continue
		}
		e.uint(uint64(at - last))
		last = at
		for k, v := range values {
			totals[k] += v
			e.int(v)
		}
	}
	return slices.Clip(e.b), totals
}

// eachRow calls each for the rows that encodeRows packed. The values are only good until it returns.
func eachRow(packed []byte, types int, each func(entry uint32, values []int64)) error {
	d := decoder{b: packed}
	at := uint32(0)
	values := make([]int64, types)
	for len(d.b) > 0 {
		at += uint32(d.uint())
		for k := range values {
			values[k] = d.int()
		}
		if d.err != nil {
			return d.err
		}
		each(at, values)
	}
	return d.err
}

func allZero(values []int64) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}

// gathered is the rows of many profiles by entry: those of entries[i] are from starts[i] to starts[i+1].
type gathered struct {
	types   int
	entries []uint32
	starts  []int
	which   []uint32  // profile
	values  [][]int64 // by type
}

func gather(taken []*taken, types int) (*gathered, error) {
	var counts []int // by entry
	for _, t := range taken {
		err := eachRow(t.packed, types, func(entry uint32, _ []int64) {
			if int(entry) >= len(counts) {
				counts = append(counts, make([]int, int(entry)+1-len(counts))...)
			}
			counts[entry]++
		})
		if err != nil {
			return nil, err
		}
	}
	g := &gathered{types: types, values: make([][]int64, types)}
	rows := 0
	for entry, n := range counts {
		if n > 0 {
			g.entries = append(g.entries, uint32(entry))
			g.starts = append(g.starts, rows)
		}
		counts[entry], rows = rows, rows+n
	}
	g.starts = append(g.starts, rows)
	g.which = make([]uint32, rows)
	for k := range g.values {
		g.values[k] = make([]int64, rows)
	}
	for i, t := range taken {
		err := eachRow(t.packed, types, func(entry uint32, values []int64) {
			r := counts[entry]
			counts[entry]++
			g.which[r] = uint32(i)
			for k, v := range values {
				g.values[k][r] = v
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// encodeSums packs the sum of each entry over all profiles.
func (g *gathered) encodeSums() []byte {
	var e encoder
	encodeEntries(&e, g.entries)
	for k := range g.types {
		for i := range g.entries {
			sum := int64(0)
			for _, v := range g.values[k][g.starts[i]:g.starts[i+1]] {
				sum += v
			}
			e.int(sum)
		}
	}
	return e.b
}

func encodeEntries(e *encoder, entries []uint32) {
	e.uint(uint64(len(entries)))
	last := uint32(0)
	for _, at := range entries {
		e.uint(uint64(at - last))
		last = at
	}
}

func decodeEntries(d *decoder, entries int) []uint32 {
	out := make([]uint32, d.count())
	at := uint64(0)
	for i := range out {
		at += d.uint()
		if at >= uint64(entries) {
			d.fail()
			return nil
		}
		out[i] = uint32(at)
	}
	return out
}

// addSums adds what encodeSums packed to sums[type][entry], so many times by type, or once, but not those of types that are nil.
func addSums(plain []byte, sums [][]int64, times []int64, entries int) error {
	d := decoder{b: plain}
	at := decodeEntries(&d, entries)
	for k, sum := range sums {
		n := int64(1)
		if times != nil {
			n = times[k]
		}
		if sum == nil || n == 0 {
			d.skip(len(at))
			continue
		}
		for _, entry := range at {
			sum[entry] += n * d.int()
		}
	}
	return d.err
}
