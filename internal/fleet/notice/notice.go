// Package notice detects changes in services: functions that cost more or less than before, new versions and what they changed, and shifts
// of traffic.
//
// A Noticer reads new profiles from the store, step by step. An entry is the handler of a request, or the start function of a goroutine.
// The Noticer keeps in memory what each function recently cost below each entry, and compares the last hour with the hours before. Most
// functions below an entry change together; that change is the scale of the entry, and shows how much work there was. A function that
// changes differently has itself changed. The Noticer reports changes as events. docs/decisions/0020-noticing.md gives the reasons.
package notice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

// Options are what a Noticer is made of. Store and Events have to be set.
type Options struct {
	Store  store.Store
	Events *event.Log
	Log    *slog.Logger
	Now    func() time.Time

	// Step is how often the store is asked; 0 means five minutes. Wait is how late profiles may arrive; 0 means three minutes.
	Step, Wait time.Duration
}

// The columns that are watched, by kind of profile.
var watched = []struct{ kind, column string }{
	{recording.Heap, "alloc_space"}, // first, since the cost of garbage collection depends on it
	{recording.CPU, "cpu"},
}

const (
	reach       = 4 * time.Hour // how far back the memory is filled after a start
	mostWatched = 500           // services and kinds that are watched
	unseen      = 24 * time.Hour
)

// A Noticer detects changes.
type Noticer struct {
	Options
	tenants map[string]*tenant
}

type tenant struct {
	name     string
	next     time.Time // the next step to process
	began    time.Time // the first step
	services map[string]*service
}

// A service is the state of a service.
type service struct {
	tenant   string
	name     string
	memories map[string]*memory   // by kind
	versions map[string]time.Time // last time that each was seen
	label    string               // that identifies versions
	current  string               // the version of most processes
	deploys  []*deploy
	holds    map[string]*hold // by column
	seen     time.Time
}

// A deploy is a version that appeared.
type deploy struct {
	label           string // version, or build_id
	version, before string
	at              time.Time // the step in which it was seen first
	first           time.Time // when, within the step
	looked          int       // how often it was compared
	id              string    // of its event
}

