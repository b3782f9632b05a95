package heap

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// stacks reads what the goroutines of a program hold.
type stacks struct {
	*program
	roots  [][]root // in pieces, which need not be copied when there are more
	count  uint64   // of roots
	sites  [][]heapgraph.Frame
	framed int                // frames of sites
	made   map[siteKey]uint32 // index into sites
	nodes  map[nodeKey]uint32
	tree   []node // 0 is the outermost

	byM     map[uint64]*thread // by the runtime's thread
	current map[uint64]*thread // by goroutine
	reasons map[uint8]string
	now     int64 // when the program was stopped, as its runtime counts

	g struct {
		lo, hi, sp, pc, ctxt, lr, status, since, reason, m, syscallSP, syscallPC, deferred, panicking place
	}
	d                                                               struct{ fn, link, heap place }
	running, syscall, waiting, dead, deadExtra, idle, copying, scan uint64
	buf                                                             []byte
	walk                                                            walk
}

// A node is a frame of a stack, with all that is further out.
type node struct {
	key   nodeKey
	calls []heapgraph.Frame
	count uint32 // goroutines with exactly this stack
	bytes uint64 // of their stacks
}

type nodeKey struct {
	outer uint32
	pc    uint64
}

type siteKey struct {
	node uint32
	skip int
}

const (
	maxGoroutines = 1 << 24
	maxStack      = 1 << 30 // bytes, as the runtime has it
	maxFrames     = 1 << 20 // of one stack
	maxSite       = 64      // frames of a stack that are kept
	maxSiteFrames = 2 << 20 // of all
	maxRoots      = 1 << 24
	maxDefers     = 1 << 20
	rootChunk     = 1 << 10
)

var errRoots = errors.New("the program has more than 16 million words on its stacks that hold memory")

func (s *stacks) open() error {
	l := &s.layout
	g := func(names ...string) place { return l.at("runtime.g", names...) }
	s.g.lo, s.g.hi = g("stack.lo"), g("stack.hi")
	s.g.sp, s.g.pc, s.g.ctxt, s.g.lr = g("sched.sp"), g("sched.pc"), g("sched.ctxt"), g("sched.lr")
	s.g.status, s.g.since, s.g.reason, s.g.m = g("atomicstatus.value", "atomicstatus"), g("waitsince"), g("waitreason"), g("m")
	s.g.syscallSP, s.g.syscallPC, s.g.deferred, s.g.panicking = g("syscallsp"), g("syscallpc"), g("_defer"), g("_panic")
	s.d.fn, s.d.link, s.d.heap = l.at("runtime._defer", "fn"), l.at("runtime._defer", "link"), l.at("runtime._defer", "heap")
	s.running, s.syscall, s.waiting = l.constant("runtime._Grunning"), l.constant("runtime._Gsyscall"), l.constant("runtime._Gwaiting")
	s.dead, s.idle, s.copying, s.scan = l.constant("runtime._Gdead"), l.constant("runtime._Gidle"), l.constant("runtime._Gcopystack"), l.constant("runtime._Gscan")
	s.deadExtra = s.dead
	if v, ok := s.debug.consts["runtime._Gdeadextra"]; ok { // since Go 1.26
		s.deadExtra = uint64(v)
	}
	procid, curg, next := l.at("runtime.m", "procid"), l.at("runtime.m", "curg"), l.at("runtime.m", "alllink")
	if l.err != nil {
		return l.err
	}
	s.made, s.nodes, s.tree = map[siteKey]uint32{}, map[nodeKey]uint32{}, []node{{}}
	s.sites = [][]heapgraph.Frame{nil} // of what is on no stack
	s.reasons = map[uint8]string{}
	byID := map[uint64]*thread{}
	for i := range s.threads {
		byID[uint64(s.threads[i].id)] = &s.threads[i]
	}
	s.byM, s.current = map[uint64]*thread{}, map[uint64]*thread{}
	m := s.u64(s.global("runtime.allm"))
	for range maxThreads {
		if m == 0 {
			break
		}
		if t := byID[s.get(m, procid)]; t != nil {
			s.byM[m] = t
			if g := s.get(m, curg); g != 0 {
				s.current[g] = t
			}
		}
		m = s.get(m, next)
	}
	return nil
}

