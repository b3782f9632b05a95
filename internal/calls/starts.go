package calls

import (
	"runtime"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// Starts are the samples whose stacks have a frame, and where its outermost place is on each. Trees of what calls the frame and of what it
// calls begin there, so one look at the stacks is enough for both.
type Starts struct {
	samples          []start
	callees, callers *alike // nil where most samples go ways of their own
}

// StartAt has a tree begin at the places of a frame, before anything is asked of it.
func (t *Tree) StartAt(s *Starts) {
	t.partial, t.starts = true, s.samples
	way := s.callees
	if t.Inverted {
		way = s.callers
	}
	if way != nil && t.Before == nil {
		t.starts, t.samples, t.Values = way.starts, way.samples, way.values
	}
}

// A start is the outermost place of the frame on the stack of a sample.
type start struct {
	sample uint32
	at     uint32 // of the location, counted from the leaf
	depth  uint32 // of the stack
	above  uint16 // lines of the location outside the frame
	below  uint16 // and inside it
}

// Through returns the samples of t whose stacks have the frame.
func (s *Starts) Through(t *Tree) profile.SampleSet {
	set := profile.NewSampleSet(t.Profile.NumSamples())
	for i := range s.samples {
		set.Add(s.samples[i].sample)
	}
	return set
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
	groups := make([][2]*strandGroup, len(parts))
	inRanges(len(t.Values), len(parts), func(part, from, to int) {
		var found []start
		both := newStrandGroups()
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
			if t.Before == nil && (x.short(false) || x.short(true)) {
				stack := t.Profile.StackAt(i)
				for _, g := range both {
					g.add(x, stack, t.Values[i])
				}
			}
		}
		parts[part], groups[part] = found, both
	})
	out := &Starts{samples: slices.Concat(parts...)}
	for side, to := range []**alike{&out.callees, &out.callers} {
		all := groups[0][side]
		for _, g := range groups[1:] {
			all.join(g[side])
		}
		*to = all.alike(out.samples, t.Values)
	}
	return out
}

// strand returns what is left of the stack from the frame on.
func (s *start) strand(inverted bool) strand {
	if inverted {
		return strand{Left: s.depth - s.at, line: uint32(s.below)}
	}
	return strand{Left: s.at + 1, line: uint32(s.above)}
}
