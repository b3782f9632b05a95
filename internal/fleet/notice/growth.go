package notice

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// What a process holds, such as goroutines and live heap, follows its work: over hours, too, as traffic does. What grows in every half hour of some
// hours, by more than work does and without a new version, is probably never given back.

// The values that are watched, and how much growth is reported.
var held = []struct {
	kind, column string
	least        float64 // that a process has to hold more
}{
	{recording.Goroutine, "goroutine", 200},
	{recording.Heap, "inuse_space", 32 << 20},
}

const (
	growthBlocks = 8                // half hours
	growthBlock  = 30 * time.Minute // long enough for the collector to run in
	growthRatio  = 1.5              // between the first half hour and the last, beyond what work grew by
	growthBack   = 0.5              // of the growth that is left when it is over
)

// A hold is what the process of a service that holds most has held, by half hour.
type hold struct {
	blocks []holdBlock // the last ones; the newest may not be complete
	event  string      // ID of the event that goes on
	known  time.Time   // when it was added
	before float64     // of it
	after  float64
}

type holdBlock struct {
	from  time.Time
	level float64 // the least of its steps
	work  float64 // CPU time of the service per second, all together
	steps int
}

// growth looks at what the services of a tenant hold in a step.
func (n *Noticer) growth(ctx context.Context, t *tenant, from time.Time) error {
	var bad error
	for _, h := range held {
		q := store.Query{Tenant: t.name, Kind: h.kind, From: from, To: from.Add(n.Step)}
		lines, err := n.Store.Totals(ctx, q, n.Step, append([]string{store.ServiceLabel}, event.ProcessLabels...))
		if err != nil {
			return errors.Join(bad, err)
		}
		most := map[string]float64{}
		for _, l := range lines {
			k := columnIn(l.Types, h.column)
			if k < 0 && h.column == "goroutine" {
				k = columnIn(l.Types, "goroutines")
			}
			if k < 0 || len(l.Points) == 0 {
				continue
			}
			p := l.Points[len(l.Points)-1]
			name := l.Labels.Get(store.ServiceLabel)
			most[name] = max(most[name], float64(p.Values[k])/float64(max(1, p.Streams)))
		}
		for name, level := range most {
			if s := t.services[name]; s != nil {
				bad = errors.Join(bad, n.grows(ctx, s, h.kind, h.column, h.least, level, from))
			}
		}
	}
	return bad
}

// grows adds the level of a step.
func (n *Noticer) grows(ctx context.Context, s *service, kind, column string, least, level float64, from time.Time) error {
	if s.holds == nil {
		s.holds = map[string]*hold{}
	}
	g := s.holds[column]
	if g == nil {
		g = &hold{}
		s.holds[column] = g
		n.takeUpGrowth(s, kind, g)
	}
	block := from.Truncate(growthBlock)
	if i := len(g.blocks) - 1; i >= 0 && g.blocks[i].from.Equal(block) {
		b := &g.blocks[i]
		b.level = min(b.level, level)
	} else {
		if i >= 0 && block.Sub(g.blocks[i].from) != growthBlock {
			g.blocks = nil // profiles are missing for a while
		}
		g.blocks = append(g.blocks, holdBlock{from: block, level: level})
		if len(g.blocks) > growthBlocks+1 {
			g.blocks = g.blocks[1:]
		}
	}
	b := &g.blocks[len(g.blocks)-1]
	b.work += s.work(from)
	b.steps++
	if g.event != "" {
		if from.Before(g.known) || level > g.before+growthBack*(g.after-g.before) {
			g.after = max(g.after, level)
			return nil
		}
		id := g.event
		g.event, g.blocks = "", nil
		return n.Events.Update(s.tenant, id, func(e *event.Event) { e.Ended = from })
	}
	if len(g.blocks) <= growthBlocks || b.from.Add(growthBlock).After(from.Add(n.Step)) {
		return nil
	}
	blocks := g.blocks[1:]
	first, last := blocks[0], blocks[len(blocks)-1]
	began := first.from
	for _, d := range s.deploys {
		if d.at.After(began.Add(-growthBlock)) {
			return nil
		}
	}
	for i := 1; i < len(blocks); i++ {
		if blocks[i].level <= blocks[i-1].level {
			return nil
		}
	}
	ratio := growthRatio
	if first.work > 0 && last.work > 0 {
		ratio *= max(1, last.work/float64(last.steps)/(first.work/float64(first.steps)))
	}
	if last.level-first.level < least || last.level < ratio*first.level {
		return nil
	}
	return n.tellGrowth(ctx, s, kind, column, g, first, last, from.Add(n.Step))
}

