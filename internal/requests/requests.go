// Package requests finds the requests that a program answered in its execution trace, without annotations, and why the slow ones were slow.
//
// Find returns the requests; Paths the critical path of some of them: what each waited for, through all goroutines that had a part in it.
package requests

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/waits"
)

// A What is what time goes into.
type What uint8

const (
	Running What = iota
	Ready        // could run, and had no P
	Syscall
	Network
	Lock
	Channel
	Select
	Sleep
	WaitGroup
	Condition // sync.Cond
	GC        // the collector, and help for it
	Other
	Whats
)

var whatNames = [Whats]string{"running", "ready", "syscall", "network", "lock", "channel", "select", "sleep", "wait group", "condition", "GC", "other"}

func (w What) String() string { return whatNames[w] }

// WhatOf is what a span is spent with.
func WhatOf(n *waits.Names, s *waits.Span) What {
	switch s.State {
	case exectrace.Running:
		if s.Assist {
			return GC
		}
		return Running
	case exectrace.Ready:
		return Ready
	case exectrace.Syscall:
		return Syscall
	}
	switch n.Cause(s) {
	case waits.Network:
		return Network
	case waits.Lock:
		return Lock
	case waits.Channel:
		return Channel
	case waits.Select:
		return Select
	case waits.Sleep:
		return Sleep
	case waits.WaitGroup:
		return WaitGroup
	case waits.Condition:
		return Condition
	case waits.GC:
		return GC
	}
	return Other
}

// A Request is one that was answered.
type Request struct {
	Number    int // in the order in which they ended, from 1
	From, To  int64
	Goroutine int64
	Handler   string // "" when nothing happened in it that leaves a stack; the pattern of a ServeMux where hone recorded that
	Split     [Whats]int64
	Begun     bool // it began before the trace
	Open      bool // it had not ended by the end of the trace
}

// Took is how long it took.
func (r *Request) Took() int64 { return r.To - r.From }

// Most is what most of its time went into.
func (r *Request) Most() What {
	most := Running
	for w := range Whats {
		if r.Split[w] > r.Split[most] {
			most = w
		}
	}
	return most
}

// Max bounds the requests that are kept; those after it are only counted.
const Max = 2 << 20

// A Found is the requests of a trace.
type Found struct {
	Requests []Request
	More     int       // that were left out
	Profiles []Request // for a profile or a trace, which are about the program, not of it; not in Requests
	Begin    int64     // of the trace
	End      int64
	Notes    []string // of what could not be read
}

// Find finds the requests of a trace.
func Find(t *exectrace.Trace) (*Found, error) {
	f := NewFinder(t)
	walk := f.Walk()
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	return f.Found(walk.End), nil
}

// NewFinder returns a Finder of the requests of a trace.
func NewFinder(t *exectrace.Trace) *Finder {
	return &Finder{trace: t, names: waits.NewNames(t), open: map[int64]*serving{}, early: map[int64]string{}, limited: map[int64]*limited{}, found: &Found{Begin: t.Begin()}}
}

// Walk returns how the finder goes through the trace, all of it.
func (f *Finder) Walk() *waits.Walk { return &waits.Walk{Span: f.span, Event: f.event, Names: f.names} }

// OnlyTimes has the finder keep no more than what Times returns.
func (f *Finder) OnlyTimes() { f.brief = &briefs{} }

// Times returns how long what was found took, after that.
func (f *Finder) Times() *Times {
	f.end()
	return f.brief.times()
}

// Found returns what was found, after that.
func (f *Finder) Found(end int64) *Found {
	f.found.End, f.found.Notes = end, waits.DamageNotes(f.trace)
	f.end()
	f.found.Requests = slices.Concat(append(f.full, f.found.Requests)...)
	f.full = nil
	f.found.sort()
	return f.found
}

// end takes what had not ended by the end of the trace.
func (f *Finder) end() {
	var left []*serving
	for _, s := range f.open {
		left = append(left, s)
	}
	slices.SortFunc(left, func(a, b *serving) int { return cmp.Compare(a.Goroutine, b.Goroutine) })
	for _, s := range left {
		if s.real {
			s.Open = true
			f.done(s)
			continue
		}
		f.drop(s)
	}
}

