package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// testRandom asks both programs what nobody thought of: a command, a handful of options with values from the profile, and now
// and then a script for the shell. Line number n of a seed is always the same line, so that a long run can be cut into pieces
// and a line that differs can be run alone; profiles that are recorded for the test are the same only with HONE_ORACLE_CACHE.
func (l *lab) testRandom(t *testing.T) {
	from, to := randomLines(t)
	seed := uint64(1)
	if v := os.Getenv("HONE_ORACLE_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("HONE_ORACLE_SEED=%q: want a number", v)
		}
	}
	const shares = 4
	subjects := l.subjects(t)
	for share := range shares {
		t.Run(fmt.Sprintf("share-%d", share), func(t *testing.T) {
			t.Parallel()
			for n := from + share; n < to; n += shares {
				l.check(t, randomLine(subjects, seed, n))
			}
		})
	}
}

// randomLines reads HONE_ORACLE_RANDOM: how many lines to run, or from which to which.
func randomLines(t *testing.T) (from, to int) {
	t.Helper()
	v := os.Getenv("HONE_ORACLE_RANDOM")
	switch {
	case v == "" && testing.Short():
		return 0, 5
	case v == "" && !testrun.InNightly():
		return 0, 20
	case v == "":
		return 0, 120
	}
	first, last, ranged := strings.Cut(v, "..")
	if !ranged {
		first, last = "0", v
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from < 0 || to < from {
		t.Fatalf("HONE_ORACLE_RANDOM=%q: want a number of lines, or FROM..TO", v)
	}
	return from, to
}

// A vocabulary is what there is in a profile to ask for.
type vocabulary struct {
	functions, files []string
	keys, values     []string // of labels with text
	nkeys            []string // of labels with numbers
	numbers          []string // with their units
}

// A liner makes one random line.
type liner struct {
	*rand.Rand
	all     []*subject
	s       *subject
	command string
}

func randomLine(subjects []*subject, seed uint64, n int) check {
	m := &liner{Rand: rand.New(rand.NewPCG(seed, uint64(n))), all: subjects}
	m.s = oneOf(m, subjects...)
	if m.chance(0.1) || m.s.types == nil && m.chance(0.9) {
		m.s = oneOf(m, subjects...) // those that cannot be read have had their share after a few lines
	}
	if m.chance(0.1) {
		return m.script(n)
	}
	c := m.report()
	c.flags = fmt.Sprintf("random -%s/%d", m.command, n)
	return c
}

func (m *liner) chance(p float64) bool { return m.Float64() < p }

func oneOf[T any](m *liner, list ...T) T { return list[m.IntN(len(list))] }

// report makes a command line that prints a report.
func (m *liner) report() check {
	c := check{subject: m.s.name, inv: invocation{dir: "."}}
	m.command = m.name()
	options := m.options(m.IntN(6))
	switch m.command {
	case "list", "peek", "disasm", "weblist":
		c.inv.args = append(c.inv.args, "-"+m.command+"="+m.function())
	default:
		c.inv.args = append(c.inv.args, "-"+m.command)
	}
	for _, o := range options {
		switch {
		case o.value == "true" && m.chance(0.8):
			c.inv.args = append(c.inv.args, "-"+o.name)
		default:
			c.inv.args = append(c.inv.args, "-"+o.name+"="+o.value)
		}
	}
	if m.command == "weblist" {
		// Without a file it would open a browser.
		c.inv.args, c.own = append(c.inv.args, "-output=out.html", "-source_path="+m.s.tree), true
	}
	m.Shuffle(len(c.inv.args), func(i, j int) { c.inv.args[i], c.inv.args[j] = c.inv.args[j], c.inv.args[i] })
	if m.chance(0.2) {
		c.inv.args = append(c.inv.args, oneOf(m, "-base", "-base", "-diff_base")+"="+m.other())
		if m.chance(0.2) {
			c.inv.args = append(c.inv.args, "-normalize")
		}
	}
	if m.s.binary != "" && m.chance(0.3) {
		c.inv.args = append(c.inv.args, m.s.binary)
	}
	c.inv.args = append(c.inv.args, m.s.path)
	for m.chance(0.1) {
		c.inv.args = append(c.inv.args, m.other())
	}
	switch m.command {
	case "proto", "topproto":
		c.same = unzip
	case "dot", "callgrind":
		if slices.ContainsFunc(options, func(o setting) bool { return o.name == "call_tree" && o.value == "true" }) {
			c.same = anyOrder
		}
	}
	return c
}

// name picks a command. Pages of machine code are compared where the program is there: without it, the order of a map decides.
func (m *liner) name() string {
	for {
		name := oneOf(m, "top", "top", "top", "top", "text", "tree", "tree", "peek", "list", "list", "traces", "tags", "raw", "raw",
			"proto", "topproto", "dot", "dot", "callgrind", "disasm", "weblist", "comments")
		if name != "weblist" || m.s.binary != "" {
			return name
		}
	}
}

// A setting is an option with its value.
type setting struct{ name, value string }

// options picks n options that differ.
func (m *liner) options(n int) []setting {
	var out []setting
	has := func(names ...string) bool {
		return slices.ContainsFunc(out, func(o setting) bool { return slices.Contains(names, o.name) })
	}
	granularities := []string{"functions", "filefunctions", "files", "lines", "addresses"}
	for range n {
		o := m.option()
		switch {
		case has(o.name),
			slices.Contains(granularities, o.name) && has(granularities...),
			m.command == "weblist" && (o.name == "tagroot" || o.name == "source_path"):
			continue
		}
		out = append(out, o)
	}
	// In graphs of files and call trees many nodes look alike, and which of them a limit lets through is chance.
	if has("files", "call_tree") {
		out = slices.DeleteFunc(out, func(o setting) bool { return o.name == "nodecount" })
		out = append(out, setting{"nodecount", "0"})
	}
	return out
}

func (m *liner) option() setting {
	number := func(list ...string) string { return oneOf(m, list...) }
	yes := func(name string) setting { return setting{name, oneOf(m, "true", "true", "true", "true", "false")} }
	switch m.IntN(44) {
	case 0, 1, 2:
		return setting{"focus", m.pattern()}
	case 3, 4:
		return setting{"ignore", m.pattern()}
	case 5, 6, 7:
		return setting{"hide", m.pattern()}
	case 8, 9:
		return setting{"show", m.pattern()}
	case 10, 11:
		return setting{"show_from", m.pattern()}
	case 12:
		return setting{"prune_from", m.pattern()}
	case 13, 14:
		return setting{"tagfocus", m.label()}
	case 15, 16:
		return setting{"tagignore", m.label()}
	case 17:
		return setting{"tagshow", m.key()}
	case 18:
		return setting{"taghide", m.key()}
	case 19:
		return setting{"tagroot", m.keys()}
	case 20:
		return setting{"tagleaf", m.keys()}
	case 21, 22:
		return setting{"divide_by", number("2", "3", "7", "10", "0.3", "1e3", "1e7", "1e12", "-1", "1", "0.5", "1000000", "0")}
	case 23, 24:
		return setting{"nodecount", number("0", "1", "2", "3", "5", "8", "12", "20", "50", "200", "-1")}
	case 25:
		return setting{"nodefraction", number("0", "0.01", "0.05", "0.1", "0.3", "1")}
	case 26:
		return setting{"edgefraction", number("0", "0.01", "0.05", "0.2", "1")}
	case 27:
		return setting{"trim", oneOf(m, "false", "false", "true")}
	case 28, 29:
		return setting{"unit", number("ns", "us", "ms", "s", "hours", "B", "kB", "MB", "GB", "auto", "minimum", "count", "gcu", "furlongs", "Seconds")}
	case 30, 31, 32:
		if len(m.s.types) == 0 || m.chance(0.03) {
			return setting{"sample_index", number("0", "1", "7", "nothing", "-1")}
		}
		i := m.IntN(len(m.s.types))
		return setting{"sample_index", oneOf(m, strconv.Itoa(i), m.s.types[i])}
	case 33:
		return yes("mean")
	case 34, 35:
		return yes(oneOf(m, "cum", "cum", "flat"))
	case 36, 37, 38:
		return yes(oneOf(m, "functions", "filefunctions", "files", "lines", "lines", "addresses"))
	case 39:
		return yes(oneOf(m, "noinlines", "noinlines", "showcolumns"))
	case 40:
		return yes("relative_percentages")
	case 41:
		return yes(oneOf(m, "call_tree", "compact_labels"))
	case 42:
		return yes(oneOf(m, "drop_negative", "intel_syntax"))
	default:
		if m.s.tree != "" && m.chance(0.5) {
			return setting{"source_path", m.s.tree}
		}
		if len(m.s.words.files) > 0 {
			return setting{"trim_path", path.Dir(filepath.ToSlash(oneOf(m, m.s.words.files...)))}
		}
		return setting{"trim_path", "/src"}
	}
}

// function is a regexp for functions: mostly one that there is.
func (m *liner) function() string {
	w := m.s.words
	if len(w.functions) == 0 || m.chance(0.03) {
		return oneOf(m, ".", "main", "no^match", "0x401000", "(", "^$")
	}
	name := oneOf(m, w.functions...)
	short := pattern(lastWord(name))
	switch m.IntN(10) {
	case 0:
		return "^" + pattern(name) + "$"
	case 1:
		return short + "|" + pattern(lastWord(oneOf(m, w.functions...)))
	case 2: // the package
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			return pattern(name[:i+1])
		}
	case 3:
		return "(?i)" + short
	case 4:
		return oneOf(m, "[a-m]", "[A-Z]", "^[m-z]", "main", "\\.", "e$", "x|y")
	}
	return short
}