// read reads all stacks.
func (s *stacks) read(ctx context.Context) error {
	all := s.global("runtime.allgs")
	if all == 0 {
		return &UnknownError{"runtime.allgs"}
	}
	n := s.u64(all + 8)
	if n > maxGoroutines {
		n = maxGoroutines
		s.note("goroutines", "", 1)
	}
	list, err := s.readAll(s.u64(all), n*8)
	if err != nil {
		return err
	}
	for i := range n {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if g := word(list, i*8); g != 0 {
			s.goroutine(g)
		}
		if err := s.enough(s.count); err != nil {
			return err
		}
	}
	for r := range each(s.roots) { // how many goroutines there are is known now
		if r.info.Count != 0 {
			n := &s.tree[r.info.Count]
			r.info.Count, r.info.Stacks = n.count, n.bytes
		}
	}
	return nil
}

// A stackFrame is one call on the stack that is read.
type stackFrame struct {
	place      *codePlace
	pc, sp, fp uint64
	exact      bool
}

// A walk reads one stack.
type walk struct {
	*stacks
	lo, hi  uint64
	base    uint64 // of data
	data    []byte
	frames  []stackFrame
	objects []placedObject
	queue   []uint64
	pending []pendingRoot
	outward []uint32
	seen    map[sameRoot]bool
}

// sameRoot is what two roots of a goroutine have to have in common for one of them to be enough: a function that calls itself has them again.
type sameRoot struct {
	slot uint32
	kind heapgraph.RootKind
	name string
	step uint32
	pc   uint64
}

// maxKept limits what is kept for the next stack.
const maxKept = 1 << 20

type placedObject struct {
	addr  uint64
	frame int
	*stackObject
	seen bool
}

type pendingRoot struct {
	root
	frame int
	depth int // of the inlined call that has the variable
}

func (s *stacks) goroutine(g uint64) {
	status := s.get(g, s.g.status) &^ s.scan
	if status == s.dead || status == s.deadExtra || status == s.idle {
		return
	}
	w := &s.walk
	*w = walk{stacks: s, lo: s.get(g, s.g.lo), hi: s.get(g, s.g.hi), frames: w.frames[:0], objects: w.objects[:0], queue: w.queue[:0], pending: w.pending[:0], outward: w.outward[:0], seen: w.seen}
	if w.seen == nil || cap(w.frames) > maxKept || cap(w.pending) > maxKept { // what one deep stack needed
		*w = walk{stacks: s, lo: w.lo, hi: w.hi, seen: map[sameRoot]bool{}}
	}
	if w.hi <= w.lo || w.hi-w.lo > maxStack || w.lo%8 != 0 || w.hi%8 != 0 {
		s.note("stack", "", 1)
		return
	}
	pc, sp, lr := s.get(g, s.g.pc), s.get(g, s.g.sp), s.get(g, s.g.lr)
	var registers []uint64
	if v := s.get(g, s.g.syscallSP); v != 0 {
		sp, pc, lr = v, s.get(g, s.g.syscallPC), 0
	}
	exact := false
	if t := s.current[g]; t != nil && w.lo < t.sp && t.sp <= w.hi {
		pc, sp, registers, exact = t.pc, t.sp, t.words, true
		if s.arch.link {
			lr = t.words[30]
		}
	}
	if sp < w.lo || sp > w.hi || sp%8 != 0 {
		// In a signal handler, or the stack is being moved.
		sp, exact = w.lo, false
		pc = 0
	}
	w.base = sp
	if n := int(w.hi - sp); cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	w.data = s.buf[:w.hi-sp]
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	if s.memory.read(sp, w.data) != nil {
		s.note("stack", "", 1)
		return
	}
	if status == s.copying {
		pc = 0
	}
	w.walk(pc, sp, lr, exact)
	for _, v := range registers {
		w.doubtful(v, 0)
	}
	if v := s.get(g, s.g.ctxt); v != 0 {
		w.pointer(v, 0, pendingRoot{frame: len(w.frames) - 1, root: root{code: true}})
	}
	w.defers(g)
	if v := s.get(g, s.g.panicking); w.lo <= v && v < w.hi {
		w.queue = append(w.queue, v)
	}
	w.scanObjects()
	w.finish(g, status)
}

func (w *walk) word(addr uint64) uint64 {
	return word(w.data, addr-w.base)
}

