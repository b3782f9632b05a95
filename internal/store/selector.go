package store

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// A Selector selects profiles whose labels match all its matchers, as in Prometheus.
type Selector []Matcher

// A Matcher is a condition on one label. A missing label has the value "".
type Matcher struct {
	Name  string
	Op    Op
	Value string
	re    *regexp.Regexp // for Matches and MatchesNot
}

// An Op is a comparison with the value of a label.
type Op string

// The operators, spelled as in Prometheus. Patterns must match the whole value.
const (
	Is         Op = "="
	IsNot      Op = "!="
	Matches    Op = "=~"
	MatchesNot Op = "!~"
)

// longestSelector limits the length of selectors; long ones have long patterns.
const longestSelector = 16 << 10

// Service returns a selector for one service.
func Service(name string) Selector { return Selector{{Name: ServiceLabel, Op: Is, Value: name}} }

// NewMatcher returns a matcher.
func NewMatcher(name string, op Op, value string) (Matcher, error) {
	m := Matcher{Name: name, Op: op, Value: value}
	if op == Matches || op == MatchesNot {
		// Compile the pattern alone first, so that an error shows what the user wrote.
		_, err := regexp.Compile(value)
		if err == nil {
			m.re, err = regexp.Compile("^(?s:" + value + ")$")
		}
		var why *syntax.Error
		if errors.As(err, &why) {
			return m, fmt.Errorf("the pattern %s of %s: %s", shown(value), name, why.Code)
		}
		if err != nil {
			return m, fmt.Errorf("the pattern of %s: %w", name, err)
		}
	}
	return m, nil
}

// Match reports whether a value meets the condition.
func (m *Matcher) Match(value string) bool {
	switch m.Op {
	case Is:
		return value == m.Value
	case IsNot:
		return value != m.Value
	case Matches:
		return m.re.MatchString(value)
	default:
		return !m.re.MatchString(value)
	}
}

// Match reports whether s selects a profile of service with these labels: those of its series and, if known, its own.
func (s Selector) Match(service string, labels, row Labels) bool {
	for i := range s {
		if !s[i].Match(valueOf(s[i].Name, service, labels, row)) {
			return false
		}
	}
	return true
}

// valueOf returns the value of a label. A profile's own labels take precedence over those of its series.
func valueOf(name, service string, labels, row Labels) string {
	if name == ServiceLabel {
		return service
	}
	if v := row.Get(name); v != "" {
		return v
	}
	return labels.Get(name)
}

// Only returns the value that s requires for a label, if it requires one.
func (s Selector) Only(name string) (string, bool) {
	for _, m := range s {
		if m.Name == name && m.Op == Is {
			return m.Value, true
		}
	}
	return "", false
}

// String returns the selector in the syntax of ParseSelector: the service, and the other matchers in braces.
func (s Selector) String() string {
	rest := s
	var b strings.Builder
	if len(s) > 0 && s[0].Name == ServiceLabel && s[0].Op == Is && isWord(s[0].Value) {
		b.WriteString(s[0].Value)
		if rest = s[1:]; len(rest) == 0 {
			return b.String()
		}
	}
	b.WriteByte('{')
	for i, m := range rest {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.String())
	}
	b.WriteByte('}')
	return b.String()
}

// String returns the matcher in the syntax of ParseSelector.
func (m Matcher) String() string { return m.Name + string(m.Op) + strconv.Quote(m.Value) }

// isWord reports whether a service name can stand before the braces.
func isWord(s string) bool {
	return s != "" && !strings.ContainsAny(s, "{}\"`@ \t\r\n,=") && strings.ToValidUTF8(s, "") == s
}

// shown returns user input for a message, quoted if necessary.
func shown(text string) string {
	if text = profile.Shorten(text, 80); text != "" && strconv.CanBackquote(text) {
		return text
	}
	return strconv.Quote(text)
}

// ParseSelector parses api, api{version="v2"} or {service_name="api", pod=~"a.*"}. A value without special characters needs no quotes, as in
// api{version=v2}, because shells remove quotes and users forget to protect them.
func ParseSelector(text string) (Selector, error) {
	s, err := parseSelector(text)
	if err != nil {
		return nil, fmt.Errorf("the selector %s: %w", shown(text), err)
	}
	return s, nil
}

func parseSelector(text string) (Selector, error) {
	fail := func(err error) (Selector, error) {
		return nil, fmt.Errorf("%w; a selector looks like api{version=\"v2\", pod=~\"a.*\"}", err)
	}
	if len(text) > longestSelector {
		return fail(fmt.Errorf("it has %d bytes, more than %d", len(text), longestSelector))
	}
	rest := strings.TrimSpace(text)
	s := Selector{}
	service, braces, found := strings.Cut(rest, "{")
	if service = strings.TrimSpace(service); service != "" {
		if !isWord(service) {
			return fail(errors.New("a name of a service like this has to be quoted: {service_name=\"…\"}"))
		}
		s = Service(service)
	}
	if !found {
		return s, nil
	}
	rest = braces
	for {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if after, ok := strings.CutPrefix(rest, "}"); ok {
			if strings.TrimSpace(after) != "" {
				return fail(fmt.Errorf("%q follows its end", profile.Shorten(after, 40)))
			}
			return s, nil
		}
		m, after, err := cutMatcher(rest)
		if err != nil {
			return fail(err)
		}
		s = append(s, m)
		rest = strings.TrimLeft(after, " \t\r\n")
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
		} else if !strings.HasPrefix(rest, "}") {
			return fail(errors.New("a comma or } is missing"))
		}
	}
}

// cutMatcher parses the first matcher, and returns the rest of the text.
func cutMatcher(s string) (Matcher, string, error) {
	at := strings.IndexAny(s, "=!")
	if at < 0 {
		return Matcher{}, "", errors.New("it ends within a label")
	}
	name := strings.TrimSpace(s[:at])
	if name == "" || strings.ContainsAny(name, "{}\",` \t\r\n") || !isWord(name) {
		return Matcher{}, "", fmt.Errorf("%q is not a label name", profile.Shorten(name, 40))
	}
	s = s[at:]
	i := slices.IndexFunc([]Op{Matches, MatchesNot, IsNot, Is}, func(op Op) bool { return strings.HasPrefix(s, string(op)) })
	if i < 0 {
		return Matcher{}, "", fmt.Errorf("after %s, want one of = != =~ !~", name)
	}
	op := []Op{Matches, MatchesNot, IsNot, Is}[i]
	s = strings.TrimLeft(s[len(op):], " \t\r\n")
	if n := plainWord(s); n > 0 && (op == Is || op == IsNot) {
		m, err := NewMatcher(name, op, s[:n])
		return m, s[n:], err
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || quoted[0] == '\'' {
		return Matcher{}, "", fmt.Errorf("the value of %s is not in double quotes (a shell takes them away, unless all of it is in single quotes)", name)
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return Matcher{}, "", fmt.Errorf("the value of %s: %w", name, err)
	}
	m, err := NewMatcher(name, op, value)
	return m, s[len(quoted):], err
}

// plainWord returns the length of the unquoted value at the start of s.
func plainWord(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/+", r))
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// MarshalText writes s as String does.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads s as ParseSelector does.
func (s *Selector) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSelector(string(text))
	return err
}