// pattern is a regexp for frames: of functions, files or programs.
func (m *liner) pattern() string {
	switch w := m.s.words; {
	case m.chance(0.02):
		return oneOf(m, ".", "^$", "no^match", "(", "[", "x**", "")
	case len(w.files) > 0 && m.chance(0.15):
		return pattern(path.Base(filepath.ToSlash(oneOf(m, w.files...))))
	}
	return m.function()
}

func (m *liner) key() string {
	w := m.s.words
	if all := slices.Concat(w.keys, w.nkeys); len(all) > 0 && m.chance(0.9) {
		k := pattern(oneOf(m, all...))
		return oneOf(m, k, k, "^"+k+"$", k+"|"+pattern(oneOf(m, all...)), ".")
	}
	return oneOf(m, "bytes", "no^match", "pprof::base", "(", ".")
}

func (m *liner) keys() string {
	w := m.s.words
	all := slices.Concat(w.keys, w.nkeys)
	if len(all) == 0 {
		return oneOf(m, "bytes", "nokey", "a,b", ",")
	}
	keys := []string{oneOf(m, all...)}
	for m.chance(0.3) {
		keys = append(keys, oneOf(m, append(all, "nokey")...))
	}
	return strings.Join(keys, ",")
}

// label is a filter of samples by their labels.
func (m *liner) label() string {
	w := m.s.words
	switch {
	case m.chance(0.05):
		return oneOf(m, "no^match", "5", "1:2:3", ":", "=", "k=", "(", "a,(", "1kb:2s", "-5:", "+1")
	case len(w.numbers) > 0 && m.chance(0.5):
		v := oneOf(m, w.numbers...)
		value := oneOf(m, v, v+":", ":"+v, v+":"+oneOf(m, w.numbers...))
		if m.chance(0.5) {
			return oneOf(m, w.nkeys...) + "=" + value
		}
		return value
	case len(w.values) > 0:
		v := pattern(oneOf(m, w.values...))
		for m.chance(0.2) {
			v += "," + pattern(oneOf(m, w.values...))
		}
		if m.chance(0.6) {
			return oneOf(m, w.keys...) + "=" + v
		}
		return v
	}
	return oneOf(m, "1kb:", ":64kb", "32kb:1mb", "bytes=1kb", "a", "a=b", "1ms:")
}

