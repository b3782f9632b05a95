package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"go/version"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
)

// A check is one command line and what of its output counts.
type check struct {
	subject, flags string
	inv            invocation
	core           bool // not to be left out for speed
	own            bool // run in a folder of its own, whose new files count as output
	same           func([]byte) []byte
}

func (c check) name() string { return c.subject + "/" + c.flags }

// kind is the name of the flag set alone: one that is run for each sample type adds its index.
func (c check) kind() string {
	kind, _, _ := strings.Cut(c.flags, "/")
	return kind
}

// A mismatch is a part of the output in which the programs differ.
type mismatch struct {
	what      string
	want, got []byte
}

// check runs both programs and fails t when they differ without a reason that is written down.
func (l *lab) check(t *testing.T, c check) {
	t.Helper()
	if !l.wanted(c) {
		return
	}
	want, got := l.ask(t, &l.pprof, c), l.ask(t, &l.hone, c)
	diff := c.compare(want, got, nil)
	l.tally.ran(c)
	if len(diff) == 0 {
		return
	}
	for _, d := range l.tally.differences {
		if d.where.MatchString(c.name()) && d.explains(diff) {
			l.tally.use(d)
			return
		}
	}
	if l.tied(t, c, want, got) {
		l.tally.tie(c)
		if again := l.ask(t, &l.hone, c); len(c.compare(got, again, nil)) != 0 {
			t.Errorf("%s: hone pprof %s prints something else each time", c.name(), command(c.inv))
		}
		return
	}
	if l.tally.fail(c) {
		t.Errorf("%s: hone pprof %s (in %s)\n%s", c.name(), command(c.inv), c.inv.dir, describe(diff))
	} else {
		t.Errorf("%s differs: hone pprof %s", c.name(), command(c.inv))
	}
}

// compare lists what differs between the outcomes. Both go through loosen first, when it is
// not nil.
func (c check) compare(want, got outcome, loosen func([]byte) []byte) []mismatch {
	var out []mismatch
	add := func(what string, w, g []byte) {
		if loosen != nil {
			w, g = loosen(w), loosen(g)
		}
		if !bytes.Equal(w, g) {
			out = append(out, mismatch{what, w, g})
		}
	}
	if want.OK != got.OK {
		out = append(out, mismatch{"success", fmt.Append(nil, want.OK), fmt.Append(nil, got.OK)})
	}
	same := c.same
	if same == nil {
		same = func(b []byte) []byte { return b }
	}
	add("stdout", same(want.Stdout), same(got.Stdout))
	add("stderr", steady(want.Stderr), steady(got.Stderr))
	for name, w := range want.Files {
		g, ok := got.Files[name]
		if !ok {
			out = append(out, mismatch{"file " + name, fmt.Appendf(nil, "%d bytes", len(w)), []byte("no file")})
			continue
		}
		add("file "+name, unzip(w), unzip(g))
	}
	for name, g := range got.Files {
		if _, ok := want.Files[name]; !ok {
			out = append(out, mismatch{"file " + name, []byte("no file"), fmt.Appendf(nil, "%d bytes", len(g))})
		}
	}
	return out
}

// tied reports whether pprof itself prints now this, now that for c, and hone prints one of
// these, or at least the same rows in another order. docs/compat-pprof.md lists where that happens.
func (l *lab) tied(t *testing.T, c check, want, got outcome) bool {
	// Maps of a few entries keep their order in seven of eight walks, so it takes patience to see
	// pprof change. When hone is plainly wrong everywhere there is no use in asking much.
	tries := 60
	switch n := l.tally.failures(); {
	case n > 50:
		tries = 2
	case n > 5 && len(c.compare(want, got, anyOrder)) != 0:
		tries = 8
	}
	same := func(o outcome) bool { return len(c.compare(o, got, anyOrder)) == 0 }
	varies, rows := false, same(want)
	for range tries {
		var again outcome
		if c.own {
			again = l.pprof.runOwn(t, l, c.inv)
		} else {
			again = l.pprof.run(t, filepath.Join(l.dir, c.inv.dir), c.inv)
		}
		if len(c.compare(again, got, nil)) == 0 {
			return true
		}
		varies = varies || len(c.compare(want, again, nil)) != 0
		rows = rows || same(again)
		if varies && rows {
			return true
		}
	}
	return false
}

// sortLines puts the lines of b in order.
func sortLines(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, []byte("\n"))
}

