package view

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
// profile takes 1 % less and large ones 4 to 10 % more. Tables of two bytes for each entry won nothing either.
func (b *builder) column(values []int64) (flat []int64, sums []tally) {
	t := b.table
	flat, sums = make([]int64, len(t.frames)), make([]tally, len(t.frames))
	var stack []uint32
	for i, v := range values {
		if v == 0 {
			continue
		}
		stack = b.p.Stack(i, stack[:0])
		now := uint32(i) + 1
		leaf := int32(-1)
		for _, l := range stack {
			if f := t.only[l]; f >= 0 {
				s := &sums[f]
				// A recursive function is on the stack several times but the time passed once.
				if s.seen != now {
					s.seen = now
					s.sum += v
				}
				s.called = true
				if leaf < 0 {
					leaf = f
				}
				continue
			}
			frames := t.of(l)
			for j, f := range frames {
				s := &sums[f]
				if s.seen != now {
					s.seen = now
					s.sum += v
				}
				if j > 0 {
					s.inlined = true
				} else {
					s.called = true
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
	return flat, sums
}
