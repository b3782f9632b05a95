package disk

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A part is a section that a question looks at, in memory or in a segment.
type part struct {
	*opened
	kind   string
	labels store.Labels
	series string
	shape  uint32
	rolled bool

	about  []*taken
	in     []bool        // which of them q selects
	near   []bool        // which of them it would select if its time began earlier and ended later; for Means
	stored *stored       // where it is in a segment; nil in memory
	reader segmentReader // of that segment

	factors [][]int64 // what the values of each are multiplied by, by type; see weigh
}

func (p *part) types() []profile.ValueType { return p.dict.shapes[p.shape].SampleTypes }

// An answer is the parts that a question looks at. It must be closed.
type answer struct {
	store.Query
	parts  []*part
	damage []error
	levels store.Weights      // see weighLevels
	pins   func() []store.Pin // of the tenant
	within time.Duration      // the time that is asked about; 0 is that from From to To
}

func (a *answer) close() {
	for _, p := range a.parts {
		p.reader.close()
	}
}

// ask finds the parts that q looks at: those with profiles that it selects and, before them, those that counters are compared with.
//
// Sections all of whose profiles q selects are given to whole instead, when that is not nil: what is known of them as a whole is then enough.
func (s *Store) ask(ctx context.Context, q store.Query, whole func(p *part, s *stored)) (*answer, error) {
	return s.askBut(ctx, q, whole, nil)
}

// askBut is ask without the blocks that done says are answered for.
func (s *Store) askBut(ctx context.Context, q store.Query, whole func(p *part, s *stored), done func(b *block) bool) (*answer, error) {
	from := q.From.Add(-store.Baseline)
	if from.After(q.From) {
		from = q.From // it ran over
	}
	to := q.To
	if q.Means {
		to = to.Add(store.After)
	}
	a := &answer{Query: q, pins: sync.OnceValue(func() []store.Pin {
		pins, _ := s.catalog.pins(q.Tenant, false) // they only say more precisely what is left
		return pins
	})}
	service, one := q.Selector.Only(store.ServiceLabel)
	if slices.ContainsFunc(q.Selector, func(m store.Matcher) bool { return m.Name != store.ServiceLabel }) {
		whole = nil // labels of single profiles matter
	}
	for _, b := range s.all() {
		if b.Tenant != q.Tenant || one && b.Service != service || !b.day.Before(to) || !b.day.Add(24*time.Hour).After(from) {
			continue
		}
		if err := ctx.Err(); err != nil {
			a.close()
			return nil, err
		}
		if !b.hasProfiles() || done != nil && done(b) {
			continue
		}
		o, err := b.view()
		if err != nil {
			a.damage = append(a.damage, err)
			continue
		}
		for i := range o.memory {
			sec := &o.memory[i]
			p := &part{opened: o, kind: sec.kind, labels: sec.labels, shape: sec.shape}
			if a.wants(p) {
				p.about = sec.taken
				a.take(p, from, to)
			}
		}
		for _, g := range o.segments {
			for i := range g.sections {
				sec := &g.sections[i]
				p := &part{opened: o, kind: sec.kind, labels: sec.labels, shape: sec.shape, stored: sec, rolled: sec.rolled}
				from, last := from, from.UnixNano()
				if sec.rolled {
					if q.Means && b.day.Before(from) {
						from = b.day // sums are of more than the time after which they begin
					}
					last = min(from.UnixNano(), floorDiv(q.From.UnixNano(), g.hour)*g.hour)
				}
				if sec.last < last || sec.first >= to.UnixNano() || !a.wants(p) {
					continue
				}
				if whole != nil && !sec.rolled && g.hour != baselineHour && sec.first >= q.From.UnixNano() && sec.last < q.To.UnixNano() {
					if q.Selector.Match(b.Service, nil, nil) {
						whole(p, sec)
					}
					continue
				}
				p.reader = segmentReader{segment: g, dir: b.dir}
				about, err := p.reader.about(sec, o.dict)
				if err != nil {
					p.reader.close()
					a.damage = append(a.damage, err)
					continue
				}
				p.about = make([]*taken, len(about))
				for j := range about {
					p.about[j] = &about[j]
				}
				a.take(p, from, to)
			}
		}
	}
	return a, nil
}

