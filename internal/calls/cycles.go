package calls

import (
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// longestCycle is how many frames a cycle of calls may have. The runtime cuts stacks at 128 frames, so that a longer one is there once at most.
const longestCycle = 64

// CollapseCycles returns p with each cycle of calls once: f f g becomes f g, and f g f g h becomes f g h. t has the frames of p.
//
// So every call that is left is one that was made, and every function keeps its flat and its cum: what lies between two calls of a function
// goes only where it is there twice. To leave out all of that, as collapseRecursion does, is for functions that somebody has named: on most
// stacks of a server, it would take the handlers between the calls of http.HandlerFunc.ServeHTTP.
func CollapseCycles(p *profile.Profile, t *FrameTable) (*profile.Profile, error) {
	x := &cycles{
		table: t, seen: make([]int, len(t.Frames)), parts: make(map[lineRange]uint32),
		locations: slices.Clip(p.Locations),
	}
	q, err := p.Rewrite(p.Tables, func(i int, stack []uint32) ([]uint32, bool) {
		x.collapse(i, stack)
		return x.rest(stack), true
	})
	if err != nil {
		return nil, err
	}
	number(x.locations, len(p.Locations))
	tables := q.Tables
	tables.Locations = x.locations
	return q.WithTables(tables), nil
}

// cycles collapses one stack after the other.
type cycles struct {
	table     *FrameTable
	seen      []int // by frame, 1 + the last sample with it
	frames    []frameAt
	buf       []uint32
	locations []profile.Location // of the profile, and behind them parts of these
	parts     map[lineRange]uint32
}

// A frameAt is a frame of a stack: of a location in it, counted from the leaf, the frame with this number, counted from the outermost one.
type frameAt struct {
	at, line int
	frame    int32
}

// A lineRange is the frames of a location between two of them, counted from the outermost one.
type lineRange struct {
	location uint32
	from, to int
}

// collapse makes x.frames the frames of the stack of a sample, from the root on, with each cycle once.
func (x *cycles) collapse(sample int, stack []uint32) {
	x.frames = x.frames[:0]
	for at := len(stack) - 1; at >= 0; at-- {
		for line, f := range x.table.Of(stack[at]) {
			x.frames = append(x.frames, frameAt{at, line, f})
			if x.seen[f] != sample+1 { // no cycle ends with a frame that was not there before
				x.seen[f] = sample + 1
				continue
			}
			x.drop()
		}
	}
}

// drop takes a cycle off the end of the frames if it is there twice in a row. The later one stays, since the leaf may be in it.
func (x *cycles) drop() {
	n := len(x.frames)
	last := x.frames[n-1].frame
	for k := 1; k <= min(longestCycle, n/2); k++ {
		if x.frames[n-1-k].frame != last {
			continue
		}
		before, after := x.frames[n-2*k:n-k], x.frames[n-k:]
		if slices.EqualFunc(before, after, func(a, b frameAt) bool { return a.frame == b.frame }) {
			copy(before, after)
			x.frames = x.frames[:n-k]
			return
		}
	}
}

// rest returns the locations of the frames that are left of a stack, from the leaf on.
func (x *cycles) rest(stack []uint32) []uint32 {
	x.buf = x.buf[:0]
	for i := 0; i < len(x.frames); {
		first := x.frames[i]
		to := first.line + 1
		for i++; i < len(x.frames) && x.frames[i].at == first.at && x.frames[i].line == to; i++ {
			to++
		}
		x.buf = append(x.buf, x.part(lineRange{stack[first.at], first.line, to}))
	}
	slices.Reverse(x.buf)
	return x.buf
}

// part returns the location with only some frames of another one.
func (x *cycles) part(r lineRange) uint32 {
	if r.from == 0 && r.to == len(x.table.Of(r.location)) {
		return r.location
	}
	at, ok := x.parts[r]
	if !ok {
		at = uint32(len(x.locations))
		x.parts[r] = at
		l := x.locations[r.location]
		n := len(l.Lines)
		l.ID, l.Lines = 0, l.Lines[n-r.to:n-r.from] // innermost first
		x.locations = append(x.locations, l)
	}
	return at
}