var (
	sumPercent = regexp.MustCompile(`(?m)^(\s*\S+ +[0-9.e+-]+%) +[0-9.e+-]+%( +\S+ +[0-9.e+-]+% )`)
	dotNumber  = regexp.MustCompile(`\bN+\d+(_\d+)*\b|\bnode\d+\b`)
	grindTwin  = regexp.MustCompile(`(?m) \[\d+/\d+\]$`)
)

// anyOrder takes from a report what the order of its rows decides: the order itself, the running
// sum, the numbers of nodes, which mention of a name comes first, and which labels a node shows.
func anyOrder(b []byte) []byte {
	b = topRows(b)
	b = expandGrind(b)
	b = tiedLabels(b)
	b = sumPercent.ReplaceAll(b, []byte("$1 sum$2"))
	b = dotNumber.ReplaceAll(b, []byte("N"))
	b = grindTwin.ReplaceAll(b, nil)
	return sortLines(b)
}

// topRows turns a table that was written as a profile into text, a line a row.
func topRows(b []byte) []byte {
	p, err := profile.ParseUncompressed(b)
	if err != nil || len(p.SampleType) != 2 || p.SampleType[0].Type != "cum" || p.SampleType[1].Type != "flat" {
		return b
	}
	out := fmt.Appendf(nil, "%s %v %d %d\n", p.SampleType[0].Unit, p.PeriodType, p.Period, p.TimeNanos)
	for _, s := range p.Sample {
		out = fmt.Append(out, s.Value)
		for _, l := range s.Location {
			out = fmt.Appendf(out, " %x", l.Address)
			for _, ln := range l.Line {
				out = fmt.Appendf(out, " %q %s:%d %d %d", ln.Function.Name, ln.Function.Filename, ln.Function.StartLine, ln.Line, ln.Column)
			}
		}
		out = append(out, '\n')
	}
	return out
}

// maxLabels is how many labels with text pprof hangs on a node of a graph.
const maxLabels = 4

var (
	labelNode = regexp.MustCompile(`^(N\d+)(_\d+) \[label = "(.*)" id="N\d+_\d+" fontsize=8 shape=box3d tooltip="-?(.*)"\]$`)
	minus     = regexp.MustCompile(`"( ?)-`)
)

// tiedLabels takes from the labels of a node in a graph what is not settled: pprof does not put
// weights in order that differ only in their sign, so that it is chance which of them come first and,
// among the smallest, which are shown at all. Their weights without the sign are the same each time.
func tiedLabels(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("digraph ")) {
		return b
	}
	var out []string
	lines := strings.Split(string(b), "\n")
	for len(lines) > 0 {
		first := labelNode.FindStringSubmatch(lines[0])
		if first == nil {
			out, lines = append(out, lines[0]), lines[1:]
			continue
		}
		node := first[1]
		of := map[string][]string{} // the labels of each weight
		last, end := "", 0
		for ; end < len(lines) && (strings.HasPrefix(lines[end], node+"_") || strings.HasPrefix(lines[end], node+" -> "+node+"_")); end++ {
			if m := labelNode.FindStringSubmatch(lines[end]); m != nil {
				last = m[4]
				of[last] = append(of[last], node+m[2])
			}
		}
		shown := 0
		var tied []string
		for _, labels := range of {
			shown += len(labels)
			if len(labels) > 1 {
				tied = append(tied, labels...)
			}
		}
		if shown >= maxLabels {
			tied = append(tied, of[last]...)
		}
		for _, line := range lines[:end] {
			if slices.ContainsFunc(tied, func(id string) bool {
				return strings.HasPrefix(line, id+"_") || strings.HasPrefix(line, id+" -> ")
			}) {
				continue // numbers below a label that may be another
			}
			m := labelNode.FindStringSubmatch(line)
			switch {
			case m != nil && slices.Contains(tied, node+m[2]):
				line = node + " has a label of " + m[4]
			case m == nil && slices.ContainsFunc(tied, func(id string) bool { return strings.HasPrefix(line, node+" -> "+id+" ") }):
				line = minus.ReplaceAllString(line, `"$1`)
			}
			out = append(out, line)
		}
		lines = lines[end:]
	}
	return []byte(strings.Join(out, "\n"))
}

