package waits

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// The sample types of a profile of a trace.
const (
	Blocked = "blocked" // waits for something that happens elsewhere
	Waits   = "waits"   // how often
	ReadyTo = "ready"   // could run, and had no P
	System  = "syscall" // in a system call, or in C
	Running = "running" // had a P
	Idle    = "idle"    // waits for work
)

// Types are the sample types, the one to show first in front.
var Types = []string{Blocked, Waits, ReadyTo, System, Running, Idle}

// The labels of the samples.
const (
	ReasonLabel    = "reason"    // why it waits, or what it was doing
	GoroutineLabel = "goroutine" // the function that it was started with
	HandlerLabel   = "handler"   // that answers a request
	WakerLabel     = "waker"     // the function that ended the wait
)

// Still is the waker of waits that had not ended.
const Still = "(still waiting)"

// Lasting is how much of the waiting in a profile had not ended: of leaked goroutines, it grows with the time that is looked at.
func Lasting(p *profile.Profile, k int) (sum int64) {
	if k >= len(Types) || p.SampleTypes[k].Type != Types[k] || Types[k] != Blocked {
		return 0
	}
	still := make([]bool, len(p.LabelSets()))
	for i, set := range p.LabelSets() {
		still[i] = slices.ContainsFunc(set, func(l profile.Label) bool { return l.Key == WakerLabel && l.Str == Still })
	}
	for i, v := range p.Values(k) {
		if still[p.Label(i)] {
			sum += v
		}
	}
	return sum
}

// column is the place of a sample type.
const (
	blockedColumn = iota
	waitsColumn
	readyColumn
	syscallColumn
	runningColumn
	idleColumn
	columns
)

// A key is what samples of a profile have in common.
type key struct {
	stack   exectrace.Stack
	reason  activity
	kind    uint32
	waker   uint32
	handler uint32
}

// An activity is a Cause of waiting, or what else a goroutine does.
type activity uint8

const (
	isReady activity = 128 + iota
	inSyscall
	isRunning
	inAssist
)

func (a activity) String() string {
	switch a {
	case isReady:
		return "ready"
	case inSyscall:
		return "syscall"
	case isRunning:
		return "running"
	case inAssist:
		return "GC assist"
	}
	return Cause(a).String()
}

// maxSamples bounds a profile; what comes later loses its wakers.
const maxSamples = 1 << 20

// Sums are values by key. Most stacks have a few keys, so that looking through these is faster than a map.
type sums struct {
	by [][]sum // number of the stack
	n  int
	in map[key]*sum // of stacks with many keys
}

type sum struct {
	key
	v values
}

// values are those of a sample.
type values [columns]int64

func (v *values) addTo(sum *values) {
	for i := range v {
		sum[i] += v[i]
	}
}

// many is from how many keys on those of a stack are in the map.
const many = 24

// get returns the values of a key, until the next get.
func (s *sums) get(k key) *values {
	if int(k.stack) >= len(s.by) {
		s.by = append(s.by, make([][]sum, int(k.stack)+1-len(s.by))...)
	}
	list := s.by[k.stack]
	for i := range list {
		if p := &list[i]; p.key == k {
			return &p.v
		}
	}
	if len(list) >= many {
		if p := s.in[k]; p != nil {
			return &p.v
		}
	}
	if s.n >= maxSamples && k.waker != 0 {
		k.waker = 0
		return s.get(k)
	}
	s.n++
	if len(list) >= many {
		p := &sum{key: k}
		s.in[k] = p
		return &p.v
	}
	s.by[k.stack] = append(list, sum{key: k})
	return &s.by[k.stack][len(list)].v
}

// all lists the sums, ordered.
func (s *sums) all(n *Names) []sum {
	list := make([]sum, 0, s.n)
	for _, of := range s.by {
		list = append(list, of...)
	}
	for _, p := range s.in {
		list = append(list, *p)
	}
	order.Stable(list, func(a, b sum) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.reason, b.reason), cmp.Compare(n.list[a.kind], n.list[b.kind]), cmp.Compare(n.list[a.waker], n.list[b.waker]),
			cmp.Compare(n.list[a.handler], n.list[b.handler]))
	})
	return list
}

// A Profiler adds up what goroutines did in a trace, by where they did it. The runtime's own goroutines and those that record the trace are left out.
//
// It takes the spans of all of a trace, and cuts them to its window: what a goroutine did in the window may have got its name before or after.
type Profiler struct {
	names  *Names
	window Window
	sums   sums
	free   []*Part
	parts  int // that were begun and have not ended
}

