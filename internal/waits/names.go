package waits

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/profile"
)

// Names knows the functions of stacks, and what they say about goroutines. It keeps what it found out.
type Names struct {
	trace *exectrace.Trace
	calls []*calls // by the number of the stack
	texts map[string]uint32
	list  []string
	ours  []bool // whether a text is a kind of goroutine of the runtime
}

// NewNames returns the names of a trace.
func NewNames(t *exectrace.Trace) *Names {
	return &Names{trace: t, texts: map[string]uint32{"": 0}, list: []string{""}, ours: []bool{true}}
}

// number is the number of a text, which is as good as the text and faster to look up.
func (n *Names) number(text string) uint32 {
	id, ok := n.texts[text]
	if !ok {
		id = uint32(len(n.list))
		n.texts[text] = id
		n.list = append(n.list, text)
		n.ours = append(n.ours, IsRuntime(text))
	}
	return id
}

// Calls are what is known about a stack.
type calls struct {
	phase   Phase
	serves  bool   // below the server of net/http or another one
	idle    bool   // waits for work here: for a connection, a request
	loop    bool   // waits for a channel in the function that the goroutine is there for
	collect bool   // the collector waits for itself
	parked  Cause  // what it waits for, where the trace has no reason
	group   bool   // sync.WaitGroup.Wait
	name    uint32 // of the function at the place
	kind    uint32 // of the root
	only    bool   // its outermost function is only there to call another one
	wakes   bool   // that it wakes somebody from the network is meant: a deadline, a connection that is closed
	handler Handler
	frames  []exectrace.Frame
	root    string // its outermost function that is not there only to call another one
	place   int    // number of the innermost frame that is not of the runtime or of what waits for it; -1 is none
}

func (n *Names) of(s exectrace.Stack) *calls {
	if int(s) >= len(n.calls) {
		n.calls = append(n.calls, make([]*calls, n.trace.Stacks()+1-len(n.calls))...)
	}
	c := n.calls[s]
	if c == nil {
		c = look(n.trace.Frames(s))
		c.kind = n.number(c.root)
		if f, ok := c.where(); ok {
			c.name = n.number(f.Func)
		}
		n.calls[s] = c
	}
	return c
}

func look(frames []exectrace.Frame) *calls {
	c := &calls{frames: frames, place: -1}
	root := len(frames) - 1
	for root > 0 && wraps(frames[root].Func) {
		root--
	}
	if root >= 0 {
		c.root = function(frames[root].Func)
		c.only = wraps(frames[len(frames)-1].Func)
	}
	for i, f := range frames {
		name := f.Func
		if c.place < 0 && !waiter(name) {
			c.place = i
		}
		switch {
		case name == "runtime.gcMarkDone", name == "runtime.gcStart", name == "runtime.GC", strings.HasPrefix(name, "runtime.gcMarkTermination"):
			c.collect = true
		case strings.HasPrefix(name, "sync.(*WaitGroup).Wait"):
			c.group = true
		case name == "internal/poll.(*FD).Accept", name == "os/signal.loop", name == "net/http.(*connReader).backgroundRead",
			name == "net/http.(*persistConn).readLoop", name == "net/http.(*persistConn).writeLoop":
			c.idle = true
		case strings.HasPrefix(name, "internal/poll.runtime_pollSetDeadline"), strings.HasPrefix(name, "internal/poll.runtime_pollUnblock"),
			name == "internal/poll.setDeadlineImpl", name == "internal/poll.(*pollDesc).evict":
			c.wakes = true
		case isServe(name):
			c.serves = true
			if i > 0 {
				c.phase = phaseOf(name, frames[i-1].Func)
				c.idle = c.idle || c.phase == NextRequest
			}
		case strings.HasSuffix(name, "serverConn).runHandler"), strings.Contains(name, "serverConn).scheduleHandler.gowrap"),
			strings.Contains(name, "serverConn).processHeaders.gowrap"), strings.HasPrefix(name, "google.golang.org/grpc.(*Server).handleStream"):
			c.phase = OwnGoroutine
		case strings.HasSuffix(name, "http2serverConn).readFrames"), strings.HasSuffix(name, "http2serverConn).serve") && i <= c.place+1,
			strings.HasSuffix(name, "http2.(*serverConn).readFrames"), strings.HasSuffix(name, "http2.(*serverConn).serve") && i <= c.place+1,
			strings.HasSuffix(name, "http2clientConnReadLoop).run"), strings.HasSuffix(name, "http2.(*clientConnReadLoop).run"):
			c.idle = true
		}
	}
	c.handler = handler(frames)
	c.parked = parkedFor(frames[:max(c.place, 0)])
	if c.place > 0 && c.place == root && frames[len(frames)-1].Func != "runtime.main" {
		c.loop = strings.HasPrefix(frames[0].Func, "runtime.chanrecv") || frames[0].Func == "runtime.selectgo"
	}
	return c
}

