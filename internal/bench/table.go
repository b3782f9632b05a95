package bench

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/order"
)

// A Table is what benchcmp printed, as people put it into commit messages.
type Table struct {
	Old, New *File  // results run once, and name their table where there are several
	Notes    []Note // about both
}

// Table returns the tables of benchcmp among other text: quoted, indented, in fences or in Markdown, with headings repeated
// and blocks left out, with rows that were wrapped, and with remarks behind them. A text without a table gives one without results.
func (text *Text) Table(name string) *Table {
	var say notes
	t := tableReader{say: &say, at: make(map[row]int)}
	text.scan(&say, func() func(line) { return t.line })
	t.endWrapped()
	out := &Table{Old: &File{Name: name, Results: t.old}, New: &File{Name: name, Results: t.new}, Notes: say}
	for _, results := range [][]Result{t.old, t.new} {
		for i := 0; t.tables == 1 && i < len(results); i++ {
			results[i].Config = nil // there is only one to name
		}
		settleProcs(results)
	}
	return out
}

// File returns both sides as one file, told apart by a fact called side.
func (t *Table) File() *File {
	f := &File{Name: t.Old.Name, Notes: t.Notes}
	for i := range t.Old.Results {
		for side, r := range map[string]Result{"old": t.Old.Results[i], "new": t.New.Results[i]} {
			r.Config = append(slices.Clone(r.Config), Config{"side", side})
			f.Results = append(f.Results, r)
		}
	}
	order.Stable(f.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(b.Get("side"), a.Get("side")))
	})
	return f
}

type tableReader struct {
	say      *notes
	old, new []Result // as many of one as of the other

	tables  int      // that have begun
	config  []Config // says which one it is
	unit    string   // of the block, "" before the first
	done    []string // units of the blocks of this table
	prose   bool     // there was text since the last row or heading
	rows    map[string]int
	at      map[row]int // places of results, which get a measurement from each block
	wrapped line        // a row or heading that may go on; no is 0 when there is none
}

// A row names a result: of runs with the same name in a table, the first row of one block belongs to the first of another.
type row struct {
	table int
	name  string
	run   int
}

var (
	quoting = pattern("^[ \t>#*|/;-]+")
	heading = pattern(`(?i)^(?:benchmark|name)\s+old (ns/op|MB/s|allocs|bytes)\S*\s+new (?:ns/op|MB/s|allocs|bytes)\S*\s+(?:delta|speedup)$`)
	begun   = pattern(`(?i)^benchmark\s+old\b`)
	percent = pattern(`^([+-]?(?:\d+(?:\.\d+)?|Inf)|NaN)%$`)
	times   = pattern(`^\+?(\d+(?:\.\d+)?|Inf)x$`)
)

// pattern returns what compiles rx when it is first needed: most commands read no benchmarks, and all of them start.
func pattern(rx string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(rx) })
}

// unitOf is what the headings of benchcmp call units.
var unitOf = map[string]string{"ns/op": "ns/op", "mb/s": "MB/s", "allocs": "allocs/op", "bytes": "B/op"}

func (t *tableReader) line(l line) {
	s := strings.TrimSpace(strings.TrimRight(quoting().ReplaceAllString(l.text, ""), "| \t"))
	s = strings.ReplaceAll(s, " | ", "   ")
	if s == "" || strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") {
		return
	}
	if t.wrapped.no != 0 {
		whole := t.wrapped.text + " " + s
		if t.take(t.wrapped.no, whole) {
			t.say.add(Mended, t.wrapped.no, "row or heading on two lines")
			t.wrapped = line{}
			return
		}
		if t.partial(whole) && len(whole) < maxLine {
			t.wrapped.text = whole
			return
		}
		t.endWrapped()
	}
	switch {
	case t.take(l.no, s):
	case t.partial(s):
		t.wrapped = line{no: l.no, text: s}
	default:
		t.prose = true
	}
}

// endWrapped gives up a row that did not go on.
func (t *tableReader) endWrapped() {
	if t.wrapped.no != 0 && t.unit != "" && strings.HasPrefix(t.wrapped.text, "Benchmark") {
		t.say.add(Dropped, t.wrapped.no, "row of a table that is cut short")
	}
	if t.wrapped.no != 0 {
		t.prose = true
	}
	t.wrapped = line{}
}

