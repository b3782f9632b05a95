package benchview

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// benchRows is the default number of benchmarks that are listed.
const benchRows = 100

// benchConfidence is that of intervals.
const benchConfidence = 0.95

// ErrNoBenchmarks says that a file has no benchmark line.
var ErrNoBenchmarks = errors.New("there are no benchmark lines")

// Bench shows the medians of benchmarks and their intervals. For several runs, it shows changes over time.
func Bench(in []*recording.Recording, q query.Query) (report.Report, error) {
	switch len(in) {
	case 0:
		return nil, errors.New("nothing to look at: name a file of benchmark lines")
	case 1:
	default:
		return benchHistory(in, q)
	}
	f := recording.Benchmarks.In(in[0])
	if f == nil || len(f.Results) == 0 {
		return nil, ErrNoBenchmarks
	}
	results, err := chosenResults(f.Results, q.Steps)
	if err != nil {
		return nil, err
	}
	common, keys := factsOf(results)
	out := &report.Bench{Ref: in[0].Ref, Lines: len(results), Facts: common}
	rows := q.Limit
	if rows == 0 {
		rows = benchRows
	}
	at := make(map[benchID]int) // places, -1 for those that are not shown
	few := 0
	for _, s := range bench.Samples(results, keys...) {
		id := benchID{name: s.Name, procs: s.Procs}
		if len(s.Config) > 0 {
			id.facts = &s.Config[0] // which samples share
		}
		k, ok := at[id]
		if !ok {
			out.Of++
			k = -1
			if rows < 0 || len(out.Benchmarks) < rows {
				k = len(out.Benchmarks)
				b := report.Benchmark{Name: s.Name, Procs: s.Procs}
				for _, c := range s.Config {
					b.Facts = append(b.Facts, report.BenchFact(c))
				}
				out.Benchmarks = append(out.Benchmarks, b)
			}
			at[id] = k
		}
		if k < 0 {
			continue
		}
		b, m := &out.Benchmarks[k], measureOf(s, f.Units)
		b.N = max(b.N, m.N)
		b.Measured = append(b.Measured, m)
		if m.Low == nil && !m.Exact {
			few++
		}
	}
	for _, n := range f.Notes {
		out.Read = append(out.Read, report.BenchNote{Grade: n.Grade.String(), What: n.What, Count: n.Count, Lines: n.Lines, Text: n.In(f.Name)})
	}
	if few > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("a %s confidence interval needs %d runs or more: use -count %d", unit.Share(benchConfidence), leastRuns(), enoughRuns))
	}
	return out, nil
}

// A benchID identifies a benchmark.
type benchID struct {
	facts *bench.Config
	name  string
	procs int
}

// enoughRuns is the recommended number of runs.
const enoughRuns = 10

// leastRuns is the minimum number of runs for an interval.
func leastRuns() int {
	values := []float64{0}
	for {
		s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), benchConfidence)
		if len(s.Warnings) == 0 {
			return len(values)
		}
		values = append(values, 0)
	}
}

// chosenResults keeps the results whose names the steps keep.
func chosenResults(results []bench.Result, steps []query.Step) ([]bench.Result, error) {
	for _, s := range steps {
		rx, err := regexp.Compile(s.Arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Op, err)
		}
		kept := make([]bench.Result, 0, len(results))
		for _, r := range results {
			if rx.MatchString(r.Full()) == (s.Op == query.Focus) {
				kept = append(kept, r)
			}
		}
		if results = kept; len(results) == 0 {
			return nil, fmt.Errorf("%s %s leaves no benchmark", s.Op, s.Arg)
		}
	}
	return results, nil
}

// factsOf returns the facts that all results share, and the names of the facts that differ.
func factsOf(results []bench.Result) (common []report.BenchFact, keys []string) {
	count := make(map[bench.Config]int)
	var order []string
	for i := 0; i < len(results); {
		r, n := &results[i], 1
		for i+n < len(results) && r.SharesConfig(&results[i+n]) {
			n++
		}
		for _, c := range r.Config {
			if count[c] == 0 && !slices.Contains(order, c.Key) {
				order = append(order, c.Key)
			}
			count[c] += n
		}
		i += n
	}
	for _, key := range order {
		c := bench.Config{Key: key, Value: results[0].Get(key)}
		if count[c] == len(results) {
			common = append(common, report.BenchFact(c))
		} else {
			keys = append(keys, key)
		}
	}
	return common, keys
}

// measureOf summarizes the results of a benchmark in one unit.
func measureOf(s bench.Sample, units bench.Units) report.BenchMeasure {
	values := slices.Clone(s.Values)
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds) // sorts them
	sum := units.GetAssumption(s.Unit).Summary(sample, benchConfidence)
	m := report.BenchMeasure{
		Unit: s.Unit, N: len(values), Center: sum.Center,
		Min: values[0], Max: values[len(values)-1],
		Exact:  len(values) > 1 && values[0] == values[len(values)-1],
		Better: map[int]string{1: "higher", -1: "lower"}[units.GetBetter(s.Unit)],
	}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		m.Low, m.High = &sum.Lo, &sum.Hi
	}
	return m
}