// A Part is what a goroutine did while it answered one request. The handler is known when it ends.
type Part struct {
	kind uint32
	list []sum
	in   map[key]int // places in the list, of a long one
}

// NewProfiler returns a profiler of a window of a trace, which has nothing yet.
func NewProfiler(n *Names, w Window) *Profiler {
	return &Profiler{names: n, window: w, sums: sums{in: map[key]*sum{}}}
}

// Add takes a span of no request. Its goroutine must have been named; see Walk.Named.
func (p *Profiler) Add(s *Span) {
	k, v, ok := p.value(s)
	if k.kind = p.names.kind(s.Goroutine, s.Stack); ok && !p.names.ours[k.kind] {
		v.addTo(p.sums.get(k))
	}
}

// AddTo takes a span of a request, and returns the part that it belongs to: the one that is handed in, or a new one where that is nil.
func (p *Profiler) AddTo(part *Part, s *Span) *Part {
	k, v, ok := p.value(s)
	if !ok {
		return part
	}
	if part == nil {
		part = p.part()
	}
	v.addTo(part.get(k))
	part.kind = p.names.kind(s.Goroutine, s.Stack) // which may get better
	return part
}

// End adds a part, which may be nil, under the handler of its request; the part is not to be used after that.
func (p *Profiler) End(part *Part, handler string) {
	if part == nil {
		return
	}
	name := p.names.number(handler)
	for i := range part.list {
		s := &part.list[i]
		s.kind, s.handler = part.kind, name
		s.v.addTo(p.sums.get(s.key))
	}
	p.parts--
	part.list, part.in = part.list[:0], nil
	p.free = append(p.free, part)
}

// Done reports whether nothing that happens from an event of the trace on can change the profile.
func (p *Profiler) Done(t *exectrace.Trace, e *exectrace.Event) bool {
	// What was there from the begin is stated as late as at the end of the first part.
	return e.Time >= p.window.end() && p.parts == 0 && (t.Parts() == 0 || t.Part() > 0)
}

func (p *Profiler) part() *Part {
	p.parts++
	n := len(p.free)
	if n == 0 {
		return new(Part)
	}
	part := p.free[n-1]
	p.free = p.free[:n-1]
	return part
}

// get returns the values of a key, until the next get.
func (p *Part) get(k key) *values {
	if p.in != nil {
		if i, ok := p.in[k]; ok {
			return &p.list[i].v
		}
		p.in[k] = len(p.list)
	} else {
		for i := range p.list {
			if p.list[i].key == k {
				return &p.list[i].v
			}
		}
		if len(p.list) == many {
			p.in = map[key]int{k: len(p.list)}
			for i := range p.list {
				p.in[p.list[i].key] = i
			}
		}
	}
	p.list = append(p.list, sum{key: k})
	return &p.list[len(p.list)-1].v
}

// value is what a span adds to a profile, but for what its goroutine and its handler are.
func (p *Profiler) value(s *Span) (k key, v values, ok bool) {
	from, to, open := max(s.From, p.window.From), s.To, s.Open
	if end := p.window.end(); to >= end {
		to, open = end, true
		if s.From >= end {
			return k, v, false
		}
	}
	if to < from || to == from && s.From < from {
		return k, v, false
	}
	if k.stack = s.Stack; k.stack == 0 && s.State != exectrace.Running {
		k.stack = s.Goroutine.Start
	}
	switch s.State {
	case exectrace.Waiting:
		at := *s
		at.Stack, at.Open = k.stack, open
		k.reason = activity(p.names.Cause(&at))
		v[waitsColumn] = 1
		if p.names.Idle(&at) {
			v[idleColumn] = to - from
			break
		}
		v[blockedColumn] = to - from
		k.waker = p.names.waker(&at)
	case exectrace.Ready:
		k.reason = isReady
		v[readyColumn] = to - from
	case exectrace.Syscall:
		k.reason = inSyscall
		v[syscallColumn] = to - from
	default:
		k.reason = isRunning
		if s.Assist {
			k.reason = inAssist
		}
		v[runningColumn] = to - from
	}
	return k, v, true
}

// waker is the number of the name of what ended a wait.
func (n *Names) waker(s *Span) uint32 {
	switch n.Waker(s) {
	case ByGoroutine:
		return n.of(s.ByStack).name
	case ByTimer:
		return n.number("timer")
	case ByNetwork:
		return n.number("network")
	case ByRuntime:
		return n.number("runtime")
	}
	return n.number(Still)
}

