package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A part is profiles that measure the same, whose samples can be added up by the database.
type part struct {
	types  []profile.ValueType
	period profile.ValueType
	head   profile.Header // of all of them
	n      int

	// Values are added up as they are for those in all. Counters have grown by what those in plus say, less what those in minus
	// say: of profiles that follow each other, only the last one and the one before the first count.
	all, plus, minus map[*row]bool
	counters         bool // it has such values
	natural          bool // levels are weighed
	kind             string
}

// parts divides profiles that are in order.
func parts(rows []*row, fold store.Fold) []*part {
	var out []*part
	for _, r := range rows {
		if !r.holds {
			continue
		}
		i := slices.IndexFunc(out, func(p *part) bool { return p.period == r.head.PeriodType && slices.Equal(p.types, r.types) })
		if i < 0 {
			i = len(out)
			out = append(out, &part{
				types: r.types, period: r.head.PeriodType, kind: r.kind, natural: fold == store.Natural, all: map[*row]bool{}, plus: map[*row]bool{}, minus: map[*row]bool{},
			})
		}
		p := out[i]
		p.addHeader(r.head.header(r.types, r.start, r.duration))
		p.all[r] = true
		grows := fold == store.Natural && r.hasCounters()
		p.counters = p.counters || grows
		switch {
		case !grows:
			p.count(r, true)
		case r.before == nil:
		case r.restarted():
			p.count(r, true)
		default:
			p.count(r, true)
			p.count(r.before, false)
		}
	}
	return out
}

// count counts the counters of a profile, or takes them away.
func (p *part) count(r *row, plus bool) {
	to, from := p.plus, p.minus
	if !plus {
		to, from = from, to
	}
	if from[r] {
		delete(from, r)
		return
	}
	to[r] = true
}

// addHeader adds a header as profile.Merge does.
func (p *part) addHeader(h profile.Header) {
	p.n++
	if p.n == 1 {
		p.head = h
		return
	}
	to := &p.head
	if to.TimeNanos == 0 || h.TimeNanos < to.TimeNanos {
		to.TimeNanos = h.TimeNanos
	}
	to.DurationNanos += h.DurationNanos
	to.Period = max(to.Period, h.Period)
	for _, c := range h.Comments {
		if !slices.Contains(to.Comments, c) {
			to.Comments = append(to.Comments[:len(to.Comments):len(to.Comments)], c)
		}
	}
	if to.DefaultType == "" {
		to.DefaultType = h.DefaultType
	}
	if to.DocURL == "" {
		to.DocURL = h.DocURL
	}
}

// Merge implements store.Store.
func (s *Store) Merge(ctx context.Context, q store.Query) (*store.Merged, error) {
	rows, within, err := s.rowsToMerge(ctx, q)
	if err != nil {
		return nil, err
	}
	held := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !r.holds })
	held, common := together(&q, held)
	if len(held) == 0 && len(common.Damage) > 0 {
		return nil, &store.DamageError{Damage: common.Damage}
	}
	if len(held) == 0 {
		return nil, &store.NothingError{Query: q}
	}
	out := &store.Merged{Profiles: len(held), Damage: common.Damage}
	first, last := held[0].start, held[0].start
	for _, r := range held {
		first, last = min(first, r.start), max(last, r.start)
	}
	out.First, out.Last = time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
	samples := samplesOf(held)
	out.Streams = len(samples)
	var levels store.Weights
	if q.Fold == store.Natural && hasLevels(held[0].kind, held[0].types) {
		levels = store.Weigh(samples, int64(within))
		n := 0
		for i, s := range samples {
			for j := range s {
				held[n].weight = levels.Weight(i, j)
				n++
			}
		}
	}

	made, damage, err := s.merge(ctx, &q, rows, common)
	if err == nil && q.Fold == store.Natural && store.Shrunk(q.Kind, made) {
		// A process was restarted and has counted more than the one before. Only its stacks tell.
		var found bool
		if found, err = s.findRestarts(ctx, &q, held); found {
			made, damage, err = s.merge(ctx, &q, rows, common)
		}
	}
	if err != nil {
		return nil, err
	}
	out.Profile, out.Damage = made, append(out.Damage, damage...)
	if q.Fold == store.Natural {
		out.Profile = store.DivideLevels(q.Kind, out.Profile, func() int { return levels.Units })
		out.Shared = sharedBy(held)
	}
	return out, nil
}

