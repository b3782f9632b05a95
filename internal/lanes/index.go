package lanes

import (
	"cmp"
	"slices"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/requests"
	"github.com/hone-perf/hone/internal/waits"
)

// An Index is a trace that was read once, so that pictures of it can be drawn.
type Index struct {
	*waits.Index
	Requests []requests.Request

	longest []requestAt // the same, the longest first
	kinds   []string
	rows    [][]row // goroutines by number, so many at a time
	count   int
	byID    []uint32 // numbers of the goroutines, in the order of their IDs; made when it is needed
	procs   []int64  // when something is first said of a P
	log     *log     // nil where that is too large
	room    struct { // for one that draws
		spent []spent
		as    []uint16
	}
}

// A row is what is kept of a goroutine.
type row struct {
	id         int64
	from, last int64  // when it was there: last is not after that
	kind       uint32 // 0 is one of the runtime, or nothing is known
	sure       bool   // the kind is
}

const rowsAt = 1 << 12

// A requestAt is when a request was.
type requestAt struct {
	from, to int64
	index    int32
}

// What an index has at most; without its log, pictures are drawn from what the trace says. Tests change these.
var (
	mostLog  = 128 << 20 // bytes
	mostRows = 4 << 20
)

// NewIndex reads a trace once.
func NewIndex(t *exectrace.Trace) (*Index, *requests.Found, error) {
	f := requests.NewFinder(t)
	walk := f.Walk()
	b := &builder{Index: &Index{kinds: []string{""}}, names: walk.Names, walk: walk}
	b.log = &log{}
	b.tracks = tracks{from: t.Begin(), span: b.track}
	span, event := walk.Span, walk.Event
	walk.Span = func(s *waits.Span) {
		span(s)
		b.goroutine(s)
	}
	walk.Event = func(e *exectrace.Event) {
		event(e)
		b.tracks.event(walk, e)
		for b.tracks.procs() > len(b.procs) {
			b.procs = append(b.procs, e.Time)
		}
	}
	x, err := waits.NewIndex(t, walk)
	if err != nil {
		return nil, nil, err
	}
	found := f.Found(x.End)
	b.Index.Index, b.Requests = x, found.Requests
	b.end()
	return b.Index, found, nil
}

// A builder makes an index while a trace is read.
type builder struct {
	*Index
	names  *waits.Names
	walk   *waits.Walk
	tracks tracks
	proc   entry // of a track that was not added yet
	asked  int   // with so many spans, the size of the log is looked at again
}

func (b *builder) add(e entry) {
	if b.log == nil {
		return
	}
	b.log.add(e)
	if b.log.spans >= b.asked {
		b.asked = b.log.spans + 1<<16
		if b.log.size() > mostLog || b.count > mostRows {
			b.log = nil
		}
	}
}

// track takes what a P did. If a goroutine did the same, that follows, and both are one entry of the log.
func (b *builder) track(lane uint32, what code, from, to int64) {
	b.flush()
	b.proc = entry{lane: lane, what: what, from: from, to: to}
}

func (b *builder) flush() {
	if b.proc.lane != 0 || b.proc.to != 0 {
		b.add(b.proc)
		b.proc = entry{}
	}
}

func (b *builder) goroutine(s *waits.Span) {
	r := b.row(int(s.Goroutine.Number))
	if r.last == 0 {
		r.id, r.from = s.Goroutine.ID, s.From
	}
	if !r.sure || s.Goroutine.Worker != "" {
		kind, sure := b.names.BetterKind(s.Goroutine, s.Stack)
		r.kind, r.sure = uint32(kind), sure
	}
	r.last = max(r.last, s.To, s.From+1)
	by := uint32(0)
	if wokenBy(b.names, s) != 0 {
		if g := b.walk.Goroutines[s.By]; g != nil {
			by = firstGoroutine + g.Number
		}
	}
	e := entry{lane: firstGoroutine + s.Goroutine.Number, by: by, what: codeOf(b.names, s), from: s.From, to: s.To}
	if p := &b.proc; p.lane >= firstProc && p.what == e.what && p.from == e.from && p.to == e.to {
		e.proc, *p = p.lane, entry{}
	}
	b.flush()
	b.add(e)
}

