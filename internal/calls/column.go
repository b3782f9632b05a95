package calls

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
)

// A Tally is what is added up for every frame of a stack. It is small, and in one place in memory, since reaching
// for it is what adding up costs.
type Tally struct {
	Sum             int64
	Seen            uint32 // 1 + the sample in which the frame was last met
	Inlined, Called bool
}

// Column adds up one column of values by frame.
//
// Adding the outermost frames up once for all stacks that share a root was tried: to find out which frames of a stack are in
// its root, too, takes as long as adding them up. With the samples in the order of their roots, 16 thousand at a time, a small
// profile takes 1 % less and large ones 4 to 10 % more.
func (b *Builder) Column(values []int64) (flat []int64, sums []Tally) {
	n := len(b.Table.Frames)
	if n > profile.MaxSpread {
		return b.WideColumn(values)
	}
	cores := max(1, min(runtime.GOMAXPROCS(0), len(values)/manySamples))
	parts := make([]*columnPart, cores)
	inRanges(len(values), cores, func(i, from, to int) {
		parts[i] = b.newColumn()
		parts[i].add(values, from, to)
	})
	return b.together(parts)
}

// together returns what parts come to.
func (b *Builder) together(parts []*columnPart) (flat []int64, sums []Tally) {
	flat, sums = parts[0].flat, parts[0].sums[:len(b.Table.Frames)]
	for _, p := range parts[1:] {
		for f := range flat {
			flat[f] += p.flat[f]
			sums[f].Sum += p.sums[f].Sum
			sums[f].Seen = max(sums[f].Seen, p.sums[f].Seen)
		}
	}
	for l := range b.Table.only {
		if slices.ContainsFunc(parts, func(p *columnPart) bool { return p.spread.Met(uint32(l)) }) {
			b.Table.meet(sums, uint32(l))
		}
	}
	return flat, sums
}

// inRanges does work on n samples in so many parts, at the same time. One part takes no goroutine.
func inRanges(n, parts int, do func(i, from, to int)) {
	var work sync.WaitGroup
	for i := range parts - 1 {
		work.Go(func() { do(i, n*i/parts, n*(i+1)/parts) })
	}
	do(parts-1, n*(parts-1)/parts, n)
	work.Wait()
}

// manySamples is how many samples are worth a core more: each makes what it knows of roots for itself.
var manySamples = 500_000

// A columnPart is the sum of some samples.
type columnPart struct {
	flat   []int64
	sums   []Tally // with one for what stacks are filled up with
	spread *profile.Spread
}

func (b *Builder) newColumn() *columnPart {
	n := len(b.Table.Frames)
	return &columnPart{make([]int64, n), make([]Tally, n+1), b.Profile.NewSpread(n, b.Table.Of)}
}

// add adds samples to p.
func (p *columnPart) add(values []int64, from, to int) {
	flat, sums, x := p.flat, p.sums, p.spread
	for i := from; i < to; i++ {
		v := values[i]
		if v == 0 {
			continue
		}
		own, root := x.Stack(i)
		now := uint32(i) + 1
		addRoot(sums, root, v, now)
		addOwn(sums, own, v, now)
		if len(own) > 0 {
			flat[binary.LittleEndian.Uint16(own)] += v
		} else if len(root) > 0 {
			flat[root[0]] += v
		}
	}
}

// addRoot adds a sample up for frames of which each is there once. It and addOwn are functions of their own so that all they work with
// is in registers.
//
//go:noinline
func addRoot(sums []Tally, root []uint16, v int64, now uint32) {
	for _, f := range root {
		s := &sums[f]
		s.Seen = now
		s.Sum += v
	}
}

// addOwn adds a sample up for the frames that were not met in it yet. A recursive function is on the stack several times but the time passed
// once.
//
//go:noinline
func addOwn(sums []Tally, own []byte, v int64, now uint32) {
	for ; len(own) >= 8; own = own[8:] {
		four := binary.LittleEndian.Uint64(own)
		if s := &sums[uint16(four)]; s.Seen != now {
			s.Seen = now
			s.Sum += v
		}
		if s := &sums[uint16(four>>16)]; s.Seen != now {
			s.Seen = now
			s.Sum += v
		}
		if s := &sums[uint16(four>>32)]; s.Seen != now {
			s.Seen = now
			s.Sum += v
		}
		if s := &sums[uint16(four>>48)]; s.Seen != now {
			s.Seen = now
			s.Sum += v
		}
	}
}

// meet notes how the frames of a location that is on a stack are met there.
func (t *FrameTable) meet(sums []Tally, l uint32) {
	for j, f := range t.Of(l) {
		if t.Inlines(j) {
			sums[f].Inlined = true
		} else {
			sums[f].Called = true
		}
	}
}

// WideColumn is column for more frames than a profile.Spread can tell apart, such as lines and addresses of a large program.
func (b *Builder) WideColumn(values []int64) (flat []int64, sums []Tally) {
	t := b.Table
	flat, sums = make([]int64, len(t.Frames)), make([]Tally, len(t.Frames))
	met := make([]bool, len(t.only))
	var stack []uint32
	for i, v := range values {
		if v == 0 {
			continue
		}
		stack = b.Profile.Stack(i, stack[:0])
		now := uint32(i) + 1
		leaf := int32(-1)
		for _, l := range stack {
			met[l] = true
			frames := t.Of(l)
			for _, f := range frames {
				if s := &sums[f]; s.Seen != now {
					s.Seen = now
					s.Sum += v
				}
			}
			if leaf < 0 && len(frames) > 0 {
				leaf = frames[len(frames)-1]
			}
		}
		if leaf >= 0 {
			flat[leaf] += v
		}
	}
	for l, ok := range met {
		if ok {
			t.meet(sums, uint32(l))
		}
	}
	return flat, sums
}