// sharedBy returns the labels of streams that look like those of several processes.
func sharedBy(rows []*row) (out *store.Shared) {
	var totals []int64
	for i, r := range rows {
		if k := store.CounterOf(r.kind, r.types); k >= 0 && r.counters {
			totals = append(totals, r.total(k))
		}
		if i == len(rows)-1 || rows[i+1].stream != r.stream {
			if store.AreShared(totals) {
				out = store.AddShared(out, r.service, r.labels.With(r.row))
			}
			totals = totals[:0]
		}
	}
	return out
}

// merge adds up profiles.
func (s *Store) merge(ctx context.Context, q *store.Query, rows []*row, common store.Common) (*profile.Profile, []error, error) {
	var profiles []*profile.Profile
	var damage []error
	for _, p := range parts(rows, q.Fold) {
		sums, err := s.sums(ctx, q, p)
		if err != nil {
			return nil, nil, err
		}
		made, bad, err := s.build(ctx, q.Tenant, p.head, sums)
		if err != nil {
			return nil, nil, err
		}
		profiles, damage = append(profiles, made), append(damage, bad...)
	}
	if len(profiles) == 1 {
		return profiles[0], damage, nil
	}
	p, err := common.AddUp(profiles)
	return p, damage, err
}

// together returns the profiles that are added up, of those of all streams. The others do not count from then on.
func together(q *store.Query, rows []*row) (fit []*row, common store.Common) {
	var groups []store.Group
	of := make([]int, len(rows))
	for i, r := range rows {
		if i == 0 || rows[i-1].stream != r.stream {
			groups = append(groups, store.Group{Service: r.service, Kind: r.kind, Types: r.types})
		}
		of[i] = len(groups) - 1
		groups[of[i]].Profiles++
	}
	common = store.Together(q, groups)
	for i, r := range rows {
		if r.holds = common.Keep[of[i]]; r.holds {
			fit = append(fit, r)
		}
	}
	return fit, common
}

// A place is where samples are added up: services have stacks and sets of labels of their own.
type place struct {
	service     string
	stack, sets uint64
}

// A sums is samples that were added up.
type sums struct {
	types  int
	at     map[place]int
	places []place
	values []int64

	wanted, found uint64 // samples of profiles
}

func (t *sums) of(p place) []int64 {
	n, ok := t.at[p]
	if !ok {
		n = len(t.places)
		t.at[p] = n
		t.places = append(t.places, p)
		t.values = append(t.values, make([]int64, t.types)...)
	}
	return t.values[n*t.types : (n+1)*t.types]
}

const (
	// maxKeys is how many profiles a query names. Parsing them takes longer than adding up their samples when they are many more.
	maxKeys = 20_000
	// maxSums bounds how many samples there are in an answer.
	maxSums = 8 << 20
)