// row is that of a goroutine, which may be a new one.
func (b *builder) row(number int) *row {
	for number >= len(b.rows)*rowsAt {
		b.rows = append(b.rows, make([]row, rowsAt))
	}
	b.count = max(b.count, number+1)
	return b.at(number)
}

func (x *Index) at(number int) *row { return &x.rows[number/rowsAt][number%rowsAt] }

// end makes the numbers of kinds those of the index.
func (b *builder) end() {
	b.tracks.end(b.End)
	b.flush()
	if b.log != nil {
		b.log.length = b.End - b.Begin
	}
	of := map[uint32]uint32{}
	for n := range b.count {
		r := b.at(n)
		kind, ok := of[r.kind]
		if !ok {
			if name := b.names.KindOf(int(r.kind)); !waits.IsRuntime(name) {
				kind = uint32(len(b.kinds))
				b.kinds = append(b.kinds, name)
			}
			of[r.kind] = kind
		}
		r.kind = kind
	}
	b.longest = make([]requestAt, len(b.Requests))
	for i := range b.Requests {
		b.longest[i] = requestAt{b.Requests[i].From, b.Requests[i].To, int32(i)}
	}
	slices.SortFunc(b.longest, longest)
}

func longest(a, b requestAt) int {
	if c := cmp.Compare(b.to-b.from, a.to-a.from); c != 0 {
		return c
	}
	return cmp.Compare(a.index, b.index) // they are in the order of their numbers
}

// eachRequest hands on the requests of a window, the longest first.
func (x *Index) eachRequest(w waits.Window, take func(*requestAt)) {
	if len(x.Requests) == 0 {
		return
	}
	// They are in the order of their ends.
	at := func(end int64) int {
		i, _ := slices.BinarySearchFunc(x.Requests, end, func(r requests.Request, end int64) int { return cmp.Compare(r.To, end) })
		return i
	}
	list := x.longest
	first, last := at(w.From), at(w.To+list[0].to-list[0].from)
	if last-first < len(list)/4 {
		list = nil
		for i := first; i < last; i++ {
			if r := &x.Requests[i]; r.From < w.To {
				list = append(list, requestAt{r.From, r.To, int32(i)})
			}
		}
		slices.SortFunc(list, longest)
	}
	for i := range list {
		if r := &list[i]; r.from < w.To && r.to >= w.From {
			take(r)
		}
	}
}

// numberOf is the number of a goroutine, -1 where there is none.
func (x *Index) numberOf(id int64) int {
	if x.byID == nil {
		x.byID = make([]uint32, x.count)
		for i := range x.byID {
			x.byID[i] = uint32(i)
		}
		slices.SortFunc(x.byID, func(a, b uint32) int { return cmp.Compare(x.at(int(a)).id, x.at(int(b)).id) })
	}
	i, ok := slices.BinarySearchFunc(x.byID, id, func(n uint32, id int64) int { return cmp.Compare(x.at(int(n)).id, id) })
	if !ok {
		return -1
	}
	return int(x.byID[i])
}

// Kind is what a goroutine is for, "" where that is not known.
func (x *Index) Kind(id int64) string {
	if n := x.numberOf(id); n >= 0 {
		return x.kinds[x.at(n).kind]
	}
	return ""
}

// A code is a State as a log has it.
type code uint8

// assisting is of a goroutine that runs and works for the collector, where State has the same for one that waits for that.
const assisting = code(States)

func codeOf(n *waits.Names, s *waits.Span) code {
	switch {
	case s.State == exectrace.Waiting && n.Idle(s):
		return code(Idle)
	case s.State == exectrace.Running && s.Assist:
		return assisting
	}
	return code(requests.WhatOf(n, s)) + 1
}

func (c code) state() State {
	if c == assisting {
		return collecting
	}
	return State(c)
}

// active reports whether a goroutine of which that is said was so: running, ready or in a system call.
func (c code) active() bool {
	return c == assisting || c == code(running) || c == code(ready) || c == code(inSyscall)
}

// wokenBy is the goroutine that ended a wait and meant to; 0 is none.
func wokenBy(n *waits.Names, s *waits.Span) int64 {
	if s.State == exectrace.Waiting && !s.Open && s.By != 0 && n.Waker(s) == waits.ByGoroutine {
		return s.By
	}
	return 0
}
