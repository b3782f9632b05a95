package clickhouse

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Sums of hours and days are of all samples that were ever written for a series in that time: those of attempts that were broken off
// and those of profiles that were added twice, too. So a sum is taken only where it is known to be of just the profiles that are asked for: how
// many samples it is of, and the sum of their keys, which are random numbers, must be those of these profiles. Otherwise
// the samples themselves are added up. No state says which sums are right, so none can be wrong.

// A group is the profiles of a series in an hour or a day.
type group struct {
	service string
	at      int64 // seconds
	series  uint64
}

// fromSums adds what sums of days and hours say, and returns the profiles whose samples are still to be added up.
func (s *Store) fromSums(ctx context.Context, q *store.Query, p *part, rows []*row, out *sums) ([]*row, error) {
	if len(p.types) > columnsOfValues {
		return rows, nil
	}
	for _, step := range []struct {
		table, column string
		seconds       int64
	}{{"samples_day", "day", 24 * hour}, {"samples_hour", "hour", hour}} {
		// The samples of a few profiles are found sooner than their sums, if they are there.
		if len(rows) == 0 || len(rows) < s.sumsFrom && s.stepAt(time.Unix(0, rows[0].start)) == 0 {
			break
		}
		var err error
		if rows, err = s.fromTable(ctx, q, p, rows, out, step.table, step.column, step.seconds); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (s *Store) fromTable(ctx context.Context, q *store.Query, p *part, rows []*row, out *sums, table, column string, seconds int64) ([]*row, error) {
	type facts struct {
		n    uint64
		keys uint32
	}
	want := map[group]facts{}
	weights := map[group]*weighed{}
	of := func(r *row) group {
		return group{r.service, r.start / int64(time.Second) / seconds * seconds, r.series}
	}
	for _, r := range rows {
		if p.all[r] {
			f := want[of(r)]
			want[of(r)] = facts{f.n + r.rows, f.keys + uint32(r.key)*uint32(r.rows)}
			if weights[of(r)] == nil {
				weights[of(r)] = &weighed{}
			}
			weights[of(r)].add(r.weight)
		}
	}
	from, to := rows[0].start/int64(time.Second)/seconds*seconds, rows[len(rows)-1].start/int64(time.Second)/seconds*seconds
	condition := both(where(q), fmt.Sprintf("%s >= %d AND %s <= %d", column, from, column, to))
	var services []string
	var times []int64
	var series, n, keys []uint64
	err := s.db.query(ctx, fmt.Sprintf("SELECT CAST(service, 'String'), toInt64(toUnixTimestamp(%s)), series, sum(n), toUInt64(sumWithOverflow(keys)) FROM %s WHERE %s GROUP BY service, %s, series",
		column, s.table(table), condition, column), &services, &times, &series, &n, &keys)
	if err != nil {
		return nil, err
	}
	levels := p.natural && hasLevels(p.kind, p.types)
	gone := int64(math.MinInt64) // samples before it may have expired
	if s.layout.Keep > 0 {
		gone = s.now().Add(-s.layout.Keep).Unix()
	}
	good := map[group]bool{}
	var only []string
	byWeight := map[int64][]string{}
	for i := range series {
		g := group{services[i], times[i], series[i]}
		if f, ok := want[g]; ok && (f == facts{n[i], uint32(keys[i])}) {
			w := weights[g]
			if levels && w.least != w.most && g.at >= gone {
				continue // its samples tell what each profile counts for; where they have expired, all count the same
			}
			good[g] = true
			text := fmt.Sprintf("(%s,%d,%d)", quote(g.service), g.at, g.series)
			only, byWeight[w.mean()] = append(only, text), append(byWeight[w.mean()], text)
		}
	}
	if len(only) == 0 {
		return rows, nil
	}
	groups := fmt.Sprintf("(service, toInt64(toUnixTimestamp(%s)), series) IN ", column)
	if condition += " AND " + groups + "(" + strings.Join(only, ",") + ")"; len(condition) > maxQuery/4 {
		return rows, nil
	}
	weight := ""
	for i, w := range sortedKeys(byWeight) {
		switch {
		case len(byWeight) == 1:
			weight = fmt.Sprintf("toInt64(%d)", w)
		case i == len(byWeight)-1:
			weight = "multiIf(" + weight + fmt.Sprintf("toInt64(%d))", w)
		default:
			weight += groups + "(" + strings.Join(byWeight[w], ",") + fmt.Sprintf("), toInt64(%d), ", w)
		}
	}
	// Counters are not for these tables: of most profiles nothing is added. They are left to the samples of the few that count.
	var columns []string
	values := make([][]int64, len(p.types))
	counters := false
	var stacks, sets []uint64
	services = nil
	n, keys = nil, nil
	into := []any{&services, &stacks, &sets, &n, &keys}
	for k := range values {
		if p.takes(k) {
			value := fmt.Sprintf("v%d", k)
			if p.isLevel(k) && weight != "toInt64(1)" {
				value += " * " + weight
			}
			columns = append(columns, "sum("+value+")")
			into = append(into, &values[k])
		} else {
			counters = true
		}
	}
	if len(columns) == 0 {
		return rows, nil
	}
	err = s.db.query(ctx, fmt.Sprintf("SELECT CAST(service, 'String'), stack, labels, sum(n), toUInt64(sumWithOverflow(keys)), %s FROM %s WHERE %s GROUP BY service, stack, labels LIMIT %d",
		strings.Join(columns, ", "), s.table(table), condition, maxSums+1), into...)
	if err != nil {
		return nil, err
	}
	// Others may have written in between.
	var wanted, got facts
	for g := range good {
		wanted.n, wanted.keys = wanted.n+want[g].n, wanted.keys+want[g].keys
	}
	for i := range n {
		got.n, got.keys = got.n+n[i], got.keys+uint32(keys[i])
	}
	if got != wanted {
		return rows, nil
	}
	for i := range stacks {
		to := out.of(place{services[i], stacks[i], sets[i]})
		for k := range values {
			if values[k] != nil {
				to[k] += values[k][i]
			}
		}
	}
	var rest []*row
	for _, r := range rows {
		if p.all[r] && good[of(r)] {
			delete(p.all, r)
			if !counters || !p.plus[r] && !p.minus[r] {
				continue
			}
		}
		rest = append(rest, r)
	}
	return rest, nil
}

// A weighed is the weights of profiles.
type weighed struct{ least, most, sum, n int64 }

func (w *weighed) add(weight int64) {
	if w.n == 0 {
		w.least, w.most = weight, weight
	}
	w.least, w.most = min(w.least, weight), max(w.most, weight)
	w.sum += weight
	w.n++
}

func (w *weighed) mean() int64 { return (w.sum + w.n/2) / w.n }

// takes reports whether value k is added up as it is for all profiles.
func (p *part) takes(k int) bool {
	return !p.counters || store.NatureOf(p.kind, p.types[k].Type, true) != store.Counter
}