// sums adds up the samples of a part.
func (s *Store) sums(ctx context.Context, q *store.Query, p *part) (*sums, error) {
	out := &sums{types: len(p.types), at: map[place]int{}}
	var rows []*row
	for _, m := range []map[*row]bool{p.all, p.plus, p.minus} {
		for r := range m {
			if r.rows > 0 {
				rows = append(rows, r)
			}
		}
	}
	// Samples lie by the hour.
	slices.SortFunc(rows, func(a, b *row) int {
		if a.start != b.start {
			if a.start < b.start {
				return -1
			}
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	rows = slices.Compact(rows)
	rows, err := s.fromSums(ctx, q, p, rows, out)
	if err != nil {
		return nil, err
	}
	byPin := map[string][]*row{}
	for _, r := range rows {
		byPin[r.pin] = append(byPin[r.pin], r)
	}
	for _, pin := range sortedKeys(byPin) {
		for some := range slices.Chunk(byPin[pin], maxKeys) {
			if err := s.addUp(ctx, q, p, pin, some, out); err != nil {
				return nil, err
			}
			if len(out.places) > maxSums {
				return nil, fmt.Errorf("the profiles have more than %d different samples; ask for less time or fewer services", maxSums)
			}
		}
	}
	return out, nil
}

// addUp adds up the samples of some profiles, which a pin has unless it is "".
func (s *Store) addUp(ctx context.Context, q *store.Query, p *part, pin string, rows []*row, out *sums) error {
	keys := func(in map[*row]bool) []uint64 {
		var keys []uint64
		for _, r := range rows {
			if in[r] {
				keys = append(keys, r.key)
			}
		}
		return keys
	}
	all := make([]uint64, len(rows))
	for i, r := range rows {
		all[i] = r.key
	}
	whole, plus, minus := keys(p.all), keys(p.plus), keys(p.minus)
	// sum returns how a value is added up for those profiles.
	sum := func(value string, of []uint64) string {
		switch len(of) {
		case 0:
			return "toInt64(0)"
		case len(all):
			return "sum(" + value + ")"
		}
		return "sumIf(" + value + ", key IN " + list(of) + ")"
	}
	by := weightOfKeys(rows)
	var columns []string
	var into []any
	sums := make([][]int64, min(len(p.types), columnsOfValues))
	var stacks, sets []uint64
	var counts []uint64
	var services []string
	into = append(into, &services, &stacks, &sets, &counts)
	for k := range sums {
		value := fmt.Sprintf("v%d", k)
		if p.isLevel(k) && by != "1" {
			value += " * " + by
		}
		if !p.takes(k) {
			columns = append(columns, sum(value, plus)+" - "+sum(value, minus))
		} else {
			columns = append(columns, sum(value, whole))
		}
		into = append(into, &sums[k])
	}
	var more, moreMinus, morePlus [][]int64
	if len(p.types) > columnsOfValues {
		more := "more"
		if by != "1" {
			var levels []uint64
			for k := columnsOfValues; k < len(p.types); k++ {
				if p.isLevel(k) {
					levels = append(levels, uint64(k-columnsOfValues+1))
				}
			}
			if len(levels) > 0 {
				more = fmt.Sprintf("arrayMap((x, i) -> if(i IN %s, x * %s, x), more, arrayEnumerate(more))", list(levels), by)
			}
		}
		each := func(of []uint64) string {
			return "sumForEachIf(" + more + ", key IN " + list(append(of, 0)) + ")" // a list must not be empty
		}
		columns = append(columns, each(whole), each(plus), each(minus))
		into = append(into, &more, &morePlus, &moreMinus)
	}
	table, condition := s.table("samples"), where(q)
	if pin != "" {
		table, condition = s.table(pinnedPrefix+"samples")+" FINAL", both(condition, "pin = "+quote(pin))
	}
	from, to := rows[0].start, rows[len(rows)-1].start
	err := s.db.query(ctx, fmt.Sprintf("SELECT CAST(service, 'String'), stack, labels, count(), %s FROM %s WHERE %s AND hour >= %d AND hour <= %d AND key IN %s"+
		" GROUP BY service, stack, labels LIMIT %d", strings.Join(columns, ", "), table, condition,
		from/int64(time.Second)/hour*hour, to/int64(time.Second)/hour*hour, list(all), maxSums+1), into...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		out.wanted += r.rows
	}
	for i := range stacks {
		out.found += counts[i]
		to := out.of(place{services[i], stacks[i], sets[i]})
		for k := range to {
			switch j := k - columnsOfValues; {
			case j < 0:
				to[k] += sums[k][i]
			case !p.takes(k):
				to[k] += at(morePlus[i], j) - at(moreMinus[i], j)
			default:
				to[k] += at(more[i], j)
			}
		}
	}
	return nil
}

// hasLevels reports whether a type of a kind of profiles is a level.
func hasLevels(kind string, types []profile.ValueType) bool {
	return slices.ContainsFunc(types, func(t profile.ValueType) bool { return store.NatureOf(kind, t.Type, false) == store.Level })
}

// isLevel reports whether value k is weighed.
func (p *part) isLevel(k int) bool {
	return p.natural && store.NatureOf(p.kind, p.types[k].Type, false) == store.Level
}

// weightOfKeys returns the weight of a sample by its key, as a number or an expression.
func weightOfKeys(rows []*row) string {
	var keys, weights []uint64
	same := true
	for _, r := range rows {
		keys, weights = append(keys, r.key), append(weights, uint64(r.weight))
		same = same && r.weight == rows[0].weight
	}
	if same {
		return fmt.Sprint(rows[0].weight)
	}
	array := func(numbers []uint64) string {
		text := list(numbers)
		return "[" + text[1:len(text)-1] + "]"
	}
	return "transform(key, " + array(keys) + ", arrayMap(w -> toInt64(w), " + array(weights) + "), toInt64(1))"
}

// at returns a value of an array, which is shorter when no sample had more.
func at(values []int64, k int) int64 {
	if k < len(values) {
		return values[k]
	}
	return 0
}
