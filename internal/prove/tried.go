package prove

import (
	"context"
	"fmt"
	"go/types"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/report"
)

// tried says how far each function was tried.
func (r *run) tried(ctx context.Context, p *pair, s *surface, f *search) {
	var gone []string
	tested := sync.OnceValue(func() map[place]bool { return r.tested(ctx, p) })
	far := r.reach(s, f)
	for _, t := range s.targets {
		if t.gone {
			gone = append(gone, t.key)
			continue
		}
		if t.distance > 0 && t.entry == nil {
			continue
		}
		in := far[t.key]
		out := report.Tried{Name: t.key, File: t.file, Line: t.line, Changed: t.distance == 0, Why: t.why, Blocks: in.blocks, Reached: in.reached}
		if t.entry != nil {
			out.Name = t.name
		}
		if f != nil {
			if st := f.states[t]; st != nil {
				out.Executions, out.Partly = st.executions-st.partly, st.partly+st.veiled
			}
		}
		if out.Changed && in.blocks > 0 && in.reached == 0 && t.key != "main" && !r.opt.NoTests && !r.broken {
			for _, at := range in.away {
				if tested()[at] {
					out.Tested++
				}
			}
		}
		r.proof.Functions = append(r.proof.Functions, out)
		if out.Changed {
			r.blocks, r.hit = r.blocks+out.Blocks, r.hit+out.Reached
		}
		if out.Changed && out.Reached > 0 && (f != nil || s.awayHad != nil) {
			r.count(s, f, t, out.Name, far)
		}
		switch {
		case !out.Changed || t.key == "main" && r.ran:
		case out.Reached == 0:
			r.unreached = append(r.unreached, out.Name)
		case in.missed > 0:
			r.partly = append(r.partly, fmt.Sprintf("%s (%d of %d blocks)", out.Name, out.Reached, out.Blocks))
		case len(in.always) > 0:
			r.always = append(r.always, fmt.Sprintf("%s (line %d)", out.Name, in.always[0].line))
		}
		if out.Changed && t.entry != nil {
			if what := s.closed(t.entry.results); what != "" {
				r.doubt(report.DoubtNotCompared, "%s returns a %s, which hone does not compare", out.Name, what)
			}
		}
	}
	if s.danger != nil {
		for _, doubt := range s.readings() {
			r.doubt(report.DoubtReadsOutside, "%s", doubt)
		}
		r.doubts = append(r.doubts, s.stale(f)...)
	}
	if len(gone) > 0 {
		r.note("only in the old version: %s", strings.Join(gone, ", "))
	}
}

// closed returns what among results does something that only using it would show, and is not used: a channel, or a function or
// an interface that has nothing that can be called. It is "" when there is none.
func (s *surface) closed(results []types.Type) string {
	var look func(t types.Type, depth int) string
	look = func(t types.Type, depth int) string {
		if depth > 4 || depth == 0 && len(s.uses(t)) > 0 {
			return ""
		}
		switch u := t.Underlying().(type) {
		case *types.Chan:
			return "channel"
		case *types.Signature:
			if isIterator(u) {
				return ""
			}
			return "function"
		case *types.Interface:
			if u.NumMethods() > 0 && !isErrorType(t) {
				return types.TypeString(t, (*types.Package).Name)
			}
		case *types.Slice:
			return look(u.Elem(), depth+1)
		case *types.Array:
			return look(u.Elem(), depth+1)
		case *types.Map:
			return look(u.Elem(), depth+1)
		case *types.Struct:
			for f := range u.Fields() {
				if !f.Exported() {
					continue
				}
				if what := look(f.Type(), depth+1); what != "" {
					return what
				}
			}
		}
		return ""
	}
	for _, t := range results {
		if what := look(t, 0); what != "" {
			return what
		}
	}
	return ""
}
