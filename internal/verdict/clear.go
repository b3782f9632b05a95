package verdict

import (
	"math"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

// mayDiffer is by how much a side may be worse by chance in what a few pairs do not decide.
const mayDiffer = 0.1

// Clear reports whether a few pairs tell which side of a benchmark is better: it takes less than half of what the other does in each of them,
// and is worse in nothing else.
func Clear(b *recording.DuelBenchmark) bool {
	which := stat.Clear(recording.Ratios(b.Pairs, b.Unit))
	if which == stat.Undecided {
		return false
	}
	units := make(map[string]bool)
	for _, p := range b.Pairs {
		for unit := range p.Old {
			units[unit] = true
		}
	}
	for unit := range units {
		better := UnitOf(unit).Better
		if better == 0 {
			continue
		}
		var ds []float64 // of the pairs that have it: on a busy machine, a run may be without
		for _, p := range b.Pairs {
			old, before := p.Old[unit]
			now, after := p.New[unit]
			switch {
			case !before || !after:
			case old == now: // such as no bytes at all
				ds = append(ds, 0)
			default:
				ds = append(ds, math.Log(now/old))
			}
		}
		if len(ds) < stat.ClearPairs {
			return false
		}
		worse := -float64(better) * stat.Median(ds) // on the new side
		if which == stat.Higher {
			worse = -worse
		}
		if worse > math.Log1p(mayDiffer) {
			return false
		}
	}
	return true
}