// expandGrind undoes the compression of the callgrind format, in which a line depends on those
// before it: names are spelled once and then numbered, addresses count from the node before.
func expandGrind(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("positions: ")) {
		return b
	}
	names := map[string]string{} // from "fn(12)", with one key for fn and cfn
	var prev, here uint64
	address := func(word string) uint64 {
		switch {
		case word == "*":
			return prev
		case strings.HasPrefix(word, "0x"):
			n, _ := strconv.ParseUint(word[2:], 16, 64)
			return n
		}
		n, _ := strconv.ParseInt(word, 10, 64)
		return prev + uint64(n)
	}
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		if key, value, ok := strings.Cut(line, "="); ok && key != "calls" {
			number, name, named := strings.Cut(value, " ")
			key := strings.TrimPrefix(key, "c") + number
			if named {
				names[key] = name
			}
			lines[i] = line[:len(line)-len(value)] + names[key]
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "calls=0 "), " ")
		switch {
		case strings.HasPrefix(line, "calls=0 "):
			lines[i] = fmt.Sprintf("calls=0 %#x %s", address(word), rest)
		case strings.HasPrefix(rest, "* "), rest == "":
			// the cost of a call, or no position at all
		default:
			prev = here
			here = address(word)
			lines[i] = fmt.Sprintf("%#x %s", here, rest)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// typesAt is where pprof prints the addresses of what it means.
var typesAt = regexp.MustCompile(`(?m)(incompatible sample types) \[.*\]$`)

var conflict = regexp.MustCompile(`(?m)^conflicting options set: \[(.*)\]$`)

// steady puts in order what pprof writes to standard error in the order of a map: the notes about
// labels with several units, and the names of options that exclude each other. It takes out addresses.
func steady(b []byte) []byte {
	b = typesAt.ReplaceAll(b, []byte("$1"))
	b = conflict.ReplaceAllFunc(b, func(line []byte) []byte {
		names := strings.Fields(string(conflict.FindSubmatch(line)[1]))
		slices.Sort(names)
		return fmt.Appendf(nil, "conflicting options set: %v", names)
	})
	lines := strings.SplitAfter(string(b), "\n")
	note := func(s string) bool { return strings.HasPrefix(s, "For tag ") }
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && note(lines[end]) {
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return []byte(strings.Join(lines, ""))
}

// unzip undoes gzip: two compressors need not agree on the bytes they make of the same profile.
func unzip(b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return b
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return b
	}
	return plain
}

// describe shows mismatches, compactly.
func describe(diff []mismatch) string {
	var b strings.Builder
	for _, m := range diff {
		want, got := readable(m.want, m.got)
		fmt.Fprintf(&b, "%s (- go tool pprof, + hone pprof)\n%s", m.what, firstDiff(want, got))
	}
	return b.String()
}

// readable turns encoded profiles into text, unless their text is the same and only the encoding differs.
func readable(want, got []byte) (string, string) {
	w, errw := profile.ParseUncompressed(want)
	g, errg := profile.ParseUncompressed(got)
	if errw == nil && errg == nil && w.String() != g.String() {
		return w.String(), g.String()
	}
	if errw == nil || errg == nil {
		return fmt.Sprintf("%d bytes\n%.200q", len(want), want), fmt.Sprintf("%d bytes\n%.200q", len(got), got)
	}
	return string(want), string(got)
}

// firstDiff shows the first lines that differ, with three lines around them.
func firstDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < len(w) && at < len(g) && w[at] == g[at] {
		at++
	}
	const around = 3
	var b strings.Builder
	fmt.Fprintf(&b, "  line %d:\n", at+1)
	show := func(mark string, lines []string, from, to int) {
		for _, line := range lines[max(from, 0):min(to, len(lines))] {
			if len(line) > 300 {
				line = line[:300] + "…"
			}
			fmt.Fprintf(&b, "  %s %s\n", mark, line)
		}
	}
	show(" ", w, at-around, at)
	show("-", w, at, at+around+1)
	show("+", g, at, at+around+1)
	return b.String()
}

