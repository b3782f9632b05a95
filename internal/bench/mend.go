package bench

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Package testing writes the name of a benchmark, runs it, and writes the numbers behind the name. What a benchmark
// prints or logs comes in between:
//
//	BenchmarkFoo-8   	2020/10/01 12:00:00 connected
//	     100	  11050214 ns/op	      12 B/op
//
// The numbers have a form that other text hardly has. Where there is one name that waits for numbers, they are its.

// A mender takes lines and keeps those that benchfmt is to read: results on one line each, configuration and units, and
// nothing that it would take for something else.
type mender struct {
	say *notes
	out []line

	name   line   // that waits for its numbers; no is 0 when there is none
	quoted bool   // -v writes the name of a benchmark on a line of its own, and once more with its numbers
	held   []line // lines since; text of the benchmark if the numbers come, and else what they seem to be
}

func (m *mender) line(l line) {
	name, rest, starts := cutName(l.text)
	switch {
	case starts && isTableRow(rest):
		m.say.add(Odd, l.no, tableRow)
	case starts && isNumbers(rest):
		m.giveUp()
		m.out = append(m.out, l)
	case starts:
		m.begin(l, name, rest)
	case m.name.no != 0 && m.numbers(l):
	case m.behind(l):
	case l.text == "PASS" || strings.HasPrefix(l.text, "ok  \t") || strings.HasPrefix(l.text, "pkg: "):
		m.giveUp()
		m.keep(l)
	case strings.HasPrefix(l.text, "FAIL\t"):
		m.giveUp()
		m.say.add(Dropped, l.no, "package that failed, with what it did not come to measure")
	default:
		m.keep(l)
	}
}

// keep keeps a line that is no result, if it may be configuration or about a unit.
func (m *mender) keep(l line) {
	first, _ := utf8.DecodeRuneInString(l.text)
	switch {
	case !strings.HasPrefix(l.text, "Unit") && !(unicode.IsLower(first) && strings.Contains(l.text, ":")):
	case len(m.out)+len(m.held) >= maxKept:
		m.say.add(Dropped, l.no, fmt.Sprintf("lines beyond %d", maxKept))
	case m.name.no != 0 && !m.quoted:
		m.held = append(m.held, l)
	default:
		m.out = append(m.out, l)
	}
}

// begin looks at a line that begins like a result and is none.
func (m *mender) begin(l line, name, rest string) {
	if strings.TrimSpace(rest) == "" {
		m.giveUp()
		m.name, m.quoted = line{l.no, name, l.cut}, rest == ""
		return
	}
	if strings.HasPrefix(strings.TrimSpace(rest), "--- ") { // FAIL, SKIP or BENCH
		m.giveUp()
		m.say.add(Dropped, l.no, "benchmark that failed or was skipped")
		return
	}
	if tail := tailNumbers(rest); tail != "" {
		m.giveUp()
		m.say.add(Mended, l.no, "text between the name of a benchmark and its numbers")
		m.out = append(m.out, line{l.no, name + "\t" + tail, l.cut})
		return
	}
	if bare := strings.TrimPrefix(name, "Benchmark"); lowercase(bare) || bare == "" {
		m.say.add(Odd, l.no, "text that begins with Benchmark")
		return
	}
	m.giveUp()
	if f := strings.Fields(rest); isCount(f[0]) {
		// It has begun to be a result: benchfmt says what is wrong with it. A last number without its unit does not
		// spoil those before.
		if short := strings.TrimRight(rest, " \t"); len(f)%2 == 0 && len(f) > 3 {
			short = strings.TrimSuffix(short, f[len(f)-1])
			if isNumbers(short) {
				m.say.add(Dropped, l.no, "measurement without a unit")
				l.text = name + short
			}
		}
		m.out = append(m.out, l)
		return
	}
	m.name, m.quoted = line{l.no, name, l.cut}, false
}

// numbers looks for the numbers of the name that waits at the end of a line.
func (m *mender) numbers(l line) bool {
	tail := l.text
	if !isNumbers(tail) || !goNumbers().MatchString(tail) {
		tail = tailNumbers(l.text)
	}
	if tail == "" {
		return false
	}
	m.say.add(Mended, m.name.no, "text between the name of a benchmark and its numbers")
	m.out = append(m.out, line{m.name.no, m.name.text + "\t" + strings.TrimSpace(tail), l.cut})
	m.name, m.held = line{}, nil
	return true
}

// behind looks for a result behind other text on its line: the times of a CI log, indentation, or what a test printed
// without ending its line.
func (m *mender) behind(l line) bool {
	const most = 4 // places to look at
	at := 0
	for range most {
		i := strings.Index(l.text[at:], "Benchmark")
		if i < 0 {
			return false
		}
		at += i
		name, rest, starts := cutName(l.text[at:])
		if starts && isTableRow(rest) {
			m.say.add(Odd, l.no, tableRow)
			return true
		}
		if starts && at > 0 && isNumbers(rest) && !lowercase(strings.TrimPrefix(name, "Benchmark")) {
			m.giveUp()
			m.say.add(Mended, l.no, "text before the name of a benchmark")
			m.out = append(m.out, line{l.no, l.text[at:], l.cut})
			return true
		}
		at += len("Benchmark")
	}
	return false
}

// giveUp drops the name that waits, if there is one.
func (m *mender) giveUp() {
	if m.name.no != 0 && !m.quoted {
		m.say.add(Dropped, m.name.no, "benchmark without numbers")
	}
	m.out = append(m.out, m.held...)
	m.name, m.held = line{}, nil
}

// cutName cuts a line behind the name of a benchmark.
func cutName(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, "Benchmark") {
		return "", s, false
	}
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, "", true
	}
	return s[:i], s[i:], true
}

// lowercase reports whether a name goes on as no name of a benchmark does.
func lowercase(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsLower(r)
}

// isNumbers reports whether s is what stands behind the name of a benchmark: a count and measurements with units.
func isNumbers(s string) bool {
	f := strings.Fields(s)
	if len(f) < 3 || len(f)%2 == 0 || !isCount(f[0]) {
		return false
	}
	for i := 1; i < len(f); i += 2 {
		if _, err := strconv.ParseFloat(f[i], 64); err != nil {
			return false
		}
	}
	return true
}

const tableRow = "row of a table that benchcmp printed"

// isTableRow reports whether s is what stands behind a name in a table of benchcmp: 1718 1423 -17.17%. Its first number
// would pass for a count, and the change for a unit.
func isTableRow(s string) bool {
	f := strings.Fields(s)
	if len(f) != 3 || !percent().MatchString(f[2]) && !times().MatchString(f[2]) {
		return false
	}
	_, errOld := number(f[0])
	_, errNew := number(f[1])
	return errOld == nil && errNew == nil
}

func isCount(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// goNumbers matches numbers as package testing writes them: with tabs between count and measurements.
var goNumbers = pattern(`(?:^|\s)(\d+\t\s*[0-9.e+-]+ \S+(?:\t\s*[0-9.e+-]+ \S+)*)\s*$`)

// tailNumbers returns the numbers in the form of package testing that s ends in, behind other text.
func tailNumbers(s string) string {
	m := goNumbers().FindStringSubmatch(s)
	if m == nil || !isNumbers(m[1]) {
		return ""
	}
	return m[1]
}
