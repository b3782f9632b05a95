package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A Ref selects profiles in a store by service, labels and time, as in api{version="v2"}@-1h..now.
type Ref struct {
	Selector Selector
	From, To time.Time
}

// RefPrefix begins store refs where other refs are possible, as in store:api@-1h.
const RefPrefix = "store:"

// ProfileLabel selects one profile by its ID, as in api{profile_id="…"}@FROM..TO. Without a time, it selects the profile at any time.
const ProfileLabel = "profile_id"

// usualRange is the default time range of a Ref: this much time before now.
const usualRange = time.Hour

// ParseRef parses a Ref. Times are relative to now, such as -1h and -2d, or days and moments, such as 2026-09-01, 14:30 and "2026-09-01 10:30 UTC".
// The start or the end may be missing. Without a time, it selects the last hour.
func ParseRef(text string, now time.Time) (Ref, error) {
	selector, times := SplitRef(text)
	var r Ref
	var err error
	if r.Selector, err = parseSelector(selector); err != nil {
		return r, err
	}
	if len(r.Selector) == 0 {
		return r, errors.New("it names no service; a selector looks like api{version=\"v2\"}@-1h..now")
	}
	if _, single := r.Selector.Only(ProfileLabel); single && times == "" {
		// There is only one profile with this ID.
		r.From, r.To = now.Add(-tooEarly), now.Add(tooLate)
		return r, nil
	}
	r.From, r.To, err = ParseTimes(times, now)
	return r, err
}

// SplitRef splits a Ref into the selector and the time, which may be "".
func SplitRef(text string) (selector, times string) {
	// A time has no braces or quotes, so an @ in a label value does not count.
	if i := strings.LastIndexByte(text, '@'); i >= 0 && !strings.ContainsAny(text[i:], "}\"") {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// ParseTimes parses the time of a Ref.
func ParseTimes(text string, now time.Time) (from, to time.Time, err error) {
	from, to = now.Add(-usualRange), now
	if text == "" {
		return from, to, nil
	}
	first, last, span := strings.Cut(text, "..")
	if !span {
		// -1h is the time from then to now.
		last = ""
	}
	if from, err = ParseMoment(first, from, now); err != nil {
		return from, to, err
	}
	if clock, ok := parseClock(strings.TrimSpace(last)); ok && strings.TrimSpace(first) != "" {
		// A time of day without a date is on the day of the other time, or in the following night.
		if to = on(from, clock, from.Location()); !to.After(from) {
			to = on(from.AddDate(0, 0, 1), clock, from.Location())
		}
	} else if to, err = ParseMoment(last, to, now); err != nil {
		return from, to, err
	}
	switch {
	case from.Before(to):
		return from, to, nil
	case from.Equal(to) && to.Equal(now):
		return from, to, errors.New("the time from now to now is empty; times look like -1h, which is from an hour ago to now")
	case last == "" || last == "now":
		return from, to, fmt.Errorf("%s is not before now, which is %s", from.Format(moment), now.Format(moment))
	case from.Equal(to) && first == "":
		return from, to, fmt.Errorf("the time from %s to %s is empty: a time without a start begins an hour before now", from.Format(moment), last)
	case from.Equal(to):
		return from, to, fmt.Errorf("the time from %s to %s is empty", first, last)
	case first == "" || first == "now":
		return from, to, fmt.Errorf("the time ends before it begins: from %s to %s", from.Format(moment), to.Format(moment))
	}
	return from, to, fmt.Errorf("the time ends before it begins: did you mean %s..%s?", last, first)
}

// moment is the format of times in messages.
const moment = "2006-01-02 15:04:05 MST"

// String returns the ref with absolute times. It rounds them outwards to whole seconds, so that the range still has profiles stored just now.
func (r Ref) String() string {
	to := r.To.Add(time.Second - 1).Truncate(time.Second)
	return r.Selector.String() + "@" + r.From.UTC().Format(time.RFC3339) + ".." + to.UTC().Format(time.RFC3339)
}

// ParseMoment parses a time in a Ref; usual is the result for "". Dates and times of day are in the zone of now, unless they name another one.
func ParseMoment(text string, usual, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	switch text {
	case "":
		return usual, nil
	case "now":
		return now, nil
	case "today":
		return on(now, 0, now.Location()), nil
	case "yesterday":
		return on(now.AddDate(0, 0, -1), 0, now.Location()), nil
	}
	if back, ok := strings.CutPrefix(text, "-"); ok {
		d, err := ParseAge(back)
		if err != nil {
			return now, err
		}
		return now.Add(-d), nil
	}
	if clock, ok := parseClock(text); ok {
		// A time of day in the future means the day before.
		if t := on(now, clock, now.Location()); !t.After(now) {
			return t, nil
		}
		return on(now.AddDate(0, 0, -1), clock, now.Location()), nil
	}
	zone, form := now.Location(), text
	for _, utc := range []string{" UTC", " GMT"} {
		if day, ok := strings.CutSuffix(form, utc); ok {
			zone, form = time.UTC, day
		}
	}
	form = strings.Replace(form, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, form, zone); err == nil {
			return t, nil
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch {
		case n >= 1e9 && n < 1e11:
			return time.Unix(n, 0), nil
		case n >= 1e12 && n < 1e14: // milliseconds, as in URLs of Grafana
			return time.UnixMilli(n), nil
		}
	}
	return now, fmt.Errorf("%s is not a time; times look like -1h, -2d, now, 14:30, 2026-09-01, 2026-09-01T14:30 and 2026-09-01T14:30Z", shown(text))
}

// parseClock parses a time of day.
func parseClock(text string) (time.Duration, bool) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		if t, err = time.Parse("15:04:05", text); err != nil {
			return 0, false
		}
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, true
}

// on returns the moment of a time of day on the day of t.
func on(t time.Time, clock time.Duration, zone *time.Location) time.Time {
	y, m, d := t.Date()
	s := int(clock / time.Second)
	return time.Date(y, m, d, s/3600, s/60%60, s%60, 0, zone)
}

// ParseAge parses an age: 90m, 2h30m, 7d, 4w.
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
