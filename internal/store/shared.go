package store

import (
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/profile"
)

// Shared is labels with which several processes seem to send their profiles. The store takes them for one process, whose counters seem to start from
// zero again and again.
type Shared struct {
	Service string `json:"service"`
	Labels  Labels `json:"labels"`         // of the first of them, by service and labels
	More    int    `json:"more,omitempty"` // other labels of which the same is true
}

func (s *Shared) String() string {
	and := ""
	if s.More > 0 {
		and = fmt.Sprintf(" and %d others", s.More)
	}
	return fmt.Sprintf("several processes seem to send profiles as %s%s%s, so the store takes them for one, and what it held and allocated is wrong: give each process a label instance",
		s.Service, s.Labels, and)
}

// AddShared adds labels to those that are known, which may be nil.
func AddShared(known *Shared, service string, labels Labels) *Shared {
	if known == nil {
		return &Shared{Service: service, Labels: labels}
	}
	known.More++
	return known
}

// CounterOf returns the first sample type of profiles of a kind that is a counter, or -1.
func CounterOf(kind string, types []profile.ValueType) int {
	return slices.IndexFunc(types, func(t profile.ValueType) bool { return NatureOf(kind, t.Type, true) == Counter })
}

// SharedWindow is the number of profiles in which AreShared looks for several processes. Longer ones say less: in any long list there are few ways down.
const SharedWindow = 64

// AreShared reports whether totals of a counter, in order of time, look like those of several processes that only count up, rather than those of one that
// is restarted. Those of several processes are a few rising sequences that take turns, so there are far more falls than sequences. Each restart of a process
// begins a sequence, unless the one before had started a little lower.
func AreShared(totals []int64) bool {
	for some := range slices.Chunk(totals, SharedWindow) {
		falls := 0
		for i := range some[1:] {
			if some[i+1] < some[i] {
				falls++
			}
		}
		if most := falls / 4; most >= 2 && rising(some, most) {
			return true
		}
	}
	return false
}

// rising reports whether values are at most so many sequences that never fall.
func rising(values []int64, most int) bool {
	var last []int64 // of each sequence, in falling order
	for _, v := range values {
		i := slices.IndexFunc(last, func(l int64) bool { return l <= v })
		switch {
		case i >= 0:
			last[i] = v
		case len(last) == most:
			return false
		default:
			last = append(last, v)
		}
	}
	return true
}
