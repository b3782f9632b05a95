package clickhouse

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A stream is the profiles of one kind of a process or the like: those with the same labels, their own included, and sample types.
type stream struct {
	id            uint64
	service, kind string
	labels, row   store.Labels
	types         []profile.ValueType
}

// hashOf returns a hash of texts that is the same in all processes.
func hashOf(texts ...string) uint64 {
	var b []byte
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return xxhash.Sum64(b)
}

// seriesID returns the name of the series of an upload, and streamID that of its stream.
func seriesID(u *store.Upload) uint64 {
	return hashOf(append([]string{u.Service, u.Kind, store.TypesText(u.Parsed.SampleTypes)}, flat(u.Labels)...)...)
}

func streamID(u *store.Upload) uint64 {
	first := []string{u.Service, u.Kind, store.TypesText(u.Parsed.SampleTypes)}
	return hashOf(slices.Concat(first, flat(u.Labels), []string{""}, flat(u.Row))...) // no label has an empty name
}

func flat(l store.Labels) []string {
	out := make([]string, 0, 2*len(l))
	for _, l := range l {
		out = append(out, l.Name, l.Value)
	}
	return out
}

func namesAndValues(l store.Labels) (names, values []string) {
	for _, l := range l {
		names, values = append(names, l.Name), append(values, l.Value)
	}
	return names, values
}

// typesOf reads sample types of which each is two texts.
func typesOf(texts []string) (types []profile.ValueType) {
	for pair := range slices.Chunk(texts, 2) {
		if len(pair) == 2 {
			types = append(types, profile.ValueType{Type: pair[0], Unit: pair[1]})
		}
	}
	return types
}

func labelsOf(names, values []string) store.Labels {
	var out store.Labels
	for i := range min(len(names), len(values)) {
		out = append(out, store.Label{Name: names[i], Value: values[i]})
	}
	return out
}

// where is the condition for rows that have tenant, service and kind.
func where(q *store.Query) string {
	service := ""
	if name, ok := q.Selector.Only(store.ServiceLabel); ok {
		service = "service = " + quote(name)
	}
	kind := ""
	if q.Kind != "" {
		kind = "kind = " + quote(q.Kind)
	}
	return both("tenant = "+quote(q.Tenant), service, kind)
}

// between is the condition for a column with a time in nanoseconds.
func between(column string, from, to time.Time) string {
	return fmt.Sprintf("%s >= %d AND %s < %d", column, nanos(from), column, nanos(to))
}

// nanos returns a time in nanoseconds since 1970. Times before 1824 and after 2115, such as the zero time, are these.
func nanos(t time.Time) int64 {
	const last = 1 << 62
	if t.Unix() < -last/int64(time.Second) {
		return -last
	}
	if t.Unix() > last/int64(time.Second) {
		return last
	}
	return t.UnixNano()
}

// A selection is the streams that a query selects, and a condition for their profiles.
type selection struct {
	streams   map[uint64]*stream
	condition string
}

// selected returns the streams that q selects, of those that may have profiles from then on.
func (s *Store) selected(ctx context.Context, q *store.Query, from time.Time) (*selection, error) {
	var ids []uint64
	var services, kinds []string
	var names, values, rowNames, rowValues, types [][]string
	err := s.db.query(ctx, "SELECT stream, CAST(any(service), 'String'), CAST(any(kind), 'String'),"+
		" CAST(any(names), 'Array(String)'), any(values), CAST(any(row_names), 'Array(String)'), any(row_values), any(types) FROM "+
		s.withPinned("streams", "stream, service, kind, names, values, row_names, row_values, types, first, last", where(q))+" GROUP BY stream"+
		fmt.Sprintf(" HAVING max(last) >= %d AND min(first) < %d", nanos(from), nanos(q.To)),
		&ids, &services, &kinds, &names, &values, &rowNames, &rowValues, &types)
	if err != nil {
		return nil, err
	}
	sel := &selection{streams: map[uint64]*stream{}}
	var in, out []uint64
	for i, id := range ids {
		st := &stream{
			id: id, service: services[i], kind: kinds[i],
			labels: labelsOf(names[i], values[i]), row: labelsOf(rowNames[i], rowValues[i]), types: typesOf(types[i]),
		}
		if q.Selector.Match(st.service, st.labels, st.row) {
			sel.streams[id] = st
			in = append(in, id)
		} else {
			out = append(out, id)
		}
	}
	switch {
	case len(out) == 0:
	case len(in) <= len(out):
		sel.condition = "stream IN " + list(in)
	default:
		sel.condition = "stream NOT IN " + list(out)
	}
	if len(sel.condition) > maxQuery/2 {
		return nil, errMany
	}
	return sel, nil
}

