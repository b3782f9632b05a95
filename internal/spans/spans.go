// Package spans exports what the goroutines of a program did in an execution trace, one span at a time: as Parquet or CSV for SQL, and as
// a file for Perfetto. It keeps no spans in memory, so a trace may have any number of them.
package spans

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// A Row is a stretch of time in which a goroutine did one thing.
type Row struct {
	Goroutine  int64
	Started    Text // the function that it was started with
	State      Text // of waits.Types: running, ready, syscall, blocked, idle
	Cause      Text // what it waits for; that it helps the collector, or how it lost its P
	From, Took int64
	Place      *Place // in the code
	Begun      bool   // before the trace, or what is asked for of it
	Open       bool   // at the end

	EndedBy Text   // what ended a wait: goroutine, timer, network, runtime
	Waker   int64  // the goroutine that ended the wait, or made it ready; 0 is none
	WakerAt *Place // of the waker
	Stack   Text
	Request *requests.Request // that the goroutine answered meanwhile; nil is none
}

// A Place is the call of a stack that says most.
type Place struct {
	Function, File Text
	Line           int
	at             Text // file and line
	stack          Text
}

// A Text is the number of a text, 0 where there is none.
type Text = uint32

// stackText marks numbers of texts that are the calls of a stack.
const stackText Text = 1 << 31

// A reader goes through a trace.
type reader struct {
	names    *waits.Names
	trace    *exectrace.Trace
	walk     *waits.Walk
	numbers  map[string]Text
	texts    []string
	places   []*Place // by stack
	answered map[int64][]*requests.Request
	row      Row
	err      error
	on       func(*Row, *goroutine, *waits.Span) error

	assist, preempted, yielded Text
	running, ready, syscall    Text
	blocked, idle              Text
	causes                     [waits.Runtime + 1]Text
	wakers                     [waits.ByRuntime + 1]Text
}

// A goroutine is what is kept of one while it is there.
type goroutine struct {
	id       int64
	started  Text
	requests []*requests.Request // that it has yet to answer

	shown bool   // its track was begun
	arrow uint64 // that leads to what it does next
}

// newReader returns a reader that hands the spans of goroutines of the program in a window to on, in the order of their ends.
func newReader(t *exectrace.Trace, w waits.Window, found []requests.Request, on func(*Row, *goroutine, *waits.Span) error) *reader {
	r := &reader{
		names: waits.NewNames(t), trace: t, numbers: map[string]Text{"": 0}, texts: []string{""}, on: on, answered: map[int64][]*requests.Request{},
	}
	for i := range found {
		f := &found[i]
		r.answered[f.Goroutine] = append(r.answered[f.Goroutine], f)
	}
	for _, list := range r.answered {
		slices.SortStableFunc(list, func(a, b *requests.Request) int { return cmp.Compare(a.From, b.From) })
	}
	r.assist, r.preempted, r.yielded = r.number("GC assist"), r.number("preempted"), r.number("yielded")
	r.running, r.ready, r.syscall = r.number(waits.Running), r.number(waits.ReadyTo), r.number(waits.System)
	r.blocked, r.idle = r.number(waits.Blocked), r.number(waits.Idle)
	for c := range r.causes {
		r.causes[c] = r.number(waits.Cause(c).String())
	}
	for by, text := range map[waits.Waker]string{waits.ByGoroutine: "goroutine", waits.ByTimer: "timer", waits.ByNetwork: "network", waits.ByRuntime: "runtime"} {
		r.wakers[by] = r.number(text)
	}
	r.walk = &waits.Walk{Window: w, Names: r.names, Named: r.span}
	return r
}

// run goes through the trace.
func (r *reader) run() error {
	if err := r.walk.Run(r.trace); err != nil {
		return err
	}
	return r.err
}

// formatID is the number of a goroutine or P as text.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }

func (r *reader) number(text string) Text {
	id, ok := r.numbers[text]
	if !ok {
		id = Text(len(r.texts))
		r.numbers[text] = id
		r.texts = append(r.texts, text)
	}
	return id
}

// text returns the text of a number. Calls of stacks are not kept: there may be many, and they are long.
func (r *reader) text(id Text) string {
	if id&stackText == 0 {
		return r.texts[id]
	}
	var b strings.Builder
	for i, f := range slices.Backward(r.trace.Frames(exectrace.Stack(id &^ stackText))) {
		b.WriteString(f.Func)
		if i > 0 {
			b.WriteByte(';')
		}
	}
	return b.String()
}

// place is what a stack says, nil when it is not known.
func (r *reader) place(s exectrace.Stack) *Place {
	if int(s) >= len(r.places) {
		r.places = append(r.places, make([]*Place, r.trace.Stacks()+1-len(r.places))...)
	}
	if r.places[s] == nil {
		p := &Place{}
		if f, ok := r.names.Place(s); ok {
			p.Function, p.File, p.Line, p.stack = r.number(f.Func), r.number(f.File), f.Line, stackText|Text(s)
			if f.File != "" {
				p.at = r.number(f.File + ":" + strconv.Itoa(f.Line))
			}
		}
		r.places[s] = p
	}
	return r.places[s]
}

func (r *reader) span(s *waits.Span) {
	if r.err != nil || r.names.OfRuntime(s.Goroutine, s.Stack) {
		return
	}
	g := r.of(s.Goroutine, s.Stack)
	at := r.place(s.Stack)
	if s.State == exectrace.Running && s.Open {
		at = r.place(0) // a trace says where it is when it stops
	}
	r.row = Row{Goroutine: g.id, Started: g.started, From: s.From, Took: s.Length(), Place: at, Stack: at.stack, Begun: s.Begun, Open: s.Open, WakerAt: r.place(0)}
	row := &r.row
	woken := waits.NoWaker
	switch s.State {
	case exectrace.Running:
		row.State = r.running
		if s.Assist {
			row.Cause = r.assist
		}
	case exectrace.Syscall:
		row.State = r.syscall
	case exectrace.Ready:
		row.State = r.ready
		switch s.Reason {
		case exectrace.Preempted:
			row.Cause = r.preempted
		case exectrace.Yielded:
			row.Cause = r.yielded
		}
		if s.By != 0 {
			woken = r.names.Waker(&waits.Span{Goroutine: s.Goroutine, Stack: s.Stack, Reason: s.Reason, By: s.By, ByStack: s.ByStack})
		}
	case exectrace.Waiting:
		row.State = r.blocked
		if r.names.Idle(s) {
			row.State = r.idle
		}
		row.Cause = r.causes[r.names.Cause(s)]
		woken = r.names.Waker(s)
		row.EndedBy = r.wakers[woken]
	}
	if woken == waits.ByGoroutine {
		row.Waker, row.WakerAt = s.By, r.place(s.ByStack)
	}
	for len(g.requests) > 0 && g.requests[0].To < s.To {
		g.requests = g.requests[1:]
	}
	if len(g.requests) > 0 && g.requests[0].From <= s.From {
		row.Request = g.requests[0]
	}
	if r.err = r.on(row, g, s); r.err != nil {
		r.walk.Stop()
	}
}

// of is what is kept of a goroutine.
func (r *reader) of(g *waits.Goroutine, s exectrace.Stack) *goroutine {
	of, _ := g.Mine.(*goroutine)
	if of == nil {
		of = &goroutine{id: g.ID, started: r.number(r.names.Kind(g, s)), requests: r.answered[g.ID]}
		g.Mine = of
	}
	return of
}