// command spells the arguments of inv so that they can be pasted into a shell.
func command(inv invocation) string {
	var words []string
	for _, a := range inv.args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`*?[](){}|&;<>#!~") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// A difference is a place where hone departs from pprof on purpose. Each has a heading
// "### D<number> …" in docs/compat-pprof.md that says why.
type difference struct {
	id       string                // "D1"
	where    *regexp.Regexp        // the cases ("profile/flags") in which it is to be met
	until    string                // the Go whose pprof does what hone does; "" when none does
	explains func([]mismatch) bool // whether it is the reason for what differs
}

// differencesTo returns the differences to the pprof of a version of Go.
func differencesTo(goVersion string) []difference {
	var out []difference
	for _, d := range differences {
		if d.until == "" || version.Compare(goVersion, d.until) < 0 {
			out = append(out, d)
		}
	}
	return out
}

// differences are few. What is here is not a bug list: a mismatch that is a mistake stays a failure.
var differences = []difference{
	{
		id:    "D1",
		where: regexp.MustCompile(`^malformed-|^commands/-top c_(cut|junk)$`),
		explains: func(diff []mismatch) bool {
			// What is left may not be enough for an answer: names come last in many files.
			return refuses(diff, "decompressing profile: ", "unrecognized profile format") &&
				says(diff, "stderr", "the profile is damaged after ")
		},
	},
	{
		id:    "D2",
		where: regexp.MustCompile(`^legacy-bad_(goroutine_debug2|folded)/`),
		explains: func(diff []mismatch) bool {
			// hone goes on, and may find another mistake.
			return refuses(diff, "unrecognized profile format")
		},
	},
	{
		id:    "D3",
		where: regexp.MustCompile(`/shell pipe$`),
		explains: func(diff []mismatch) bool {
			return says(diff, "stdout", "PIPED")
		},
	},
	{
		id:    "D4",
		where: regexp.MustCompile(`^commands/|all.frames`),
		until: "go1.27",
		explains: func(diff []mismatch) bool {
			if refuses(diff, "flag provided but not defined: -all_frames") {
				return true
			}
			const help = "   -all_frames        Ignore drop_frames and keep_frames regexps in the profile\n" +
				"                      Rarely needed, mainly used for debugging pprof itself\n"
			return alike(diff, func(m mismatch) ([]byte, []byte) {
				return m.want, bytes.Replace(m.got, []byte(help), nil, 1)
			})
		},
	},
	{
		id:    "D5",
		where: regexp.MustCompile(`/(disasm|weblist)|/(random|shell) `),
		until: "go1.27",
		explains: func(diff []mismatch) bool {
			return alike(diff, func(m mismatch) ([]byte, []byte) { return withoutVectors(m.want, m.got) })
		},
	},
	{
		id:    "D6",
		where: regexp.MustCompile(`^commands/.*-tls_`),
		explains: func(diff []mismatch) bool {
			// pprof asks the server all the same.
			return refuses(diff, "connection refused") &&
				(says(diff, "stderr", "could not load CA specified by -tls_ca: ") || says(diff, "stderr", "specified by -tls_cert and -tls_key: "))
		},
	},
	{
		id:    "D7",
		where: regexp.MustCompile(`^commands/-top -$`),
		explains: func(diff []mismatch) bool {
			return refuses(diff, "stat -: no such file or directory")
		},
	},
}

// alike reports whether nothing differs any more in what change makes of the mismatches.
func alike(diff []mismatch, change func(mismatch) (want, got []byte)) bool {
	return !slices.ContainsFunc(diff, func(m mismatch) bool {
		want, got := change(m)
		return !bytes.Equal(want, got)
	})
}

var (
	instruction = regexp.MustCompile(`(?:^|\s)([0-9a-f]{3,}): +(\S+)`)
	vector      = regexp.MustCompile(`^(V[A-Z0-9]+|K[A-Z]+[BWDQ]|\?)$`)
)

// withoutVectors takes from two listings of machine code the instructions for vectors, and what lies between their first byte
// and the next instruction that both see.
func withoutVectors(want, got []byte) ([]byte, []byte) {
	type line struct {
		text string
		addr uint64
		code string // the name of the instruction; "" for a line without one
	}
	split := func(b []byte) (lines []line, at map[uint64]bool) {
		at = map[uint64]bool{}
		for text := range strings.Lines(string(b)) {
			l := line{text: text}
			if m := instruction.FindStringSubmatch(text); m != nil {
				l.addr, _ = strconv.ParseUint(m[1], 16, 64)
				l.code = m[2]
				at[l.addr] = true
			}
			lines = append(lines, l)
		}
		return lines, at
	}
	w, inWant := split(want)
	g, inGot := split(got)
	var addrs []uint64
	for _, l := range append(slices.Clone(w), g...) {
		if l.code != "" {
			addrs = append(addrs, l.addr)
		}
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	vectors := map[uint64]bool{}
	for _, l := range g {
		if vector.MatchString(l.code) {
			vectors[l.addr] = true
		}
	}
	html := bytes.Contains(got, []byte("<span class=asm>"))
	without := strings.NewReplacer()
	if html {
		without = strings.NewReplacer("<span class=nop>", "<span class=livesrc>", "<span class=asm>", "")
	}
	gone := map[uint64]bool{}
	within := false
	for _, addr := range addrs {
		within = vectors[addr] || within && !(inWant[addr] && inGot[addr])
		gone[addr] = within
	}
	rest := func(lines []line) []byte {
		var out strings.Builder
		for _, l := range lines {
			// A line of source has its first instruction behind it, and looks otherwise when it has none.
			source, _, code := strings.Cut(l.text, "<span class=asm>")
			switch {
			case len(gone) > 0 && html && l.text == "</span>\n":
			case l.code == "" || !gone[l.addr]:
				out.WriteString(without.Replace(l.text))
			case code:
				out.WriteString(without.Replace(source + "\n"))
			}
		}
		return []byte(out.String())
	}
	return rest(w), rest(g)
}

// refuses reports whether pprof did not take a file, in one of these words.
func refuses(diff []mismatch, words ...string) bool {
	return slices.ContainsFunc(diff, func(m mismatch) bool {
		return m.what == "stderr" && slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(m.want, []byte(w)) })
	})
}

// says reports whether hone printed text where pprof printed something else.
func says(diff []mismatch, where, text string) bool {
	return slices.ContainsFunc(diff, func(m mismatch) bool { return m.what == where && bytes.Contains(m.got, []byte(text)) })
}

// TestOracleDifferences holds that the deliberate differences and the page about them agree.
func TestOracleDifferences(t *testing.T) {
	t.Parallel()
	const page = "docs/compat-pprof.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var told, known []string
	for _, m := range regexp.MustCompile(`(?m)^### (D\d+) `).FindAllSubmatch(b, -1) {
		told = append(told, string(m[1]))
	}
	for _, d := range differences {
		known = append(known, d.id)
	}
	slices.Sort(told)
	slices.Sort(known)
	if !slices.Equal(told, known) {
		t.Errorf("%s tells of the differences %q, the test knows %q", page, told, known)
	}
}