// other is a profile to add or to take away: of the same kind, or any whose sample types have the same names.
func (m *liner) other() string {
	if m.s.facts["other"] == "" || m.chance(0.1) {
		return m.s.path
	}
	var same []string
	if m.chance(0.4) {
		for _, s := range m.all {
			if s != m.s && len(s.types) > 0 && slices.Equal(s.types, m.s.types) {
				same = append(same, s.path)
			}
		}
	}
	return oneOf(m, append(same, m.s.facts["other"])...)
}

// script makes a script for the shell: settings and reports in turn.
func (m *liner) script(n int) check {
	c := check{subject: m.s.name, flags: fmt.Sprintf("random shell/%d", n), own: true, inv: invocation{dir: "."}}
	var b strings.Builder
	for range 1 + m.IntN(4) {
		for m.command = m.name(); slices.Contains([]string{"weblist", "dot", "callgrind"}, m.command); {
			m.command = m.name() // they would open a browser, or make files whose order is chance
		}
		for _, o := range m.options(m.IntN(4)) {
			if o.value == "" || o.name == "output" {
				continue
			}
			fmt.Fprintf(&b, "%s=%s\n", o.name, o.value)
		}
		b.WriteString(m.command)
		switch m.command {
		case "list", "peek", "disasm":
			b.WriteString(" " + m.function())
		case "top", "text", "tree":
			if m.chance(0.5) {
				fmt.Fprintf(&b, " %d", 1+m.IntN(30))
			}
			if m.chance(0.2) {
				b.WriteString(" -cum")
			}
		}
		switch m.command {
		case "proto", "topproto":
		default:
			for m.chance(0.15) {
				b.WriteString(oneOf(m, " ", " -") + m.function())
			}
		}
		if m.chance(0.1) {
			b.WriteString(" >report" + strconv.Itoa(m.IntN(3)))
		}
		b.WriteString("\n")
	}
	c.inv.stdin = b.String()
	c.inv.args = []string{m.s.path}
	return c
}

