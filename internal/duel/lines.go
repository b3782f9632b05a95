package duel

import (
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
			values := p.Old
			if side == "new" {
				values = p.New
			}
			r := bench.Result{Name: b.Name, Iters: max(b.Iters, 1), Config: config}
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
