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
	for unit := range b.Pairs[0].Old {
		better := UnitOf(unit).Better
		ds := recording.Ratios(b.Pairs, unit)
		if better == 0 || len(ds) == 0 {
			continue
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
