package clickhouse

import (
	"context"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

var _ store.SumStore = (*Store)(nil)

// stepAt returns how long the sums are that are left of a time, in seconds; 0 means that the samples of single profiles are there.
func (s *Store) stepAt(t time.Time) int64 {
	age := s.now().Sub(t.Truncate(hour * time.Second))
	switch {
	case s.layout.Keep == 0 || age <= s.layout.Keep:
		return 0
	case s.layout.Hours == 0 || age <= s.layout.Hours:
		return hour
	}
	return 24 * hour
}

// widened returns q with the whole of the hours and days that it cuts, where samples of single profiles have expired.
func (s *Store) widened(q store.Query) store.Query {
	if step := s.stepAt(q.From); step > 0 {
		q.From = q.From.Truncate(time.Duration(step) * time.Second)
	}
	if step := time.Duration(s.stepAt(q.To.Add(-1))) * time.Second; step > 0 {
		q.To = q.To.Add(step - 1).Truncate(step)
	}
	return q
}

// rowsToMerge is rows for a question about samples. Where these have expired, an hour or day of which q selects a part is selected as a whole, since there is
// only the sum of it. It returns how much time that makes, too.
func (s *Store) rowsToMerge(ctx context.Context, q store.Query) ([]*row, time.Duration, error) {
	wide := s.widened(q)
	rows, err := s.rows(ctx, &wide)
	within := wide.To.Sub(wide.From)
	if err != nil || within == q.To.Sub(q.From) {
		return rows, within, err
	}
	pins, err := s.pinsOf(ctx, q.Tenant)
	if err != nil {
		return nil, 0, err
	}
	from, to := nanos(q.From), nanos(q.To)
	first := map[group]int64{} // profile
	of := func(r *row) group {
		step := max(1, s.stepAt(time.Unix(0, r.start)))
		return group{r.service, r.start / int64(time.Second) / step * step, r.series}
	}
	for _, r := range rows {
		if at, ok := first[of(r)]; r.holds && (!ok || r.start < at) {
			first[of(r)] = r.start
		}
	}
	for _, r := range rows {
		if !r.holds || from <= r.start && r.start < to {
			continue
		}
		g := of(r)
		end := (g.at + s.stepAt(time.Unix(0, r.start))) * int64(time.Second)
		// Sums do not have the labels of single profiles.
		r.holds = first[g] < to && q.Selector.Match(r.service, r.labels, nil) &&
			!store.MostPinned(pins, &q, r.service, r.kind, r.labels, max(from, g.at*int64(time.Second)), min(to, end))
	}
	return rows, within, nil
}

// Sums implements store.SumStore.
func (s *Store) Sums(ctx context.Context, q store.Query) (*store.Sums, error) {
	wide := s.widened(q)
	single := s.now().Add(-s.layout.Keep)
	if s.layout.Keep == 0 || !wide.From.Before(single) {
		return nil, nil
	}
	if wide.To.After(single) {
		wide.To = single.Truncate(hour * time.Second)
	}
	series, err := s.Series(ctx, wide)
	if err != nil || len(series) == 0 {
		return nil, err
	}
	out := &store.Sums{Kept: s.layout.Keep}
	for _, one := range series {
		from, to := s.sumAt(one.First)
		if out.From.IsZero() || from.Before(out.From) {
			out.From = from
		}
		out.Step = max(out.Step, to.Sub(from))
		if from, to = s.sumAt(one.Last); to.After(out.To) {
			out.To = to
		}
		out.Step = max(out.Step, to.Sub(from))
	}
	return out, nil
}

// sumAt returns the time of the sum in which a profile is.
func (s *Store) sumAt(t time.Time) (from, to time.Time) {
	step := max(hour, s.stepAt(t)) * int64(time.Second)
	from = t.Truncate(time.Duration(step))
	return from, from.Add(time.Duration(step))
}
