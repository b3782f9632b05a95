package duel

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/recording"
)

// WriteLines writes what was measured on one side, old or new, as go test would.
func WriteLines(w io.Writer, d *recording.Duel, side string) error {
	f := &bench.File{}
	for _, b := range d.Benchmarks {
		// What differs between the sides would put them into different tables of benchstat.
		config := []bench.Config{{Key: "pkg", Value: b.Pkg}, {Key: "how", Value: b.How}}
		config = slices.DeleteFunc(config, func(c bench.Config) bool { return c.Value == "" })
		for _, p := range b.Pairs {
			values, iters := p.Old, cmp.Or(b.Apart[0], b.Iters)
			if side == "new" {
				values, iters = p.New, cmp.Or(b.Apart[1], b.Iters)
			}
			values = scored(b.How, values)
			r := bench.Result{Name: b.Name, Iters: max(iters, 1), Config: config}
			for _, unit := range slices.SortedFunc(maps.Keys(values), compareUnits) {
				r.Values = append(r.Values, bench.Value{Value: values[unit], Unit: unit})
			}
			if len(r.Values) > 0 {
				f.Results = append(f.Results, r)
			}
		}
	}
	return bench.Write(w, f)
}

// scored returns what counts as the time of a run. Two that shared a core took twice as long by the clock as each of
// them needed, more or less, so there ns/op is CPU time, and what follows from time by the clock is left out.
func scored(how string, values map[string]float64) map[string]float64 {
	cpu, ok := values[cpuUnit]
	if how != recording.Duet || !ok {
		return values
	}
	values = maps.Clone(values)
	delete(values, cpuUnit)
	delete(values, "MB/s")
	values["ns/op"] = cpu
	return values
}

// compareUnits puts units in the order in which package testing prints them.
func compareUnits(a, b string) int {
	rank := func(u string) int {
		i := slices.Index([]string{"allocs/op", "B/op", "MB/s", "ns/op"}, u)
		return -i
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra - rb
	}
	if a < b {
		return -1
	}
	return 1
}