// A Finder finds requests while somebody goes through a trace.
type Finder struct {
	trace *exectrace.Trace
	names *waits.Names
	open  map[int64]*serving // by goroutine
	found *Found
	ended int64

	early   map[int64]string   // patterns of requests of which no span has come, by goroutine
	limited map[int64]*limited // by goroutine

	full  [][]Request // of those that were found; Found.Requests goes on from there
	brief *briefs     // in place of these; nil for them

	profile *waits.Profiler // takes what goroutines did, and the handlers; then nothing is kept of requests. nil where it is not asked for
}

// profilesPath is where servers offer profiles and traces.
const profilesPath = "/debug/pprof/"

// A serving is a request that may be one.
type serving struct {
	Request
	real     bool // there was a handler, or an answer
	finished bool // an answer is being sent
	watched  bool // its connection is
	own      bool // the goroutine is there for this request alone
	has      bool // From is known

	part *waits.Part // of the profile

	profile bool // the handler is one of net/http/pprof
	matched bool // Handler is a pattern
	calls   int  // of handlers, on the stack that says what Handler is
}

// event looks for ends of goroutines, and for requests that begin without a wait: for each, the server creates one goroutine that watches the
// connection, before the handler or when the body has been read.
func (f *Finder) event(e *exectrace.Event) {
	switch {
	case e.Kind == exectrace.Log && e.Name == waits.HandlerLog:
		g := e.Goroutine
		if l := f.limited[g]; l != nil {
			g = l.by
		}
		f.named(g, e.Text)
	case e.Kind != exectrace.Change:
	case e.To == exectrace.Absent:
		f.ended = e.Goroutine
		delete(f.limited, e.Goroutine)
		delete(f.early, e.Goroutine)
	case e.From == exectrace.Absent && e.By > 0 && f.names.Limited(e.Own):
		f.limited[e.Goroutine] = &limited{by: e.By, since: e.Time}
	case e.From == exectrace.Absent && e.By > 0 && f.names.Watches(e.Own):
		r := f.open[e.By]
		if r == nil {
			return
		}
		if r.finished && (r.watched || f.names.Phase(e.Stack) == waits.Handling) {
			f.next(r)
		}
		r.watched = true
	}
}

// named takes the pattern of a ServeMux that the request of a goroutine has matched. Where several do, the last one says most: it is of a ServeMux below another one.
func (f *Finder) named(g int64, pattern string) {
	r := f.open[g]
	switch {
	case r == nil:
		f.early[g] = pattern
		return
	case r.finished:
		f.next(r)
	}
	r.Handler, r.real, r.matched = pattern, true, true
}

// handled takes the handler on a stack of a request.
func (r *serving) handled(h waits.Handler) {
	r.profile = r.profile || strings.HasPrefix(h.Name, "net/http/pprof.")
	if h.Name != "" && !r.matched && (r.Handler == "" || h.Calls > r.calls) {
		r.Handler, r.calls = h.Name, h.Calls
	}
}

// A limited is a goroutine that calls a handler with a time limit.
type limited struct {
	by    int64 // the goroutine that answers the request
	since int64
}

// next ends a request, and begins one that had been read already.
func (f *Finder) next(r *serving) {
	at := r.To
	f.done(r)
	*r = serving{Request: Request{Goroutine: r.Goroutine, From: at, To: at}, has: true, real: true}
}

