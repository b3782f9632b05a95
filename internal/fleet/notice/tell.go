package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

const (
	sameTime   = 40 * time.Minute // two changes of one function that began within this are one
	openFor    = 7 * 24 * time.Hour
	nearDeploy = time.Hour // a change that begins so soon after a deploy came with it
	longest    = 500       // bytes of a name in an event
)

// id returns the ID of an event with these parts. It is always the same.
func id(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:12])
}

// deployNear returns the deploy that a change came with, or nil.
func (s *service) deployNear(began time.Time, step time.Duration) *deploy {
	for _, d := range slices.Backward(s.deploys) {
		if !d.at.After(began.Add(2*step)) && began.Sub(d.at) <= nearDeploy {
			return d
		}
	}
	return nil
}

// tell reports a cause as an event, unless it was reported before. If the cause reverts an earlier change, that event ends.
func (n *Noticer) tell(s *service, kind string, m *memory, c *cause, before, after *side, began time.Time, total float64, d *deploy) error {
	fn := &m.names.functions[c.function]
	spread := m.unit * sampleSpread
	wander := m.wander[wanderKey{c.function, true}].variance(m.pooled())
	cost := func(v, variance float64, profiles int) event.Cost {
		half := 1.96 * math.Sqrt(variance)
		return event.Cost{Value: v * after.second, Low: max(0, v-half) * after.second, High: (v + half) * after.second, Profiles: profiles}
	}
	known := 1.0
	if sum := before.costs.total(); sum > 0 {
		known = (total - c.delta()) / sum // before stands for so much
	}
	ch := &event.Change{
		Kind: kind, Type: m.types, Function: name(fn.Name), File: name(fn.File), Package: name(fn.Package()), Source: event.Code,
		Before: cost(c.before, spread*c.before*max(known, 0)+wander*c.before*c.before, before.profiles),
		After:  cost(c.after, spread*c.after, after.profiles),
		Share:  c.delta() / (total - c.delta()),
	}
	ch.Requests = n.requestsOf(s, c, m, began)
	for _, p := range c.callers {
		ch.Callers = append(ch.Callers, event.Part{Function: name(m.names.functions[p.function].Name), Share: p.share})
	}
	for _, f := range c.with {
		ch.With = append(ch.With, name(m.names.functions[f].Name))
	}
	e := event.Event{Tenant: s.tenant, Kind: event.Changed, Service: s.name, Time: began, Noticed: n.Now().UTC(), Change: ch}
	if d != nil {
		ch.Version, ch.Since, e.Cause = d.version, d.before, d.id
		ch.Later = began.Sub(d.at) > 2*n.Step
		if d.first.After(began) {
			e.Time = d.first // the step began before the version that came in it
		}
	}
	return n.add(e, c.touched, m)
}

