package notice

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// How counts of requests are used, where a service has them.
const (
	mostServed  = 200  // handlers of a service
	usualPer    = 0.05 // that the cost of an entry per request moves in half an hour before that is known, relative
	leastServed = 20   // requests before a change
	leastAside  = 1.5  // standard deviations that what is outside a part must have moved at least, whatever the counts say
	agree       = 1.0  // standard deviations by which the counts must agree, where they would show a change clearly
	clear       = 3.0
)

// A served is the requests of a step, by handler; nil is that nobody counted.
type served map[string]float64

// requests returns the requests of a service that were counted in a step.
func (n *Noticer) requests(ctx context.Context, s *service, q store.Query) (served, error) {
	q.Kind, q.Selector = recording.Process, store.Service(s.name)
	lines, err := n.Store.Totals(ctx, q, n.Step, nil)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(lines, func(l store.Line) bool { return columnIn(l.Types, "requests") >= 0 }) {
		return nil, nil
	}
	merged, err := n.Store.Merge(ctx, q)
	if nothing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := merged.Profile
	k := columnOf(p, "requests")
	if k < 0 {
		return nil, nil
	}
	out := served{}
	var stack []uint32
	for i, v := range p.Values(k) {
		if stack = p.Stack(i, stack[:0]); v <= 0 || len(stack) == 0 || len(p.Locations[stack[0]].Lines) == 0 {
			continue
		}
		handler := name(p.Functions[p.Locations[stack[0]].Lines[0].Function].Name)
		if _, known := out[handler]; !known && len(out) >= mostServed {
			handler = "" // of none
		}
		out[strings.Clone(handler)] += float64(v)
	}
	return out, nil
}

// serves reports whether a Go function is what a service calls a handler: its name, with or without package and type.
func serves(function, handler string) bool {
	function = strings.TrimSuffix(function, "-fm")
	if function == handler {
		return true
	}
	handler = handler[strings.LastIndexByte(handler, '/')+1:] // of gRPC, /package.Service/Method
	rest, ok := strings.CutSuffix(function, handler)
	return ok && handler != "" && strings.HasSuffix(rest, ".")
}

// served returns the requests of an entry by step, below zero where they are not known; or nil.
func (m *memory) served(row int) []float64 {
	var handlers []string
	for _, s := range m.steps {
		for h := range s.Served {
			if !slices.Contains(handlers, h) && serves(m.names.functions[m.entries[row]].Name, h) {
				// What several entries are called alike is of none of them.
				for r := 1; r < len(m.entries); r++ {
					if r != row && serves(m.names.functions[m.entries[r]].Name, h) {
						return nil
					}
				}
				handlers = append(handlers, h)
			}
		}
	}
	if len(handlers) == 0 {
		return nil
	}
	out := make([]float64, len(m.steps))
	for t, s := range m.steps {
		if out[t] = -1; s.Served != nil {
			out[t] = 0
			for _, h := range handlers {
				out[t] += s.Served[h]
			}
			out[t] *= s.profiled()
		}
	}
	return out
}

// profiled returns for how much of a step profiles say what was done.
func (s *step) profiled() float64 {
	if s.Covered <= 0 || s.Processes <= 0 {
		return 1
	}
	return s.Covered.Seconds() / s.Processes
}

// A per is how much an entry costs per request, next to what it did before.
type per struct {
	change  []float64 // logarithm of the mean from each step on, as far as it is known
	known   []bool
	usual   float64 // standard deviation of it
	counted bool
}

// perRequest compares the scale of an entry with its requests. A scale says how most functions below the entry moved; if that is not how the requests
// did, these functions cost more or less per request.
func (m *memory) perRequest(row int, scale []float64, learn bool) per {
	from, to := m.base()
	n := len(m.steps)
	counts := m.served(row)
	if counts == nil || scale == nil {
		return per{}
	}
	before, requests, steps := 0.0, 0.0, 0
	for t := from; t < to; t++ {
		if counts[t] >= 0 {
			before += scale[t]
			requests += counts[t]
			steps++
		}
	}
	if before <= 0 || requests < leastServed || steps < (to-from)*3/4 || steps < 6 {
		return per{}
	}
	if m.per == nil {
		m.per = map[int]*wander{}
	}
	w := m.per[row]
	out := per{change: make([]float64, n), known: make([]bool, n), usual: math.Sqrt(w.variance(usualPer * usualPer)), counted: true}
	cost, since := 0.0, 0.0
	for t := n - 1; t >= to; t-- {
		if counts[t] < 0 {
			break
		}
		cost += scale[t]
		since += counts[t]
		if cost <= 0 || since <= 0 {
			continue
		}
		d := math.Log(cost / since * requests / before)
		out.change[t], out.known[t] = d, true
		if learn && n-t == 6 {
			if w == nil {
				w = &wander{}
				m.per[row] = w
			}
			w.learn(min(d*d, 9*out.usual*out.usual))
		}
	}
	return out
}

// of returns by how many standard deviations the cost per request moved since a step, and the relative change.
func (p *per) of(since int) (z, change float64) {
	if !p.counted || !p.known[since] {
		return 0, 0
	}
	return p.change[since] / p.usual, p.change[since]
}

// surest returns since when the cost per request moved most clearly.
func (p *per) surest(to int) (since int, z, change float64) {
	for t := to; p.counted && t <= len(p.known)-shortest; t++ {
		if x, d := p.of(t); math.Abs(x) > math.Abs(z) {
			since, z, change = t, x, d
		}
	}
	return since, z, change
}

// requestsOf returns how many requests a second the service answered of which a function that changed is a part, from some time on; 0 where nobody
// counted.
func (n *Noticer) requestsOf(s *service, c *cause, m *memory, began time.Time) float64 {
	counts := s.memories[recording.CPU] // where they are kept
	if counts == nil {
		return 0
	}
	sum, seconds := 0.0, 0.0
	var entries []string
	for _, e := range m.entries[1:] {
		if c.touched[e] {
			entries = append(entries, m.names.functions[e].Name)
		}
	}
	for _, st := range counts.steps {
		if st.Served == nil || st.Time.Before(began) {
			continue
		}
		seconds += n.Step.Seconds()
		for h, v := range st.Served {
			if slices.ContainsFunc(entries, func(e string) bool { return serves(e, h) }) {
				sum += v
			}
		}
	}
	if seconds == 0 {
		return 0
	}
	return sum / seconds
}