// askLabels finds the labels of what q selects. It gives those of sums to each: sums have the labels of their series only, which the catalog knows, so the
// dictionaries of their days need not be read. What the answer has is the rest.
func (s *Store) askLabels(ctx context.Context, q store.Query, each func(service string, labels store.Labels)) (*answer, error) {
	return s.askBut(ctx, q, nil, func(b *block) bool {
		b.mu.RLock()
		defer b.mu.RUnlock()
		if len(b.head)+len(b.flushing) > 0 {
			return false
		}
		for _, g := range b.segments {
			for i := range g.sections {
				sec := &g.sections[i]
				if g.hour == baselineHour {
					continue
				}
				if !sec.rolled || sec.first < q.From.UnixNano() || sec.last >= q.To.UnixNano() {
					return false
				}
			}
		}
		for _, g := range b.segments {
			for i := range g.sections {
				sec := &g.sections[i]
				if g.hour != baselineHour && (q.Kind == "" || q.Kind == sec.kind) && q.Selector.Match(b.Service, sec.labels, nil) {
					each(b.Service, sec.labels)
				}
			}
		}
		return true
	})
}

// hasProfiles reports whether there is anything in b.
func (b *block) hasProfiles() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.segments)+len(b.head)+len(b.flushing) > 0
}

// wants reports whether profiles of a part may be selected, as far as its kind and the labels of its series say.
func (a *answer) wants(p *part) bool {
	return a.Kind == "" || a.Kind == p.kind
}

// take takes a part whose profiles are known, when one of them matters.
func (a *answer) take(p *part, from, to time.Time) {
	p.series = p.labels.String()
	p.in = make([]bool, len(p.about))
	if a.Means {
		p.near = make([]bool, len(p.about))
	}
	fits := map[uint32]bool{}
	some := false
	for i, t := range p.about {
		in := t.start < a.To.UnixNano() && (t.start >= a.From.UnixNano() || p.rolled && a.reaches(p, t))
		if t.start >= to.UnixNano() || !in && (p.rolled && !a.Means || t.start < from.UnixNano()) {
			continue
		}
		fit, ok := fits[t.row]
		if !ok {
			fit = a.Selector.Match(p.Service, p.labels, p.dict.rows[t.row])
			fits[t.row] = fit
		}
		p.in[i] = fit && in && t.flags&flagBaseline == 0
		if a.Means {
			p.near[i] = fit && t.flags&flagBaseline == 0 // others are in sums, too
		}
		some = some || fit
	}
	if some {
		a.parts = append(a.parts, p)
		return
	}
	p.reader.close()
}

// reaches reports whether a sum that begins before the time of a is of that time, too. It says when it began, but not when its last profile was, so
// it counts until its hour or day is over: what nobody can tell apart any more is in the answer, rather than gone.
func (a *answer) reaches(p *part, t *taken) bool {
	step := p.reader.hour
	from, to := a.From.UnixNano(), min(a.To.UnixNano(), (floorDiv(t.start, step)+1)*step)
	return from < to && !store.MostPinned(a.pins(), &a.Query, p.Service, p.kind, p.labels, from, to)
}

// A found is one profile in an answer.
type found struct {
	*taken
	part   *part
	at     int // in part
	in     bool
	before *found // the one that counters are compared with
	weight int64  // of its levels
	fell   bool   // a stack has counted less than in before; see findRestarts
}

// streams returns the profiles that q selects by stream, each in order of time, the streams in order of service, kind, labels, types and
// own labels.
func (a *answer) streams() [][]*found {
	return only(a.withBaselines(), func(f *found) bool { return f.in })
}

// only returns streams with some of their profiles, without those that have none of these.
func only(streams [][]*found, keep func(f *found) bool) (out [][]*found) {
	for _, list := range streams {
		var kept []*found
		for _, f := range list {
			if keep(f) {
				kept = append(kept, f)
			}
		}
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// withBaselines returns what streams does and, beside it, the profiles that are only there for counters.
func (a *answer) withBaselines() [][]*found {
	type key struct{ service, kind, series, types, row string }
	by := map[key][]*found{}
	for _, p := range a.parts {
		types := store.TypesText(p.types())
		lists := map[uint32]key{}
		for i, t := range p.about {
			k, ok := lists[t.row]
			if !ok {
				k = key{p.Service, p.kind, p.series, types, p.row(t.row)}
				lists[t.row] = k
			}
			by[k] = append(by[k], &found{taken: t, part: p, at: i, in: p.in[i]})
		}
	}
	keys := slices.Collect(maps.Keys(by))
	order.Stable(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.service, b.service), strings.Compare(a.kind, b.kind), strings.Compare(a.series, b.series),
			strings.Compare(a.types, b.types), strings.Compare(a.row, b.row))
	})
	var out [][]*found
	for _, k := range keys {
		list := by[k]
		slices.SortFunc(list, func(a, b *found) int { return cmp.Or(cmp.Compare(a.start, b.start), slices.Compare(a.id[:], b.id[:])) })
		var b *found
		for _, f := range list {
			if f.part.rolled {
				continue // sums are grown already, and may lie between profiles that are pinned
			}
			if b != nil && f.start-b.start <= int64(store.Baseline) && f.counters() == b.counters() {
				f.before = b
			}
			b = f
		}
		out = append(out, list)
	}
	return out
}