// New returns a Noticer.
func New(o Options) *Noticer {
	o.Step = cmp.Or(o.Step, 5*time.Minute)
	o.Wait = cmp.Or(o.Wait, 3*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Noticer{Options: o, tenants: map[string]*tenant{}}
}

// Run detects changes until ctx ends.
func (n *Noticer) Run(ctx context.Context) {
	tick := time.NewTicker(n.Step / 5)
	defer tick.Stop()
	for {
		if err := n.Look(ctx); err != nil && ctx.Err() == nil {
			n.Log.Warn("looking for changes", "err", err) // the next look may succeed
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look processes all steps that are complete by now and have not been processed.
func (n *Noticer) Look(ctx context.Context) error {
	names, err := n.Store.Tenants(ctx)
	if err != nil {
		return err
	}
	until := n.Now().Add(-n.Wait).Truncate(n.Step)
	var bad error
	for _, name := range names {
		t := n.tenants[name]
		if t == nil {
			t = &tenant{name: name, next: until.Add(-reach), began: until.Add(-reach), services: map[string]*service{}}
			n.tenants[name] = t
		}
		if oldest := until.Add(-reach); t.next.Before(oldest) {
			t.next = oldest // after a sleep, or a store that did not answer
		}
		for t.next.Before(until) {
			if err := n.step(ctx, t, t.next); err != nil {
				bad = errors.Join(bad, fmt.Errorf("of tenant %s: %w", name, err))
				if ctx.Err() != nil {
					return bad
				}
				break // try again at the next look
			}
			t.next = t.next.Add(n.Step)
		}
	}
	return bad
}

// step processes one step of time of a tenant.
func (n *Noticer) step(ctx context.Context, t *tenant, from time.Time) error {
	for _, w := range watched {
		q := store.Query{Tenant: t.name, Kind: w.kind, From: from, To: from.Add(n.Step)}
		q.Means = true
		lines, err := n.Store.Totals(ctx, q, n.Step, []string{store.ServiceLabel, versionLabel, store.BuildLabel})
		if err != nil {
			return err
		}
		q.Means = false
		order.Stable(lines, func(a, b store.Line) int {
			return strings.Compare(a.Labels.Get(store.ServiceLabel), b.Labels.Get(store.ServiceLabel))
		})
		for len(lines) > 0 {
			name := lines[0].Labels.Get(store.ServiceLabel)
			end := slices.IndexFunc(lines, func(l store.Line) bool { return l.Labels.Get(store.ServiceLabel) != name })
			if end < 0 {
				end = len(lines)
			}
			processes := fleetview.Processes(lines[:end], fleetview.Window{From: q.From, To: q.To, Step: n.Step})
			of := slices.DeleteFunc(slices.Clone(lines[:end]), func(l store.Line) bool { return len(l.Points) == 0 })
			if s := t.service(name, from); s != nil && len(of) > 0 {
				err := n.versions(ctx, s, of, q)
				if err == nil {
					err = n.costs(ctx, s, w.kind, w.column, of, processes, q)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			lines = lines[end:]
		}
	}
	if err := n.growth(ctx, t, from); err != nil {
		return err
	}
	for _, s := range t.services {
		if err := n.compareVersions(ctx, s, from.Add(n.Step)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// service returns a service of a tenant, or nil when there are too many.
func (t *tenant) service(name string, now time.Time) *service {
	s := t.services[name]
	if s == nil {
		for other, x := range t.services {
			if now.Sub(x.seen) > unseen {
				delete(t.services, other)
			}
		}
		if len(t.services) >= mostWatched {
			return nil
		}
		s = &service{tenant: t.name, name: name, memories: map[string]*memory{}, versions: map[string]time.Time{}}
		t.services[name] = s
	}
	s.seen = now
	return s
}

// costs adds the costs of a service in a step, and looks for changes.
func (n *Noticer) costs(ctx context.Context, s *service, kind, column string, lines []store.Line, processes float64, q store.Query) error {
	st := step{Time: q.From, Processes: processes}
	for _, l := range lines {
		for _, p := range l.Points {
			st.Profiles += p.Profiles
			st.Covered += p.Covered
		}
	}
	if st.Profiles == 0 {
		return nil
	}
	m := s.memories[kind]
	if m != nil && len(m.steps) > 0 {
		last := m.steps[len(m.steps)-1].Time
		if !q.From.After(last) {
			return nil // this kind is done already: the step is repeated because another kind failed
		}
		if q.From.Sub(last) > reach {
			m = nil // the costs before are too old to compare with
		}
	}
	q.Selector = store.Service(s.name)
	merged, err := n.Store.Merge(ctx, q)
	if nothing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if kind == recording.CPU {
		if st.Served, err = n.requests(ctx, s, q); err != nil {
			return err
		}
	}
	k := columnOf(merged.Profile, column)
	if k < 0 {
		return nil
	}
	if m == nil {
		m = newMemory(unitOf(merged.Profile, k))
		m.column = column
		m.types = merged.Profile.SampleTypes[k]
		s.memories[kind] = m
	}
	m.add(st, m.names.costsOf(merged.Profile, k))
	return n.changes(ctx, s, kind, m)
}

func columnOf(p *profile.Profile, column string) int { return columnIn(p.SampleTypes, column) }

func columnIn(types []profile.ValueType, column string) int {
	return slices.IndexFunc(types, func(t profile.ValueType) bool { return t.Type == column })
}

// nothing reports whether err means that there are no profiles to merge.
func nothing(err error) bool { return errors.As(err, new(*store.NothingError)) }

// unitOf returns the value of one sample.
func unitOf(p *profile.Profile, k int) float64 {
	switch p.SampleTypes[k].Type {
	case "cpu":
		if p.PeriodType.Type == "cpu" && p.Period > 0 {
			return float64(p.Period)
		}
		return 1e7
	case "alloc_space":
		if p.PeriodType.Type == "space" && p.Period > 1 {
			return float64(p.Period)
		}
		return 512 << 10
	}
	return 1
}

// changes looks for changes in a memory, and reports them.
func (n *Noticer) changes(ctx context.Context, s *service, kind string, m *memory) error {
	if len(m.steps) < fewest+shortest {
		return nil
	}
	m.count++
	scales := m.scales()
	m.outside(scales, m.count%3 == 0)
	tracks := m.tracks(scales)
	now := m.alarms(tracks, m.count%3 == 0)
	if err := n.shifts(s, kind, m, scales, len(now) > 0); err != nil {
		return err
	}
	// A change is reported when two steps agree about it.
	told := m.alarmed
	m.alarmed = map[wanderKey]time.Time{}
	since := -1
	for _, a := range now {
		at := m.steps[a.since].Time
		m.alarmed[a.key] = at
		was, ok := told[a.key]
		if d := at.Sub(was); ok && d.Abs() <= 2*n.Step && (since < 0 || a.since < since) {
			since = a.since
		}
	}
	if since < 0 {
		return nil
	}
	// The change began when the clearest alarm among those near it did.
	best := alarm{}
	for _, a := range now {
		if a.since-since <= 2 && abs(a.z) > abs(best.z) {
			best = a
		}
	}
	return n.explain(ctx, s, kind, m, tracks, scales, best)
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

// explain finds the causes of a change, and reports them.
func (n *Noticer) explain(ctx context.Context, s *service, kind string, m *memory, tracks []*track, scales [][]float64, a alarm) error {
	last := len(m.steps) - 1
	first := max(0, a.since-24)
	for _, r := range m.rebased {
		if i := slices.IndexFunc(m.steps, func(s step) bool { return !s.Time.Before(r) }); i > first && i <= a.since-shortest {
			first = i
		}
	}
	began := m.steps[a.since].Time
	before, err := n.side(ctx, s, kind, m, store.Service(s.name), m.steps[first].Time, began)
	if err != nil || before == nil {
		return err
	}
	after, err := n.side(ctx, s, kind, m, store.Service(s.name), began, m.steps[last].Time.Add(n.Step))
	if err != nil || after == nil {
		return err
	}
	ratio := make([]float64, len(m.entries))
	for row, scale := range scales {
		b, x := 0.0, 0.0
		for t := first; scale != nil && t <= last; t++ {
			if t < a.since {
				b += scale[t]
			} else {
				x += scale[t]
			}
		}
		if b > 0 {
			ratio[row] = x / b
		}
	}
	c := m.compare(before.costs, after.costs, ratio, float64(a.since-first)/float64(last+1-a.since), m.noise(tracks))
	causes := c.causes(sure * explains)
	if len(causes) == 0 {
		return nil // later steps may explain it
	}
	local, err := n.local(ctx, s, kind, m, causes, m.steps[first].Time, began, m.steps[last].Time.Add(n.Step))
	if err != nil {
		return err
	}
	touched := map[int32]bool{}
	var bad error
	for _, x := range causes {
		for f := range x.touched {
			touched[f] = true
		}
		if local[x.function] {
			n.Log.Debug("a few processes cost more", "service", s.name, "function", m.names.functions[x.function].Name)
			continue
		}
		bad = errors.Join(bad, n.tell(s, kind, m, x, before, after, began, c.total, s.deployNear(began, n.Step)))
	}
	for row, again := range c.again {
		if scales[row] == nil || again == 1 {
			continue
		}
		for t := a.since; t <= last; t++ {
			scales[row][t] *= again
		}
	}
	m.rebase(touched, scales, a.since)
	return bad
}

// rebase makes the costs after a change the new normal: it scales the remembered costs before the change to those after it.
func (m *memory) rebase(touched map[int32]bool, scales [][]float64, since int) {
	from, to := m.base()
	for _, x := range m.series {
		scale := scales[x.row]
		if scale == nil || !touched[x.function] {
			continue
		}
		usual, now := x.usual(scale, from, min(to, since)), x.usual(scale, since, len(m.steps))
		for t := range since {
			x.values[t] = max(0, x.values[t]+float32(scale[t]*(now-usual)))
		}
	}
	m.rebased = append(m.rebased, m.steps[since].Time)
	if len(m.rebased) > ringSteps {
		m.rebased = m.rebased[1:]
	}
	m.alarmed = map[wanderKey]time.Time{}
}

// noise returns how much functions vary without a change.
func (m *memory) noise(tracks []*track) noise {
	from, to := m.base()
	spreads := map[int32]float64{}
	for _, tr := range tracks {
		spreads[tr.function] = max(spreads[tr.function], tr.spread(from, to, m.unit))
	}
	pooled := m.pooled()
	return noise{
		spread: func(f int32) float64 { return max(spreads[f], sampleSpread*m.unit) },
		wander: func(f int32) float64 {
			w := m.wander[wanderKey{f, true}]
			if w == nil {
				w = m.wander[wanderKey{f, false}]
			}
			return w.variance(pooled)
		},
	}
}

// A side is what was before or after something.
type side struct {
	costs    *costs
	profiles int
	streams  int
	second   float64 // factor from values to costs of the service per second
}

// side returns the profiles of some time, or nil when there are none.
func (n *Noticer) side(ctx context.Context, s *service, kind string, m *memory, sel store.Selector, from, to time.Time) (*side, error) {
	q := store.Query{Tenant: s.tenant, Selector: sel, Kind: kind, From: from, To: to}
	merged, err := n.Store.Merge(ctx, q)
	if errors.As(err, new(*store.NothingError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k := columnOf(merged.Profile, m.column)
	if k < 0 {
		return nil, nil
	}
	out := &side{costs: m.names.costsOf(merged.Profile, k), profiles: merged.Profiles, streams: merged.Streams, second: 1 / to.Sub(from).Seconds()}
	q.Means = true
	lines, err := n.Store.Totals(ctx, q, n.Step, nil)
	if err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(lines, func(l store.Line) bool { return !merged.Has(kind, l.Types) })
	if scale := fleetview.Load(kind, lines, merged, fleetview.Window{From: from, To: to, Step: n.Step}).Scale; scale > 0 {
		out.second = scale
	}
	return out, nil
}