// walk walks the frames, from the innermost out.
func (w *walk) walk(pc, sp, lr uint64, exact bool) {
	c := &w.code
	doubtful := exact // the frame may be anywhere in its code, so that its maps do not hold
	var callee uint64
	for n := range maxFrames {
		place := w.at(pc, exact)
		if pc == 0 || !place.ok || place.delta < 0 {
			w.rest(sp)
			return
		}
		f := &place.f
		fp := sp + uint64(place.delta)
		if !w.arch.link {
			fp += 8
		}
		if fp < sp || fp > w.hi || fp == sp && n > 0 && !w.arch.link {
			w.rest(sp)
			return
		}
		back := uint64(0)
		switch {
		case f.flag&c.topFrame != 0:
		case f.flag&c.spWrite != 0 && n > 0 && f.id != c.cgocallback_:
			w.frames = append(w.frames, stackFrame{place, pc, sp, fp, exact})
			w.rest(sp)
			return
		case w.arch.link:
			if back = lr; n == 0 && sp < fp || back == 0 {
				back = w.word(sp)
			}
		default:
			back = w.word(fp - 8)
		}
		w.frames = append(w.frames, stackFrame{place, pc, sp, fp, exact})
		varp := fp
		if !w.arch.link {
			varp -= 8
		}
		if varp > sp {
			varp -= 8 // the frame pointer
		}
		argp := fp + w.arch.minimum
		maps := place
		if callee == c.sigpanic && n > 0 {
			// It does not go on where it was, but to its deferred calls, if there are any.
			maps = nil
			if off := uint32(w.get(f.addr, c.deferReturn)); off != 0 {
				maps = w.at(f.entry+uint64(off)+1, false)
			}
		}
		injected := f.id == c.asyncPreempt || f.id == c.debugCall
		switch {
		case maps == nil:
		case doubtful || injected:
			w.doubtfulRange(sp, varp, n)
			w.doubtfulRange(argp, argp+maps.nargs*8, n)
			doubtful = injected
		default:
			w.precise(maps, sp, varp, argp, n)
		}
		if back == 0 {
			return
		}
		callee = f.id
		exact = injected || f.id == c.sigpanic
		if pc == back && sp == fp {
			w.rest(sp)
			return
		}
		sp, pc, lr = fp, back, 0
		if w.arch.link && exact {
			sp += 16 // the frame that was put there for the call
		}
	}
	w.rest(sp)
}

// rest reads the rest of a stack that cannot be walked: every word of it may be a pointer.
func (w *walk) rest(sp uint64) {
	if sp >= w.hi {
		return
	}
	w.note("frames", "", 1)
	w.doubtfulRange(sp, w.hi, len(w.frames)-1)
}

// precise reads the pointers of a frame.
func (w *walk) precise(m *codePlace, sp, varp, argp uint64, frame int) {
	smallest := w.arch.minimum
	if w.arch.link {
		smallest = 16
	}
	if varp > sp+smallest {
		if m.mapped {
			if n := m.nlocals * 8; n <= varp-w.base {
				w.marked(varp-n, m.locals, m.nlocals, frame)
			}
		} else {
			w.doubtfulRange(sp, varp, frame)
		}
	}
	if m.nargs > 0 && argp+m.nargs*8 <= w.hi {
		w.marked(argp, m.args, m.nargs, frame)
	}
	for i := range m.objects {
		o := &m.objects[i]
		base := varp
		if o.off >= 0 {
			base = argp
		}
		if addr := base + uint64(o.off); addr >= sp && addr+o.ptrs <= w.hi {
			w.objects = append(w.objects, placedObject{addr: addr, frame: frame, stackObject: o})
		}
	}
}

func (w *walk) marked(addr uint64, marks []byte, n uint64, frame int) {
	for i := range n {
		if marks[i/8]>>(i%8)&1 == 0 {
			continue
		}
		at := addr + i*8
		if v := w.word(at); v != 0 {
			w.pointer(v, at, pendingRoot{frame: frame})
		}
	}
}

// pointer notes a pointer that was found at a place of the stack, or elsewhere if that is 0.
func (w *walk) pointer(v, at uint64, r pendingRoot) {
	if w.lo <= v && v < w.hi {
		w.queue = append(w.queue, v)
		return
	}
	s, i := w.find(v)
	if s == nil {
		return
	}
	r.slot = s.first + i
	r.weak = w.isInterior(s, i, v)
	r.info.Kind = heapgraph.Word
	if at != 0 {
		r.info.Kind = heapgraph.Variable // also if it has no name: the collector takes it for one that is needed
		w.variable(at, &r, false)
	}
	w.hold(r)
}

// hold notes a root, unless the same function has just had it.
func (w *walk) hold(r pendingRoot) {
	for i := len(w.pending) - 1; i >= max(len(w.pending)-8, 0); i-- {
		p := &w.pending[i]
		if p.slot == r.slot && p.info.Kind == r.info.Kind && p.info.Name == r.info.Name && p.info.Step == r.info.Step && p.frame >= 0 && p.frame < r.frame && w.frames[p.frame].pc == w.frames[r.frame].pc {
			return
		}
	}
	w.pending = append(w.pending, r)
}

