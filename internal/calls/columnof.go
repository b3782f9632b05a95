package calls

import (
	"encoding/binary"
	"runtime"

	"github.com/hone-perf/hone/internal/profile"
)

// CostsOf is like Costs, but only for some frames, such as the lines of one function; all other frames cost nothing. It skips stacks without
// such a frame while they are still packed, or all that are not in through, which may be nil, if that is known already.
func (b *Builder) CostsOf(some []bool, through profile.SampleSet) {
	b.Flat, b.Cum = b.columnOf(b.Profile.Values(b.Type), some, through)
	if b.Mean {
		b.divs.flat, b.divs.cum = b.columnOf(b.Profile.Values(0), some, through)
	}
}

func (b *Builder) columnOf(values []int64, some []bool, through profile.SampleSet) (flat []int64, sums []Tally) {
	x := b.narrow(some)
	x.through = through
	if len(x.frames) > profile.MaxSpread {
		return b.Column(values)
	}
	cores := max(1, min(runtime.GOMAXPROCS(0), len(values)/manySamples))
	parts := make([]*columnPart, cores)
	inRanges(len(values), cores, func(i, from, to int) { parts[i] = x.part(values, from, to) })
	flat, sums = make([]int64, len(some)), make([]Tally, len(some))
	for _, p := range parts {
		for k, f := range x.frames {
			flat[f] += p.flat[k]
			sums[f].Sum += p.sums[k].Sum
			sums[f].Seen = max(sums[f].Seen, p.sums[k].Seen)
		}
		for l, ok := range x.has {
			if !ok || !p.spread.Met(uint32(l)) {
				continue
			}
			for j, f := range b.Table.Of(uint32(l)) {
				if x.number[f] > 0 {
					inlined := b.Table.Inlines(j)
					sums[f].Inlined = sums[f].Inlined || inlined
					sums[f].Called = sums[f].Called || !inlined
				}
			}
		}
	}
	return flat, sums
}

// A narrowed table has only some frames, which have numbers of their own.
type narrowed struct {
	*Builder
	frames []int32 // by number
	number []int32 // 1 + number, by frame; 0 for the others
	lists  locationLists
	has    []bool // by location, whether it has some
	set    *profile.LocationSet

	through profile.SampleSet // that have one of these locations; nil where it is not known
}

func (b *Builder) narrow(some []bool) *narrowed {
	x := &narrowed{Builder: b, number: make([]int32, len(some)), has: make([]bool, len(b.Table.only))}
	for f, ok := range some {
		if ok {
			x.frames = append(x.frames, int32(f))
			x.number[f] = int32(len(x.frames))
		}
	}
	x.lists.start = make([]uint32, 1, len(x.has)+1)
	for l := range x.has {
		for _, f := range b.Table.Of(uint32(l)) {
			if n := x.number[f]; n > 0 {
				x.has[l] = true
				x.lists.add(n - 1)
			}
		}
		x.lists.end()
	}
	x.set = b.Profile.LocationSet(x.has)
	return x
}

// part adds up some samples, by number.
func (x *narrowed) part(values []int64, from, to int) *columnPart {
	n := len(x.frames)
	flat, sums := make([]int64, n), make([]Tally, n+1) // with one for what stacks are filled up with
	spread := x.Profile.NewSpread(n, x.lists.of)
	for i := from; i < to; i++ {
		v := values[i]
		if v == 0 || !x.hasAny(i) {
			continue
		}
		own, root := spread.Stack(i)
		now := uint32(i) + 1
		addRoot(sums, root, v, now)
		addOwn(sums, own, v, now)
		var innermost uint16
		switch {
		case len(own) > 0:
			innermost = binary.LittleEndian.Uint16(own)
		case len(root) > 0:
			innermost = root[0]
		default:
			continue
		}
		if x.leaf(i) == x.frames[innermost] {
			flat[innermost] += v
		}
	}
	return &columnPart{flat, sums, spread}
}

func (x *narrowed) hasAny(i int) bool {
	if x.through != nil {
		return x.through.Has(uint32(i))
	}
	return x.Profile.HasAny(i, x.set)
}

// leaf returns the innermost frame on the stack of a sample, or -1 if there is none.
func (x *narrowed) leaf(i int) int32 {
	stack := x.Profile.StackAt(i)
	for at := range stack.Len() {
		if frames := x.Table.Of(stack.At(at)); len(frames) > 0 {
			return frames[len(frames)-1]
		}
	}
	return -1
}

// Through returns the sum of the samples whose stacks have one of the locations for which in is true.
func (m Measure) Through(in []bool) int64 {
	values := m.Profile.Values(m.Type)
	set := m.Profile.LocationSet(in)
	sums := make([]int64, max(1, min(runtime.GOMAXPROCS(0), len(values)/manySamples)))
	inRanges(len(values), len(sums), func(part, from, to int) {
		sum := int64(0)
		for i := from; i < to; i++ {
			if v := values[i]; v != 0 && m.Profile.HasAny(i, set) {
				sum += v
			}
		}
		sums[part] = sum
	})
	all := int64(0)
	for _, s := range sums {
		all += s
	}
	return all
}
