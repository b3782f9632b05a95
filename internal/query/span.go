package query

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Span is a time range from the start of a recording. The zero Span is the whole time.
type Span struct {
	From time.Duration
	To   time.Duration // 0 means the end
}

// Moment reports whether s is a moment: it ends where it begins.
func (s Span) Moment() bool { return s.From == s.To && s != Span{} }

// Holds reports whether d is in s.
func (s Span) Holds(d time.Duration) bool { return d >= s.From && (s.To == 0 || d < s.To) }

func (s Span) String() string {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	switch {
	case s == Span{}:
		return ""
	case s.From == s.To:
		return s.From.String()
	}
	return text(s.From) + ".." + text(s.To)
}

// parseSpan parses 3s..9s, 3s.. and ..9s. A number without a unit is in seconds.
func parseSpan(text string) (Span, bool) {
	from, to, ok := strings.Cut(text, "..")
	var s Span
	if !ok || !parseTime(from, &s.From) || !parseTime(to, &s.To) {
		return s, false
	}
	return s, s != Span{}
}

// parseTime parses a time; "" is 0.
func parseTime(text string, d *time.Duration) bool {
	if text == "" {
		return true
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		x *= float64(time.Second)
		*d = time.Duration(x)
		return x >= 0 && x < math.MaxInt64
	}
	var err error
	*d, err = time.ParseDuration(text)
	return err == nil && *d >= 0
}

func span(field func(*Query) *Span) kind {
	return kind{
		want: "a part of the time such as 3s..9s, 1m30s.. or ..500ms, or a moment such as 3s",
		set: func(k *Key, q *Query, text string) error {
			s, ok := ParseTimes(text)
			if _, spans := parseSpan(text); spans && !ok {
				return errors.New("it has to end after it begins")
			}
			if !ok {
				return k.wrong(text)
			}
			*field(q) = s
			return nil
		},
		get: func(q *Query) []string { return unless(*field(q) == Span{}, field(q).String()) },
	}
}

func ordinal(field func(*Query) *int) kind {
	return kind{
		want: "a number from 1 on",
		set: func(k *Key, q *Query, text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return k.wrong(text)
			}
			*field(q) = n
			return nil
		},
		get: func(q *Query) []string { return unless(*field(q) == 0, strconv.Itoa(*field(q))) },
	}
}

// ParseTimes parses a time range, or a moment.
func ParseTimes(text string) (Span, bool) {
	if strings.Contains(text, "..") {
		s, ok := parseSpan(text)
		return s, ok && (s.To == 0 || s.From < s.To)
	}
	var s Span
	ok := text != "" && parseTime(text, &s.From)
	s.To = s.From
	return s, ok && s.From > 0
}