// variable gives a root the name of the variable at a place of the stack.
func (w *walk) variable(at uint64, r *pendingRoot, sure bool) {
	if r.frame < 0 || r.frame >= len(w.frames) {
		return
	}
	f := &w.frames[r.frame]
	w.name(f.place, f.pc, f.exact)
	off := int64(at - f.fp)
	var best *frameVar
	for i := range f.place.vars {
		v := &f.place.vars[i]
		if off >= v.off && off < v.off+v.size && (best == nil || v.sure && !best.sure) {
			best = v
		}
	}
	if best == nil || sure && !best.sure {
		return
	}
	t := w.types.of(ref(best.typ))
	r.info.Type, r.depth = w.types.list[t].name, best.depth
	if !strings.HasPrefix(best.name, ".autotmp_") { // which is the compiler's own
		r.info.Kind, r.info.Name, r.info.Line = heapgraph.Variable, varName(best.name), best.line
	}
	if best.deref {
		r.typ = objectType(t << 1)
		return
	}
	w.types.lead(&r.info, &r.typ, &r.weak, &r.code, t, uint64(best.at+off-best.off), w.program, at)
}

// varName is what a user calls a variable. That it is on the heap is said by its name, and results and parameters without a name are numbered.
func varName(name string) string {
	if len(name) > 1 && name[0] == '&' {
		name = name[1:]
	}
	for prefix, what := range map[string]string{"~r": "result ", "~p": "parameter "} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				return what + strconv.Itoa(n+1)
			}
		}
	}
	return name
}

// lead sets what the word at an offset of a variable leads to.
func (ts *types) lead(r *heapgraph.Root, to *objectType, weak, code *bool, t uint32, off uint64, p *program, at uint64) {
	l := ts.leaf(objectType(t<<1), off)
	r.Step = l.step
	switch l.how {
	case function:
		*code = true
	case pointer:
		if *weak {
			*to, *weak = 0, false
		} else {
			*to = l.to
		}
	case many:
		*to = l.to
	case face:
		if d := p.dynamic(p.u64(at - 8)); d != 0 {
			if dt := p.described(ts.base + uint64(d)); dt != 0 {
				*to, *code = ts.held(dt)
			}
		}
	}
}

// doubtful notes a word that may be a pointer.
func (w *walk) doubtful(v uint64, frame int) { w.doubtfulAt(v, 0, frame) }

func (w *walk) doubtfulAt(v, at uint64, frame int) {
	if v == 0 || v >= w.lo && v < w.hi {
		if v != 0 {
			w.queue = append(w.queue, v)
		}
		return
	}
	s, i := w.find(v)
	if s == nil || !w.isAllocated(s, i) {
		return
	}
	r := pendingRoot{frame: frame, root: root{slot: s.first + i, weak: w.isInterior(s, i, v)}}
	r.info.Kind = heapgraph.Word
	if at != 0 {
		w.variable(at, &r, true)
	}
	w.hold(r)
}

func (w *walk) doubtfulRange(from, to uint64, frame int) {
	for at := max(from, w.base); at+8 <= to && at < w.hi; at += 8 {
		w.doubtfulAt(w.word(at), at, frame)
	}
}

// defers reads the deferred calls of a goroutine.
func (w *walk) defers(g uint64) {
	frame := len(w.frames) - 1
	d := w.get(g, w.g.deferred)
	for range maxDefers {
		if d == 0 {
			return
		}
		record := func(v uint64, code bool) {
			r := pendingRoot{frame: frame, root: root{code: code}}
			n := len(w.pending)
			if w.pointer(v, 0, r); len(w.pending) > n {
				r := &w.pending[n].info
				r.Kind, r.Name = heapgraph.Runtime, "defer"
			}
		}
		if fn := w.get(d, w.d.fn); fn != 0 {
			record(fn, true)
		}
		next := w.get(d, w.d.link)
		if next != 0 {
			record(next, false)
		}
		if w.get(d, w.d.heap)&1 != 0 {
			record(d, false)
		}
		d = next
	}
}

