package disk

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// damaged returns read errors as one error, for answers without a field for them, if nothing else was found.
func (a *answer) damaged(streams [][]*found) error {
	if len(streams) > 0 {
		return nil
	}
	return errors.Join(a.damage...)
}

// Series implements store.Store.
func (s *Store) Series(ctx context.Context, q store.Query) ([]store.Series, error) {
	return retry(func() ([]store.Series, error) {
		all := map[string]*store.Series{}
		add := func(p *part, first, last int64, profiles int) {
			key := p.Service + "\x00" + p.kind + "\x00" + p.labels.String() + "\x00" + store.TypesText(p.types())
			one := all[key]
			if one == nil {
				one = &store.Series{
					Service: p.Service, Kind: p.kind, Labels: p.labels, Types: p.types(), First: fromNano(first), Last: fromNano(last),
				}
				all[key] = one
			}
			if at := fromNano(first); at.Before(one.First) {
				one.First = at
			}
			if at := fromNano(last); at.After(one.Last) {
				one.Last = at
			}
			one.Profiles += profiles
		}
		a, err := s.ask(ctx, q, func(p *part, s *stored) { add(p, s.first, s.last, s.profiles) })
		if err != nil {
			return nil, err
		}
		defer a.close()
		for _, list := range a.streams() {
			for _, f := range list {
				add(f.part, f.start, f.start, f.profiles)
			}
		}
		out := make([]store.Series, 0, len(all))
		for _, one := range all {
			out = append(out, *one)
		}
		order.Stable(out, func(a, b store.Series) int {
			return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Labels.String(), b.Labels.String()),
				strings.Compare(store.TypesText(a.Types), store.TypesText(b.Types)))
		})
		if len(out) > 0 {
			return out, nil
		}
		return nil, errors.Join(a.damage...)
	})
}

// labels returns all labels of a profile.
func (f *found) labels() store.Labels { return f.part.labels.With(f.part.dict.rows[f.row]) }

// label returns the value of a label of a profile.
func (f *found) label(name string) string {
	if name == store.ServiceLabel {
		return f.part.Service
	}
	if v := f.part.dict.rows[f.row].Get(name); v != "" {
		return v
	}
	return f.part.labels.Get(name)
}

// Names implements store.Store.
func (s *Store) Names(ctx context.Context, q store.Query) ([]string, error) {
	return retry(func() ([]string, error) {
		names := map[string]bool{}
		a, err := s.askLabels(ctx, q, func(_ string, labels store.Labels) {
			names[store.ServiceLabel] = true
			for _, l := range labels {
				names[l.Name] = true
			}
		})
		if err != nil {
			return nil, err
		}
		defer a.close()
		streams := a.streams()
		for _, list := range streams {
			names[store.ServiceLabel] = true
			for _, l := range list[0].labels() {
				names[l.Name] = true
			}
		}
		if len(names) > 0 {
			return slices.Sorted(maps.Keys(names)), nil
		}
		return nil, a.damaged(streams)
	})
}

// Values implements store.Store.
func (s *Store) Values(ctx context.Context, q store.Query, label, prefix string, limit int) ([]string, bool, error) {
	all, err := retry(func() ([]string, error) {
		values := map[string]bool{}
		add := func(v string) {
			if v != "" && strings.HasPrefix(v, prefix) {
				values[v] = true
			}
		}
		a, err := s.askLabels(ctx, q, func(service string, labels store.Labels) {
			if label == store.ServiceLabel {
				add(service)
				return
			}
			add(labels.Get(label))
		})
		if err != nil {
			return nil, err
		}
		defer a.close()
		streams := a.streams()
		for _, list := range streams {
			add(list[0].label(label))
		}
		if len(values) > 0 {
			return slices.Sorted(maps.Keys(values)), nil
		}
		return nil, a.damaged(streams)
	})
	if len(all) > limit {
		return all[:limit], true, err
	}
	return all, false, err
}

// Totals implements store.Store.
func (s *Store) Totals(ctx context.Context, q store.Query, step time.Duration, by []string) ([]store.Line, error) {
	return retry(func() ([]store.Line, error) {
		a, err := s.ask(ctx, q, nil)
		if err != nil {
			return nil, err
		}
		defer a.close()
		all := a.withBaselines()
		streams := only(all, func(f *found) bool { return f.in })
		return a.totals(all, streams, step, by), a.damaged(streams)
	})
}