// span looks at what a goroutine did. Of most goroutines nothing is kept.
func (f *Finder) span(s *waits.Span) {
	g := s.Goroutine.ID
	phase, serves := f.names.Serving(s.Stack)
	r, _ := s.Goroutine.Mine.(*serving)
	if phase == waits.OwnGoroutine {
		if r == nil {
			r = &serving{Request: Request{Goroutine: g, From: s.From, Begun: s.Begun}, own: true, real: true, has: true}
			f.open[g], s.Goroutine.Mine = r, r
		}
	}
	switch {
	case r != nil && r.own:
		f.spend(r, s)
		r.handled(f.names.Handler(s.Stack))
		if f.ended == g && s.State == exectrace.Running {
			f.done(r)
			delete(f.open, g)
		}
		return
	case r == nil && !serves:
		f.below(s)
		return
	case r == nil:
		r = &serving{Request: Request{Goroutine: g}}
		f.open[g], s.Goroutine.Mine = r, r
		if pattern, ok := f.early[g]; ok {
			delete(f.early, g)
			f.named(g, pattern)
		}
	}
	if f.ended == g && s.State == exectrace.Running {
		if r.real {
			if !r.finished {
				f.spend(r, s) // the handler took the connection, or failed: it was all of the rest
			}
			f.done(r)
		} else {
			f.drop(r)
		}
		delete(f.open, g)
		return
	}
	switch phase {
	case waits.NoPhase:
		if !r.real && s.State == exectrace.Waiting {
			// For the client, before there is a request: a handshake.
			f.drop(r)
			*r = serving{Request: Request{Goroutine: g, From: s.To}, has: true}
			return
		}
	case waits.NextRequest:
		switch {
		case s.State == exectrace.Waiting && f.names.Cause(s) != waits.GC:
			if r.real {
				f.done(r)
			} else {
				f.drop(r)
			}
			// The next one is there when this wait ends: from then on it is the server that takes time.
			*r = serving{Request: Request{Goroutine: g, From: s.To}, has: true}
			return
		case r.real && s.State == exectrace.Running:
			// It ended before this: the goroutine went on to read the next one.
			f.done(r)
			*r = serving{Request: Request{Goroutine: g}}
			return
		case !r.has:
			r.From, r.has, r.Begun = s.From, true, s.Begun
		}
		f.spend(r, s)
		return
	case waits.Handling:
		if r.finished {
			f.next(r)
		}
		r.real = true
	case waits.Finishing:
		r.real, r.finished = true, true
	}
	if !r.has {
		r.From, r.has, r.Begun = s.From, true, s.Begun
	}
	r.handled(f.names.Handler(s.Stack))
	f.spend(r, s)
}

// below looks at what a goroutine did that answers no request itself: a handler with a time limit has one of its own.
func (f *Finder) below(s *waits.Span) {
	l := f.limited[s.Goroutine.ID]
	if l == nil {
		return
	}
	r := f.open[l.by]
	if r == nil || r.finished || r.has && r.From > l.since {
		return // that request is over
	}
	h := f.names.Handler(s.Stack)
	h.Calls += below
	r.handled(h)
}

// below is more than the calls of handlers on the stack of a goroutine that answers a request.
const below = 1 << 10

// spend has a request take the time of a span.
func (f *Finder) spend(r *serving, s *waits.Span) {
	from := max(s.From, r.From)
	if s.To < from {
		return
	}
	r.Split[WhatOf(f.names, s)] += s.To - from
	r.To = s.To
	if f.profile != nil {
		r.part, s.Taken = f.profile.AddTo(r.part, s), true
	}
}

// drop forgets what came before a request: it was none.
func (f *Finder) drop(r *serving) {
	if f.profile != nil {
		f.profile.End(r.part, "")
		r.part = nil
	}
}

// block is how many requests are kept together while there may be more: a list that grows would be copied again and again.
const block = 4 << 10

func (f *Finder) done(r *serving) {
	if f.profile != nil {
		f.profile.End(r.part, r.Handler)
		r.part = nil
		return
	}
	if r.profile || strings.Contains(r.Handler, profilesPath) {
		// They take as long as whoever asks wants to look on.
		f.found.Profiles = append(f.found.Profiles, r.Request)
		return
	}
	if f.brief != nil {
		if len(f.brief.list) < Max {
			f.brief.add(&r.Request)
		}
		return
	}
	if len(f.full)*block+len(f.found.Requests) >= Max {
		f.found.More++
		return
	}
	if len(f.found.Requests) == block {
		f.full = append(f.full, f.found.Requests)
		f.found.Requests = make([]Request, 0, block)
	}
	f.found.Requests = append(f.found.Requests, r.Request)
}
