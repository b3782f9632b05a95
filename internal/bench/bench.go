// Package bench reads and writes the lines of Go benchmarks:
//
//	f, err := bench.Read(r, "old.txt")
//	for _, s := range bench.Samples(f.Results) { … s.Name, s.Unit, s.Values … }
//
// What a line says is decided by golang.org/x/perf/benchfmt. This package finds the lines: in what go test -json
// writes, in files that a shell wrote as UTF-16, behind text of others, torn in two by what a benchmark logs. Whatever
// was mended, is odd, or had to be left out is said in the notes of a File, with the numbers of its lines.
//
// readTable reads what benchcmp once printed and people put into their commit messages.
package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// A File is what was read, or is to be written. Nobody changes one that was read.
type File struct {
	Name    string
	Results []Result // in the order of the file; those of go test -json package by package
	Units   Units    // what lines that begin with Unit say
	Notes   []Note   // what its reader should know
}

// A Result is one benchmark line. Results may share what they hold.
type Result struct {
	Name   string   // without the word Benchmark and GOMAXPROCS: Encode/size=10
	Procs  int      // the 8 of BenchmarkEncode-8; 0 when it is not there, which is how Go writes 1
	Iters  int      // how often the benchmark ran
	Values []Value  // at least one
	Config []Config // what lines before it said that still holds: goos, pkg, cpu…
	Line   int      // where it began in the file, from 1; 0 when it was not read
}

// A Value is one measurement, as it is written.
type Value struct {
	Value float64
	Unit  string // ns/op
}

// Tidy returns v in units without a prefix: 5 ns/op are 5e-09 sec/op.
func (v Value) Tidy() Value {
	v.Value, v.Unit = benchunit.Tidy(v.Value, v.Unit)
	return v
}

// A Config is a fact about results, such as goos: linux.
type Config struct{ Key, Value string }

// Units is what is known about units: which direction is better, and whether they are exact. The zero Units knows those
// of package testing.
type Units = benchfmt.UnitMetadataMap

// Full returns the name with GOMAXPROCS: Encode/size=10-8.
func (r *Result) Full() string {
	if r.Procs == 0 {
		return r.Name
	}
	return r.Name + "-" + strconv.Itoa(r.Procs)
}

// Get returns the value of a fact about r, or "".
func (r *Result) Get(key string) string {
	for _, c := range r.Config {
		if c.Key == key {
			return c.Value
		}
	}
	return ""
}

// SharesConfig reports whether r and o hold the same facts in the same place, as results that follow each other mostly do.
// It says no to some that are equal, and takes no time.
func (r *Result) SharesConfig(o *Result) bool {
	return len(r.Config) == len(o.Config) && (len(r.Config) == 0 || &r.Config[0] == &o.Config[0])
}

// Value returns the measurement in a unit as it is written.
func (r *Result) Value(unit string) (float64, bool) {
	for _, v := range r.Values {
		if v.Unit == unit {
			return v.Value, true
		}
	}
	return 0, false
}

// Record returns r in the form of benchfmt, for filters, projections and statistics.
func (r *Result) Record() *benchfmt.Result {
	out := &benchfmt.Result{Name: benchfmt.Name(r.Full()), Iters: r.Iters}
	for _, c := range r.Config {
		out.Config = append(out.Config, benchfmt.Config{Key: c.Key, Value: []byte(c.Value), File: true})
	}
	for _, v := range r.Values {
		t := v.Tidy()
		b := benchfmt.Value{Value: t.Value, Unit: t.Unit}
		if t != v {
			b.OrigValue, b.OrigUnit = v.Value, v.Unit
		}
		out.Values = append(out.Values, b)
	}
	return out
}

