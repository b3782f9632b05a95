package verdict

import (
	"fmt"

	"github.com/hone-perf/hone/internal/report"
)

// Pace sums up a comparison: what takes longer anywhere is slower, whatever is won elsewhere; more memory is too much
// where no time is won for it.
func Pace(c *report.Compare) (report.Pace, []string) {
	type key struct{ pkg, name string }
	faster, slower, heavier := map[key]bool{}, map[key]bool{}, map[key]bool{}
	decided := map[key]bool{} // of the benchmarks with times
	for _, r := range c.Rows {
		k := key{r.Pkg, r.Name}
		time := r.What.IsTime()
		if time {
			decided[k] = decided[k] || r.Verdict != report.Undecided
		}
		switch {
		case time && r.Verdict == report.Better:
			faster[k] = true
		case time && r.Verdict == report.Worse:
			slower[k] = true
		case r.Verdict == report.Worse:
			heavier[k] = true
		}
	}
	var notes []string
	unpaid := 0
	for k := range heavier {
		if !faster[k] {
			unpaid++
		}
	}
	if paid := len(heavier) - unpaid; paid > 0 {
		notes = append(notes, fmt.Sprintf("%s for less time with more memory or allocations", benchmarksPay(paid)))
	}
	switch {
	case len(slower) > 0:
		if len(faster) > 0 {
			notes = append(notes, fmt.Sprintf("slower in %s, faster in %d", countedBenchmarks(len(slower)), len(faster)))
		} else if len(slower) < len(decided) {
			notes = append(notes, fmt.Sprintf("slower in %d of %s", len(slower), countedBenchmarks(len(decided))))
		}
		return report.PaceSlower, notes
	case unpaid > 0:
		return report.PaceHeavier, notes
	case len(faster) > 0:
		if len(faster) < len(decided) {
			notes = append(notes, fmt.Sprintf("faster in %d of %s", len(faster), countedBenchmarks(len(decided))))
		}
		return report.PaceFaster, notes
	case c.TimeDecided() || len(c.Identical) > 0 && len(c.Rows) == 0:
		open := 0
		for _, ok := range decided {
			if !ok {
				open++
			}
		}
		if open > 0 {
			notes = append(notes, fmt.Sprintf("undecided in %d of %s, as fast in the others", open, countedBenchmarks(len(decided))))
		}
		return report.PaceSame, notes
	}
	return report.PaceUnknown, notes
}

func benchmarksPay(n int) string {
	if n == 1 {
		return "1 benchmark pays"
	}
	return fmt.Sprintf("%d benchmarks pay", n)
}

func countedBenchmarks(n int) string {
	if n == 1 {
		return "1 benchmark"
	}
	return fmt.Sprintf("%d benchmarks", n)
}
