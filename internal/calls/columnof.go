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
	number := make([]int32, len(some))
	var frames []int32 // by number
	for f, ok := range some {
		if ok {
			frames = append(frames, int32(f))
			number[f] = int32(len(frames))
		}
	}
	x := b.narrow(number, nil, len(frames))
	x.through = through
	narrowFlat, narrowSums := x.column(values)
	flat, sums = make([]int64, len(some)), make([]Tally, len(some))
	for k, f := range frames {
		flat[f], sums[f] = narrowFlat[k], narrowSums[k]
	}
	return flat, sums
}

// GroupCosts adds up a column of values by groups of frames. A sample counts once for each group, however many frames of it are on the stack.
// group has 1 + the number of the group of each frame, or 0 for those of none, and whole the number of a larger group that a group is part
// of; whole may be nil. All numbers are below n. What larger groups cost by themselves is not added up.
func (b *Builder) GroupCosts(values []int64, group, whole []int32, n int, through profile.SampleSet) (flat, cum []int64) {
	x := b.narrow(group, whole, n)
	x.through = through
	flat, sums := x.column(values)
	cum = make([]int64, n)
	for k := range sums {
		cum[k] = sums[k].Sum
	}
	return flat, cum
}

// A narrowed table has only some frames, with numbers of their own. Several frames may have the same number.
type narrowed struct {
	*Builder
	n      int     // all numbers are smaller
	number []int32 // 1 + number, by frame; 0 for the others
	lists  locationLists
	has    []bool // by location, whether it has some
	set    *profile.LocationSet

	through profile.SampleSet // that have one of these locations; nil where it is not known
}

// narrow returns the table of frames with these numbers; see GroupCosts.
func (b *Builder) narrow(number, whole []int32, n int) *narrowed {
	x := &narrowed{Builder: b, n: n, number: number, has: make([]bool, len(b.Table.only))}
	x.lists.start = make([]uint32, 1, len(x.has)+1)
	for l := range x.has {
		for _, f := range b.Table.Of(uint32(l)) {
			if k := number[f] - 1; k >= 0 {
				x.has[l] = true
				if whole != nil {
					x.lists.add(whole[k]) // first, so that the innermost number is that of a frame
				}
				x.lists.add(k)
			}
		}
		x.lists.end()
	}
	x.set = b.Profile.LocationSet(x.has)
	return x
}

// column adds up values by number.
func (x *narrowed) column(values []int64) (flat []int64, sums []Tally) {
	flat, sums = make([]int64, x.n), make([]Tally, x.n)
	if x.n > profile.MaxSpread {
		x.wide(values, flat, sums)
	} else {
		cores := max(1, min(runtime.GOMAXPROCS(0), len(values)/manySamples))
		parts := make([]*columnPart, cores)
		inRanges(len(values), cores, func(i, from, to int) { parts[i] = x.part(values, from, to) })
		for _, p := range parts {
			for k := range flat {
				flat[k] += p.flat[k]
				sums[k].Sum += p.sums[k].Sum
				sums[k].Seen = max(sums[k].Seen, p.sums[k].Seen)
			}
			for l, ok := range x.has {
				if ok && p.spread.Met(uint32(l)) {
					x.meet(sums, uint32(l))
				}
			}
		}
	}
	return flat, sums
}

// meet notes how the frames of a location that is on a stack are met there.
func (x *narrowed) meet(sums []Tally, l uint32) {
	for j, f := range x.Table.Of(l) {
		if k := x.number[f] - 1; k >= 0 {
			inlined := x.Table.Inlines(j)
			sums[k].Inlined = sums[k].Inlined || inlined
			sums[k].Called = sums[k].Called || !inlined
		}
	}
}

// part adds up some samples, by number.
func (x *narrowed) part(values []int64, from, to int) *columnPart {
	flat, sums := make([]int64, x.n), make([]Tally, x.n+1) // with one for what stacks are filled up with
	spread := x.Profile.NewSpread(x.n, x.lists.of)
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
		if x.leaf(i) == int32(innermost) {
			flat[innermost] += v
		}
	}
	return &columnPart{flat, sums, spread}
}

// wide adds up samples by more numbers than a profile.Spread can tell apart.
func (x *narrowed) wide(values []int64, flat []int64, sums []Tally) {
	var stack []uint32
	for i, v := range values {
		if v == 0 || !x.hasAny(i) {
			continue
		}
		now := uint32(i) + 1
		stack = x.Profile.Stack(i, stack[:0])
		for _, l := range stack {
			for _, k := range x.lists.of(l) {
				if s := &sums[k]; s.Seen != now {
					s.Seen = now
					s.Sum += v
				}
			}
			if x.has[l] {
				x.meet(sums, l)
			}
		}
		if k := x.leaf(i); k >= 0 {
			flat[k] += v
		}
	}
}

func (x *narrowed) hasAny(i int) bool {
	if x.through != nil {
		return x.through.Has(uint32(i))
	}
	return x.Profile.HasAny(i, x.set)
}

// leaf returns the number of the innermost frame on the stack of a sample, or -1 if it has none.
func (x *narrowed) leaf(i int) int32 {
	stack := x.Profile.StackAt(i)
	for at := range stack.Len() {
		if frames := x.Table.Of(stack.At(at)); len(frames) > 0 {
			return x.number[frames[len(frames)-1]] - 1
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
