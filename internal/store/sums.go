package store

import (
	"context"
	"fmt"
	"time"
)

// A SumStore is a Store in which sums of hours and days take the place of old profiles. A sum has the time of the first profile in it, and only the labels of
// their series.
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
	return fmt.Sprintf("%s from %s to %s %s what is left of this time, since single profiles and their labels are kept for %s", what, s.From.Format(moment), s.To.Format(moment), is, age(s.Kept))
}

// age returns a time as ParseAge parses it.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}
