package heap

import (
	"context"
	"runtime"
	"slices"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// maxWorkers is how many threads read memory.
const maxWorkers = 4

// heap reads the heap of a program that stands still. released is called as soon as its memory is not needed any more.
func (p *program) heap(ctx context.Context, now int64, released func()) (*heapgraph.Heap, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	h := &heapgraph.Heap{}
	list, err := p.scan(ctx, min(runtime.GOMAXPROCS(0), maxWorkers))
	if err != nil {
		return nil, err
	}
	s := &stacks{program: p, now: now}
	if err := s.open(); err != nil {
		return nil, err
	}
	// Those that a user can name come first: what they lead to gets the name of the way from them.
	roots, err := p.globals(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	special, samples, err := p.specials(ctx, list)
	if err != nil {
		return nil, err
	}
	queued, err := p.queued()
	if err != nil {
		return nil, err
	}
	timers, err := p.timers()
	if err != nil {
		return nil, err
	}
	all := slices.Concat([][]root{roots}, s.roots, [][]root{special, queued, timers})
	s.roots = nil
	t, err := p.trace(ctx, list, all)
	if err != nil {
		return nil, err
	}
	made, err := s.samples(samples, t.number)
	if err != nil {
		return nil, err
	}
	if rate := p.global("runtime.MemProfileRate"); rate != 0 {
		h.Rate = int64(p.u64(rate))
	}
	if v := p.global("runtime.buildVersion"); v != 0 {
		h.GoVersion = p.sized(v)
	}
	released()
	g, err := t.graph(all)
	if err != nil {
		return nil, err
	}
	g.Made, g.Sites = made, s.sites
	h.Graph, h.Notes = *g, p.sortedNotes()
	h.Allocated = heapgraph.Sum{Bytes: p.allocated, Objects: p.objects}
	return h, nil
}
