package clickhouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/store"
)

// Add implements store.Store.
func (s *Store) Add(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error) {
	out := make([]store.Outcome, len(uploads))
	now := s.now()
	for i, u := range uploads {
		out[i].Err = u.Take(tenant, s.limits, now)
		out[i].ID = u.ID
	}
	there, err := s.there(ctx, tenant, uploads, out)
	if err != nil {
		return nil, err
	}
	pins, err := s.pinsOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var fresh []*store.Upload
	for i, u := range uploads {
		if out[i].Err != nil {
			continue
		}
		if out[i].Repeated = there[u.ID]; !out[i].Repeated {
			there[u.ID] = true
			fresh = append(fresh, u)
		}
	}
	for len(fresh) > 0 {
		n, samples := 0, 0
		for n < len(fresh) && (n == 0 || samples+fresh[n].Parsed.NumSamples() <= maxRows) {
			samples += fresh[n].Parsed.NumSamples()
			n++
		}
		if err := s.write(ctx, tenant, fresh[:n], pins); err != nil {
			return nil, fmt.Errorf("adding profiles: %w", err)
		}
		fresh = fresh[n:]
	}
	s.copyAgain(ctx, tenant)
	return out, nil
}

// maxRows is how many samples are inserted at a time.
const maxRows = 1 << 19

// there returns which of the uploads that were taken are kept already.
func (s *Store) there(ctx context.Context, tenant string, uploads []*store.Upload, outcomes []store.Outcome) (map[store.ID]bool, error) {
	services, kinds := map[string]bool{}, map[string]bool{}
	var ids []string
	for i, u := range uploads {
		if outcomes[i].Err == nil {
			services[quote(u.Service)], kinds[quote(u.Kind)] = true, true
			ids = append(ids, "unhex('"+u.ID.String()+"')")
		}
	}
	out := map[store.ID]bool{}
	for part := range slices.Chunk(ids, 10_000) {
		var found []string
		// Not by time: an upload that has none, or an impossible one, is kept under the time when it came.
		err := s.db.query(ctx, fmt.Sprintf("SELECT hex(id) FROM %s WHERE tenant = %s AND service IN %s AND kind IN %s AND id IN (%s) GROUP BY id",
			s.table("profiles"), quote(tenant), words(services), words(kinds), strings.Join(part, ",")), &found)
		if err != nil {
			return nil, fmt.Errorf("looking for profiles that are already stored: %w", err)
		}
		for _, text := range found {
			b, err := hex.DecodeString(text)
			if err != nil || len(b) != len(store.ID{}) {
				return nil, fmt.Errorf("looking for profiles that are already stored: %q is not an ID", text)
			}
			out[store.ID(b)] = true
		}
	}
	return out, nil
}

// words returns texts that are quoted already as ClickHouse reads them behind IN.
func words(quoted map[string]bool) string {
	var out []string
	for w := range quoted {
		out = append(out, w)
	}
	slices.Sort(out)
	return "(" + strings.Join(out, ",") + ")"
}

// A batch is rows on their way into tables.
type batch struct {
	tenant string
	token  string

	samples  sampleRows
	profiles profileRows
	streams  streamRows
	received receivedRows
	refs     references
}

// write keeps uploads. When it fails, none of them or all are kept, and writing them again is right in both cases.
func (s *Store) write(ctx context.Context, tenant string, uploads []*store.Upload, pins []store.Pin) error {
	// The token is new in every attempt. It is for what lies between here and the tables: a proxy that sends a request twice doubles
	// nothing. What an attempt that was broken off has left behind is told apart by its keys.
	b := &batch{tenant: tenant, token: newToken()}
	b.refs.init()
	for _, u := range uploads {
		b.add(s, u)
		b.received.add(u, slices.ContainsFunc(pins, func(p store.Pin) bool { return p.Keeps(tenant, u) }))
	}
	if err := s.writeReferences(ctx, b); err != nil {
		return err
	}
	if err := s.db.insert(ctx, "streams", b.token, b.streams.columns(tenant)); err != nil {
		return err
	}
	if err := s.db.insert(ctx, "samples", b.token, b.samples.columns(tenant)); err != nil {
		return err
	}
	if err := s.db.insert(ctx, "received", b.token, b.received.columns(tenant)); err != nil {
		return err
	}
	if err := s.db.insert(ctx, "profiles", b.token, b.profiles.columns(tenant)); err != nil {
		return err
	}
	s.wrote(b)
	return nil
}

