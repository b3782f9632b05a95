package calls

import (
	"runtime"
	"slices"
)

// Starts are the samples whose stacks have a frame, and where its outermost place is on each. Trees of what calls the frame and of what it
// calls begin there, so one look at the stacks is enough for both.
type Starts struct {
	samples []start
}

// A start is the outermost place of the frame on the stack of a sample.
type start struct {
	sample uint32
	at     uint32 // of the location, counted from the leaf
	depth  uint32 // of the stack
	above  uint16 // lines of the location outside the frame
	below  uint16 // and inside it
}

// StartsOf finds the samples of t that have a frame.
func (t *Tree) StartsOf(frame int32) *Starts {
	in := make([]bool, len(t.Profile.Locations))
	several := false // whether one of the locations has other frames, too
	for l := range in {
		frames := t.Table.Of(uint32(l))
		in[l] = slices.Contains(frames, frame)
		several = several || in[l] && len(frames) > 1
	}
	set := t.Profile.LocationSet(in)
	parts := make([][]start, max(1, min(runtime.GOMAXPROCS(0), len(t.Values)/samplesAtOnce)))
	inRanges(len(t.Values), len(parts), func(part, from, to int) {
		var found []start
		for i := from; i < to; i++ {
			at, depth := t.Profile.Outermost(i, set)
			if at < 0 || !t.counts(uint32(i)) {
				continue
			}
			x := start{sample: uint32(i), at: uint32(at), depth: uint32(depth)}
			if several {
				frames := t.Table.Of(t.Profile.StackAt(i).At(at))
				line := slices.Index(frames, frame)
				x.above, x.below = uint16(line), uint16(len(frames)-1-line)
			}
			found = append(found, x)
		}
		parts[part] = found
	})
	return &Starts{slices.Concat(parts...)}
}

// strand returns what is left of the stack from the frame on.
func (s *start) strand(inverted bool) strand {
	if inverted {
		return strand{Left: s.depth - s.at, line: uint32(s.below)}
	}
	return strand{Left: s.at + 1, line: uint32(s.above)}
}
