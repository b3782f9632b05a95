// Package benchstat is hone benchstat: the flags and tables of benchstat. It prints what the original prints, byte for
// byte; docs/compat-benchstat.md lists where it means not to.
//
// It stands on the packages that the original stands on: benchfmt reads, benchproc filters and projects, benchmath
// compares. The tables and their printing are internal to the original, so they are here: table.go makes tables, text.go
// and csv.go print them, grid.go lays out text. input.go reads the files, and strict.go says what is wrong with them.
package benchstat

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
)

// A System is what the command may touch.
type System struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command and returns its exit code: 2 when it was called wrongly, as the original does, 1 for any other
// error, where the original says 0, and with -strict for input that is not clean.
func Main(sys System, args []string) int {
	err := run(sys, args)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errFlags):
		return 2 // and that was said
	}
	fmt.Fprintf(sys.Err, "benchstat: %s\n", err)
	return 1
}

// errFlags says that something is wrong with the command line, and that it has been said.
var errFlags = errors.New("bad flags")

const usage = `Usage: benchstat [flags] inputs...

benchstat computes statistical summaries and A/B comparisons of Go
benchmarks. It shows benchmark medians in a table with a row for each
benchmark and a column for each input file. If there is more than one
input file, it also shows A/B comparisons between the files. If a
difference is likely to be noise, it shows "~".

For details, see https://pkg.go.dev/golang.org/x/perf/cmd/benchstat.
`

// A question is what the command line asks for.
type question struct {
	filter                     *benchproc.Filter
	table, row, col, remaining *benchproc.Projection
	confidence                 float64
	thresholds                 benchmath.Thresholds
	format                     string
	strict                     bool
	inputs                     []string
}

// texts are flags that are read once all of them are known.
type texts struct{ table, row, col, ignore, filter string }

// Flags returns the flags of the command.
func Flags() *flag.FlagSet { return new(question).flags(new(texts)) }

func (q *question) flags(t *texts) *flag.FlagSet {
	q.thresholds = benchmath.DefaultThresholds
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.StringVar(&t.table, "table", ".config", "split results into tables by distinct values of `projection`")
	fs.StringVar(&t.row, "row", ".fullname", "split results into rows by distinct values of `projection`")
	fs.StringVar(&t.col, "col", ".file", "split results into columns by distinct values of `projection`")
	fs.StringVar(&t.ignore, "ignore", "", "ignore variations in `keys`")
	fs.StringVar(&t.filter, "filter", "*", "use only benchmarks matching benchfilter `query`")
	fs.Float64Var(&q.thresholds.CompareAlpha, "alpha", q.thresholds.CompareAlpha, "consider change significant if p < `α`")
	fs.Float64Var(&q.confidence, "confidence", 0.95, "confidence `level` for ranges")
	fs.StringVar(&q.format, "format", "text", "print results in `format`:\n  text - plain text\n  csv  - comma-separated values (warnings will be written to stderr)\n")
	fs.BoolVar(&q.strict, "strict", false, "fail when input is malformed, was left out, or has nothing to compare")
	return fs
}

func parse(sys System, args []string) (*question, error) {
	q, t := &question{}, &texts{}
	fs := q.flags(t)
	fs.SetOutput(sys.Err)
	fs.Usage = func() {
		fmt.Fprint(sys.Err, usage)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, errFlags
	}
	if q.inputs = fs.Args(); len(q.inputs) == 0 {
		fs.Usage()
		return nil, errFlags
	}

	var err error
	if q.filter, err = benchproc.NewFilter(t.filter); err != nil {
		return nil, fmt.Errorf("parsing -filter: %s", err)
	}
	var parser benchproc.ProjectionParser
	var wrong error // the first
	project := func(name, keys string) *benchproc.Projection {
		p, err := parser.Parse(keys, q.filter)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("parsing %s: %s", name, err)
		}
		return p
	}
	if q.table, _, err = parser.ParseWithUnit(t.table, q.filter); err != nil {
		wrong = fmt.Errorf("parsing -table: %s", err)
	}
	q.row = project("-row", t.row)
	q.col = project("-col", t.col)
	project("-ignore", t.ignore)
	q.remaining = parser.Residue()
	switch {
	case wrong != nil:
		return nil, wrong
	case q.thresholds.CompareAlpha < 0 || q.thresholds.CompareAlpha > 1:
		return nil, errors.New("-alpha must be in range [0, 1]")
	case q.confidence < 0 || q.confidence > 1:
		return nil, errors.New("-confidence must be in range [0, 1]")
	case q.format != "text" && q.format != "csv":
		return nil, errors.New("-format must be text or csv")
	}
	return q, nil
}

func run(sys System, args []string) error {
	q, err := parse(sys, args)
	if err != nil {
		return err
	}
	in := input{files: labeled(q.inputs), stdin: sys.In}
	b := newBuilder(q)
	err = in.each(func(rec benchfmt.Record) {
		switch rec := rec.(type) {
		case *benchfmt.SyntaxError:
			fmt.Fprintln(sys.Err, rec)
		case *benchfmt.Result:
			ok, err := q.filter.Apply(rec)
			if err != nil && !ok {
				fmt.Fprintln(sys.Err, err)
			}
			if ok {
				b.add(rec)
			}
		}
	})
	if err != nil {
		return err
	}
	tables := b.tables(in.reader.Units())
	out := bufio.NewWriter(sys.Out)
	if q.format == "csv" {
		err = writeCSV(out, sys.Err, tables)
	} else {
		err = writeText(out, tables)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return err
	}
	problems := in.problems(sys.Err)
	problems += disjoint(sys.Err, tables, b.allColumns())
	if q.strict && problems > 0 {
		return fmt.Errorf("-strict: %d of the problems above keep this from being a comparison", problems)
	}
	return nil
}
