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
	f := t.finderOf(frame)
	parts := make([]*startPart, max(1, min(runtime.GOMAXPROCS(0), len(t.Values)/samplesAtOnce)))
	inRanges(len(t.Values), len(parts), func(part, from, to int) {
		parts[part] = f.newPart()
		parts[part].look(from, to)
	})
	return f.together(parts)
}

// StartsAhead does the same before anybody asks, on one core. It returns nil when enough says so before it is done.
func (t *Tree) StartsAhead(frame int32, enough func() bool) *Starts {
	f := t.finderOf(frame)
	x := f.newPart()
	const some = 1 << 12
	for i := 0; i < len(t.Values); i += some {
		if enough() {
			return nil
		}
		x.look(i, min(i+some, len(t.Values)))
	}
	return f.together([]*startPart{x})
}

// A startFinder finds where a frame is on stacks.
type startFinder struct {
	t       *Tree
	frame   int32
	set     *profile.LocationSet // with the frame
	several bool                 // whether one of them has other frames, too
}

func (t *Tree) finderOf(frame int32) *startFinder {
	f := &startFinder{t: t, frame: frame}
	in := make([]bool, len(t.Profile.Locations))
	for l := range in {
		frames := t.Table.Of(uint32(l))
		in[l] = slices.Contains(frames, frame)
		f.several = f.several || in[l] && len(frames) > 1
	}
	f.set = t.Profile.LocationSet(in)
	return f
}

// A startPart is what is found on the stacks of some samples.
type startPart struct {
	*startFinder
	stack profile.Stack // of one sample
	found []start
	both  [2]*strandGroup
}

func (f *startFinder) newPart() *startPart {
	return &startPart{startFinder: f, both: newStrandGroups()}
}

// look looks at samples, which come after those that it has looked at.
func (x *startPart) look(from, to int) {
	t := x.t
	for i := from; i < to; i++ {
		at, depth := t.Profile.Outermost(i, x.set)
		if at < 0 || !t.counts(uint32(i)) {
			continue
		}
		s := start{sample: uint32(i), at: uint32(at), depth: uint32(depth)}
		if x.several {
			t.Profile.ReadStack(i, &x.stack)
			frames := t.Table.Of(x.stack.At(at))
			line := slices.Index(frames, x.frame)
			s.above, s.below = uint16(line), uint16(len(frames)-1-line)
		}
		x.found = append(x.found, s)
		if t.Before == nil && (s.short(false) || s.short(true)) {
			t.Profile.ReadStack(i, &x.stack)
			for _, g := range x.both {
				g.add(s, &x.stack, t.Values[i])
			}
		}
	}
}

// together returns what was found in all parts.
func (f *startFinder) together(parts []*startPart) *Starts {
	out := new(Starts)
	n := 0
	for _, p := range parts {
		n += len(p.found)
	}
	out.samples = make([]start, 0, n)
	for _, p := range parts {
		out.samples = append(out.samples, p.found...)
	}
	for side, to := range []**alike{&out.callees, &out.callers} {
		all := parts[0].both[side]
		for _, p := range parts[1:] {
			all.join(p.both[side])
		}
		*to = all.alike(out.samples, f.t.Values)
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