// compare orders streams as all stores do.
func (st *stream) compare(other *stream) int {
	return cmp.Or(
		strings.Compare(st.service, other.service), strings.Compare(st.kind, other.kind),
		strings.Compare(st.labels.String(), other.labels.String()),
		strings.Compare(store.TypesText(st.types), store.TypesText(other.types)), strings.Compare(st.row.String(), other.row.String()))
}

// label returns the value of a label.
func (st *stream) label(name string) string {
	if name == store.ServiceLabel {
		return st.service
	}
	return cmp.Or(st.row.Get(name), st.labels.Get(name))
}

// A span is what a stream has in the time of a query.
type span struct {
	*stream
	profiles    uint64
	first, last int64
}

// spans returns the streams that have profiles that q selects, in order.
func (s *Store) spans(ctx context.Context, q *store.Query) ([]span, error) {
	sel, err := s.selected(ctx, q, q.From)
	if err != nil || len(sel.streams) == 0 {
		return nil, err
	}
	var ids, counts []uint64
	var first, last []int64
	err = s.db.query(ctx, "SELECT stream, uniqExact(id), min(start), max(start) FROM "+
		s.withPinned("profiles", "stream, id, start", both(where(q), between("start", q.From, q.To), sel.condition))+" GROUP BY stream", &ids, &counts, &first, &last)
	if err != nil {
		return nil, err
	}
	var out []span
	for i, id := range ids {
		if st := sel.streams[id]; st != nil { // one that came in just now is for the next question
			out = append(out, span{stream: st, profiles: counts[i], first: first[i], last: last[i]})
		}
	}
	order.Stable(out, func(a, b span) int { return a.compare(b.stream) })
	return out, nil
}

// Series implements store.Store.
func (s *Store) Series(ctx context.Context, q store.Query) ([]store.Series, error) {
	spans, err := s.spans(ctx, &q)
	if err != nil {
		return nil, err
	}
	var out []store.Series
	for _, sp := range spans {
		first, last := time.Unix(0, sp.first).UTC(), time.Unix(0, sp.last).UTC()
		n := len(out) - 1
		if n < 0 || out[n].Service != sp.service || out[n].Kind != sp.kind || !slices.Equal(out[n].Labels, sp.labels) ||
			!slices.Equal(out[n].Types, sp.types) {
			out = append(out, store.Series{
				Service: sp.service, Kind: sp.kind, Labels: sp.labels, Types: sp.types, First: first, Last: last,
			})
			n++
		}
		if first.Before(out[n].First) {
			out[n].First = first
		}
		if last.After(out[n].Last) {
			out[n].Last = last
		}
		out[n].Profiles += int(sp.profiles)
	}
	return out, nil
}

// Names implements store.Store.
func (s *Store) Names(ctx context.Context, q store.Query) ([]string, error) {
	spans, err := s.spans(ctx, &q)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	names := []string{store.ServiceLabel}
	for _, sp := range spans {
		for _, l := range [2]store.Labels{sp.labels, sp.row} {
			for _, l := range l {
				names = append(names, l.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Values implements store.Store.
func (s *Store) Values(ctx context.Context, q store.Query, label, prefix string, limit int) ([]string, bool, error) {
	spans, err := s.spans(ctx, &q)
	if err != nil {
		return nil, false, err
	}
	var values []string
	for _, sp := range spans {
		if v := sp.label(label); v != "" && strings.HasPrefix(v, prefix) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	if values = slices.Compact(values); len(values) > limit {
		return values[:limit], true, nil
	}
	return values, false, nil
}
