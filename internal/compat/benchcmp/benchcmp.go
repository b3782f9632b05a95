// Package benchcmp is hone benchcmp: the flags and tables of the benchcmp of golang.org/x/tools, which people quote in
// commit messages to this day. It prints what the original prints, byte for byte, and reads with the package that the
// original reads with.
package benchcmp

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/hone-perf/hone/internal/order"
	"golang.org/x/tools/benchmark/parse"
)

// A System is what the command may touch.
type System struct {
	Out, Err io.Writer
}

// Main runs the command and returns its exit code: 2 when it was called wrongly, 1 for any other error.
func Main(sys System, args []string) int {
	err := run(sys, args)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return 2 // and that was said
	}
	fmt.Fprintln(sys.Err, err)
	return 1
}

// errUsage says that something is wrong with the command line, and that it has been said.
var errUsage = errors.New("bad usage")

const (
	deprecated = "benchcmp is deprecated in favor of benchstat: https://pkg.go.dev/golang.org/x/perf/cmd/benchstat\n"
	usageHead  = "usage: benchcmp old.txt new.txt\n\n"
	usageFoot  = `
Each input file should be from:
	go test -run=NONE -bench=. > [old,new].txt

Benchcmp compares old and new for each benchmark.

If -test.benchmem=true is added to the "go test" command
benchcmp will also compare memory allocations.
`
)

// choices are the flags.
type choices struct{ changed, mag, best bool }

// Flags returns the flags of the command.
func Flags() *flag.FlagSet { return new(choices).flags() }

func (c *choices) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("benchcmp", flag.ContinueOnError)
	fs.BoolVar(&c.changed, "changed", false, "show only benchmarks that have changed")
	fs.BoolVar(&c.mag, "mag", false, "sort benchmarks by magnitude of change")
	fs.BoolVar(&c.best, "best", false, "compare best times from old and new")
	return fs
}

func run(sys System, args []string) error {
	fmt.Fprint(sys.Err, deprecated)
	var c choices
	fs := c.flags()
	fs.SetOutput(sys.Err)
	fs.Usage = func() {
		fmt.Fprint(sys.Err, usageHead)
		fs.PrintDefaults()
		fmt.Fprint(sys.Err, usageFoot)
	}
	if err := fs.Parse(args); err != nil {
		return errUsage // also when it was asked for: in the original, usage exits
	}
	if fs.NArg() != 2 {
		fs.Usage()
		return errUsage
	}
	old, err := readFile(fs.Arg(0), c.best)
	if err != nil {
		return err
	}
	now, err := readFile(fs.Arg(1), c.best)
	if err != nil {
		return err
	}
	pairs := pairUp(old, now, sys.Err)
	if len(pairs) == 0 {
		return errors.New("benchcmp: no repeated benchmarks")
	}
	return write(sys.Out, pairs, c.changed, c.mag)
}

func readFile(path string, best bool) (parse.Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := parse.ParseSet(f)
	if err == nil && best {
		keepBest(s)
	}
	return s, err
}

// keepBest keeps the fastest run of each benchmark, in the place of the first.
func keepBest(s parse.Set) {
	for name, runs := range s {
		place, best := runs[0].Ord, runs[0]
		for _, r := range runs {
			if r.NsPerOp < best.NsPerOp {
				best = r
			}
		}
		best.Ord = place
		s[name] = []*parse.Benchmark{best}
	}
}

// A pair is a benchmark that ran before and after.
type pair struct{ old, now *parse.Benchmark }

// pairUp finds the benchmarks that both sides have as often, in the order of the first file: the first run with the
// first, the second with the second. The original warns of others in any order.
func pairUp(old, now parse.Set, warnings io.Writer) []pair {
	var out []pair
	names := slices.SortedFunc(maps.Keys(old), func(a, b string) int { return cmp.Compare(old[a][0].Ord, old[b][0].Ord) })
	for _, name := range names {
		a, b := old[name], now[name]
		if len(a) != len(b) {
			fmt.Fprintf(warnings, "ignoring %s: before has %d instances, after has %d\n", name, len(a), len(b))
			continue
		}
		for i := range a {
			out = append(out, pair{a[i], b[i]})
		}
	}
	order.Stable(out, func(p, q pair) int { return cmp.Compare(p.old.Ord, q.old.Ord) })
	return out
}