func newToken() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

type sampleRows struct {
	services, kinds                   []string
	hours, stacks, keys, sets, series []uint64
	v                                 [columnsOfValues][]int64
	more                              [][]int64
}

func (r *sampleRows) columns(tenant string) []column {
	return []column{
		{"tenant", repeat(tenant, len(r.keys))}, {"service", r.services}, {"kind", r.kinds}, {"hour", r.hours}, {"stack", r.stacks},
		{"key", r.keys}, {"labels", r.sets}, {"series", r.series},
		{"v0", r.v[0]}, {"v1", r.v[1]}, {"v2", r.v[2]}, {"v3", r.v[3]}, {"more", r.more},
	}
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

type profileRows struct {
	services, kinds, ids               []string
	streams, keys, heads, rows, series []uint64
	starts, ends, times, durations     []int64
	counters, clocks                   []uint8
	totals                             [][]int64
}

func (r *profileRows) columns(tenant string) []column {
	return []column{
		{"tenant", repeat(tenant, len(r.keys))}, {"service", r.services}, {"kind", r.kinds}, {"stream", r.streams}, {"start", r.starts},
		{"id", r.ids}, {"key", r.keys}, {"end", r.ends}, {"counters", r.counters}, {"clock", r.clocks}, {"head", r.heads},
		{"time", r.times}, {"duration", r.durations}, {"rows", r.rows}, {"series", r.series}, {"totals", r.totals},
	}
}

type streamRows struct {
	at                                        map[uint64]int
	services, kinds                           []string
	streams                                   []uint64
	names, values, rowNames, rowValues, types [][]string
	first, last                               []int64
}

func (r *streamRows) columns(tenant string) []column {
	return []column{
		{"tenant", repeat(tenant, len(r.streams))}, {"service", r.services}, {"kind", r.kinds}, {"stream", r.streams},
		{"names", r.names}, {"values", r.values}, {"row_names", r.rowNames}, {"row_values", r.rowValues}, {"types", r.types},
		{"first", r.first}, {"last", r.last},
	}
}

func (r *streamRows) add(id uint64, u *store.Upload) {
	at := u.Start.UnixNano()
	if i, ok := r.at[id]; ok {
		r.first[i], r.last[i] = min(r.first[i], at), max(r.last[i], at)
		return
	}
	if r.at == nil {
		r.at = map[uint64]int{}
	}
	r.at[id] = len(r.streams)
	r.services, r.kinds, r.streams = append(r.services, u.Service), append(r.kinds, u.Kind), append(r.streams, id)
	names, values := namesAndValues(u.Labels)
	r.names, r.values = append(r.names, names), append(r.values, values)
	names, values = namesAndValues(u.Row)
	r.rowNames, r.rowValues = append(r.rowNames, names), append(r.rowValues, values)
	var types []string
	for _, t := range u.Parsed.SampleTypes {
		types = append(types, t.Type, t.Unit)
	}
	r.types = append(r.types, types)
	r.first, r.last = append(r.first, at), append(r.last, at)
}

// receivedRows are profiles as they came in: the newest of each stream, and those that a pin names.
type receivedRows struct {
	at                           map[uint64]int // by stream
	services, kinds, own, ids, b []string
	streams                      []uint64
	starts                       []int64
}

func (r *receivedRows) columns(tenant string) []column {
	return []column{
		{"tenant", repeat(tenant, len(r.streams))}, {"service", r.services}, {"kind", r.kinds}, {"stream", r.streams}, {"own", r.own},
		{"start", r.starts}, {"id", r.ids}, {"bytes", r.b},
	}
}

func (r *receivedRows) add(u *store.Upload, pinned bool) {
	stream, start, id := streamID(u), u.Start.UnixNano(), string(u.ID[:])
	if i, ok := r.at[stream]; ok && !pinned {
		if start >= r.starts[i] {
			r.starts[i], r.ids[i], r.b[i] = start, id, string(u.Raw)
		}
		return
	}
	own := ""
	if pinned {
		own = id
	} else {
		if r.at == nil {
			r.at = map[uint64]int{}
		}
		r.at[stream] = len(r.streams)
	}
	r.services, r.kinds, r.own, r.ids, r.b = append(r.services, u.Service), append(r.kinds, u.Kind), append(r.own, own), append(r.ids, id), append(r.b, string(u.Raw))
	r.streams, r.starts = append(r.streams, stream), append(r.starts, start)
}

const hour = 3600

// newKey returns a name for the samples of a profile. Within an hour, keys are in the order of time, so that values of one stack lie in it,
// too, and pack well. The rest is by chance: 52 bits are enough for what begins in one second.
func newKey(second int64) uint64 {
	of := uint64((second%hour + hour) % hour)
	return of<<52 | rand.Uint64()>>12
}

// add adds the rows of an upload.
func (b *batch) add(s *Store, u *store.Upload) {
	p := u.Parsed
	key := newKey(u.Start.Unix())
	id, series := streamID(u), seriesID(u)
	b.streams.add(id, u)

	// Samples whose stack and labels are the same are one here.
	type place struct{ stack, set uint64 }
	stacks := p.StackHashes()
	sets := make([]uint64, len(p.LabelSets()))
	for i, set := range p.LabelSets() {
		if len(set) > 0 {
			sets[i] = max(set.Hash(), 1) // 0 is no labels
		}
	}
	at := make(map[place]int, len(stacks))
	var order []place
	var values []int64 // of all samples that differ
	types := len(p.SampleTypes)
	totals := make([]int64, types)
	samples := make([]int, 0, len(stacks)) // one that each is of
	for i, stack := range stacks {
		zero := true
		for k := range types {
			zero = zero && p.Values(k)[i] == 0
		}
		if zero {
			continue
		}
		pl := place{stack, sets[p.Label(i)]}
		n, ok := at[pl]
		if !ok {
			n = len(order)
			at[pl] = n
			order = append(order, pl)
			samples = append(samples, i)
			values = append(values, make([]int64, types)...)
		}
		for k := range types {
			v := p.Values(k)[i]
			values[n*types+k] += v
			totals[k] += v
		}
	}
	b.refs.add(s, b.tenant, u, samples, stacks, sets)
	r := &b.samples
	start := u.Start.UnixNano()
	for n, pl := range order {
		r.services, r.kinds = append(r.services, u.Service), append(r.kinds, u.Kind)
		r.hours = append(r.hours, uint64(u.Start.Unix()/hour*hour))
		r.stacks, r.keys, r.sets, r.series = append(r.stacks, pl.stack), append(r.keys, key), append(r.sets, pl.set), append(r.series, series)
		of := values[n*types : (n+1)*types]
		for k := range columnsOfValues {
			v := int64(0)
			if k < types {
				v = of[k]
			}
			r.v[k] = append(r.v[k], v)
		}
		r.more = append(r.more, of[min(types, columnsOfValues):])
	}
	text := headOf(&p.Header).text()
	w := &b.profiles
	w.services, w.kinds, w.ids = append(w.services, u.Service), append(w.kinds, u.Kind), append(w.ids, string(u.ID[:]))
	w.streams, w.keys, w.heads = append(w.streams, id), append(w.keys, key), append(w.heads, hashOf(text))
	w.rows, w.series = append(w.rows, uint64(len(order))), append(w.series, series)
	w.starts, w.ends = append(w.starts, start), append(w.ends, u.End.UnixNano())
	w.times, w.durations = append(w.times, p.TimeNanos), append(w.durations, p.DurationNanos)
	w.counters, w.clocks = append(w.counters, bit(u.Counters)), append(w.clocks, bit(u.Clock))
	w.totals = append(w.totals, totals)
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
