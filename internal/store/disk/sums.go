package disk

import (
	"context"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

var _ store.SumStore = (*Store)(nil)

// Sums implements store.SumStore. The lists of segments know the sums, so it reads no file.
func (s *Store) Sums(ctx context.Context, q store.Query) (*store.Sums, error) {
	var out *store.Sums
	for _, b := range s.all() {
		if b.Tenant != q.Tenant || !b.day.Before(q.To) || !b.day.Add(24*time.Hour).After(q.From) {
			continue
		}
		b.mu.RLock()
		segments := b.segments
		b.mu.RUnlock()
		for _, g := range segments {
			for i := range g.sections {
				sec := &g.sections[i]
				if !sec.rolled || q.Kind != "" && q.Kind != sec.kind || !q.Selector.Match(b.Service, sec.labels, nil) {
					continue
				}
				step := g.hour // of sums
				first, last := floorDiv(sec.first, step)*step, (floorDiv(sec.last, step)+1)*step
				from, to := max(first, floorDiv(q.From.UnixNano(), step)*step), min(last, (floorDiv(q.To.UnixNano()-1, step)+1)*step)
				if from >= to {
					continue
				}
				if out == nil {
					out = &store.Sums{From: fromNano(from), To: fromNano(to), Kept: s.Detail}
				}
				if at := fromNano(from); at.Before(out.From) {
					out.From = at
				}
				if at := fromNano(to); at.After(out.To) {
					out.To = at
				}
				out.Step = max(out.Step, time.Duration(step))
			}
		}
	}
	return out, ctx.Err()
}