// Profile is what was added, after a walk through all of the trace, or until Done.
func (p *Profiler) Profile(t *exectrace.Trace, walk *Walk) (*profile.Profile, error) {
	if err := p.window.outside(walk.Begin, walk.End); err != nil {
		return nil, err
	}
	begin, n := max(p.window.From, walk.Begin), p.names
	h := profile.Header{DefaultType: Blocked, DurationNanos: min(walk.End, p.window.end()) - begin}
	for _, typ := range Types {
		unit := "nanoseconds"
		if typ == Waits {
			unit = "count"
		}
		h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: typ, Unit: unit})
	}
	if wall := t.Wall(); wall != 0 {
		h.TimeNanos = wall + begin
	}
	b := newStacks(t, h)
	for _, k := range p.sums.all(n) {
		var labels []profile.Label
		for _, l := range [...]profile.Label{
			{Key: GoroutineLabel, Str: n.list[k.kind]}, {Key: HandlerLabel, Str: n.list[k.handler]}, {Key: ReasonLabel, Str: k.reason.String()}, {Key: WakerLabel, Str: n.list[k.waker]},
		} {
			if l.Str != "" {
				labels = append(labels, l)
			}
		}
		b.add(k.stack, n.list[k.kind], labels, k.v[:])
	}
	b.Notes = append(b.Notes, DamageNotes(t)...)
	return b.Profile()
}

// A stacks builds a profile of stacks of a trace.
type stacks struct {
	*profile.Builder
	trace     *exectrace.Trace
	functions map[[2]string]uint32
	locations map[exectrace.Frame]uint32
	stack     []uint32
}

func newStacks(t *exectrace.Trace, h profile.Header) *stacks {
	b := &stacks{Builder: profile.NewBuilder(h), trace: t, functions: map[[2]string]uint32{}, locations: map[exectrace.Frame]uint32{}}
	// Everything has its name already.
	b.Mappings = []profile.Mapping{{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}}
	return b
}

func (b *stacks) locate(f exectrace.Frame) uint32 {
	at, ok := b.locations[f]
	if ok {
		return at
	}
	fn, ok := b.functions[[2]string{f.Func, f.File}]
	if !ok {
		fn = uint32(len(b.Functions))
		b.functions[[2]string{f.Func, f.File}] = fn
		b.Functions = append(b.Functions, profile.Function{ID: uint64(fn) + 1, Name: f.Func, SystemName: f.Func, File: f.File})
	}
	at = uint32(len(b.Locations))
	b.locations[f] = at
	b.Locations = append(b.Locations, profile.Location{
		ID: uint64(at) + 1, Mapping: 0, Address: f.PC, Lines: []profile.Line{{Function: fn, Line: int64(f.Line)}},
	})
	return at
}

// add adds a sample. Of a goroutine whose stack is not in the trace its kind is all that is known.
func (b *stacks) add(s exectrace.Stack, kind string, labels []profile.Label, values []int64) {
	b.stack = b.stack[:0]
	for _, f := range b.trace.Frames(s) {
		b.stack = append(b.stack, b.locate(f))
	}
	if len(b.stack) == 0 {
		b.stack = append(b.stack, b.locate(exectrace.Frame{Func: cmp.Or(kind, unknown)}))
	}
	b.Add(b.stack, b.Labels(labels), values)
}

// unknown is the function of goroutines of which nothing is known.
const unknown = "(unknown)"

// DamageNotes say what of a trace could not be read.
func DamageNotes(t *exectrace.Trace) []string {
	damage := t.Damage()
	if len(damage) == 0 {
		return nil
	}
	d := damage[0]
	note := fmt.Sprintf("the trace is damaged at byte %d: %v", d.At, d.Err)
	if d.Time > 0 { // it is not known where headers and tables of names are damaged, which are read before the events
		note += "; the last event before that is at " + unit.Time(time.Duration(d.Time))
	}
	if nameless(t) {
		note += ", and no name of a function is in what there is: goroutines go by their numbers, those of the runtime as well, waiting for work counts as other waiting, " +
			"and requests cannot be found"
	} else {
		note += ", and up to a second before it the names of functions may be missing: times there are not told apart as they should be"
	}
	if len(damage) > 1 {
		note += fmt.Sprintf("; it is damaged in %d more places", len(damage)-1)
	}
	return []string{note}
}
