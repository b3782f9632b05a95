package benchview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/verdict"
)

// compareFiles compares what was measured one after the other, as far as that goes.
func compareFiles(old, new *recording.Recording) *report.Compare {
	olds, news := recording.Benchmarks.In(old), recording.Benchmarks.In(new)
	out := &report.Compare{
		Old: report.CompareSide{Name: old.Ref}, New: report.CompareSide{Name: new.Ref},
		Alpha: stat.UnpairedAlpha, Within: stat.DefaultWithin, Rows: []report.CompareRow{},
	}
	type what struct {
		pkg, name string
		procs     int
		unit      string
	}
	key := func(s *bench.Sample) what {
		w := what{name: s.Name, procs: s.Procs, unit: s.Unit}
		if len(s.Config) > 0 {
			w.pkg = s.Config[0].Value
		}
		return w
	}
	full := func(w what) string { return (&bench.Result{Name: w.name, Procs: w.procs}).Full() }
	values := make(map[what][]float64)
	added, before := bench.Samples(news.Results, "pkg"), bench.Samples(olds.Results, "pkg")
	sides := make(map[what]int) // of benchmarks, whatever their units: 1 is old, 2 is new, 3 is both
	whole := func(w what) what { w.unit = ""; return w }
	for i := range added {
		w := key(&added[i])
		values[w] = added[i].Values
		sides[whole(w)] |= 2
	}
	for i := range before {
		sides[whole(key(&before[i]))] |= 1
	}
	named := make(map[what]bool)
	missing := func(w what, side string) {
		why := w.unit + " is in " + side + " only"
		if sides[whole(w)] != 3 {
			w, why = whole(w), "is in "+side+" only"
		}
		if !named[w] {
			named[w] = true
			out.Missing = append(out.Missing, report.CompareAbsent{Pkg: w.pkg, Name: full(w), Why: why})
		}
	}
	both := make(map[what]bool)
	for _, s := range before {
		w := key(&s)
		after, ok := values[w]
		if !ok {
			missing(w, old.Ref)
			continue
		}
		both[w] = true
		d := verdict.UnitOf(s.Unit)
		if b := news.Units.GetBetter(s.Unit); b != 0 {
			d.Better = b
		}
		r := verdict.Unpaired(d, s.Values, after, out.Within)
		r.Pkg, r.Name = w.pkg, full(w)
		out.Rows = append(out.Rows, r)
	}
	for i := range added {
		if w := key(&added[i]); !both[w] {
			missing(w, new.Ref)
		}
	}
	verdict.Close(out)
	for _, n := range olds.Notes {
		out.Notes.Add(n.In(old.Ref))
	}
	for _, n := range news.Notes {
		out.Notes.Add(n.In(new.Ref))
	}
	for _, n := range unlike(olds, news) {
		out.Notes.Add(n)
	}
	if len(out.Rows) > 0 {
		out.Notes.Add("the two were measured one after the other: differences in the machine or its load count as changes; ", hint.Ask("compare", "OLD..NEW"), " measures both at the same time")
	}
	return out
}

// unlike lists the facts that differ between two files but should not.
func unlike(old, new *bench.File) (notes []string) {
	for _, key := range []string{"goos", "goarch", "cpu", "toolchain"} {
		a, b := valuesOf(old, key), valuesOf(new, key)
		if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
			notes = append(notes, fmt.Sprintf("%s is %s in the old run and %s in the new one", key, strings.Join(a, ", "), strings.Join(b, ", ")))
		}
	}
	return notes
}

func valuesOf(f *bench.File, key string) (values []string) {
	for i := range f.Results {
		if v := f.Results[i].Get(key); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}