// A block is one of the four tables.
type block struct {
	heading string
	measure int // as parse calls it
	text    func(*parse.Benchmark) string
	number  func(*parse.Benchmark) float64
	change  func(delta) string
}

var blocks = []block{
	{
		heading: "benchmark\told ns/op\tnew ns/op\tdelta\n",
		measure: parse.NsPerOp,
		text:    func(b *parse.Benchmark) string { return formatNs(b.NsPerOp) },
		number:  func(b *parse.Benchmark) float64 { return b.NsPerOp },
		change:  delta.percent,
	},
	{
		heading: "\nbenchmark\told MB/s\tnew MB/s\tspeedup\n",
		measure: parse.MBPerS,
		text:    func(b *parse.Benchmark) string { return fmt.Sprintf("%.2f", b.MBPerS) },
		number:  func(b *parse.Benchmark) float64 { return b.MBPerS },
		change:  delta.multiple,
	},
	{
		heading: "\nbenchmark\told allocs\tnew allocs\tdelta\n",
		measure: parse.AllocsPerOp,
		text:    func(b *parse.Benchmark) string { return strconv.FormatUint(b.AllocsPerOp, 10) },
		number:  func(b *parse.Benchmark) float64 { return float64(b.AllocsPerOp) },
		change:  delta.percent,
	},
	{
		heading: "\nbenchmark\told bytes\tnew bytes\tdelta\n",
		measure: parse.AllocedBytesPerOp,
		text:    func(b *parse.Benchmark) string { return strconv.FormatUint(b.AllocedBytesPerOp, 10) },
		number:  func(b *parse.Benchmark) float64 { return float64(b.AllocedBytesPerOp) },
		change:  delta.percent,
	},
}

func (b *block) delta(p pair) delta { return delta{b.number(p.old), b.number(p.now)} }

func write(w io.Writer, pairs []pair, changedOnly, mag bool) error {
	out := tabwriter.NewWriter(w, 0, 0, 5, ' ', 0)
	for _, b := range blocks {
		if mag {
			order.Stable(pairs, func(p, q pair) int {
				return cmp.Or(cmp.Compare(b.delta(p).mag(), b.delta(q).mag()), cmp.Compare(p.old.Name, q.old.Name))
			})
		}
		begun := false
		for _, p := range pairs {
			d := b.delta(p)
			if p.old.Measured&p.now.Measured&b.measure == 0 || changedOnly && d.old == d.now {
				continue
			}
			if !begun {
				fmt.Fprint(out, b.heading)
				begun = true
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", p.old.Name, b.text(p.old), b.text(p.now), b.change(d))
		}
	}
	return out.Flush()
}

// A delta is a measurement before and after.
type delta struct{ old, now float64 }

// mag is for sorting: the ratio that is below 1, so that what changed most comes first, and what was 0 and is not, or
// the other way round, last.
func (d delta) mag() float64 {
	switch {
	case d.old != 0 && d.now != 0 && d.old >= d.now:
		return d.now / d.old
	case d.old != 0 && d.now != 0 && d.old < d.now:
		return d.old / d.now
	case d.old == 0 && d.now == 0:
		return 1
	}
	return math.Inf(1)
}

func (d delta) ratio() float64 {
	switch {
	case d.old != 0:
		return d.now / d.old
	case d.now == 0:
		return 1
	}
	return math.Inf(1)
}

func (d delta) percent() string  { return fmt.Sprintf("%+.2f%%", 100*d.ratio()-100) }
func (d delta) multiple() string { return fmt.Sprintf("%.2fx", d.ratio()) }

// formatNs shows as many digits as package testing once did.
func formatNs(ns float64) string {
	digits := 0
	switch {
	case ns < 10:
		digits = 2
	case ns < 100:
		digits = 1
	}
	return strconv.FormatFloat(ns, 'f', digits, 64)
}
