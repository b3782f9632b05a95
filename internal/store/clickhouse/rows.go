package clickhouse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// A row is a profile without its samples.
type row struct {
	*stream
	id       string
	start    int64
	end      int64
	key      uint64 // of its samples
	rows     uint64 // how many these are
	series   uint64
	head     *head
	duration int64
	counters bool
	totals   []int64
	pin      string // that has its samples; "" is that they are where those of all profiles are

	holds  bool  // it is in the time that was asked for
	only   bool  // it is only there for counters of the next one to be compared with
	before *row  // that its counters are compared with; nil when there is none
	weight int64 // of its levels
	fell   bool  // a stack has counted less than in before; see findRestarts
}

// maxProfiles is how many profiles an answer is made of at most.
const maxProfiles = 4 << 20

// rows returns the profiles that q selects and those that their counters are compared with, by stream and time.
func (s *Store) rows(ctx context.Context, q *store.Query) ([]*row, error) {
	from := q.From.Add(-store.Baseline)
	sel, err := s.selected(ctx, q, from)
	if err != nil {
		return nil, err
	}
	to := q.To
	if q.Means {
		to = to.Add(store.After)
	}
	return s.rowsOf(ctx, q, sel, both(where(q), between("start", from, to), sel.condition))
}

// rowsOf returns the profiles for which a condition holds, in the same order.
func (s *Store) rowsOf(ctx context.Context, q *store.Query, sel *selection, condition string) ([]*row, error) {
	if len(sel.streams) == 0 {
		return nil, nil
	}
	var streams, keys, heads, counts, series []uint64
	var starts, ends, durations []int64
	var ids []string
	var counters []uint8
	var totals [][]int64
	var pins []string
	const columns = "stream, start, end, id, key, head, rows, series, counters, duration, totals"
	// A profile may be in both tables. The one that a pin has is taken: its samples do not expire.
	taken := map[string]bool{}
	baselines := map[string]bool{}
	for _, from := range []string{"pin, baseline, " + columns + " FROM " + s.table(pinnedPrefix+"profiles"), "'', toUInt8(0) AS baseline, " + columns + " FROM " + s.table("profiles")} {
		at := len(ids)
		var some struct {
			streams, keys, heads, counts, series []uint64
			starts, ends, durations              []int64
			pins, ids                            []string
			baselines, counters                  []uint8
			totals                               [][]int64
		}
		err := s.db.query(ctx, "SELECT "+from+" WHERE "+condition+fmt.Sprintf(" ORDER BY baseline LIMIT 1 BY id LIMIT %d", maxProfiles+1),
			&some.pins, &some.baselines, &some.streams, &some.starts, &some.ends, &some.ids, &some.keys, &some.heads, &some.counts, &some.series, &some.counters,
			&some.durations, &some.totals)
		if err != nil {
			return nil, err
		}
		for i, id := range some.ids {
			if some.baselines[i] == 0 {
				delete(baselines, id)
			} else {
				baselines[id] = true
			}
			if taken[id] {
				continue
			}
			ids, pins, streams, starts = append(ids, id), append(pins, some.pins[i]), append(streams, some.streams[i]), append(starts, some.starts[i])
			ends = append(ends, some.ends[i])
			keys, heads, counts = append(keys, some.keys[i]), append(heads, some.heads[i]), append(counts, some.counts[i])
			series, counters = append(series, some.series[i]), append(counters, some.counters[i])
			durations, totals = append(durations, some.durations[i]), append(totals, some.totals[i])
		}
		if at == 0 {
			for _, id := range ids {
				taken[id] = true
			}
		}
	}
	if len(ids) > maxProfiles {
		return nil, fmt.Errorf("there are more than %d profiles; ask for less time or fewer services", maxProfiles)
	}
	wanted := map[uint64]string{}
	for i, id := range heads {
		if st := sel.streams[streams[i]]; st != nil {
			wanted[id] = st.service
		}
	}
	known, err := s.headsOf(ctx, q.Tenant, wanted)
	if err != nil {
		return nil, err
	}
	first, last := nanos(q.From), nanos(q.To)
	all := make([]row, 0, len(ids))
	for i := range ids {
		st := sel.streams[streams[i]]
		if st == nil {
			continue // it came in just now
		}
		all = append(all, row{
			weight: 1,
			stream: st, id: ids[i], start: starts[i], end: ends[i], key: keys[i], rows: counts[i], series: series[i], head: known[heads[i]],
			duration: durations[i], counters: counters[i] != 0, totals: totals[i], pin: pins[i],
			holds: first <= starts[i] && starts[i] < last && !baselines[ids[i]], only: baselines[ids[i]],
		})
	}
	out := make([]*row, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	slices.SortFunc(out, func(a, b *row) int {
		order := 0
		if a.stream != b.stream {
			order = a.compare(b.stream)
		}
		return cmp.Or(order, cmp.Compare(a.start, b.start), strings.Compare(a.id, b.id))
	})
	for i := 1; i < len(out); i++ {
		a, b := out[i-1], out[i]
		if a.stream == b.stream && b.start-a.start <= int64(store.Baseline) && a.counters == b.counters {
			b.before = a
		}
	}
	return out, nil
}

// samplesOf returns profiles as samples by stream, of which it is known how long they stand for what their processes held.
func samplesOf(rows []*row) (streams [][]store.Sample) {
	for i, r := range rows {
		if i == 0 || rows[i-1].stream != r.stream {
			streams = append(streams, nil)
		}
		streams[len(streams)-1] = append(streams[len(streams)-1], store.Sample{At: r.start, Rounds: 1, Profiles: 1})
	}
	store.Hold(streams)
	return streams
}

// isCounter reports whether value k of a profile counts since its process began.
func (r *row) isCounter(k int) bool {
	return store.NatureOf(r.kind, r.types[k].Type, r.counters) == store.Counter
}

func (r *row) hasCounters() bool {
	for k := range r.types {
		if r.isCounter(k) {
			return true
		}
	}
	return false
}

// total returns a total, which is 0 when the row has none, as only a broken one.
func (r *row) total(k int) int64 {
	if k < len(r.totals) {
		return r.totals[k]
	}
	return 0
}

// restarted reports whether a counter has fallen, which it does only when a process starts anew.
func (r *row) restarted() bool {
	if r.fell {
		return true
	}
	for k := range r.types {
		if r.isCounter(k) && r.total(k) < r.before.total(k) {
			return true
		}
	}
	return false
}

// grown returns a total with what its counter grew since the profile before.
func (r *row) grown(k int, fold store.Fold) int64 {
	switch {
	case fold != store.Natural || !r.isCounter(k):
		return r.total(k)
	case r.before == nil:
		return 0
	case r.restarted():
		return r.total(k)
	}
	return r.total(k) - r.before.total(k)
}

// Totals implements store.Store.
func (s *Store) Totals(ctx context.Context, q store.Query, step time.Duration, by []string) ([]store.Line, error) {
	if step <= 0 {
		return nil, fmt.Errorf("a step of %v", step)
	}
	rows, err := s.rows(ctx, &q)
	if err != nil {
		return nil, err
	}
	around := rows
	rows = nil
	for _, r := range around {
		if r.holds {
			rows = append(rows, r)
		}
	}
	type slot struct {
		values  []int64
		rows    [][]*row // by stream
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
	lineOf := func(r *row) *line {
		of, key := store.LineOf(r.kind, r.types, by, r.label)
		l := lines[key]
		if l == nil {
			l = &line{Line: of, kind: r.kind, slots: map[int64]*slot{}}
			lines[key] = l
		}
		return l
	}
	if q.Means && q.Fold == store.Natural {
		courses(around, nanos(q.To), func(r *row) *store.Course {
			l := lineOf(r)
			if l.course == nil {
				l.course = store.NewCourse(&q, step, l.kind, l.Types)
			}
			return l.course
		})
	}
	var last *stream
	var l *line
	var of *slot
	samples := slices.Concat(samplesOf(rows)...)
	for i, r := range rows {
		if r.stream != last {
			last, of, l = r.stream, nil, lineOf(r)
		}
		at := r.start / int64(step)
		sl := l.slots[at]
		if sl == nil {
			sl = &slot{values: make([]int64, len(l.Types))}
			l.slots[at] = sl
		}
		for k := range sl.values {
			sl.values[k] += r.grown(k, q.Fold)
		}
		if sl != of {
			sl.rows, sl.samples = append(sl.rows, nil), append(sl.samples, nil)
			of = sl
		}
		n := len(sl.rows) - 1
		sl.rows[n], sl.samples[n] = append(sl.rows[n], r), append(sl.samples[n], samples[i])
		sl.n++
		sl.covered += time.Duration(r.duration)
		if q.Fold == store.Natural {
			grew := store.Stretch{Start: r.start, End: r.end, Duration: r.duration, Before: r.start, Counters: r.counters}
			if r.before != nil {
				grew.Before = r.before.start
			}
			sl.grown += grew.Grown(r.kind, r.types)
		}
	}
	var all []*store.Course
	for _, l := range lines {
		all = append(all, l.course)
	}
	anything := store.Anything(all)
	var out []store.Line
	for _, key := range sortedKeys(lines) {
		l := lines[key]
		if l.course != nil {
			if l.Means = l.course.Means(anything); len(l.Means)+len(l.slots) == 0 {
				continue // its profiles are all before or after the time
			}
		}
		for _, at := range sortedKeys(l.slots) {
			sl := l.slots[at]
			if q.Fold == store.Natural && hasLevels(l.kind, l.Types) {
				w := store.Weigh(sl.samples, int64(step))
				for k, t := range l.Types {
					if store.NatureOf(l.kind, t.Type, false) == store.Level {
						sl.values[k] = w.Mean(func(i, j int) int64 { return sl.rows[i][j].total(k) })
					}
				}
			}
			l.Points = append(l.Points, store.Point{
				Time: time.Unix(0, at*int64(step)).UTC(), Values: sl.values, Profiles: sl.n, Streams: len(sl.rows),
				Covered: sl.covered, Grown: sl.grown,
			})
		}
		out = append(out, l.Line)
	}
	return out, nil
}

// courses adds the course of each stream to the one that of returns, also of streams that have profiles only before or after the time, which ends at to.
func courses(rows []*row, to int64, of func(r *row) *store.Course) {
	var streams [][]*row
	var stages [][]store.Stage
	for _, r := range rows {
		if r.only {
			continue
		}
		n := len(streams)
		if n == 0 || streams[n-1][0].stream != r.stream {
			streams, stages = append(streams, nil), append(stages, nil)
			n++
		}
		g := store.Stage{At: r.start, Took: r.duration, Counters: r.counters}
		if g.Took == 0 {
			g.Took = r.end - r.start
		}
		if r.before != nil {
			g.Since, g.Same = r.start-r.before.start, !r.restarted() && r.hasCounters()
		}
		streams[n-1], stages[n-1] = append(streams[n-1], r), append(stages[n-1], g)
	}
	store.Follow(stages, func(i int) string { return streams[i][0].service }, to)
	for i, s := range streams {
		of(s[0]).Add(stages[i], func(j, k int) float64 { return float64(s[j].grown(k, store.Natural)) })
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, q store.Query, limit int) ([]store.Entry, bool, error) {
	sel, err := s.selected(ctx, &q, q.From)
	if err != nil || len(sel.streams) == 0 {
		return nil, false, err
	}
	out, err := s.entries(ctx, sel, both(where(&q), between("start", q.From, q.To), sel.condition), max(limit, 0)+1)
	if err != nil {
		return nil, false, err
	}
	if len(out) > max(limit, 0) {
		return out[:max(limit, 0)], true, nil
	}
	return out, false, nil
}

// entries returns the newest profiles for which a condition holds.
func (s *Store) entries(ctx context.Context, sel *selection, condition string, limit int) ([]store.Entry, error) {
	var streams []uint64
	var starts, ends []int64
	var ids []string
	var counters, clocks []uint8
	var totals [][]int64
	err := s.db.query(ctx, "SELECT stream, start, end, id, counters, clock, totals FROM "+
		s.withPinned("profiles", "stream, start, end, id, counters, clock, totals", condition)+fmt.Sprintf(" ORDER BY start DESC, id LIMIT 1 BY id LIMIT %d", limit),
		&streams, &starts, &ends, &ids, &counters, &clocks, &totals)
	if err != nil {
		return nil, err
	}
	var out []store.Entry
	for i := range ids {
		st := sel.streams[streams[i]]
		if st == nil || len(ids[i]) != len(store.ID{}) {
			continue
		}
		out = append(out, store.Entry{
			ID: store.ID([]byte(ids[i])), Service: st.service, Kind: st.kind, Labels: st.labels.With(st.row),
			Start: time.Unix(0, starts[i]).UTC(), End: time.Unix(0, ends[i]).UTC(),
			Types: st.types, Totals: totals[i], Counters: counters[i] != 0, Clock: clocks[i] != 0,
		})
	}
	return out, nil
}