// TestRandomLines holds that a line of the random run depends on nothing but its seed and its number, and that its options come
// from the profile.
func TestRandomLines(t *testing.T) {
	t.Parallel()
	s := &subject{name: "x", path: "x.pprof", types: []string{"samples", "cpu"}, facts: map[string]string{"other": "x.pprof.other"}, words: vocabulary{
		functions: []string{"main.main", "main.(*T).hot"}, files: []string{"/src/main.go"},
		keys: []string{"user"}, values: []string{"a b"}, nkeys: []string{"bytes"}, numbers: []string{"5kb"},
	}}
	seen := map[string]bool{}
	for n := range 500 {
		c := randomLine([]*subject{s}, 7, n)
		again := randomLine([]*subject{s}, 7, n)
		line := strings.Join(c.inv.args, " ") + "\n" + c.inv.stdin
		if other := strings.Join(again.inv.args, " ") + "\n" + again.inv.stdin; line != other {
			t.Fatalf("line %d is %q, and then %q", n, line, other)
		}
		for _, flag := range regexp.MustCompile(`(?m)^-[a-z_]+| -[a-z_]+|^[a-z_]+=`).FindAllString(line, -1) {
			seen[strings.Trim(flag, " -=")] = true
		}
	}
	for _, want := range strings.Fields("hide focus tagfocus divide_by nodecount trim unit sample_index lines addresses base diff_base list peek disasm") {
		if !seen[want] {
			t.Errorf("500 lines without %s", want)
		}
	}
}