// work returns the CPU time per second of a process of a service in a step.
func (s *service) work(at time.Time) float64 {
	m := s.memories[recording.CPU]
	if m == nil {
		return 0
	}
	for _, st := range slices.Backward(m.steps) {
		if st.Time.Equal(at) && st.Covered > 0 {
			return st.Total / float64(st.Covered)
		}
	}
	return 0
}

// tellGrowth reports growth that has lasted for some half hours.
func (n *Noticer) tellGrowth(ctx context.Context, s *service, kind, column string, g *hold, first, last holdBlock, now time.Time) error {
	q := store.Query{Tenant: s.tenant, Selector: store.Service(s.name), Kind: kind}
	merge := func(from time.Time) (*store.Merged, error) {
		q.From, q.To = from, from.Add(growthBlock)
		return n.Store.Merge(ctx, q)
	}
	before, err := merge(first.from)
	if err != nil {
		return err
	}
	after, err := merge(last.from)
	if err != nil {
		return err
	}
	ch := &event.Change{
		Kind: kind, Type: profile.ValueType{Type: column, Unit: "count"}, Source: event.Growth, Share: last.level/first.level - 1,
		Before: event.Cost{Value: first.level, Low: first.level, High: first.level, Profiles: before.Profiles},
		After:  event.Cost{Value: last.level, Low: last.level, High: last.level, Profiles: after.Profiles},
	}
	if k := columnOf(after.Profile, column); k >= 0 {
		ch.Type = after.Profile.SampleTypes[k]
	}
	if f := grown(before.Profile, after.Profile, column); f != nil {
		ch.Function, ch.File, ch.Package = name(f.Name), name(f.File), name(f.Package())
	}
	e := event.Event{Tenant: s.tenant, Kind: event.Changed, Service: s.name, Time: first.from, Noticed: n.Now().UTC(), Change: ch}
	e.ID = id(e.Tenant, e.Service, "growth", column, e.Time.Unix())
	g.event, g.before, g.after = e.ID, first.level, last.level
	if n.Events.Get(s.tenant, e.ID) != nil {
		return nil
	}
	return n.Events.Add(e)
}

// takeUpGrowth continues an event of growth that had not ended when the server stopped.
func (n *Noticer) takeUpGrowth(s *service, kind string, g *hold) {
	told, _ := n.Events.List(event.Filter{Tenant: s.tenant, Service: s.name, Kinds: []event.Kind{event.Changed}, From: n.Now().Add(-openFor)})
	for _, e := range told {
		if c := e.Change; c != nil && c.Source == event.Growth && c.Kind == kind && e.Ended.IsZero() {
			g.event, g.known, g.before, g.after = e.ID, e.Noticed, c.Before.Value, c.After.Value
			return
		}
	}
}

// grown returns the function that has most of the growth between two profiles below it, and the least other cost.
func grown(before, after *profile.Profile, column string) *profile.Function {
	const most = 0.6
	all := newNames()
	more, size := map[int32]float64{}, map[int32]float64{}
	total := 0.0
	for _, side := range []struct {
		p    *profile.Profile
		sign float64
	}{{before, -1}, {after, 1}} {
		k := columnOf(side.p, column)
		if k < 0 {
			continue
		}
		c := all.costsOf(side.p, k)
		for i, stack := range c.stacks {
			total += side.sign * c.values[i]
			for j, f := range stack {
				if !slices.Contains(stack[:j], f) {
					more[f] += side.sign * c.values[i]
					size[f] += c.values[i]
				}
			}
		}
	}
	best, bestSize := int32(-1), math.Inf(1)
	for f := range int32(len(all.functions)) {
		fn := &all.functions[f]
		if all.gates[f] != plain || strings.HasPrefix(fn.Name, "runtime.") || more[f] < most*total || total <= 0 {
			continue
		}
		if size[f] < bestSize {
			best, bestSize = f, size[f]
		}
	}
	if best < 0 {
		return nil
	}
	return &all.functions[best]
}
