// Package storetest holds what all stores must agree on, a store that is too simple to be wrong, and generated fleets.
package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// Memory is a store that keeps profiles as they came and answers by going through all of them. The others are held against it.
type Memory struct {
	Limits store.Limits
	Now    func() time.Time

	mu      sync.Mutex
	tenants map[string]map[store.ID]*store.Upload
	pins    map[string]map[string]store.Pin

	baselines map[store.ID]bool // profiles that are only there for counters of others to be compared with
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		Limits:  store.DefaultLimits,
		Now:     time.Now,
		tenants: map[string]map[store.ID]*store.Upload{},
		pins:    map[string]map[string]store.Pin{},
	}
}

// Add implements store.Store.
func (m *Memory) Add(_ context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tenants[tenant] == nil {
		m.tenants[tenant] = map[store.ID]*store.Upload{}
	}
	out := make([]store.Outcome, len(uploads))
	for i, u := range uploads {
		out[i].Err = u.Take(tenant, m.Limits, m.Now())
		out[i].ID = u.ID
		if out[i].Err == nil {
			_, out[i].Repeated = m.tenants[tenant][u.ID]
			if !out[i].Repeated {
				m.tenants[tenant][u.ID] = u
			}
		}
	}
	return out, nil
}

// Expire deletes what nobody has pinned, as retention does in the end.
func (m *Memory) Expire() {
	kept, compared := map[store.ID]bool{}, map[store.ID]bool{}
	for tenant := range m.tenants {
		for _, pin := range m.pins[tenant] {
			for _, s := range m.streams(pin.Query) {
				for _, e := range s {
					kept[e.ID] = true
					if e.before != nil {
						compared[e.before.ID] = true
					}
				}
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.baselines = map[store.ID]bool{}
	for tenant, all := range m.tenants {
		maps.DeleteFunc(all, func(id store.ID, u *store.Upload) bool { return !kept[id] && !compared[id] })
		if len(all) == 0 {
			delete(m.tenants, tenant)
		}
		for id := range all {
			m.baselines[id] = !kept[id]
		}
	}
}

// selected returns what q selects, by service, kind, labels and time.
func (m *Memory) selected(q store.Query) []*store.Upload {
	return slices.DeleteFunc(m.withBaselines(q), func(u *store.Upload) bool { return m.baselines[u.ID] })
}

func (m *Memory) withBaselines(q store.Query) []*store.Upload {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*store.Upload
	for _, u := range m.tenants[q.Tenant] {
		if (q.Kind == "" || q.Kind == u.Kind) && q.Holds(u.Start) && q.Selector.Match(u.Service, u.Labels, u.Row) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b *store.Upload) int {
		return cmp.Or(
			strings.Compare(a.Service, b.Service), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Labels.String(), b.Labels.String()),
			strings.Compare(store.TypesText(a.Parsed.SampleTypes), store.TypesText(b.Parsed.SampleTypes)),
			strings.Compare(a.Row.String(), b.Row.String()),
			a.Start.Compare(b.Start), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

// Series implements store.Store.
func (m *Memory) Series(_ context.Context, q store.Query) ([]store.Series, error) {
	var out []store.Series
	for _, u := range m.selected(q) {
		n := len(out) - 1
		if n < 0 || out[n].Service != u.Service || out[n].Kind != u.Kind || !slices.Equal(out[n].Labels, u.Labels) ||
			!slices.Equal(out[n].Types, u.Parsed.SampleTypes) {
			out = append(out, store.Series{
				Service: u.Service, Kind: u.Kind, Labels: u.Labels, Types: u.Parsed.SampleTypes, First: u.Start, Last: u.Start,
			})
			n++
		}
		if u.Start.Before(out[n].First) {
			out[n].First = u.Start
		}
		if u.Start.After(out[n].Last) {
			out[n].Last = u.Start
		}
		out[n].Profiles++
	}
	return out, nil
}

// Names implements store.Store.
func (m *Memory) Names(_ context.Context, q store.Query) ([]string, error) {
	names := map[string]bool{}
	for _, u := range m.selected(q) {
		names[store.ServiceLabel] = true
		for _, l := range u.Labels.With(u.Row) {
			names[l.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Values implements store.Store.
func (m *Memory) Values(_ context.Context, q store.Query, label, prefix string, limit int) ([]string, bool, error) {
	values := map[string]bool{}
	for _, u := range m.selected(q) {
		v := u.Labels.With(u.Row).Get(label)
		if label == store.ServiceLabel {
			v = u.Service
		}
		if v != "" && strings.HasPrefix(v, prefix) {
			values[v] = true
		}
	}
	all := slices.Sorted(maps.Keys(values))
	if len(all) > limit {
		return all[:limit], true, nil
	}
	return all, false, nil
}

// Merge implements store.Store.
func (m *Memory) Merge(_ context.Context, q store.Query) (*store.Merged, error) {
	out := &store.Merged{}
	all := m.streams(q)
	var groups []store.Group
	for _, s := range all {
		groups = append(groups, store.Group{Service: s[0].Service, Kind: s[0].Kind, Types: s[0].Parsed.SampleTypes, Profiles: len(s)})
	}
	common := store.Together(&q, groups)
	out.Damage = common.Damage
	var streams [][]entry
	for i, s := range all {
		if common.Keep[i] {
			streams = append(streams, s)
		}
	}
	if len(streams) == 0 && len(out.Damage) > 0 {
		return nil, &store.DamageError{Damage: out.Damage}
	}
	if len(streams) == 0 {
		return nil, &store.NothingError{Query: q}
	}
	levels := store.Weigh(samplesOf(streams), int64(q.To.Sub(q.From)))
	p, err := sum(streams, q.Fold, common, &levels)
	if err == nil && q.Fold == store.Natural && store.Shrunk(q.Kind, p) {
		// A process was restarted and has counted more than the one before. Only its stacks tell.
		for _, s := range streams {
			for i := range s {
				s[i].fell = s[i].shrunk()
			}
		}
		p, err = sum(streams, q.Fold, common, &levels)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range streams {
		for _, e := range s {
			if out.First.IsZero() || e.Start.Before(out.First) {
				out.First = e.Start
			}
			if e.Start.After(out.Last) {
				out.Last = e.Start
			}
			out.Profiles++
		}
	}
	out.Streams = len(streams)
	if q.Fold == store.Natural {
		p = store.DivideLevels(q.Kind, p, func() int { return levels.Units })
		out.Shared = shared(streams)
	}
	out.Profile = timed(p, out.First)
	return out, nil
}

// shared returns the labels of streams that look like those of several processes.
func shared(streams [][]entry) (out *store.Shared) {
	for _, s := range streams {
		k := store.CounterOf(s[0].Kind, s[0].Parsed.SampleTypes)
		if k < 0 {
			continue
		}
		var totals []int64
		for _, e := range s {
			if e.Counters {
				totals = append(totals, total(e.Parsed, k))
			}
		}
		if store.AreShared(totals) {
			out = store.AddShared(out, s[0].Service, s[0].Labels.With(s[0].Row))
		}
	}
	return out
}

// timed returns p with the time that the store has, which is not the sender's if that one's clock was wrong.
func timed(p *profile.Profile, at time.Time) *profile.Profile {
	h := p.Header
	h.TimeNanos = at.UnixNano()
	return p.WithHeader(h)
}

// sum adds up streams.
func sum(streams [][]entry, fold store.Fold, common store.Common, levels *store.Weights) (*profile.Profile, error) {
	var parts []*profile.Profile
	for i, s := range streams {
		for j, e := range s {
			p := e.Parsed
			if fold == store.Natural {
				var err error
				if p, err = e.grown(); err != nil {
					return nil, err
				}
				p = p.MapValues(func(k int, v int64) int64 {
					if store.NatureOf(e.Kind, p.SampleTypes[k].Type, false) == store.Level {
						return v * levels.Weight(i, j)
					}
					return v
				})
			}
			parts = append(parts, plain(p))
		}
	}
	return common.AddUp(parts)
}

// plain returns p without addresses where there are lines: what other builds have in the same lines is the same.
func plain(p *profile.Profile) *profile.Profile {
	t := profile.Tables{Functions: p.Functions, Locations: slices.Clone(p.Locations), Mappings: slices.Clone(p.Mappings)}
	for i := range t.Locations {
		if len(t.Locations[i].Lines) > 0 {
			t.Locations[i].Address = 0
		}
	}
	for i, m := range t.Mappings {
		t.Mappings[i] = profile.Mapping{ID: m.ID, File: m.File}
	}
	return p.WithTables(t)
}

// An entry is a profile in its stream.
type entry struct {
	*store.Upload
	before *store.Upload // that counters are compared with; nil when there is none
	fell   bool          // a stack has counted less than in before
}

// streams returns what q selects by stream, each in order of time.
func (m *Memory) streams(q store.Query) [][]entry {
	earlier := q
	earlier.From = q.From.Add(-store.Baseline)
	var out [][]entry
	var last *store.Upload
	for _, u := range m.withBaselines(earlier) {
		same := last != nil && last.Service == u.Service && last.Kind == u.Kind && slices.Equal(last.Labels, u.Labels) && slices.Equal(last.Row, u.Row) &&
			slices.Equal(last.Parsed.SampleTypes, u.Parsed.SampleTypes)
		e := entry{Upload: u}
		if same && u.Start.Sub(last.Start) <= store.Baseline && last.Counters == u.Counters {
			e.before = last
		}
		if !same {
			out = append(out, nil)
		}
		last = u
		if q.Holds(u.Start) && !m.baselines[u.ID] {
			out[len(out)-1] = append(out[len(out)-1], e)
		}
	}
	return slices.DeleteFunc(out, func(s []entry) bool { return len(s) == 0 })
}

func samplesOf(streams [][]entry) [][]store.Sample {
	out := make([][]store.Sample, len(streams))
	for i, s := range streams {
		for _, e := range s {
			out[i] = append(out[i], store.Sample{At: e.Start.UnixNano(), Rounds: 1, Profiles: 1})
		}
	}
	store.Hold(out)
	return out
}

// counts returns which sample types count from the start of the process on.
func (e *entry) counts() []bool {
	counts := make([]bool, len(e.Parsed.SampleTypes))
	for k, t := range e.Parsed.SampleTypes {
		counts[k] = store.NatureOf(e.Kind, t.Type, e.Counters) == store.Counter
	}
	return counts
}

// grown returns the profile with what its counters grew since the profile before.
func (e *entry) grown() (*profile.Profile, error) {
	p, counts := e.Parsed, e.counts()
	if !slices.Contains(counts, true) {
		return p, nil
	}
	only := func(with, without int64) func(k int, v int64) int64 {
		return func(k int, v int64) int64 {
			if counts[k] {
				return v * with
			}
			return v * without
		}
	}
	switch {
	case e.before == nil:
		return p.MapValues(only(0, 1)), nil
	case e.fell || restarted(p, e.before.Parsed, counts):
		return p, nil
	}
	grown, err := profile.Merge(p, e.before.Parsed.MapValues(only(-1, 0)))
	if err != nil {
		return nil, err
	}
	return grown.WithHeader(p.Header), nil
}

// shrunk reports whether a stack has counted less than in the profile before.
func (e *entry) shrunk() bool {
	if e.before == nil || !slices.Contains(e.counts(), true) {
		return false
	}
	p, err := profile.Merge(plain(e.Parsed), plain(e.before.Parsed.MapValues(func(_ int, v int64) int64 { return -v })))
	return err == nil && store.Shrunk(e.Kind, p)
}

// restarted reports whether a counter has fallen, which it does only when a process starts anew.
func restarted(p, before *profile.Profile, counts []bool) bool {
	for k := range counts {
		if counts[k] && total(p, k) < total(before, k) {
			return true
		}
	}
	return false
}

func total(p *profile.Profile, k int) (sum int64) {
	for _, v := range p.Values(k) {
		sum += v
	}
	return sum
}

// Totals implements store.Store.
func (m *Memory) Totals(_ context.Context, q store.Query, step time.Duration, by []string) ([]store.Line, error) {
	type slot struct {
		values  []int64
		streams [][]*profile.Profile
		samples [][]store.Sample
		n       int
		covered time.Duration
		grown   time.Duration
	}
	type line struct {
		store.Line
		kind   string
		slots  map[int64]*slot
		course *store.Course
	}
	lines := map[string]*line{}
	streams := m.streams(q)
	samples := samplesOf(streams)
	for n, s := range streams {
		used := map[*slot]int{}
		for j, e := range s {
			of, key := e.line(by)
			l := lines[key]
			if l == nil {
				l = &line{Line: of, kind: e.Kind, slots: map[int64]*slot{}}
				lines[key] = l
			}
			at := e.Start.UnixNano() / int64(step)
			sl := l.slots[at]
			if sl == nil {
				sl = &slot{values: make([]int64, len(l.Types))}
				l.slots[at] = sl
			}
			p := e.Parsed
			if q.Fold == store.Natural {
				var err error
				if p, err = e.grown(); err != nil {
					return nil, err
				}
			}
			for k := range sl.values {
				sl.values[k] += total(p, k)
			}
			sl.n++
			sl.covered += time.Duration(e.Parsed.DurationNanos)
			if q.Fold == store.Natural {
				of := store.Stretch{Start: e.Start.UnixNano(), End: e.End.UnixNano(), Duration: e.Parsed.DurationNanos, Before: e.Start.UnixNano(), Counters: e.Counters}
				if e.before != nil {
					of.Before = e.before.Start.UnixNano()
				}
				sl.grown += of.Grown(e.Kind, e.Parsed.SampleTypes)
			}
			i, ok := used[sl]
			if !ok {
				i = len(sl.streams)
				used[sl] = i
				sl.streams, sl.samples = append(sl.streams, nil), append(sl.samples, nil)
			}
			sl.streams[i], sl.samples[i] = append(sl.streams[i], e.Parsed), append(sl.samples[i], samples[n][j])
		}
	}
	if q.Means && q.Fold == store.Natural {
		if err := m.means(q, step, func(e *entry) **store.Course {
			of, key := e.line(by)
			l := lines[key]
			if l == nil {
				l = &line{Line: of, kind: e.Kind}
				lines[key] = l
			}
			return &l.course
		}); err != nil {
			return nil, err
		}
	}
	var all []*store.Course
	for _, l := range lines {
		all = append(all, l.course)
	}
	anything := store.Anything(all)
	var out []store.Line
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		l := lines[key]
		if l.course != nil {
			if l.Means = l.course.Means(anything); len(l.Means)+len(l.slots) == 0 {
				continue
			}
		}
		for _, at := range slices.Sorted(maps.Keys(l.slots)) {
			sl := l.slots[at]
			w := store.Weigh(sl.samples, int64(step))
			if q.Fold == store.Natural {
				for k, t := range l.Types {
					if store.NatureOf(l.kind, t.Type, false) == store.Level {
						sl.values[k] = w.Mean(func(i, j int) int64 { return total(sl.streams[i][j], k) })
					}
				}
			}
			l.Points = append(l.Points, store.Point{
				Time: time.Unix(0, at*int64(step)).UTC(), Values: sl.values, Profiles: sl.n, Streams: len(sl.streams), Covered: sl.covered, Grown: sl.grown,
			})
		}
		out = append(out, l.Line)
	}
	return out, nil
}

// line returns the line of a profile, and what identifies it.
func (e *entry) line(by []string) (of store.Line, key string) {
	return store.LineOf(e.Kind, e.Parsed.SampleTypes, by, func(name string) string {
		if name == store.ServiceLabel {
			return e.Service
		}
		return e.Labels.With(e.Row).Get(name)
	})
}

// means works out what processes did, by line.
func (m *Memory) means(q store.Query, step time.Duration, course func(e *entry) **store.Course) error {
	around := q
	around.From, around.To, around.Fold = q.From.Add(-store.Baseline), q.To.Add(store.After), store.Natural
	streams := m.streams(around)
	stages := make([][]store.Stage, len(streams))
	values := make([][][]float64, len(streams))
	for i, s := range streams {
		for _, e := range s {
			grown, err := e.grown()
			if err != nil {
				return err
			}
			var one []float64
			for k := range e.Parsed.SampleTypes {
				one = append(one, float64(total(grown, k)))
			}
			values[i] = append(values[i], one)
			g := store.Stage{At: e.Start.UnixNano(), Took: e.Parsed.DurationNanos, Counters: e.Counters}
			if g.Took == 0 {
				g.Took = int64(e.End.Sub(e.Start))
			}
			if e.before != nil && !e.before.Start.Before(around.From) {
				g.Since = int64(e.Start.Sub(e.before.Start))
				g.Same = slices.Contains(e.counts(), true) && !restarted(e.Parsed, e.before.Parsed, e.counts())
			}
			stages[i] = append(stages[i], g)
		}
	}
	store.Follow(stages, func(i int) string { return streams[i][0].Service }, q.To.UnixNano())
	for i, s := range streams {
		c := course(&s[0])
		if *c == nil {
			*c = store.NewCourse(&q, step, s[0].Kind, s[0].Parsed.SampleTypes)
		}
		(*c).Add(stages[i], func(j, k int) float64 { return values[i][j][k] })
	}
	return nil
}

// Entries implements store.Store.
func (m *Memory) Entries(_ context.Context, q store.Query, limit int) ([]store.Entry, bool, error) {
	all := m.selected(q)
	slices.SortFunc(all, func(a, b *store.Upload) int {
		return cmp.Or(b.Start.Compare(a.Start), slices.Compare(a.ID[:], b.ID[:]))
	})
	more := len(all) > limit
	if more {
		all = all[:limit]
	}
	out := make([]store.Entry, len(all))
	for i, u := range all {
		out[i] = entryOf(u)
	}
	return out, more, nil
}

func entryOf(u *store.Upload) store.Entry {
	e := store.Entry{
		ID: u.ID, Service: u.Service, Kind: u.Kind, Labels: u.Labels.With(u.Row), Start: u.Start, End: u.End,
		Types: u.Parsed.SampleTypes, Counters: u.Counters, Clock: u.Clock,
	}
	for k := range e.Types {
		e.Totals = append(e.Totals, total(u.Parsed, k))
	}
	return e
}

// Profile implements store.Store.
func (m *Memory) Profile(_ context.Context, q store.Query, id store.ID) (*store.Entry, *profile.Profile, []byte, error) {
	for _, u := range m.selected(q) {
		if u.ID == id {
			e := entryOf(u)
			return &e, timed(u.Parsed, u.Start), u.Raw, nil
		}
	}
	return nil, nil, nil, store.ErrNotFound
}

// Pin implements store.Store.
func (m *Memory) Pin(_ context.Context, q store.Query, pin store.Pin) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pins[q.Tenant] == nil {
		m.pins[q.Tenant] = map[string]store.Pin{}
	}
	pin.Query = q
	m.pins[q.Tenant][pin.Name] = pin
	return nil
}

// Unpin implements store.Store.
func (m *Memory) Unpin(_ context.Context, tenant, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.pins[tenant][name]; !ok {
		return store.ErrNotFound
	}
	delete(m.pins[tenant], name)
	return nil
}

// Pins implements store.Store.
func (m *Memory) Pins(_ context.Context, tenant string) ([]store.Pin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.pins[tenant]), func(a, b store.Pin) int { return strings.Compare(a.Name, b.Name) }), nil
}

// Tenants implements store.Store.
func (m *Memory) Tenants(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.tenants)), nil
}

// Close implements store.Store.
func (m *Memory) Close() error { return nil }

var _ store.Store = (*Memory)(nil)