// scanObjects reads the variables of which there is a pointer, as the collector does: the others are dead.
func (w *walk) scanObjects() {
	slices.SortFunc(w.objects, func(a, b placedObject) int { return cmp.Compare(a.addr, b.addr) })
	for len(w.queue) > 0 {
		v := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		i, ok := slices.BinarySearchFunc(w.objects, v, func(o placedObject, v uint64) int { return cmp.Compare(o.addr, v) })
		if !ok {
			i--
		}
		if i < 0 || w.objects[i].seen || v >= w.objects[i].addr+max(w.objects[i].size, 1) {
			continue
		}
		o := &w.objects[i]
		o.seen = true
		w.marked(o.addr, o.marks, min(o.ptrs/8, uint64(len(o.marks))*8), o.frame)
	}
}

// finish turns what was found into roots.
func (w *walk) finish(g, status uint64) {
	if len(w.frames) == 0 {
		w.frames = append(w.frames, stackFrame{place: &codePlace{}})
	}
	nodes := slices.Grow(w.outward, len(w.frames))[:len(w.frames)]
	w.outward = nodes
	outer := uint32(0)
	for i := len(w.frames) - 1; i >= 0; i-- {
		f := &w.frames[i]
		key := nodeKey{outer, f.pc}
		n, ok := w.stacks.nodes[key]
		if !ok {
			n = uint32(len(w.tree))
			w.nodes[key] = n
			if f.place.ok {
				w.name(f.place, f.pc, f.exact)
			}
			w.tree = append(w.tree, node{key: key, calls: f.place.calls})
		}
		nodes[i], outer = n, n
	}
	w.tree[outer].count++
	w.tree[outer].bytes += w.hi - w.lo
	if len(w.pending) == 0 {
		return
	}
	waits, since := "", time.Duration(0)
	switch status {
	case w.waiting:
		waits = w.reason(uint8(w.get(g, w.stacks.g.reason)))
	case w.syscall:
		waits = "syscall"
	}
	if t := int64(w.get(g, w.stacks.g.since)); status != w.running && t > 0 && w.now > t {
		since = time.Duration(w.now - t)
	}
	clear(w.seen)
	for _, p := range w.pending {
		r := p.root
		n := nodes[min(max(p.frame, 0), len(nodes)-1)]
		skip := 0
		if r.info.Kind == heapgraph.Variable {
			calls := w.tree[n].calls
			if skip = max(len(calls)-1-p.depth, 0); skip > 0 && skip < len(calls) && strings.Contains(calls[skip].Func, ".gowrap") {
				skip-- // what a go statement calls may be inlined in the compiler's own function
			}
		}
		key := sameRoot{r.slot, r.info.Kind, r.info.Name, r.info.Step, w.tree[n].key.pc}
		if w.seen[key] {
			continue
		}
		w.seen[key] = true
		r.info.Where = w.site(n, skip)
		if stack := w.sites[r.info.Where]; r.info.Line != 0 && len(stack) > 0 {
			r.info.File = stack[0].File
		}
		r.info.Waits, r.info.Since, r.info.Count = waits, since, outer
		if w.stacks.count%rootChunk == 0 {
			w.roots = append(w.roots, make([]root, 0, rootChunk))
		}
		last := &w.roots[len(w.roots)-1]
		*last = append(*last, r)
		w.stacks.count++
	}
}

// reason returns what the runtime calls what a goroutine waits for.
func (s *stacks) reason(i uint8) string {
	r, ok := s.reasons[i]
	if !ok {
		if at := s.global("runtime.waitReasonStrings"); at != 0 {
			r = s.sized(at + uint64(i)*16)
		}
		s.reasons[i] = r
	}
	return r
}

// site returns the number of the stack from a node out, without the innermost calls. If there are too many stacks, those that are new have only
// their innermost function.
func (s *stacks) site(n uint32, skip int) uint32 {
	key := siteKey{n, skip}
	limit := maxSite
	if s.framed > maxSiteFrames {
		key, limit = siteKey{0, int(s.tree[n].key.pc)}, 1
	}
	i, ok := s.made[key]
	if !ok {
		if limit == 1 {
			s.note("stacks", "", 1)
		}
		var list []heapgraph.Frame
		for at := n; at != 0 && len(list) < limit; at = s.tree[at].key.outer {
			calls := s.tree[at].calls
			if at == n {
				calls = calls[min(skip, len(calls)):]
			}
			list = append(list, calls...)
		}
		i = s.add(list)
		s.made[key] = i
	}
	return i
}

func (s *stacks) add(list []heapgraph.Frame) uint32 {
	s.framed += len(list)
	s.sites = append(s.sites, list)
	return uint32(len(s.sites) - 1)
}