// natures returns the nature of each type of a profile, for how q folds them.
func (a *answer) natures(f *found) []store.Nature {
	types := f.part.types()
	out := make([]store.Nature, len(types))
	if a.Fold == store.Sum {
		return out // all are flows
	}
	for k, t := range types {
		out[k] = store.NatureOf(f.part.kind, t.Type, f.counters())
	}
	return out
}

// restarted reports whether a counter has fallen since the profile before.
func (f *found) restarted(natures []store.Nature) bool {
	if f.fell {
		return true
	}
	for k, n := range natures {
		if n == store.Counter && f.totals[k] < f.before.totals[k] {
			return true
		}
	}
	return false
}

// weigh returns, in the parts of all profiles, what their values count. What a counter grew over many profiles is the last
// value minus the first, so most profiles in between count nothing, and are not read.
func (a *answer) weigh(streams [][]*found) {
	weight := func(f *found, k int, n int64) { f.part.weights()[k][f.at] += n }
	if p := streams[0][0].part; a.Fold == store.Natural && hasLevels(p.kind, p.types()) {
		a.weighLevels(streams)
	}
	for _, s := range streams {
		for _, f := range s {
			f.part.weights() // also where the first profile of a process has only counters, all of which count nothing
			natures := a.natures(f)
			restarted := f.before != nil && f.restarted(natures)
			for k, n := range natures {
				if n == store.Level {
					weight(f, k, f.weight)
				} else if n != store.Counter {
					weight(f, k, 1)
				} else if f.before != nil {
					weight(f, k, 1)
					if !restarted {
						weight(f.before, k, -1)
					}
				}
			}
		}
	}
}

// weights returns p.factors, and makes them where there are none.
func (p *part) weights() [][]int64 {
	if p.factors == nil {
		p.factors = make([][]int64, len(p.types()))
		for k := range p.factors {
			p.factors[k] = make([]int64, len(p.about))
		}
	}
	return p.factors
}

// samplesOf returns streams as samples, of which it is known how long they stand for what their processes held.
func samplesOf(streams [][]*found) [][]store.Sample {
	out := make([][]store.Sample, len(streams))
	type step struct{ length, at int64 }
	sums := map[step]int64{} // the least time between profiles of a step
	stepOf := func(f *found) step {
		length := f.part.reader.hour
		return step{length, floorDiv(f.start, length)}
	}
	each := func(f *found) int64 { return max(1, (f.end-f.start)/int64(max(1, f.rounds))) }
	for _, s := range streams {
		for _, f := range s {
			if f.part.rolled && f.flags&flagCovered == 0 {
				k := stepOf(f)
				if least, ok := sums[k]; !ok || each(f) < least {
					sums[k] = each(f)
				}
			}
		}
	}
	for i, s := range streams {
		out[i] = make([]store.Sample, len(s))
		for j, f := range s {
			to := &out[i][j]
			*to = store.Sample{At: f.start, Rounds: 1, Profiles: 1}
			if f.part.rolled {
				to.Rounds, to.Profiles = max(1, f.rounds), f.profiles
				// Sums of an earlier version do not say how far apart their profiles were. That of a series that ran until the end of its hour or day says
				// it best.
				if to.Hold = each(f); f.flags&flagCovered == 0 {
					to.Hold = sums[stepOf(f)]
				}
			}
		}
	}
	store.Hold(out)
	return out
}

// weighLevels finds out what levels of profiles in a time count, and what their sum is divided by.
func (a *answer) weighLevels(streams [][]*found) {
	samples := samplesOf(streams)
	a.levels = store.Weigh(samples, int64(cmp.Or(a.within, a.To.Sub(a.From))))
	for i, s := range streams {
		for j, f := range s {
			f.weight = a.levels.Weight(i, j)
		}
	}
}
