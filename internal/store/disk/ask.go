package disk

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// damaged returns what could not be read as the error of a question whose answer has no place for it, when that is all there is.
func (a *answer) damaged(streams [][]*found) error {
	if len(streams) > 0 {
		return nil
	}
	return errors.Join(a.damage...)
}

// Series implements store.Store.
func (s *Store) Series(ctx context.Context, q store.Query) ([]store.Series, error) {
	return retry(func() ([]store.Series, error) {
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		defer a.close()
		var out []store.Series
		streams := a.streams()
		for _, list := range streams {
			f := list[0]
			n := len(out) - 1
			if n < 0 || out[n].Service != f.part.Service || out[n].Kind != f.part.kind || !slices.Equal(out[n].Labels, f.part.labels) ||
				!slices.Equal(out[n].Types, f.part.types()) {
				out = append(out, store.Series{
					Service: f.part.Service, Kind: f.part.kind, Labels: f.part.labels, Types: f.part.types(), First: fromNano(f.start), Last: fromNano(f.start),
				})
				n++
			}
			for _, f := range list {
				if at := fromNano(f.start); at.Before(out[n].First) {
					out[n].First = at
				} else if at.After(out[n].Last) {
					out[n].Last = at
				}
				out[n].Profiles += f.profiles
			}
		}
		return out, a.damaged(streams)
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
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		defer a.close()
		names := map[string]bool{}
		streams := a.streams()
		for _, list := range streams {
			names[store.ServiceLabel] = true
			for _, l := range list[0].labels() {
				names[l.Name] = true
			}
		}
		return slices.Sorted(maps.Keys(names)), a.damaged(streams)
	})
}

// Values implements store.Store.
func (s *Store) Values(ctx context.Context, q store.Query, label, prefix string, limit int) ([]string, bool, error) {
	all, err := retry(func() ([]string, error) {
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		defer a.close()
		values := map[string]bool{}
		streams := a.streams()
		for _, list := range streams {
			if v := list[0].label(label); v != "" && strings.HasPrefix(v, prefix) {
				values[v] = true
			}
		}
		return slices.Sorted(maps.Keys(values)), a.damaged(streams)
	})
	if len(all) > limit {
		return all[:limit], true, err
	}
	return all, false, err
}

// Totals implements store.Store.
func (s *Store) Totals(ctx context.Context, q store.Query, step time.Duration, by []string) ([]store.Line, error) {
	return retry(func() ([]store.Line, error) {
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		defer a.close()
		streams := a.streams()
		return a.totals(streams, step, by), a.damaged(streams)
	})
}

func (a *answer) totals(streams [][]*found, step time.Duration, by []string) []store.Line {
	type slot struct {
		values  []int64
		streams [][]*found
		n       int
		covered time.Duration
	}
	type line struct {
		store.Line
		kind  string
		slots map[int64]*slot
	}
	lines := map[string]*line{}
	for _, list := range streams {
		f := list[0]
		var group store.Labels
		for _, name := range by {
			group = append(group, store.Label{Name: name, Value: f.label(name)})
		}
		group = store.NewLabels(group...)
		key := f.part.kind + group.String() + store.TypesText(f.part.types())
		l := lines[key]
		if l == nil {
			l = &line{Line: store.Line{Labels: group, Types: f.part.types()}, kind: f.part.kind, slots: map[int64]*slot{}}
			lines[key] = l
		}
		var last *slot
		for _, f := range list {
			at := floorDiv(f.start, int64(step))
			sl := l.slots[at]
			if sl == nil {
				sl = &slot{values: make([]int64, len(l.Types))}
				l.slots[at] = sl
			}
			if sl != last {
				sl.streams = append(sl.streams, nil)
				last = sl
			}
			n := len(sl.streams) - 1
			sl.streams[n] = append(sl.streams[n], f)
			sl.n += f.profiles
			sl.covered += time.Duration(f.duration)
			natures := a.natures(f)
			restarted := f.before != nil && f.restarted(natures)
			for k, nature := range natures {
				switch {
				case nature != store.Counter || restarted:
					sl.values[k] += f.totals[k]
				case f.before != nil:
					sl.values[k] += f.totals[k] - f.before.totals[k]
				}
			}
		}
	}
	var out []store.Line
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		l := lines[key]
		for _, at := range slices.Sorted(maps.Keys(l.slots)) {
			sl := l.slots[at]
			if a.Fold == store.Natural {
				r := rounds(sl.streams)
				for k, t := range l.Types {
					if store.NatureOf(l.kind, t.Type, false) == store.Level {
						sl.values[k] = store.PerRound(sl.values[k], r)
					}
				}
			}
			l.Points = append(l.Points, store.Point{Time: fromNano(at * int64(step)), Values: sl.values, Profiles: sl.n, Streams: len(sl.streams), Covered: sl.covered})
		}
		out = append(out, l.Line)
	}
	return out
}

// entry returns what there is to say of one profile.
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
		a, err := s.ask(ctx, q)
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
		a, err := s.ask(ctx, q)
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
				h.TimeNanos, h.DurationNanos = f.time, f.duration
				return &one{f.entry(), p.WithHeader(h), f.part.raw(id)}, nil
			}
		}
		return nil, errors.Join(append(a.damage, store.ErrNotFound)...)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return &got.entry, got.p, got.raw, nil
}

// raw returns the bytes of a profile as they came, when they are kept.
func (b *block) raw(id store.ID) []byte {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, u := range b.newest {
		if u.ID == id {
			return u.Raw
		}
	}
	var raw []byte
	if f, err := os.Open(filepath.Join(b.dir, newestFile)); err == nil {
		defer f.Close()
		_, _ = eachRecord(f, func(_ string, u *store.Upload) error {
			if u.ID == id {
				raw = u.Raw
			}
			return nil
		})
	}
	return raw
}
