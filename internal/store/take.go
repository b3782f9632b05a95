package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits are the limits on uploads. Zero means no limit.
type Limits struct {
	Bytes   int64 // size of an upload
	Samples int64
	Depth   int64 // frames of a stack
	Labels  int64 // labels of a profile and its series
	Value   int64 // bytes of a label value
}

// DefaultLimits are far above the needs of Go programs.
var DefaultLimits = Limits{Bytes: 32 << 20, Samples: 1 << 20, Depth: 10_000, Labels: 60, Value: 2048}

// Clocks may differ by this much.
const (
	tooEarly = 10 * 365 * 24 * time.Hour
	tooLate  = 10 * time.Minute
)

// WrongClock reports whether a sender whose clock is right cannot have said t.
func WrongClock(t, now time.Time) bool {
	return t.Before(now.Add(-tooEarly)) || t.After(now.Add(tooLate))
}

// Take prepares an upload for storing: it parses it, checks the limits, and sets the ID and times.
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
		// The first mapping is the program.
		if build := p.Mappings[0].Build(); build != "" && int64(len(build)) <= max(limits.Value, 1) {
			u.Row = u.Row.With(Labels{{BuildLabel, build}})
		}
	}
	ends := u.End // as its sender says; the duration in a profile may be about the time before it
	if u.Start.IsZero() && p.TimeNanos > 0 {
		u.Start = time.Unix(0, p.TimeNanos)
		if u.End.IsZero() {
			u.End = u.Start.Add(time.Duration(max(0, p.DurationNanos)))
		}
	}
	if u.Start.IsZero() {
		u.Start = now
	}
	if WrongClock(u.Start, now) || !ends.IsZero() && WrongClock(ends, now) {
		u.Start, u.End, u.Clock = now, now, true
	}
	if u.End.Before(u.Start) {
		u.End = u.Start
	}
	u.Start, u.End = u.Start.UTC(), u.End.UTC()
	return nil
}

// addsUp reports whether all sums of values fit into an int64.
func addsUp(values []int64) bool {
	sum := uint64(0) // of absolute values
	for _, v := range values {
		if sum += uint64(unit.Abs(v)); sum > math.MaxInt64 {
			return false
		}
	}
	return true
}

// exported returns l. It renames labels whose names have another meaning in selectors, as Prometheus does.
func (l Labels) exported() Labels {
	i := slices.IndexFunc(l, func(l Label) bool { return l.Name == ProfileLabel })
	if i < 0 {
		return l
	}
	rest := slices.Delete(slices.Clone(l), i, i+1)
	return rest.With(Labels{{"exported_" + ProfileLabel, l[i].Value}})
}

// A Nature is what a value counts, and so how values of several profiles are combined.
type Nature int

const (
	Flow    Nature = iota // events during the profile; values are added
	Counter               // events since the process started; the growth counts
	Level                 // state at a moment; the mean over time counts
)

// NatureOf returns the nature of a sample type.
func NatureOf(kind, sampleType string, counters bool) Nature {
	switch sampleType {
	case "inuse_objects", "inuse_space", "held_objects", "held_space", "goroutine", "goroutines", "threadcreate", "rss":
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

// A Stretch is the time that a profile is of, in nanoseconds.
type Stretch struct {
	Start, End int64
	Duration   int64 // as the profile says; 0 if it does not say
	Before     int64 // start of the previous profile of the same stream; Start if there is none
	Counters   bool  // values such as alloc_space count since the process started
}

// Grown returns how long values of a profile of a kind grew: counters since the previous profile, and other values from its start to its end, unless the
// profile says its duration. It is 0 if nobody knows, and if there are only levels.
func (s Stretch) Grown(kind string, types []profile.ValueType) time.Duration {
	grown := int64(0)
	for _, t := range types {
		switch {
		case s.Counters && NatureOf(kind, t.Type, true) == Counter:
			return time.Duration(s.Start - s.Before)
		case NatureOf(kind, t.Type, false) != Flow || s.Duration > 0:
		case s.End > s.Start:
			grown = s.End - s.Start
		case NatureOf(kind, t.Type, true) == Counter: // it counts since the previous profile
			grown = s.Start - s.Before
		}
	}
	return time.Duration(grown)
}

// Shrunk reports whether a counter is negative in p, the growth of profiles of a kind. A process only counts up, so another one has taken its place.
func Shrunk(kind string, p *profile.Profile) bool {
	for k, t := range p.SampleTypes {
		if NatureOf(kind, t.Type, true) == Counter && slices.ContainsFunc(p.Values(k), func(v int64) bool { return v < 0 }) {
			return true
		}
	}
	return false
}

// kindsOf are the kinds of profiles that have a sample type. Types that are not here can be in any kind.
var kindsOf = map[string][]string{
	"cpu": {"cpu"}, "wall": {"cpu"}, "goroutine": {"goroutine"}, "goroutines": {"goroutine"}, "contentions": {"mutex", "block"}, "delay": {"mutex", "block"},
	"alloc_objects": {"heap"}, "alloc_space": {"heap"}, "inuse_objects": {"heap"}, "inuse_space": {"heap"},
}

// Misfit returns the kinds that profiles with these sample types can be of, such as "mutex or block", if kind is not one of them. It returns "" if it is,
// and if nobody knows.
func Misfit(kind string, types []profile.ValueType) string {
	known := false
	for _, kinds := range kindsOf {
		known = known || slices.Contains(kinds, kind)
	}
	var of []string
	for _, t := range types {
		for _, k := range kindsOf[t.Type] {
			if k == kind {
				return ""
			}
			if !slices.Contains(of, k) {
				of = append(of, k)
			}
		}
	}
	if !known || len(of) == 0 {
		return ""
	}
	return strings.Join(of, " or ")
}

// CheckKind returns what is wrong with profiles of a kind that have these sample types.
func CheckKind(kind string, types []profile.ValueType) error {
	if len(types) == 0 {
		return errors.New("the profile has no sample types, so it does not say what it measures")
	}
	if of := Misfit(kind, types); of != "" {
		return fmt.Errorf("the profile is of kind %s, not %s: its sample types are %s", of, kind, TypeNames(types))
	}
	return nil
}

// Baseline is the maximum age of the previous profile whose counters a profile is compared with. The first profile of a process, or the first one
// after a long gap, has counted for an unknown time, so its counters are ignored.
const Baseline = time.Hour

// PerRound divides a sum of levels by the number of rounds, rounding half away from zero.
func PerRound(sum int64, rounds int) int64 {
	n := int64(rounds)
	half := n / 2
	if sum < 0 {
		half = -half
	}
	return (sum + half) / n
}

// DivideLevels divides the levels in p, a sum of profiles, by the number of rounds. It calls rounds only if there are levels.
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
