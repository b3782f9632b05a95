package store

import (
	"math"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits bound what a store takes. Zero is no limit.
type Limits struct {
	Bytes   int64 // of a profile as it is sent
	Samples int64
	Depth   int64 // of stacks
	Labels  int64 // of a profile and its series
	Value   int64 // bytes of a value of a label
}

// DefaultLimits are far above what Go programs send.
var DefaultLimits = Limits{Bytes: 32 << 20, Samples: 1 << 20, Depth: 10_000, Labels: 60, Value: 2048}

// Clocks that differ by more than this are wrong.
const (
	tooEarly = 10 * 365 * 24 * time.Hour
	tooLate  = 10 * time.Minute
)

// Take makes an upload ready to be kept: it is read, held against limits, and gets its ID and times.
func (u *Upload) Take(tenant string, limits Limits, now time.Time) error {
	check := func(what string, got, limit int64) error {
		if limit > 0 && got > limit {
			return &LimitError{What: what, Got: got, Limit: limit}
		}
		return nil
	}
	if err := check("bytes", int64(len(u.Raw)), limits.Bytes); err != nil {
		return err
	}
	if err := check("labels", int64(len(u.Labels)+len(u.Row)), limits.Labels); err != nil {
		return err
	}
	for _, l := range append(u.Labels[:len(u.Labels):len(u.Labels)], u.Row...) {
		if err := check("bytes in the value of label "+profile.Shorten(l.Name, 60), int64(len(l.Value)), limits.Value); err != nil {
			return err
		}
	}
	u.Labels, u.Row = u.Labels.exported(), u.Row.exported()
	u.ID = u.identify(tenant)
	u.Arrived = now
	if u.Parsed == nil {
		p, err := profile.ParseBytes(u.Raw)
		if err != nil {
			return err
		}
		if p.Damage != nil {
			return p.Damage
		}
		u.Parsed, u.Own = p, true
	}
	p := u.Parsed
	if err := check("samples", int64(p.NumSamples()), limits.Samples); err != nil {
		return err
	}
	for k := range p.SampleTypes {
		if !addsUp(p.Values(k)) {
			return &LimitError{What: "sum of all values of a type", Limit: math.MaxInt64}
		}
	}
	if limits.Depth > 0 {
		for i := range p.NumSamples() {
			if err := check("frames in a stack", int64(p.Depth(i)), limits.Depth); err != nil {
				return err
			}
		}
	}
	if len(p.Mappings) > 0 && u.Row.Get(BuildLabel) == "" {
		// The first one is the program.
		if build := p.Mappings[0].Build(); build != "" && int64(len(build)) <= max(limits.Value, 1) {
			u.Row = u.Row.With(Labels{{BuildLabel, build}})
		}
	}
	if u.Start.IsZero() && p.TimeNanos > 0 {
		u.Start = time.Unix(0, p.TimeNanos)
		if u.End.IsZero() {
			u.End = u.Start.Add(time.Duration(max(0, p.DurationNanos)))
		}
	}
	if u.Start.IsZero() {
		u.Start = now
	}
	if u.Start.Before(now.Add(-tooEarly)) || u.Start.After(now.Add(tooLate)) {
		u.Start, u.End, u.Clock = now, now, true
	}
	if u.End.Before(u.Start) {
		u.End = u.Start
	}
	u.Start, u.End = u.Start.UTC(), u.End.UTC()
	return nil
}

// addsUp reports whether the sum of any of the values fits into an int64.
func addsUp(values []int64) bool {
	sum := uint64(0) // of magnitudes
	for _, v := range values {
		if sum += uint64(unit.Abs(v)); sum > math.MaxInt64 {
			return false
		}
	}
	return true
}

// exported returns l, where a label that hone has for something else in selectors has another name, as in Prometheus.
func (l Labels) exported() Labels {
	i := slices.IndexFunc(l, func(l Label) bool { return l.Name == ProfileLabel })
	if i < 0 {
		return l
	}
	rest := slices.Delete(slices.Clone(l), i, i+1)
	return rest.With(Labels{{"exported_" + ProfileLabel, l[i].Value}})
}

// A Nature says what a value of a profile counts, and so how values of many profiles become one.
type Nature int

const (
	Flow    Nature = iota // what happened in the time of the profile: values add up
	Counter               // what happened since the process began: what counts is how much it grew
	Level                 // what there was at a moment: the mean over time
)

// NatureOf returns the nature of a sample type.
func NatureOf(kind, sampleType string, counters bool) Nature {
	switch sampleType {
	case "inuse_objects", "inuse_space", "goroutine", "goroutines", "threadcreate", "rss":
		return Level
	case "alloc_objects", "alloc_space", "contentions", "delay", "requests":
		if counters {
			return Counter
		}
	}
	if kind == "goroutine" || kind == "threadcreate" {
		return Level
	}
	return Flow
}

// Baseline is how long before a profile the one may be that its counters are compared with. What a process has counted
// when it is seen for the first time, or again after a long time, happened at a time that nobody knows, and is left out.
const Baseline = time.Hour

// Rounds returns how many times processes were asked that streams of moments, in nanoseconds and in order, are from: levels that
// are added up and divided by it are the mean over the time in which there were processes. A process that is replaced by
// another one counts once. Processes take turns, so from the first moment to the end of the last there is up to one round more than each was asked:
// only whole rounds count.
func Rounds(streams [][]int64) int {
	var gaps, all []int64
	most := 0
	for _, s := range streams {
		for i := 1; i < len(s); i++ {
			gaps = append(gaps, s[i]-s[i-1])
		}
		all = append(all, s...)
		most = max(most, len(s))
	}
	if len(streams) <= 1 || len(gaps) == 0 {
		return max(1, most)
	}
	slices.Sort(gaps)
	slices.Sort(all)
	gap := max(gaps[len(gaps)/2], 1)
	var covered, end int64
	for i, t := range all {
		from := t
		if i > 0 {
			from = max(t, end)
		}
		end = t + gap
		covered += end - from
	}
	return max(most, int((covered+gap/100)/gap))
}

// PerRound divides a sum of levels, rounding half away from zero.
func PerRound(sum int64, rounds int) int64 {
	n := int64(rounds)
	half := n / 2
	if sum < 0 {
		half = -half
	}
	return (sum + half) / n
}

// DivideLevels divides the levels among the values of p, which is the sum of so many rounds. They are counted only if there are levels.
func DivideLevels(kind string, p *profile.Profile, rounds func() int) *profile.Profile {
	n := 0
	return p.MapValues(func(k int, v int64) int64 {
		if NatureOf(kind, p.SampleTypes[k].Type, false) != Level {
			return v
		}
		if n == 0 {
			n = rounds()
		}
		return PerRound(v, n)
	})
}
