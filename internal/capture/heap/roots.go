package heap

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// globals reads what the variables of packages hold.
func (p *program) globals(ctx context.Context) ([]root, error) {
	var roots []root
	for _, m := range p.modules {
		for _, part := range []struct{ from, to, marks, bits uint64 }{{m.data, m.edata, m.dataMask, m.dataBits}, {m.bss, m.ebss, m.bssMask, m.bssBits}} {
			n := min((part.to-part.from)/8, part.bits)
			if n == 0 {
				continue
			}
			marks, err := p.readAll(part.marks, (n+7)/8)
			if err != nil {
				return nil, err
			}
			const step = 1 << 20
			for from := uint64(0); from < n*8; from += step {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				b := make([]byte, min(step, n*8-from))
				if err := p.read(part.from+from, b); err != nil {
					return nil, err
				}
				for off := uint64(0); off < uint64(len(b)); off += 8 {
					w := (from + off) / 8
					if marks[w/8]>>(w%8)&1 == 0 {
						continue
					}
					v := word(b, off)
					if s, i := p.find(v); s != nil && len(roots) < maxRoots {
						roots = append(roots, p.globalRoot(part.from+from+off, v, s, i))
					}
				}
			}
		}
	}
	return roots, nil
}

// globalRoot names the word of a global variable.
func (p *program) globalRoot(at, v uint64, s *span, i uint32) root {
	r := root{slot: s.first + i, weak: p.isInterior(s, i, v)}
	r.info.Kind = heapgraph.Global
	globals := p.debug.globals
	g, ok := slices.BinarySearchFunc(globals, at-p.bias, func(g debugGlobal, at uint64) int { return cmp.Compare(g.addr, at) })
	if !ok {
		g--
	}
	if g < 0 {
		return r
	}
	t := p.types.of(ref(globals[g].typ))
	off := at - p.bias - globals[g].addr
	if off >= max(p.types.list[t].size, 8) {
		return r // what the compiler made has no name
	}
	r.info.Name, r.info.Type = globals[g].name, p.types.list[t].name
	if strings.HasPrefix(r.info.Name, "runtime.") || strings.HasPrefix(r.info.Name, "internal/runtime/") {
		r.info.Kind = heapgraph.Runtime
	}
	p.types.lead(&r.info, &r.typ, &r.weak, &r.code, t, off, p, at)
	return r
}

// A sample is an object that the memory profiler has noted.
type sample struct {
	slot   uint32
	bucket uint64
}

// maxSpecials limits the records of all spans, in case they go round in a circle.
const maxSpecials = 1 << 24

// specials reads finalizers and cleanups, which hold memory, and the samples of the memory profiler.
func (p *program) specials(ctx context.Context, list []*edges) ([]root, []sample, error) {
	l := &p.layout
	next, offset, kind := l.at("runtime.special", "next"), l.at("runtime.special", "offset"), l.at("runtime.special", "kind")
	finalizer, profile := l.constant("runtime._KindSpecialFinalizer"), l.constant("runtime._KindSpecialProfile")
	fn, ot := l.at("runtime.specialfinalizer", "fn"), l.at("runtime.specialfinalizer", "ot")
	bucket := l.at("runtime.specialprofile", "b")
	if l.err != nil {
		return nil, nil, l.err
	}
	// These are there in later versions only.
	none := ^uint64(0)
	constant := func(name string) uint64 {
		if v, ok := p.debug.consts[name]; ok {
			return uint64(v)
		}
		return none
	}
	cleanup, weak := constant("runtime._KindSpecialCleanup"), constant("runtime._KindSpecialWeakHandle")
	var cleanups []place
	var handle place
	switch {
	case cleanup == none:
	case l.has("runtime.specialCleanup", "cleanup"):
		at := l.at("runtime.specialCleanup", "cleanup")
		for off := uint64(0); off < uint64(min(at.size, 64)); off += 8 {
			cleanups = append(cleanups, place{at.off + off, 8})
		}
	default:
		cleanups = append(cleanups, l.at("runtime.specialCleanup", "fn"))
	}
	if weak != none {
		handle = l.at("runtime.specialWeakHandle", "handle")
	}
	if l.err != nil {
		return nil, nil, l.err
	}
	var roots []root
	var samples []sample
	left := maxSpecials
	hold := func(v uint64, r root) {
		s, i := p.find(v)
		if s == nil || len(roots) >= maxRoots {
			return
		}
		r.slot = s.first + i
		r.weak = p.isInterior(s, i, v)
		roots = append(roots, r)
	}
	for i := range p.spans {
		s := &p.spans[i]
		at := s.specials
		if at == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		for ; at != 0 && left > 0; left-- {
			off := p.get(at, offset)
			n := uint32(off / s.size)
			if n >= s.count {
				break
			}
			switch p.get(at, kind) {
			case finalizer:
				f := p.get(at, fn)
				r := root{code: true}
				r.info.Kind, r.info.Name = heapgraph.Finalizer, p.functionName(f)
				hold(f, r)
				typ := p.types.of(p.types.pointee(made | ref(p.types.runtime(p.get(at, ot)))))
				roots = append(roots, p.heldBy(list, s.first+n, typ, r.info.Name)...)
			case cleanup:
				for _, c := range cleanups {
					v := p.get(at, c)
					r := root{}
					r.info.Kind, r.info.Name = heapgraph.Finalizer, p.functionName(v)
					r.code = r.info.Name != ""
					hold(v, r)
				}
			case weak:
				r := root{}
				r.info.Kind, r.info.Name = heapgraph.Runtime, "weak pointer"
				hold(p.get(at, handle), r)
			case profile:
				samples = append(samples, sample{s.first + n, p.get(at, bucket)})
			}
			at = p.get(at, next)
		}
	}
	return roots, samples, nil
}