// add adds a change to the log, unless it is there.
func (n *Noticer) add(e event.Event, touched map[int32]bool, m *memory) error {
	ch := e.Change
	e.ID = id(e.Tenant, e.Service, ch.Kind, ch.Type.Type, ch.Function, e.Time.Unix())
	told, _ := n.Events.List(event.Filter{Tenant: e.Tenant, Service: e.Service, Kinds: []event.Kind{event.Changed}, From: e.Time.Add(-openFor)})
	explains := func(function string) bool { // the cause that was told
		f, ok := m.names.of[function]
		return function == ch.Function || slices.Contains(ch.With, function) || ok && touched[f] && m.names.gates[f] == plain
	}
	related := func(was *event.Change) bool {
		if was != nil && slices.ContainsFunc(was.Also, func(a event.Also) bool { return a.Kind == ch.Kind && a.Type == ch.Type && explains(a.Function) }) {
			return true
		}
		if was == nil || was.Kind != ch.Kind || was.Type != ch.Type || was.Source != ch.Source {
			return false
		}
		return slices.Contains(was.With, ch.Function) || explains(was.Function)
	}
	near := func(a, b time.Time) bool { return a.Sub(b).Abs() <= sameTime }
	delta := ch.After.Value - ch.Before.Value
	if n.collects(e, told) {
		return nil
	}
	for _, was := range told {
		if c := was.Change; c != nil && related(c) && (c.Share > 0) == (ch.Share > 0) && near(was.Time, e.Time) && was.Ended.IsZero() {
			return nil
		}
	}
	for _, was := range told {
		if was.ID == e.ID && was.Change.Kind != ch.Kind {
			return nil // already reported, as part of a change in another kind
		}
		if c := was.Change; c.Source == event.Code && ch.Source == event.Code && c.Kind == ch.Kind && c.Function != ch.Function && near(was.Time, e.Time) && math.Abs(ch.Share) < besideLarge*math.Abs(c.Share) {
			return nil
		}
		if part, ok := n.shows(e, &was, explains); ok {
			return part
		}
	}
	for _, was := range told {
		if !related(was.Change) {
			continue
		}
		then := was.Change.After.Value - was.Change.Before.Value
		if (then > 0) == (delta > 0) {
			if near(was.Time, e.Time) || was.Ended.IsZero() && ch.Version != "" && was.Change.Version == ch.Version {
				return nil
			}
			continue
		}
		if !was.Ended.IsZero() && near(was.Ended, e.Time) {
			return nil // after a restart, the same change is found again
		}
		if near(was.Time, e.Time) && math.Abs(ch.Share) <= 0.5*math.Abs(was.Change.Share) {
			return nil // so soon, it only says that the change was a little smaller
		}
		// A change has ended when most of it is gone.
		if was.Ended.IsZero() && was.Time.Before(e.Time) && math.Abs(ch.Share) > 0.5*math.Abs(was.Change.Share) && math.Abs(ch.Share) < 2*math.Abs(was.Change.Share) {
			was.Ended = e.Time
			return n.Events.Add(was)
		}
	}
	return n.Events.Add(e)
}

// shows reports whether CPU profiles show what heap profiles show: a function that allocates more takes longer. Both are one event then, about the CPU
// time, whichever was told before.
func (n *Noticer) shows(e event.Event, was *event.Event, explains func(function string) bool) (error, bool) {
	ch, c := e.Change, was.Change
	if ch.Source != event.Code || c == nil || c.Source != event.Code || !was.Ended.IsZero() || (c.Share > 0) != (ch.Share > 0) || was.Time.Sub(e.Time).Abs() > sameTime {
		return nil, false
	}
	if !explains(c.Function) && !slices.Contains(c.With, ch.Function) {
		return nil, false
	}
	cpu, heap := ch, c
	if ch.Kind == recording.Heap {
		cpu, heap = c, ch
	}
	if cpu.Kind != recording.CPU || heap.Kind != recording.Heap {
		return nil, false
	}
	both := *cpu
	both.Also = append(slices.Concat(cpu.Also, heap.Also), event.Also{Kind: heap.Kind, Type: heap.Type, Function: heap.Function, Before: heap.Before, After: heap.After, Share: heap.Share})
	was.Change = &both
	return n.Events.Add(*was), true
}

// The entry of the garbage collector, which works more when functions allocate more.
const collector = "runtime.gcBgMarkWorker"

// collects reports whether the collector does more, or less, since a function allocates more. It is listed with that function then.
// Allocations are processed before CPU, so that the cause is known first.
func (n *Noticer) collects(e event.Event, told []event.Event) bool {
	if e.Change.Kind != recording.CPU || e.Change.Function != collector {
		return false
	}
	for _, was := range told {
		c := was.Change
		if c == nil || c.Kind != recording.Heap || c.Source != event.Code || !was.Ended.IsZero() || (c.Share > 0) != (e.Change.Share > 0) || was.Time.Sub(e.Time).Abs() > sameTime {
			continue
		}
		if !slices.Contains(c.With, collector) {
			with := *c
			with.With = append(slices.Clone(c.With), collector)
			was.Change = &with
			if err := n.Events.Add(was); err != nil {
				n.Log.Warn("writing an event", "err", err)
			}
		}
		return true
	}
	return false
}

func name(s string) string { return profile.Shorten(s, longest) }
