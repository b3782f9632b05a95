package view

import (
	"encoding/binary"

	"github.com/hone-perf/hone/internal/profile"
)

// A tally is what is added up for every frame of a stack. It is small, and in one place in memory, since reaching
// for it is what adding up costs.
type tally struct {
	sum             int64
	seen            uint32 // 1 + the sample in which the frame was last met
	inlined, called bool
}

// column adds up one column of values by frame.
//
// Adding the outermost frames up once for all stacks that share a root was tried: to find out which frames of a stack are in
// its root, too, takes as long as adding them up. With the samples in the order of their roots, 16 thousand at a time, a small
// profile takes 1 % less and large ones 4 to 10 % more.
func (b *builder) column(values []int64) (flat []int64, sums []tally) {
	n := len(b.table.frames)
	if n > profile.MaxSpread {
		return b.wideColumn(values)
	}
	flat, sums = make([]int64, n), make([]tally, n+1) // with one for what stacks are filled up with
	x := b.p.NewSpread(n, b.table.of)
	for i, v := range values {
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
	sums = sums[:n]
	for l := range b.table.only {
		if x.Met(uint32(l)) {
			b.table.meet(sums, uint32(l))
		}
	}
	return flat, sums
}

// addRoot adds a sample up for frames of which each is there once. It and addOwn are functions of their own so that all they work with
// is in registers.
//
//go:noinline
func addRoot(sums []tally, root []uint16, v int64, now uint32) {
	for _, f := range root {
		s := &sums[f]
		s.seen = now
		s.sum += v
	}
}

// addOwn adds a sample up for the frames that were not met in it yet. A recursive function is on the stack several times but the time passed
// once.
//
//go:noinline
func addOwn(sums []tally, own []byte, v int64, now uint32) {
	for ; len(own) >= 8; own = own[8:] {
		four := binary.LittleEndian.Uint64(own)
		if s := &sums[uint16(four)]; s.seen != now {
			s.seen = now
			s.sum += v
		}
		if s := &sums[uint16(four>>16)]; s.seen != now {
			s.seen = now
			s.sum += v
		}
		if s := &sums[uint16(four>>32)]; s.seen != now {
			s.seen = now
			s.sum += v
		}
		if s := &sums[uint16(four>>48)]; s.seen != now {
			s.seen = now
			s.sum += v
		}
	}
}

// meet notes how the frames of a location that is on a stack are met there.
func (t *frameTable) meet(sums []tally, l uint32) {
	for j, f := range t.of(l) {
		if j > 0 {
			sums[f].inlined = true
		} else {
			sums[f].called = true
		}
	}
}

// wideColumn is column for more frames than a profile.Spread can tell apart, such as lines and addresses of a large program.
func (b *builder) wideColumn(values []int64) (flat []int64, sums []tally) {
	t := b.table
	flat, sums = make([]int64, len(t.frames)), make([]tally, len(t.frames))
	met := make([]bool, len(t.only))
	var stack []uint32
	for i, v := range values {
		if v == 0 {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		now := uint32(i) + 1
		leaf := int32(-1)
		for _, l := range stack {
			met[l] = true
			frames := t.of(l)
			for _, f := range frames {
				if s := &sums[f]; s.seen != now {
					s.seen = now
					s.sum += v
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
