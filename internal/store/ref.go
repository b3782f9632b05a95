package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A Ref names profiles in a store by what they are of and by time, as in api{version="v2"}@-1h..now.
type Ref struct {
	Selector Selector
	From, To time.Time
}

// RefPrefix begins refs to a store where others may stand, too, as in store:api@-1h.
const RefPrefix = "store:"

// usualRange is how far back a Ref goes that has no time.
const usualRange = time.Hour

// ParseRef reads a Ref. Times are relative to now, such as -1h and -2d, or days and moments, such as 2026-09-01 and
// 2026-09-01T10:30; one of both may be left out, and so may all: that is the last hour.
func ParseRef(text string, now time.Time) (Ref, error) {
	selector, times := SplitRef(text)
	var r Ref
	var err error
	if r.Selector, err = ParseSelector(selector); err != nil {
		return r, err
	}
	if len(r.Selector) == 0 {
		return r, fmt.Errorf("%q names no service; one looks like api{version=\"v2\"}@-1h..now", profile.Shorten(text, 80))
	}
	if r.From, r.To, err = ParseTimes(times, now); err != nil {
		return r, fmt.Errorf("%q: %w", profile.Shorten(text, 80), err)
	}
	return r, nil
}

// SplitRef takes a Ref apart into what selects profiles, and their time, which may be "".
func SplitRef(text string) (selector, times string) {
	// A time has no braces and quotes, so what stands in a label does not count.
	if i := strings.LastIndexByte(text, '@'); i >= 0 && !strings.ContainsAny(text[i:], "}\"") {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// ParseTimes reads the time of a Ref.
func ParseTimes(text string, now time.Time) (from, to time.Time, err error) {
	from, to = now.Add(-usualRange), now
	if text == "" {
		return from, to, nil
	}
	first, last, span := strings.Cut(text, "..")
	if !span {
		// -1h is what has been since then.
		last = ""
	}
	if from, err = ParseMoment(first, from, now); err == nil {
		to, err = ParseMoment(last, to, now)
	}
	if err != nil {
		return from, to, err
	}
	if !from.Before(to) {
		return from, to, errors.New("the time ends before it begins")
	}
	return from, to, nil
}

// String returns the ref with moments in place of times relative to now.
func (r Ref) String() string {
	return r.Selector.String() + "@" + r.From.UTC().Format(time.RFC3339) + ".." + r.To.UTC().Format(time.RFC3339)
}

// ParseMoment reads a time as a Ref has it; nothing is usual.
func ParseMoment(text string, usual, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	switch text {
	case "":
		return usual, nil
	case "now":
		return now, nil
	}
	if back, ok := strings.CutPrefix(text, "-"); ok {
		d, err := ParseAge(back)
		if err != nil {
			return now, err
		}
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 1e9 && n < 1e11 {
		return time.Unix(n, 0), nil
	}
	return now, fmt.Errorf("%q is not a time; times look like -1h, -2d, now, 2026-09-01 and 2026-09-01T10:30", text)
}

// ParseAge reads how long ago something is: 90m, 2h30m, 7d, 4w.
func ParseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			if n, err := strconv.ParseFloat(number, 64); err == nil && n >= 0 && n < 1e4 {
				return time.Duration(n * float64(unit)), nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time; times look like 90m, 2h, 7d and 4w", profile.Shorten(text, 40))
	}
	return d, nil
}
