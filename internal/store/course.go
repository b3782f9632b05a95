package store

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A Stage is a profile in the course of its process: the process went on as the profile says until the next one began.
type Stage struct {
	At, End  int64   // in nanoseconds; Follow finds out the End of those that are no sums
	Took     int64   // how long its flows are of; 0 if nobody knows
	Since    int64   // how long its counters grew before At; 0 if nobody knows
	Counters bool    // see Upload
	Same     bool    // its counters go on from those of the stage before, so the process ran all the time between
	Sum      bool    // of many profiles, from At to End
	Alive    float64 // of a sum: processes at the same time, on average
}

const (
	// After is for how long after the time of a question profiles are read, too: they show which processes still ran at its end.
	After = 15 * time.Minute

	paused = 5 // if the next profile takes more than this many times the usual interval, the process paused
	late   = 4 // a profile is missing if it is late by more than the usual interval divided by this
)

// Follow sets the End of stages that are no sums. Each stream has all profiles of a process from shortly before a time until shortly after it; the time
// ends at to. A stage ends when the next one of its stream begins. After a pause, and if it is the last one, it ends after the usual interval between
// profiles; but at to, if the next profile could not have come in yet. Processes of a service are profiled in turn, so a process whose first
// profile comes within an interval of the first one of the service ran since that.
func Follow(streams [][]Stage, service func(i int) string, to int64) {
	samples := make([][]Sample, len(streams))
	now := int64(math.MinInt64)  // until when profiles came in, at least
	starts := map[string]int64{} // by service
	for i, s := range streams {
		if len(s) > 0 {
			if start, ok := starts[service(i)]; !ok || s[0].At < start {
				starts[service(i)] = s[0].At
			}
		}
		for _, g := range s {
			if !g.Sum {
				samples[i] = append(samples[i], Sample{At: g.At, Rounds: 1, Profiles: 1})
				now = max(now, g.At+g.Took)
			}
		}
	}
	Hold(samples)
	for i, s := range streams {
		var last *Stage
		hold, n := int64(0), 0
		for j := range s {
			g := &s[j]
			if g.Sum {
				continue
			}
			if last != nil {
				if last.End = g.At; !g.Same && g.At-last.At > paused*hold {
					last.End = last.At + hold
				}
			}
			hold = cmp.Or(samples[i][n].Hold, g.Took, int64(time.Second))
			last, n = g, n+1
		}
		if last == nil {
			continue
		}
		if start := starts[service(i)]; n > 1 && !s[0].Sum && s[0].At-start < samples[i][0].Hold {
			s[0].At = start
		}
		due := last.At + hold
		if last.End = due; to > due && to <= due+hold && now < due+last.Took+hold/late {
			last.End = to
		}
	}
}

// A Course adds up what processes did in the steps of a time, by their stages.
type Course struct {
	from, to, step int64
	natures        [2][]Nature // of the types, without and with counters
	since          []bool      // by type: a flow of unknown length is what happened since the profile before
	means          map[int64]*mean
	last           *mean // the one that was looked up last
	lastAt         int64
	ran, told      []span
}

// A span is a time.
type span struct{ from, to int64 }

type mean struct {
	values    []float64
	alive     float64
	ran, told int64
}

// NewCourse returns the course of profiles of a kind in the time of q.
func NewCourse(q *Query, step time.Duration, kind string, types []profile.ValueType) *Course {
	c := &Course{from: nano(q.From), to: nano(q.To), step: int64(step), means: map[int64]*mean{}}
	for _, t := range types {
		counter := NatureOf(kind, t.Type, true)
		c.natures[0] = append(c.natures[0], NatureOf(kind, t.Type, false))
		c.natures[1] = append(c.natures[1], counter)
		c.since = append(c.since, counter == Counter)
	}
	return c
}

// nano returns a time in nanoseconds, or the nearest that there are.
func nano(t time.Time) int64 {
	switch {
	case t.Unix() < -1<<33:
		return -1 << 62
	case t.Unix() >= 1<<32:
		return 1 << 62
	}
	return t.UnixNano()
}