// heldBy returns what an object with a finalizer points to. The finalizer keeps that, but not the object.
func (p *program) heldBy(list []*edges, slot uint32, typ uint32, name string) []root {
	if len(list) == 0 {
		return nil
	}
	var roots []root
	e := sortedEdges(list, slot)
	for i := e.starts[slot-e.first]; i < e.starts[slot-e.first+1] && len(roots) < maxFields; i++ {
		x := e.at(i)
		if x.step >= firstMark {
			continue
		}
		r := root{slot: x.to, weak: x.step&interior != 0}
		l := p.types.leaf(objectType(typ<<1), uint64(x.step&wordLimit)*8)
		if r.code = l.how == function; l.how == pointer && !r.weak || l.how == many {
			r.typ = l.to
		}
		r.info.Kind, r.info.Name, r.info.Type, r.info.Step = heapgraph.Finalizer, name, p.types.list[typ].name, l.step
		roots = append(roots, r)
	}
	return roots
}

// maxFields limits the pointers of an object with a finalizer.
const maxFields = 1 << 16

// functionName returns the name of the function that a function value calls.
func (p *program) functionName(value uint64) string {
	if value == 0 {
		return ""
	}
	pc := p.u64(value)
	f, ok := p.function(pc)
	if !ok || f.entry != pc {
		return ""
	}
	return p.nameAt(f.m, uint64(uint32(p.get(f.addr, p.code.name))))
}

// queued reads the finalizers and cleanups that are about to run. Their blocks are not on the heap.
func (p *program) queued() ([]root, error) {
	l := &p.layout
	var roots []root
	scan := func(block, n, elem, marks uint64, name string) {
		for i := range min(n, maxBlock) {
			for off := uint64(0); off < min(elem, 64); off += 8 {
				if marks>>(off/8)&1 == 0 {
					continue
				}
				v := p.u64(block + i*elem + off)
				if s, k := p.find(v); s != nil {
					r := root{slot: s.first + k, weak: p.isInterior(s, k, v)}
					r.info.Kind, r.info.Name = heapgraph.Finalizer, name
					roots = append(roots, r)
				}
			}
		}
	}
	block := "runtime.finBlock"
	if p.types.named(block) == 0 {
		block = "runtime.finblock"
	}
	if at := p.global("runtime.allfin"); at != 0 && p.types.named(block) != 0 {
		next, count, fin := l.at(block, "alllink"), l.at(block, "cnt"), l.at(block, "fin")
		elem := uint64(40)
		if p.types.named("runtime.finalizer") != 0 {
			elem = l.size("runtime.finalizer")
		}
		arg := l.at("runtime.finalizer", "arg")
		f := l.at("runtime.finalizer", "fn")
		if l.err != nil {
			return nil, l.err
		}
		b := p.u64(at)
		for range maxQueue {
			if b == 0 {
				break
			}
			scan(b+fin.off, p.get(b, count), elem, 1<<(arg.off/8)|1<<(f.off/8), "queue of finalizers")
			b = p.get(b, next)
		}
	}
	if at := p.global("runtime.gcCleanups"); at != 0 && p.types.named("runtime.cleanupBlock") != 0 {
		next, count, list := l.at("runtime.cleanupBlock", "cleanupBlockHeader.alllink", "alllink"), l.at("runtime.cleanupBlock", "cleanupBlockHeader.n", "n"), l.at("runtime.cleanupBlock", "cleanups")
		elem := uint64(8)
		if p.types.named("runtime.cleanupFn") != 0 {
			elem = l.size("runtime.cleanupFn")
		}
		all := uint64(0)
		if i := p.types.of(ref(p.globalType("runtime.gcCleanups"))); i != 0 {
			s := &structure{fields: map[string]place{}}
			p.types.flatten(s, p.types.list[i], "", 0, 0)
			all = s.fields["all"].off
		}
		if l.err != nil {
			return nil, l.err
		}
		b := p.u64(at + all)
		for range maxQueue {
			if b == 0 {
				break
			}
			scan(b+list.off, p.get(b, count), elem, 1<<(elem/8)-1, "queue of cleanups")
			b = p.get(b, next)
		}
	}
	return roots, nil
}