// parkedFor is what a goroutine waits for by the innermost calls of its stack, as far as they say it.
func parkedFor(frames []exectrace.Frame) Cause {
	cause := OtherCause
	for _, f := range frames {
		switch name := f.Func; {
		case strings.HasPrefix(name, "runtime.chanrecv"), strings.HasPrefix(name, "runtime.chansend"):
			return Channel
		case name == "runtime.selectgo", name == "runtime.block":
			return Select
		case name == "time.Sleep":
			return Sleep
		case strings.HasPrefix(name, "sync.(*WaitGroup).Wait"):
			return WaitGroup
		case strings.HasPrefix(name, "sync.(*Cond).Wait"):
			return Condition
		case strings.HasPrefix(name, "internal/poll.runtime_pollWait"), name == "runtime.netpollblock":
			return Network
		case strings.HasPrefix(name, "sync.runtime_Semacquire"), strings.HasPrefix(name, "internal/sync.runtime_Semacquire"), strings.HasPrefix(name, "internal/poll.runtime_Semacquire"),
			strings.HasPrefix(name, "sync.(*"), strings.HasPrefix(name, "internal/sync.(*"):
			cause = Lock // unless one that called it says more
		}
	}
	return cause
}

// isServe reports whether a function reads the requests of a connection.
func isServe(name string) bool {
	return name == "net/http.(*conn).serve" || name == fasthttp+"(*Server).serveConn"
}

// A Phase is what the server of a connection is doing on a stack.
type Phase uint8

const (
	NoPhase      Phase = iota // nothing that is known
	NextRequest               // waits for a request, or reads it
	Handling                  // calls the handler
	Finishing                 // sends what is left of the answer
	OwnGoroutine              // this goroutine is there for one request
)

// phaseOf is what a connection is served with by a function that the one which serves it calls.
func phaseOf(serve, name string) Phase {
	switch name {
	case "bufio.(*Reader).Peek", "net/http.(*conn).readRequest":
		return NextRequest
	case "net/http.serverHandler.ServeHTTP", "net/http.(*connReader).startBackgroundRead":
		return Handling
	case "net/http.(*response).finishRequest", "net/http.(*connReader).abortPendingRead":
		return Finishing
	}
	if !strings.HasPrefix(serve, fasthttp) {
		return NoPhase
	}
	switch {
	case strings.HasPrefix(name, fasthttp+"(*RequestHeader)"), strings.HasPrefix(name, fasthttp+"(*Request)"), strings.HasPrefix(name, fasthttp+"acquireByteReader"):
		return NextRequest
	case name == "bufio.(*Writer).Flush", strings.HasPrefix(name, fasthttp+"writeResponse"):
		return Finishing
	case strings.HasPrefix(name, fasthttp), strings.HasPrefix(name, "bufio."):
		return NoPhase
	}
	return Handling
}

const fasthttp = "github.com/valyala/fasthttp."