// rate returns what stage j had of sample type k per second, or what it held, and whether that is known.
func (c *Course) rate(s []Stage, j, k int, value func(j, k int) float64) (rate float64, known bool) {
	g := &s[j]
	nature := c.natures[0][k]
	if g.Counters && !g.Sum {
		nature = c.natures[1][k]
	}
	per := func(j int, d int64) (float64, bool) { return value(j, k) / (float64(d) / 1e9), true }
	switch {
	case nature == Level:
		return value(j, k), true
	case nature == Flow && g.Took > 0:
		return per(j, g.Took)
	case nature == Flow && !c.since[k]:
		return 0, false
	case j+1 < len(s) && s[j+1].At == g.End && s[j+1].Since > 0 && s[j+1].Counters == g.Counters:
		return per(j+1, s[j+1].Since)
	case g.Since > 0:
		return per(j, g.Since)
	}
	return 0, false
}

// Add adds the stages of a stream. The value of one is that of its profile, or what a counter grew since the one before; of a sum, the mean of a level.
func (c *Course) Add(s []Stage, value func(j, k int) float64) {
	rates := make([]float64, len(c.since))
	var ran, told span
	for j := range s {
		g := &s[j]
		begin, end := max(g.At, c.from), min(g.End, c.to)
		if begin >= end {
			continue
		}
		known := false
		for k := range rates {
			r, ok := c.rate(s, j, k, value)
			rates[k] = r
			known = known || ok && c.natures[0][k] != Level
		}
		alive := g.Alive
		if !g.Sum {
			alive = 1
		}
		c.ran = ran.extend(c.ran, begin, end)
		if known {
			c.told = told.extend(c.told, begin, end)
		}
		c.each(begin, end, func(m *mean, d int64) {
			for k, r := range rates {
				m.values[k] += r * (float64(d) / 1e9)
			}
			m.alive += alive * float64(d)
		})
	}
	c.ran, c.told = ran.extend(c.ran, c.to, c.to), told.extend(c.told, c.to, c.to)
}

// extend lets a span go on to end, if it is there at begin. Otherwise, it puts the span into all and begins another one.
func (s *span) extend(all []span, begin, end int64) []span {
	if begin <= s.to && begin < end && s.to > s.from {
		s.to = max(s.to, end)
		return all
	}
	if s.to > s.from {
		all = append(all, *s)
	}
	*s = span{begin, end}
	return all
}

// each calls back for each step of a time, with how much of it is in the time.
func (c *Course) each(begin, end int64, call func(m *mean, d int64)) {
	for begin < end {
		at := begin / c.step
		if begin%c.step < 0 {
			at--
		}
		until := end
		if at < math.MaxInt64/c.step-1 {
			until = min(end, (at+1)*c.step)
		}
		if c.last == nil || c.lastAt != at {
			if c.last = c.means[at]; c.last == nil {
				c.last = &mean{values: make([]float64, len(c.since))}
				c.means[at] = c.last
			}
			c.lastAt = at
		}
		call(c.last, until-begin)
		begin = until
	}
}

// union calls back for each step of the time in which there is any of the spans.
func (c *Course) union(spans []span, call func(m *mean, d int64)) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	until := int64(math.MinInt64)
	for _, s := range spans {
		if from := max(s.from, until); s.to > from {
			c.each(from, s.to, call)
			until = s.to
		}
	}
}

// Anything returns a course that only knows how long at least one process of any of the courses ran. Courses that are nil are left out.
func Anything(courses []*Course) *Course {
	var out *Course
	for _, c := range courses {
		if c == nil {
			continue
		}
		if out == nil {
			out = &Course{step: c.step, means: map[int64]*mean{}}
		}
		out.ran = append(out.ran, c.ran...)
	}
	if out != nil {
		out.union(out.ran, func(m *mean, d int64) { m.ran += d })
	}
	return out
}

// Means returns what was added, by step. It may be called once. all is what Anything returns for all courses of the question.
func (c *Course) Means(all *Course) []Mean {
	c.union(c.ran, func(m *mean, d int64) { m.ran += d })
	c.union(c.told, func(m *mean, d int64) { m.told += d })
	out := make([]Mean, 0, len(c.means))
	for _, at := range slices.Sorted(maps.Keys(c.means)) {
		m := c.means[at]
		out = append(out, Mean{
			Time: time.Unix(0, at*c.step).UTC(), Values: m.values, Alive: time.Duration(math.Round(m.alive)), Ran: time.Duration(m.ran), Told: time.Duration(m.told),
			Any: time.Duration(all.means[at].ran),
		})
	}
	return out
}