// timers reads what runs later: the timers of each processor. They lead to each other by way of the processors, so that one in a variable would hold all.
func (p *program) timers() ([]root, error) {
	all := p.global("runtime.allp")
	if p.types.timerWhen == 0 || all == 0 || p.types.named("runtime.p") == 0 {
		return nil, nil
	}
	l := &p.layout
	list, timer, size := l.at("runtime.p", "timers.heap"), l.at("runtime.timerWhen", "timer"), l.size("runtime.timerWhen")
	f, arg := l.at("runtime.timer", "f"), l.at("runtime.timer", "arg")
	if l.err != nil {
		return nil, l.err
	}
	var roots []root
	at, n := p.u64(all), p.u64(all+8)
	for i := range min(n, maxThreads) {
		one := p.u64(at + i*8)
		if one == 0 {
			continue
		}
		heap, count := p.u64(one+list.off), p.u64(one+list.off+8)
		for k := range min(count, maxRoots) {
			if len(roots) >= maxRoots || p.failed > maxFailed {
				return roots, nil
			}
			v := p.u64(heap + k*size + timer.off)
			s, slot := p.find(v)
			if s == nil {
				continue // of a connection's deadline, which is not on the heap
			}
			r := root{slot: s.first + slot, typ: objectType(p.types.timeTimer << 1)}
			name := p.functionName(p.u64(v + f.off))
			if called := p.functionName(p.u64(v + arg.off + 8)); name == "time.goFunc" && called != "" {
				name = called
			}
			r.info.Kind, r.info.Name = heapgraph.Runtime, timerName(name)
			roots = append(roots, r)
		}
	}
	return roots, nil
}

// maxFailed is how many words of a damaged process are tried.
const maxFailed = 1 << 16

// timerName returns what a user calls a timer that calls a function.
func timerName(function string) string {
	switch function {
	case "time.sendTime":
		return "timer: sends on a channel"
	case "":
		return "timer"
	}
	return "timer: " + strings.TrimSuffix(function, "-fm") // of a method of a value
}

const (
	maxQueue = 1 << 16 // blocks
	maxBlock = 1 << 10 // entries of one
)

func (p *program) globalType(name string) uint64 {
	for i := range p.debug.globals {
		if p.debug.globals[i].name == name {
			return p.debug.globals[i].typ
		}
	}
	return 0
}

// maxSampleStack limits the stack of a sample.
const maxSampleStack = 1 << 10

// samples reads which stacks made the objects that were sampled.
func (s *stacks) samples(list []sample, reached func(slot uint32) (uint32, bool)) ([]heapgraph.Sample, error) {
	l := &s.layout
	b := l.of("runtime.bucket")
	size, depth := l.at("runtime.bucket", "size"), l.at("runtime.bucket", "nstk")
	if l.err != nil {
		return nil, l.err
	}
	sites := map[uint64]uint32{}
	var made []heapgraph.Sample
	for _, x := range list {
		id, ok := reached(x.slot)
		if !ok || x.bucket == 0 {
			continue
		}
		site, ok := sites[x.bucket]
		if !ok {
			var frames []heapgraph.Frame
			n := s.get(x.bucket, depth)
			for i := range min(n, maxSampleStack) {
				pc := s.u64(x.bucket + b.size + i*8)
				if f, ok := s.function(pc - 1); ok && len(frames) < maxSite {
					frames = append(frames, s.calls(f, pc-1)...)
				}
			}
			site = s.add(frames)
			sites[x.bucket] = site
		}
		made = append(made, heapgraph.Sample{Object: id, Site: site, Size: s.get(x.bucket, size)})
	}
	return made, nil
}
