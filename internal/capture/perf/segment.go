package perf

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// A segment counts the samples of some time.
type segment struct {
	space   *space
	period  int64 // nanoseconds of CPU time that a sample stands for
	threads bool

	b         *profile.Builder
	mappings  map[*mapping]int32
	functions map[profile.Function]uint32
	locations map[*place]uint32

	seen    map[string]int // by stack and thread
	stacks  []counted
	samples int64
	monitor int64 // samples of the runtime's monitor, which are left out
	left    int64 // samples of stacks for which there was no room

	places []*place
	stack  []uint32
	key    []byte
}

type counted struct {
	stack  []uint32
	thread uint32
	n      int64
}

// maxStacks is how many different stacks there may be in a segment.
const maxStacks = 1 << 18

func newSegment(s *space, period int64, threads bool) *segment {
	value := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	s.reread = true
	g := &segment{
		space: s, period: period, threads: threads,
		b: profile.NewBuilder(profile.Header{
			SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, value},
			PeriodType:  value,
			Period:      period,
		}),
		mappings:  make(map[*mapping]int32),
		functions: make(map[profile.Function]uint32),
		locations: make(map[*place]uint32),
		seen:      make(map[string]int),
	}
	g.mapping(s.main()) // the first one has to be the program
	return g
}

// add counts a sample.
func (g *segment) add(m *sample, order binary.ByteOrder) {
	g.places = g.space.stack(m, order, g.places)
	if isMonitor(g.places) {
		g.monitor++
		return
	}
	g.stack = g.stack[:0]
	for _, p := range g.places {
		if len(p.frames) > 0 || len(p.all) == 0 {
			g.stack = append(g.stack, g.location(p, p.frames))
		}
	}
	if len(g.stack) == 0 && len(g.places) > 0 { // all made by the compiler
		p := g.places[0]
		g.stack = append(g.stack, g.location(p, p.all))
	}
	thread := uint32(0)
	if g.threads {
		thread = m.thread
	}
	g.key = binary.LittleEndian.AppendUint32(g.key[:0], thread)
	for _, l := range g.stack {
		g.key = binary.LittleEndian.AppendUint32(g.key, l)
	}
	i, ok := g.seen[string(g.key)]
	if !ok {
		if len(g.stacks) == maxStacks {
			g.left++
			return
		}
		i = len(g.stacks)
		g.seen[string(g.key)] = i
		g.stacks = append(g.stacks, counted{stack: append([]uint32(nil), g.stack...), thread: thread})
	}
	g.stacks[i].n++
	g.samples++
}

// isMonitor reports whether a stack is of the thread with which the runtime watches over the program. In a server that
// is mostly idle it takes much of the CPU time, which has nothing to do with what the program does, and runtime/pprof
// does not see it.
func isMonitor(stack []*place) bool {
	return slices.ContainsFunc(stack, func(p *place) bool { return p.name == "runtime.sysmon" })
}

// location returns the number of a place in the profile.
func (g *segment) location(p *place, frames []objfile.GoFrame) uint32 {
	i, ok := g.locations[p]
	if ok {
		return i
	}
	l := profile.Location{Mapping: g.mapping(p.mapping), Address: p.addr}
	for _, f := range frames {
		fn := profile.Function{Name: f.Func, SystemName: f.Func, File: f.File, StartLine: int64(f.StartLine)}
		n, ok := g.functions[fn]
		if !ok {
			n = uint32(len(g.b.Functions))
			g.functions[fn] = n
			g.b.Functions = append(g.b.Functions, fn)
		}
		l.Lines = append(l.Lines, profile.Line{Function: n, Line: int64(max(f.Line, 0))})
	}
	if l.Mapping != profile.NoMapping && len(frames) > 0 {
		m := &g.b.Mappings[l.Mapping]
		m.HasFunctions = true
		if p.golang {
			m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true
		}
	}
	i = uint32(len(g.b.Locations))
	g.b.Locations = append(g.b.Locations, l)
	g.locations[p] = i
	return i
}

// mapping returns the number of a mapping in the profile.
func (g *segment) mapping(m *mapping) int32 {
	if m == nil {
		return profile.NoMapping
	}
	i, ok := g.mappings[m]
	if !ok {
		i = int32(len(g.b.Mappings))
		pm := profile.Mapping{Start: m.start, Limit: m.end, Offset: m.offset, File: m.file}
		if f := g.space.file(m); f != nil {
			pm.BuildID = f.BuildID()
		}
		g.b.Mappings = append(g.b.Mappings, pm)
		g.mappings[m] = i
	}
	return i
}

// profile returns what was counted, in a time that began at start.
func (g *segment) profile(start time.Time, d time.Duration) (*profile.Profile, error) {
	g.b.TimeNanos, g.b.DurationNanos = start.UnixNano(), d.Nanoseconds()
	for _, c := range g.stacks {
		labels := uint32(0)
		if g.threads {
			labels = g.b.Labels([]profile.Label{{Key: "thread", Numeric: true, Num: int64(c.thread)}})
		}
		g.b.Add(c.stack, labels, []int64{c.n, c.n * g.period})
	}
	g.b.Renumber()
	return g.b.Profile()
}
