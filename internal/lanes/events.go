package lanes

import (
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/waits"
)

// Events draw what a trace says of a window.
type events struct {
	*drawing
	trace *exectrace.Trace
	names *waits.Names
	known map[exectrace.Stack]uint64 // filters that it matches

	spans []span
	many  bool // there are too many to keep them
}

// A span is what is kept of a waits.Span until it is known which goroutines are drawn.
type span struct {
	number   uint32
	by       uint32 // as in a log
	from, to int64
	state    State
}

// maxSpans is for how many spans a trace is read once, and not twice. Tests change it.
var maxSpans = 1 << 19

// mostEarly is how many kinds there may be for all of them to be drawn before it is known which are wanted, so that only the goroutines that are drawn need be
// followed once more. Tests change it.
var mostEarly = 1 << 8

func (d *events) draw() error {
	x, w := d.x.Index, d.ask.Window
	tracks := &tracks{from: w.From, span: func(lane uint32, what code, from, to int64) {
		d.add(d.track(lane), what.state(), from, to)
	}}
	// About every other event ends a span: where there will be too many, none need be kept.
	d.many = float64(x.Events)*float64(w.To-w.From)/float64(max(x.End-x.Begin, 1)) > 4*float64(maxSpans)
	if len(d.x.kinds) <= mostEarly {
		d.early = make([]*kind, len(d.x.kinds))
	}
	matched := map[uint32]uint64{} // filters, by goroutine
	walk := &waits.Walk{Window: w, Index: x}
	walk.Event = func(e *exectrace.Event) { tracks.event(walk, e) }
	walk.Before = walk.Event
	walk.Span = func(s *waits.Span) {
		n, ok := d.number(s.Goroutine)
		if !ok {
			return
		}
		what := codeOf(d.names, s)
		d.spend(n, what, s.Length())
		if d.early != nil {
			number := d.x.at(int(n)).kind
			k := d.early[number]
			if k == nil {
				k = d.newKind(number)
				d.makeRoom(k)
				d.early[number] = k
			}
			d.addTo(k, what.state(), s.From, s.To)
		}
		if len(d.ask.Filters) > 0 {
			if bits := d.matches(s.Stack) | d.matches(s.Goroutine.Start); bits != 0 {
				matched[n] |= bits
			}
		}
		switch {
		case d.many:
		case len(d.spans) == maxSpans:
			d.many, d.spans = true, nil
		default:
			d.spans = append(d.spans, d.spanOf(n, s))
		}
	}
	walk.Quiet = walk.Span
	if err := walk.Run(d.trace); err != nil {
		return err
	}
	tracks.end(walk.End)
	for n := range tracks.procs() {
		d.track(firstProc + uint32(n))
	}
	var want, drop uint64
	for i, f := range d.filters() {
		if f.Drop {
			drop |= 1 << i
		} else {
			want |= 1 << i
		}
	}
	d.choose(func(number int) bool {
		bits := matched[uint32(number)]
		return bits&want == want && bits&drop == 0
	})
	if !d.many {
		for i := range d.spans {
			s := &d.spans[i]
			d.goroutine(s.number, s.state, s.from, s.to, s.by)
		}
		return nil
	}
	again := &waits.Walk{Window: w, Index: x}
	again.Span = func(s *waits.Span) {
		if n, ok := d.number(s.Goroutine); ok {
			s := d.spanOf(n, s)
			d.goroutine(s.number, s.state, s.from, s.to, s.by)
		}
	}
	again.Quiet = again.Span
	if d.early != nil {
		again.Only = func(id int64) bool {
			n := d.x.numberOf(id)
			return n >= 0 && d.as[n]&hasLane != 0
		}
	}
	return again.Run(d.trace)
}

// number is the number of a goroutine of the program.
func (d *events) number(g *waits.Goroutine) (number uint32, ok bool) {
	if g.Number == waits.NoNumber {
		n := d.x.numberOf(g.ID)
		if n < 0 {
			return 0, false
		}
		g.Number = uint32(n)
	}
	return g.Number, d.x.at(int(g.Number)).kind != 0
}

func (d *events) spanOf(number uint32, s *waits.Span) span {
	out := span{number, 0, s.From, s.To, codeOf(d.names, s).state()}
	if id := wokenBy(d.names, s); id != 0 {
		if n := d.x.numberOf(id); n >= 0 {
			out.by = firstGoroutine + uint32(n)
		}
	}
	return out
}

// filters are those that there is a bit for.
func (d *events) filters() []Filter { return d.ask.Filters[:min(len(d.ask.Filters), 64)] }

// matches tells which filters a stack matches.
func (d *events) matches(s exectrace.Stack) (bits uint64) {
	if s == 0 {
		return 0
	}
	bits, ok := d.known[s]
	if !ok {
		for i, f := range d.filters() {
			if slices.ContainsFunc(d.trace.Frames(s), func(x exectrace.Frame) bool { return f.Matches(x.Func) }) {
				bits |= 1 << i
			}
		}
		d.known[s] = bits
	}
	return bits
}
