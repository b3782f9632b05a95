package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// comparedAtOnce is how many samples are read at a time for comparing profiles stack by stack.
const comparedAtOnce = 1 << 20

// findRestarts marks the profiles in which a stack has counted less than in the profile before, and reports whether there are any. The profiles are in
// order.
func (s *Store) findRestarts(ctx context.Context, q *store.Query, rows []*row) (some bool, err error) {
	samples := map[*row]map[place][]int64{}
	var pairs []*row
	compare := func(last *row) error {
		want := map[string][]*row{}
		for _, r := range pairs {
			for _, r := range []*row{r.before, r} {
				if samples[r] == nil {
					samples[r] = map[place][]int64{}
					want[r.pin] = append(want[r.pin], r)
				}
			}
		}
		for _, pin := range sortedKeys(want) {
			if err := s.samplesOf(ctx, q, pin, want[pin], samples); err != nil {
				return err
			}
		}
		for _, r := range pairs {
			r.fell = r.fellSince(samples[r], samples[r.before])
			some = some || r.fell
		}
		pairs = pairs[:0]
		maps.DeleteFunc(samples, func(r *row, _ map[place][]int64) bool { return r != last })
		return nil
	}
	n := uint64(0)
	for _, r := range rows {
		if r.before == nil || !r.hasCounters() {
			continue
		}
		pairs = append(pairs, r)
		if n += r.rows + r.before.rows; n >= comparedAtOnce || len(pairs) >= maxKeys/2 {
			if err := compare(r); err != nil {
				return some, err
			}
			n = 0
		}
	}
	return some, compare(nil)
}

// fellSince reports whether a counter of a stack has fallen, given the samples of a profile and those of the one before.
func (r *row) fellSince(now, was map[place][]int64) bool {
	for p, before := range was {
		for k := range r.types {
			if r.isCounter(k) && at(now[p], k) < at(before, k) {
				return true
			}
		}
	}
	return false
}

// samplesOf reads the samples of profiles that lie in one table, that of a pin unless it is "".
func (s *Store) samplesOf(ctx context.Context, q *store.Query, pin string, rows []*row, into map[*row]map[place][]int64) error {
	keys := make([]uint64, len(rows))
	of := map[uint64]*row{}
	first, last := rows[0].start, rows[0].start
	for i, r := range rows {
		keys[i], of[r.key] = r.key, r
		first, last = min(first, r.start), max(last, r.start)
	}
	table, condition := s.table("samples"), where(q)
	if pin != "" {
		table, condition = s.table(pinnedPrefix+"samples")+" FINAL", both(condition, "pin = "+quote(pin))
	}
	var services []string
	var key, stacks, sets []uint64
	var values [columnsOfValues][]int64
	var more [][]int64
	err := s.db.query(ctx, fmt.Sprintf("SELECT CAST(service, 'String'), key, stack, labels, v0, v1, v2, v3, more FROM %s WHERE %s AND hour >= %d AND hour <= %d AND key IN %s",
		table, condition, first/int64(time.Second)/hour*hour, last/int64(time.Second)/hour*hour, list(keys)),
		&services, &key, &stacks, &sets, &values[0], &values[1], &values[2], &values[3], &more)
	if err != nil {
		return err
	}
	for i := range key {
		r := of[key[i]]
		if r == nil {
			continue
		}
		p := place{services[i], stacks[i], sets[i]}
		sum := into[r][p]
		if sum == nil {
			sum = make([]int64, len(r.types))
			into[r][p] = sum
		}
		for k := range sum {
			if k < columnsOfValues {
				sum[k] += values[k][i]
			} else {
				sum[k] += at(more[i], k-columnsOfValues)
			}
		}
	}
	return nil
}
