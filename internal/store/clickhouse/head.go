package clickhouse

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// A head is what many profiles say about themselves in the same words.
type head struct {
	DefaultType string            `json:"default,omitempty"`
	PeriodType  profile.ValueType `json:"periodType"`
	Period      int64             `json:"period,omitempty"`
	DropFrames  string            `json:"dropFrames,omitempty"`
	KeepFrames  string            `json:"keepFrames,omitempty"`
	Comments    []string          `json:"comments,omitempty"`
	DocURL      string            `json:"docURL,omitempty"`
}

func headOf(h *profile.Header) *head {
	return &head{
		DefaultType: h.DefaultType, PeriodType: h.PeriodType, Period: h.Period,
		DropFrames: h.DropFrames, KeepFrames: h.KeepFrames, Comments: h.Comments, DocURL: h.DocURL,
	}
}

// text returns the head as it is kept. Bytes that are no text are not kept as they are.
func (h *head) text() string {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // cannot happen: it has texts and numbers only
	}
	return string(b)
}

// header returns the header of a profile of some time.
func (h *head) header(types []profile.ValueType, time, duration int64) profile.Header {
	return profile.Header{
		SampleTypes: types, DefaultType: h.DefaultType, PeriodType: h.PeriodType, Period: h.Period,
		DropFrames: h.DropFrames, KeepFrames: h.KeepFrames, Comments: h.Comments, DocURL: h.DocURL,
		TimeNanos: time, DurationNanos: duration,
	}
}

// maxHeads is how many heads are kept in memory.
const maxHeads = 10_000

// A headKey names a head. The tenant is part of it, since who makes two texts with one hash shall not be seen by others.
type headKey struct {
	tenant string
	id     uint64
}

// headsOf returns heads, which come with their service. One that the database has lost says nothing.
func (s *Store) headsOf(ctx context.Context, tenant string, wanted map[uint64]string) (map[uint64]*head, error) {
	out := map[uint64]*head{}
	services := map[string]bool{}
	var missing []uint64
	s.mu.Lock()
	for id, service := range wanted {
		if out[id] = s.heads[headKey{tenant, id}]; out[id] == nil {
			out[id] = &head{}
			missing = append(missing, id)
			services[quote(service)] = true
		}
	}
	s.mu.Unlock()
	names := strings.Join(slices.Sorted(maps.Keys(services)), ", ")
	for part := range slices.Chunk(missing, 10_000) {
		var ids []uint64
		var texts []string
		err := s.db.query(ctx, fmt.Sprintf("SELECT head, any(text) FROM %s WHERE tenant = %s AND service IN (%s) AND head IN %s GROUP BY head",
			s.table("heads"), quote(tenant), names, list(part)), &ids, &texts)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if len(s.heads) > maxHeads {
			clear(s.heads)
		}
		for i, id := range ids {
			if err = json.Unmarshal([]byte(texts[i]), out[id]); err != nil {
				break
			}
			s.heads[headKey{tenant, id}] = out[id]
		}
		s.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("reading the description of a profile: %w", err)
		}
	}
	return out, nil
}