// A tally counts how the cases went.
type tally struct {
	differences []difference // to the pprof at hand

	mu     sync.Mutex
	runs   map[string]int // by flag set
	failed map[string]int // by flag set
	total  int            // failed cases
	full   int            // of them, those printed in full
	told   map[string]int // the same, by subject
	tied   []string
	used   map[string]int // by difference
	met    map[string]int // by difference: cases where it could be
}

// How many mismatches are printed in full: in all, of one kind, and on one profile.
const (
	shown          = 20
	shownOfKind    = 2
	shownOfSubject = 3
)

func (y *tally) ran(c check) {
	y.mu.Lock()
	defer y.mu.Unlock()
	count(&y.runs, c.kind())
	for _, d := range y.differences {
		if d.where.MatchString(c.name()) {
			count(&y.met, d.id)
		}
	}
}

func (y *tally) tie(c check) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.tied = append(y.tied, c.name())
}

func (y *tally) use(d difference) {
	y.mu.Lock()
	defer y.mu.Unlock()
	count(&y.used, d.id)
}

// fail counts a failure and reports whether it is to be shown in full.
func (y *tally) fail(c check) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	count(&y.failed, c.kind())
	y.total++
	if y.full == shown || y.failed[c.kind()] > shownOfKind || y.told[c.subject] == shownOfSubject {
		return false
	}
	y.full++
	count(&y.told, c.subject)
	return true
}

func (y *tally) failures() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.total
}

func count(m *map[string]int, key string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key]++
}

// report sums up, and fails when a deliberate difference is not one any more.
func (l *lab) report(t *testing.T) {
	y := &l.tally
	cases := 0
	for _, n := range y.runs {
		cases += n
	}
	t.Logf("%d cases of %d kinds; in %d pprof does not agree with itself; %d failed", cases, len(y.runs), len(y.tied), y.total)
	if len(y.tied) > 0 {
		t.Logf("pprof does not agree with itself:\n\t%s", strings.Join(y.tied, "\n\t"))
	}
	for _, d := range y.differences {
		t.Logf("difference %s: used %d times in %d cases", d.id, y.used[d.id], y.met[d.id])
		if y.used[d.id] == 0 && y.met[d.id] > 0 && !partial() {
			t.Errorf("difference %s is never met in %d cases: it is no difference any more", d.id, y.met[d.id])
		}
	}
	if y.total == 0 {
		return
	}
	var b strings.Builder
	kinds := make([]string, 0, len(y.failed))
	for k := range y.failed {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if y.failed[a] != y.failed[b] {
			return y.failed[b] - y.failed[a]
		}
		return strings.Compare(a, b)
	})
	for _, k := range kinds {
		fmt.Fprintf(&b, "\t%4d of %4d  %s\n", y.failed[k], y.runs[k], k)
	}
	t.Logf("failed cases by kind:\n%s", &b)
}