// partial reports whether s may be the beginning of a heading or row.
func (t *tableReader) partial(s string) bool {
	f := strings.Fields(s)
	if begun().MatchString(s) {
		return len(f) < 6
	}
	if t.unit == "" || len(f) > 3 || t.prose && !strings.HasPrefix(s, "Benchmark") {
		return false
	}
	return !slices.ContainsFunc(f[1:], func(word string) bool { _, err := number(word); return err != nil })
}

// take takes a heading or a row.
func (t *tableReader) take(no int, s string) bool {
	if m := heading().FindStringSubmatch(s); m != nil {
		t.begin(unitOf[strings.ToLower(m[1])])
		return true
	}
	f := strings.Fields(s)
	if len(f) < 4 || t.prose && !strings.HasPrefix(s, "Benchmark") {
		return false
	}
	old, errOld := number(f[1])
	now, errNow := number(f[2])
	if errOld != nil || errNow != nil || !percent().MatchString(f[3]) && !times().MatchString(f[3]) {
		return false
	}
	if t.unit == "" {
		t.say.add(Dropped, no, "row of a table without a heading")
		return true
	}
	t.prose = false
	if len(f) > 4 {
		t.say.add(Odd, no, "text behind a row")
	}
	if !follows(t.unit, f[1], f[2], f[3]) {
		t.say.add(Odd, no, "change that does not follow from its numbers")
	}
	t.add(no, strings.TrimPrefix(f[0], "Benchmark"), old, now)
	return true
}

// begin begins a block. One in a unit that the table already has, behind one in another, begins a new table.
func (t *tableReader) begin(unit string) {
	t.prose = false
	if t.unit == unit {
		return // the heading is repeated
	}
	if t.unit == "" || slices.Contains(t.done, unit) {
		t.tables++
		t.done = nil
		t.config = []Config{{"table", strconv.Itoa(t.tables)}}
	}
	t.unit, t.rows = unit, make(map[string]int)
	t.done = append(t.done, unit)
}

func (t *tableReader) add(no int, full string, old, now float64) {
	key := row{t.tables, full, t.rows[full]}
	t.rows[full]++
	i, ok := t.at[key]
	if !ok {
		if len(t.old) == maxResults {
			t.say.add(Dropped, no, fmt.Sprintf("rows beyond %d", maxResults))
			return
		}
		i = len(t.old)
		t.at[key] = i
		r := Result{Iters: 1, Config: t.config, Line: no}
		r.Name, r.Procs = splitProcs(full)
		t.old, t.new = append(t.old, r), append(t.new, r)
	}
	t.old[i].Values = append(t.old[i].Values, Value{old, t.unit})
	t.new[i].Values = append(t.new[i].Values, Value{now, t.unit})
}

// number reads what benchcmp prints for a measurement.
func number(s string) (float64, error) {
	if strings.Trim(s, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// follows reports whether a change is what the two numbers before it make, all of them rounded. It holds a row against
// mistakes in editing.
func follows(unit, old, now, change string) bool {
	a, b := span(unit, old), span(unit, now)
	lo, hi := b[0]/a[1], b[1]/a[0]
	switch {
	case a[1] == 0 && b[1] == 0:
		lo, hi = 1, 1
	case a[0] <= 0:
		hi = math.Inf(1)
	}
	scale, shift := 1.0, 0.0
	m := times().FindStringSubmatch(change)
	if m == nil {
		m = percent().FindStringSubmatch(change)
		scale, shift = 100, -100
	}
	c, err := strconv.ParseFloat(m[1], 64)
	if err != nil || math.IsNaN(c) {
		return false
	}
	if math.IsInf(c, 1) {
		return a[0] <= 0
	}
	half := 1.01*half(m[1]) + 1e-9*math.Abs(c)
	return scale*lo+shift <= c+half && c-half <= scale*hi+shift
}

// span is where a number that was rounded can have been. Counts are exact.
func span(unit, s string) [2]float64 {
	v, err := number(s)
	if err != nil {
		return [2]float64{}
	}
	if unit == "B/op" || unit == "allocs/op" {
		return [2]float64{v, v}
	}
	return [2]float64{v - half(s), v + half(s)}
}

// half is half of the last digit of a number.
func half(s string) float64 {
	_, digits, _ := strings.Cut(s, ".")
	return 0.5 * math.Pow(10, -float64(len(digits)))
}