func (a *answer) totals(all, streams [][]*found, step time.Duration, by []string) []store.Line {
	type slot struct {
		values  []int64
		streams [][]*found
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
	lineOf := func(f *found) *line {
		of, key := store.LineOf(f.part.kind, f.part.types(), by, f.label)
		l := lines[key]
		if l == nil {
			l = &line{Line: of, kind: f.part.kind, slots: map[int64]*slot{}}
			lines[key] = l
		}
		return l
	}
	if a.Means && a.Fold == store.Natural {
		a.courses(all, func(f *found) *store.Course {
			l := lineOf(f)
			if l.course == nil {
				l.course = store.NewCourse(&a.Query, step, l.kind, l.Types)
			}
			return l.course
		})
	}
	var samples [][]store.Sample
	if slices.ContainsFunc(streams, func(s []*found) bool { return hasLevels(s[0].part.kind, s[0].part.types()) }) {
		samples = samplesOf(streams)
	}
	for i, list := range streams {
		l := lineOf(list[0])
		var last *slot
		for j, f := range list {
			at := floorDiv(max(f.start, a.From.UnixNano()), int64(step)) // sums may begin before
			sl := l.slots[at]
			if sl == nil {
				sl = &slot{values: make([]int64, len(l.Types))}
				l.slots[at] = sl
			}
			if sl != last {
				sl.streams, sl.samples = append(sl.streams, nil), append(sl.samples, nil)
				last = sl
			}
			if samples != nil {
				n := len(sl.streams) - 1
				sl.streams[n], sl.samples[n] = append(sl.streams[n], f), append(sl.samples[n], samples[i][j])
			}
			sl.n += f.profiles
			sl.covered += time.Duration(f.duration)
			natures := a.natures(f)
			if a.Fold == store.Natural {
				sl.grown += f.grown()
			}
			restarted := f.before != nil && f.restarted(natures)
			for k, nature := range natures {
				switch {
				case nature == store.Level: // see below
				case nature != store.Counter || restarted:
					sl.values[k] += f.totals[k]
				case f.before != nil:
					sl.values[k] += f.totals[k] - f.before.totals[k]
				}
			}
		}
	}
	var courses []*store.Course
	for _, l := range lines {
		courses = append(courses, l.course)
	}
	anything := store.Anything(courses)
	var out []store.Line
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		l := lines[key]
		if l.course != nil {
			if l.Means = l.course.Means(anything); len(l.Means)+len(l.slots) == 0 {
				continue // its profiles are all before or after the time
			}
		}
		for _, at := range slices.Sorted(maps.Keys(l.slots)) {
			sl := l.slots[at]
			if a.Fold == store.Natural && hasLevels(l.kind, l.Types) {
				w := store.Weigh(sl.samples, int64(step))
				for k, t := range l.Types {
					if store.NatureOf(l.kind, t.Type, false) == store.Level {
						sl.values[k] = w.Mean(func(i, j int) int64 { return sl.streams[i][j].totals[k] })
					}
				}
			}
			l.Points = append(l.Points, store.Point{
				Time: fromNano(at * int64(step)), Values: sl.values, Profiles: sl.n, Streams: len(sl.streams), Covered: sl.covered, Grown: sl.grown,
			})
		}
		out = append(out, l.Line)
	}
	return out
}

// grown returns how long the values of a profile grew. Those of a sum grew in all processes that were sampled until it ends.
func (f *found) grown() time.Duration {
	if f.part.rolled {
		return time.Duration(float64(f.end-f.start) * float64(f.profiles) / float64(max(1, f.rounds)))
	}
	s := store.Stretch{Start: f.start, End: f.end, Duration: f.duration, Before: f.start, Counters: f.counters()}
	if f.before != nil {
		s.Before = f.before.start
	}
	return s.Grown(f.part.kind, f.part.types())
}

// entry returns the Entry of a profile.
func (f *found) entry() store.Entry {
	return store.Entry{
		ID: f.id, Service: f.part.Service, Kind: f.part.kind, Labels: f.labels(), Start: fromNano(f.start), End: fromNano(f.end),
		Types: f.part.types(), Totals: slices.Clone(f.totals), Counters: f.counters(), Clock: f.flags&flagClock != 0,
	}
}

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, q store.Query, limit int) ([]store.Entry, bool, error) {
	more := false
	out, err := retry(func() ([]store.Entry, error) {
		a, err := s.ask(ctx, q, nil)
		if err != nil {
			return nil, err
		}
		defer a.close()
		var all []*found
		streams := a.streams()
		for _, list := range streams {
			for _, f := range list {
				if !f.part.rolled {
					all = append(all, f)
				}
			}
		}
		slices.SortFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.start, a.start), slices.Compare(a.id[:], b.id[:])) })
		if more = len(all) > limit; more {
			all = all[:limit]
		}
		out := make([]store.Entry, len(all))
		for i, f := range all {
			out[i] = f.entry()
		}
		return out, a.damaged(streams)
	})
	return out, more, err
}

// Profile implements store.Store.
func (s *Store) Profile(ctx context.Context, q store.Query, id store.ID) (*store.Entry, *profile.Profile, []byte, error) {
	type one struct {
		entry store.Entry
		p     *profile.Profile
		raw   []byte
	}
	got, err := retry(func() (*one, error) {
		q := q
		if q.To.IsZero() {
			q.To = s.Now().Add(24 * time.Hour)
		}
		q.Fold = store.Sum
		a, err := s.ask(ctx, q, nil)
		if err != nil {
			return nil, err
		}
		defer a.close()
		for _, list := range a.streams() {
			for _, f := range list {
				if f.id != id || f.part.rolled {
					continue
				}
				a.weigh([][]*found{{f}})
				p, err := a.sum([]*part{f.part})
				if err != nil {
					return nil, err
				}
				if err := errors.Join(a.damage...); err != nil {
					return nil, err
				}
				h := p.Header
				h.TimeNanos, h.DurationNanos = f.start, f.duration
				return &one{f.entry(), withBuild(p.WithHeader(h), [][]*found{{f}}), s.raw(f.part.block, id)}, nil
			}
		}
		return nil, errors.Join(append(a.damage, store.ErrNotFound)...)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return &got.entry, got.p, got.raw, nil
}

// raw returns the original bytes of a profile if the store still has them: it is in the log, or the newest of its series.
func (s *Store) raw(b *block, id store.ID) []byte {
	var names []string
	if files, err := s.wal.files(); err == nil {
		for _, n := range files {
			names = append(names, s.wal.name(n))
		}
	}
	for _, name := range append(names, filepath.Join(b.dir, newestFile)) {
		f, err := os.Open(name)
		if err != nil {
			continue // it has been flushed to segments
		}
		var raw []byte
		_, _ = eachRecord(f, func(_ int64, _ string, u *store.Upload) error {
			if u.ID == id {
				raw = slices.Clone(u.Raw)
				return io.EOF
			}
			return nil
		})
		f.Close()
		if raw != nil {
			return raw
		}
	}
	return nil
}