// TestWithoutVectors holds that no other instruction may differ where those for vectors do.
func TestWithoutVectors(t *testing.T) {
	base := "ROUTINE main.f\n  10ms 48756a: JMP 0x487726 ;f.go:1\n  . 48757f: VMOVDQU Y0, 0(AX) ;f.go:2\n  . 487583: RET ;f.go:3\n"
	tests := []struct {
		why   string
		other string
		same  bool
	}{
		{"another register", strings.Replace(base, "Y0", "X0", 1), true},
		{"unknown to it", strings.Replace(base, "VMOVDQU Y0, 0(AX)", "? ;f.go:2\n  . 487580: CLD", 1), true},
		{"another instruction after it", strings.Replace(base, "RET", "NOP", 1), false},
		{"another instruction before it", strings.Replace(base, "JMP", "JNE", 1), false},
		{"another cost before it", strings.Replace(base, "10ms", "20ms", 1), false},
		{"a line is missing", strings.Replace(base, "ROUTINE main.f\n", "", 1), false},
	}
	const source = "<span class=line> 85</span> <span class=livesrc> . . VPXOR X0, X0, X0 </span><span class=asm> . . 486bc5: VPXOR X0, X0, X0 <span>f.s:85</span>\n</span>\n" +
		"<span class=line> 86</span> <span class=livesrc> . . JMP loop </span><span class=asm> . . 486bc9: JMP 0x486b00 <span>f.s:86</span>\n</span>\n"
	// What it takes for the second instruction of the first line has the first byte of the next.
	const otherwise = "<span class=line> 85</span> <span class=livesrc> . . VPXOR X0, X0, X0 </span><span class=asm> . . 486bc5: OUTL AX, DX <span>f.s:85</span>\n" +
		" . . 486bc8: RORB $0xfb, -0x7f(AX) <span>f.s:85</span>\n</span>\n<span class=line> 86</span> <span class=nop> . . JMP loop </span>\n"
	if want, got := withoutVectors([]byte(otherwise), []byte(source)); !bytes.Equal(want, got) {
		t.Errorf("with sources, what is left is\n%s\nand\n%s", want, got)
	}
	for _, test := range tests {
		want, got := withoutVectors([]byte(test.other), []byte(base))
		if same := bytes.Equal(want, got); same != test.same {
			t.Errorf("%s: same = %v\n%s", test.why, same, want)
		}
	}
}

func TestTiedLabels(t *testing.T) {
	graph := func(labels ...string) string {
		b := "digraph \"x\" {\nN1 [label=\"main\"]\n"
		for i, l := range labels {
			name, w, _ := strings.Cut(l, "=")
			b += fmt.Sprintf("N1_%d [label = \"%s\" id=\"N1_%d\" fontsize=8 shape=box3d tooltip=\"%s\"]\n", i, name, i, w)
			b += fmt.Sprintf("N1 -> N1_%d [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"]\n", i, w, w, w)
		}
		return b + "N1 -> N2 [label=\" 5\"]\n}\n"
	}
	base := graph("a=20", "b=10", "c=5", "d=-5")
	tests := []struct {
		why   string
		other string
		same  bool
	}{
		{"opposite weights change places", graph("a=20", "b=10", "d=-5", "c=5"), true},
		{"another of the smallest is shown", graph("a=20", "b=10", "c=5", "e=-5"), true},
		{"a weight differs", graph("a=20", "b=10", "c=5", "d=-4"), false},
		{"a settled name differs", graph("z=20", "b=10", "c=5", "d=-5"), false},
		{"a settled sign differs", graph("a=20", "b=-10", "c=5", "d=-5"), false},
		{"a label is missing", graph("a=20", "b=10", "c=5"), false},
		{"an edge is missing", strings.Replace(base, "N1 -> N2", "N1 -> N3", 1), false},
	}
	for _, test := range tests {
		if same := bytes.Equal(tiedLabels([]byte(base)), tiedLabels([]byte(test.other))); same != test.same {
			t.Errorf("%s: same = %v\n%s", test.why, same, tiedLabels([]byte(test.other)))
		}
	}
}
