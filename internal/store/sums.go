package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A SumStore is a Store in which sums of hours and days take the place of old profiles. A sum has only the labels of the series of its profiles. A
// question about a part of the hour or day of a sum gets all of it, if its first profile is from before the end of the part. Only where most of the part is
// pinned does it get the pinned profiles alone; see MostPinned.
type SumStore interface {
	Store

	// Sums returns what is known of the sums in the time of q, or nil if there are none. The labels of single profiles do not matter.
	Sums(ctx context.Context, q Query) (*Sums, error)
}

// Sums are what is left of a time.
type Sums struct {
	From time.Time     `json:"from"` // start of the first hour or day
	To   time.Time     `json:"to"`   // end of the last one
	Step time.Duration `json:"step_ns"`
	Kept time.Duration `json:"kept_ns"` // how long single profiles and their labels are kept
}

// Beyond reports whether sums have profiles of other times than that of q, too.
func (s *Sums) Beyond(q Query) bool { return s.From.Before(q.From) || s.To.After(q.To) }

func (s *Sums) String() string {
	what, is := "sums of hours", "are"
	switch {
	case s.Step == 24*time.Hour && s.To.Sub(s.From) <= s.Step:
		what, is = "the sum of the day", "is"
	case s.Step == 24*time.Hour:
		what = "sums of days"
	case s.To.Sub(s.From) <= s.Step:
		what, is = "the sum of the hour", "is"
	}
	return fmt.Sprintf("%s from %s to %s %s what is left of this time, since single profiles and their labels are kept for %s", what, s.From.Format(moment), s.To.Format(moment), is, Age(s.Kept))
}

// MostPinned reports whether pins keep, of what q selects of a series, the profiles of at least half of a time, in nanoseconds. They are a better answer
// about that time than the sum of an hour or day with all other profiles.
func MostPinned(pins []Pin, q *Query, service, kind string, series Labels, from, to int64) bool {
	return slices.ContainsFunc(pins, func(p Pin) bool {
		for _, m := range p.Query.Selector {
			asked := slices.ContainsFunc(q.Selector, func(own Matcher) bool { return own.String() == m.String() })
			if !asked && !(Selector{m}).Match(service, series, nil) {
				return false
			}
		}
		first, last := max(from, p.Query.From.UnixNano()), min(to, p.Query.To.UnixNano())
		return (p.Query.Kind == "" || p.Query.Kind == kind) && last-first >= (to-from)/2
	})
}

// Age returns a time as ParseAge parses it.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}