// splitProcs takes GOMAXPROCS off a name. What would not be written the same way again stays.
func splitProcs(full string) (name string, procs int) {
	name, digits, ok := cutLast(full, '-')
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
		return full, 0
	}
	procs, err := strconv.Atoi(digits)
	if err != nil || name == "" {
		return full, 0
	}
	return name, procs
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// settleProcs decides whether the numbers that names end in are GOMAXPROCS: Sort/n-100 may as well be a
// benchmark called so, since Go writes no number for GOMAXPROCS=1. All benchmarks of a package run with the same
// numbers, those of -cpu. Where they do not, the numbers belong to the names.
func settleProcs(results []Result) {
	type benchmark struct{ pkg, name string }
	seen := make(map[benchmark][]int)
	for i := range results {
		r := &results[i]
		key := benchmark{r.Get("pkg"), r.Name}
		seen[key] = append(seen[key], r.Procs)
	}
	same := make(map[string][]int) // of a package
	names := make(map[string]bool) // packages where the numbers belong to the names
	for key, procs := range seen {
		slices.Sort(procs)
		procs = slices.Compact(procs)
		if have, ok := same[key.pkg]; ok && !slices.Equal(have, procs) {
			names[key.pkg] = true
		}
		same[key.pkg] = procs
	}
	for i := range results {
		if r := &results[i]; names[r.Get("pkg")] {
			r.Name, r.Procs = r.Full(), 0
		}
	}
}

// A Sample is what was measured of one benchmark in one unit.
type Sample struct {
	Config []Config // of the facts by which results were told apart, those that there are; shared where they are the same
	Name   string
	Procs  int // 0 when the name has none
	Unit   string
	Values []float64 // in the order of the results
}

// Samples groups measurements, in units without a prefix, by what was measured, and by the facts that keys name, such as
// pkg. They are in the order in which benchmarks and units are met first.
func Samples(results []Result, keys ...string) []Sample {
	type what struct {
		facts, name string
		procs       int
		unit        string
	}
	at := make(map[what]int)
	var out []Sample
	var config []Config
	facts := "[]"
	made := make(map[string][]Config)
	for i := range results {
		r := &results[i]
		if i == 0 || !r.SharesConfig(&results[i-1]) {
			config = nil
			for _, k := range keys {
				if v := r.Get(k); v != "" {
					config = append(config, Config{k, v})
				}
			}
			facts = fmt.Sprint(config)
			if have, ok := made[facts]; ok {
				config = have
			} else {
				made[facts] = config
			}
		}
		for _, v := range r.Values {
			v = v.Tidy()
			key := what{facts, r.Name, r.Procs, v.Unit}
			k, ok := at[key]
			if !ok {
				k = len(out)
				at[key] = k
				out = append(out, Sample{Config: config, Name: r.Name, Procs: r.Procs, Unit: v.Unit})
			}
			out[k].Values = append(out[k].Values, v.Value)
		}
	}
	return out
}

// A Grade says how much a note matters.
type Grade int

// The grades of notes.
const (
	Mended  Grade = iota // all of it was read, though it was not as it should be
	Odd                  // it was read, and may mean something else than it seems
	Dropped              // something was left out
)

func (g Grade) String() string { return [...]string{"mended", "odd", "dropped"}[g] }

// MarshalText returns the name of g.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// A Note says what about lines of a file its reader should know.
type Note struct {
	Grade Grade
	What  string
	Count int   // of lines, or of what What names
	Lines []int // the first few of them
}

// notedLines is how many lines a note names.
const notedLines = 10

// In returns n with its places: "dropped: benchmark without numbers (old.txt:7, 12 and 3 more)".
func (n Note) In(file string) string {
	if places := n.Places(file); places != "" {
		return fmt.Sprintf("%s: %s (%s)", n.Grade, n.What, places)
	}
	return fmt.Sprintf("%s: %s", n.Grade, n.What)
}

// Places returns where n is met: "old.txt:7, 12 and 3 more", or "lines 7, 12 and 3 more" without a name.
func (n Note) Places(file string) string {
	var b strings.Builder
	for i, line := range n.Lines {
		switch {
		case i > 0:
			fmt.Fprintf(&b, ", %d", line)
		case file != "":
			fmt.Fprintf(&b, "%s:%d", file, line)
		case n.Count > 1:
			fmt.Fprintf(&b, "lines %d", line)
		default:
			fmt.Fprintf(&b, "line %d", line)
		}
	}
	if rest := n.Count - len(n.Lines); len(n.Lines) > 0 && rest > 0 {
		fmt.Fprintf(&b, " and %d more", rest)
	}
	return b.String()
}

// notes collects notes.
type notes []Note

func (l *notes) add(g Grade, line int, what string) {
	for i := range *l {
		n := &(*l)[i]
		if n.Grade == g && n.What == what {
			n.Count++
			if len(n.Lines) < notedLines && n.Lines[len(n.Lines)-1] != line {
				n.Lines = append(n.Lines, line)
			}
			return
		}
	}
	*l = append(*l, Note{g, what, 1, []int{line}})
}