// Phase is what the server of a connection is doing on a stack.
func (n *Names) Phase(s exectrace.Stack) Phase { return n.of(s).phase }

// waiter reports whether a function only waits for others, so that what matters is who called it.
func waiter(name string) bool {
	for _, prefix := range []string{"runtime.", "sync.", "internal/sync.", "internal/poll.", "time.Sleep", "syscall.", "internal/runtime/", "internal/synctest."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// wraps reports whether a function at the root of a stack is only there to call the one that the goroutine is for.
func wraps(name string) bool {
	if _, part := profile.CutPart(name); part == profile.GoCall {
		return true
	}
	switch name {
	case labeled, region:
		return true
	case "sync.(*WaitGroup).Go.func1", "golang.org/x/sync/errgroup.(*Group).Go.func1", "golang.org/x/sync/errgroup.(*Group).TryGo.func1", "runtime.main", "runtime.corostart", "time.goFunc":
		return true
	}
	return false
}

// These call a function for the goroutine that they are started in: go pprof.Do(ctx, labels, work) is there for work.
const (
	labeled = "runtime/pprof.Do"
	region  = "runtime/trace.WithRegion"
)

// function leaves out of a name what says nothing.
func function(name string) string {
	if outer, part := profile.CutPart(name); part == profile.GoCall {
		return outer
	}
	return name
}

// A Handler is the function that answers a request, by the calls below the server. Of two on the stacks of a request, the one with more Calls is it: the other one
// was on the way to it.
type Handler struct {
	Name  string // "" where there is none
	Calls int    // of handlers, each below the one before it
}

// timeoutStart is what a goroutine is started with in which a handler has a time limit.
const timeoutStart = "net/http.(*timeoutHandler).ServeHTTP.func1"

// handler is what the innermost call of a handler calls that is not a server's own; where there is none, what the innermost HandlerFunc calls, or the first method
// ServeHTTP that is not of net/http.
func handler(frames []exectrace.Frame) (h Handler) {
	served := len(frames) > 0 && frames[len(frames)-1].Func == timeoutStart
	for _, f := range frames {
		if isServe(f.Func) || strings.HasSuffix(f.Func, "serverConn).runHandler") || strings.HasSuffix(f.Func, "serverHandler.ServeHTTP") {
			served = true
			break
		}
	}
	if !served {
		return h
	}
	inner, serve := "", ""
	for i, f := range frames {
		if strings.HasPrefix(f.Func, "net/http/pprof.") {
			return Handler{f.Func, len(frames)}
		}
		if serve == "" && strings.HasSuffix(f.Func, ".ServeHTTP") && !strings.HasPrefix(f.Func, "net/http.") {
			serve = f.Func
		}
		if i == 0 || !callsHandler(f.Func) {
			continue
		}
		called := frames[i-1].Func
		if f.Func == handlerFunc && inner == "" {
			inner = called
		}
		if isServers(called) {
			continue
		}
		if h.Calls++; h.Name == "" {
			h.Name = called
		}
	}
	if h.Name == "" {
		h.Name = cmp.Or(inner, serve)
	}
	return h
}

const (
	handlerFunc = "net/http.HandlerFunc.ServeHTTP"
	gin         = "github.com/gin-gonic/gin."
	echo        = "github.com/labstack/echo/"
)

// callsHandler reports whether a function is there to call a handler, or one of the functions around it.
func callsHandler(name string) bool {
	switch name {
	case handlerFunc, gin + "(*Context).Next", "github.com/julienschmidt/httprouter.(*Router).ServeHTTP":
		return true
	}
	return strings.HasPrefix(name, echo) && strings.HasSuffix(name, ".(*Echo).add.func1") // v4 and v5 are in folders of these names
}

// isServers reports whether a function is of a server or a router, which are not what a request is for.
func isServers(name string) bool {
	for _, prefix := range []string{"net/http.", gin, echo, "github.com/go-chi/chi/", "github.com/julienschmidt/httprouter."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// HandlerLog is the category under which programs that hone record built say what request they answered.
const HandlerLog = "hone.handler"

// Serving is the Phase of a stack, and whether it is of a goroutine that answers the requests of a connection.
func (n *Names) Serving(s exectrace.Stack) (phase Phase, serves bool) {
	c := n.of(s)
	return c.phase, c.serves
}

// Watches reports whether a goroutine that starts so watches a connection while a request that came over it is answered.
func (n *Names) Watches(start exectrace.Stack) bool {
	return n.of(start).root == "net/http.(*connReader).backgroundRead"
}

// Handler is the function that answers a request on this stack.
func (n *Names) Handler(s exectrace.Stack) Handler { return n.of(s).handler }

// Limited reports whether a goroutine that starts so calls a handler that has a time limit, for the one that answers the request.
func (n *Names) Limited(start exectrace.Stack) bool {
	frames := n.of(start).frames
	return len(frames) > 0 && frames[len(frames)-1].Func == timeoutStart
}

// Place is the innermost call of a stack that is not of the runtime or of what waits for it.
func (n *Names) Place(s exectrace.Stack) (exectrace.Frame, bool) {
	return n.of(s).where()
}

func (c *calls) where() (exectrace.Frame, bool) {
	switch {
	case c.place >= 0:
		return c.frames[c.place], true
	case len(c.frames) > 0:
		return c.frames[len(c.frames)-1], true
	}
	return exectrace.Frame{}, false
}

// Kind is what a goroutine is for: the function that it was started with, as a user would name it.
func (n *Names) Kind(g *Goroutine, s exectrace.Stack) string { return n.list[n.kind(g, s)] }

// BetterKind is a number for the Kind of a goroutine, by what is known on one more stack, and whether no other stack would say more.
func (n *Names) BetterKind(g *Goroutine, s exectrace.Stack) (kind int, sure bool) {
	number, sure := n.kindOn(g, s)
	return int(number), sure
}

// KindOf is the Kind of a number.
func (n *Names) KindOf(number int) string { return n.list[number] }

// OfRuntime reports whether a goroutine is one of the runtime, or records the trace, as far as is known on a stack of it.
func (n *Names) OfRuntime(g *Goroutine, s exectrace.Stack) bool { return n.ours[n.kind(g, s)] }

func (n *Names) kind(g *Goroutine, s exectrace.Stack) uint32 {
	kind, _ := n.kindOn(g, s)
	return kind
}

// kindOn is what a goroutine is for, by what was known of it and a stack of it, and whether that is sure: where its first function is only there to call
// another one, only a stack with that one tells. The first such stack settles it, for every later question.
func (n *Names) kindOn(g *Goroutine, s exectrace.Stack) (kind uint32, sure bool) {
	if g.kind != 0 && (g.Worker == "" || g.worker) {
		return g.kind, true
	}
	if kind, sure = n.kindOf(g, s); sure {
		g.kind, g.worker = kind, g.Worker != ""
	}
	return kind, sure
}

func (n *Names) kindOf(g *Goroutine, s exectrace.Stack) (kind uint32, sure bool) {
	if g.Worker != "" {
		return n.number("runtime.gcBgMarkWorker"), true
	}
	if g.ID == 1 {
		return n.number("main.main"), true
	}
	start := n.of(g.Start)
	if len(start.frames) > 0 && !start.only {
		return start.kind, true
	}
	for _, c := range [...]*calls{n.of(s), start} {
		if c.root != "" && len(c.frames) > 1 && (!c.only || !waiter(c.root) && !records(c.root)) {
			return c.kind, true
		}
	}
	if start.root == "" && nameless(n.trace) {
		return n.number("goroutine " + strconv.FormatInt(g.ID, 10)), false
	}
	return start.kind, false
}

// nameless reports whether a trace has no names of functions at all, by now: it is cut within its first second, and these come last. Nothing tells the
// goroutines of the program from those of the runtime then. In traces of before Go 1.22, names come with the events.
func nameless(t *exectrace.Trace) bool { return t.Version >= 22 && t.Stacks() == 0 }

// IsRuntime reports whether a kind of goroutines belongs to the runtime, or to the recording of the trace.
// Those of which nothing is known are the runtime's: others have a stack when they are created, when they wait, or when the trace begins.
func IsRuntime(kind string) bool {
	switch kind {
	case "":
		return true
	case "runtime.main", labeled, region: // of the program, though no stack says for which function
		return false
	}
	return strings.HasPrefix(kind, "runtime.") || records(kind)
}

// records reports whether a function is of a package that records profiles or traces.
func records(name string) bool {
	return strings.HasPrefix(name, "runtime/trace.") || strings.HasPrefix(name, "runtime/pprof.")
}

// A Cause is what a goroutine waits for, as users know it.
type Cause uint8

const (
	OtherCause Cause = iota
	Network
	Lock
	Channel
	Select
	Sleep
	Condition
	WaitGroup
	GC
	Coroutine
	Forever
	Runtime
)

var causes = [...]string{"other", "network", "lock", "channel", "select", "sleep", "condition", "wait group", "GC", "coroutine", "forever", "runtime"}

func (c Cause) String() string { return causes[c] }

// Cause is what a goroutine waits for in a span of waiting.
func (n *Names) Cause(s *Span) Cause {
	switch s.Reason {
	case exectrace.Network:
		return Network
	case exectrace.Sync:
		switch c := n.of(s.Stack); {
		case c.collect:
			return GC // a semaphore of the collector
		case c.group:
			return WaitGroup
		}
		return Lock
	case exectrace.ChanReceive, exectrace.ChanSend:
		return Channel
	case exectrace.Select:
		return Select
	case exectrace.Sleep:
		return Sleep
	case exectrace.Cond:
		return Condition
	case exectrace.GCAssist, exectrace.GCBackground, exectrace.GCSweep, exectrace.GCWeakToStrong, exectrace.Preempted:
		return GC // who waits because it was preempted has its stack scanned
	case exectrace.Coroutine:
		return Coroutine
	case exectrace.Forever:
		return Forever
	case exectrace.SystemGoroutine:
		return Runtime
	case exectrace.NoReason:
		return n.of(s.Stack).parked // since before the trace, which does not say why
	}
	return OtherCause
}

// Idle reports whether a goroutine waits for work in a span of waiting: a connection, a request, or, where it is known to do that in a loop, for
// a channel in the function that it is there for. One that waits for the collector at such a place does not.
func (n *Names) Idle(s *Span) bool {
	c := n.of(s.Stack)
	return (c.idle || c.loop && s.Again) && n.Cause(s) != GC
}

// A Waker is what ended a wait.
type Waker uint8

const (
	NoWaker     Waker = iota // the wait did not end, or nothing is known
	ByGoroutine              // the goroutine Span.By, at Span.ByStack
	ByTimer
	ByNetwork
	ByRuntime
)

// Waker says what ended a wait. Who starts the collector, or looks for work, runs timers and asks the network on the way: it woke others, and is
// not why.
func (n *Names) Waker(s *Span) Waker {
	switch {
	case s.Open:
		return NoWaker
	case s.Reason == exectrace.Network:
		if s.By != 0 && n.of(s.ByStack).wakes {
			return ByGoroutine
		}
		return ByNetwork
	case s.Reason == exectrace.Sleep:
		return ByTimer
	case s.By == 0 && (s.Reason == exectrace.Select || s.Reason == exectrace.ChanReceive):
		return ByTimer
	case s.By == 0, n.Cause(s) == GC, n.of(s.ByStack).collect && s.Reason != exectrace.Sync:
		return ByRuntime
	}
	return ByGoroutine
}
