package store

import (
	"cmp"
	"math"
	"slices"
)

// A Sample is a profile in its stream, or the sum of profiles of a series.
type Sample struct {
	At   int64 // when it began, in nanoseconds
	Hold int64 // how long its levels stand for what the process held; 0 if nobody knows. Of a sum: of each of its rounds

	// Of a sum: how often its processes were sampled, and the profiles in it. Otherwise, both are 1.
	Rounds   int
	Profiles int
}

const (
	longer    = 10      // times as long as those around it, a gap is a pause: hone samples a slow process up to this many intervals apart
	alike     = 1.02    // times a hold, longer ones count as the same
	weightOf  = 64      // weight of the shortest hold, if not all are alike
	mostUnits = 1 << 20 // of weight in the time of an answer, so that sums of weighted values fit into an int64
	gapLow    = 0.5     // a gap between these times the median of its stream is a usual one, late or early
	gapHigh   = 1.5
)

// Hold finds out how long the levels of each profile stand for what its process held: until the next profile of the stream. A stream ends, and pauses, as
// long after its profile as the one before it was. Samples must be in order of time in each stream.
func Hold(streams [][]Sample) {
	var usual []int64
	var gaps []int64
	var s []*Sample
	for _, stream := range streams {
		s = s[:0]
		for i := range stream {
			if stream[i].Hold == 0 { // it is no sum
				s = append(s, &stream[i])
			}
		}
		n := len(s)
		if n < 2 {
			continue
		}
		gaps = gaps[:0]
		for i := range s[1:] {
			gaps = append(gaps, s[i+1].At-s[i].At)
		}
		sorted := slices.Sorted(slices.Values(gaps))
		m := sorted[len(sorted)/2]
		regular := func(gap int64) bool { return float64(gap) >= gapLow*float64(m) && float64(gap) <= gapHigh*float64(m) }
		sum, count := int64(0), int64(0)
		for _, g := range gaps {
			if regular(g) {
				sum, count = sum+g, count+1
			}
		}
		each := max(1, (sum+count/2)/count)
		usual = append(usual, each)
		for i, g := range gaps {
			around := each
			if i > 0 {
				around = max(around, gaps[i-1])
			}
			if i+1 < len(gaps) {
				around = max(around, gaps[i+1])
			}
			switch {
			case regular(g):
				s[i].Hold = each
			case g <= longer*around:
				s[i].Hold = max(1, g)
			case i > 0:
				s[i].Hold = s[i-1].Hold
			default:
				s[i].Hold = each
			}
		}
		// The last one goes on as those before it did, if they agree.
		s[n-1].Hold = each
		if g := gaps[n-2]; n > 2 && float64(g) >= gapLow*float64(gaps[n-3]) && float64(g) <= gapHigh*float64(gaps[n-3]) {
			s[n-1].Hold = s[n-2].Hold
		}
	}
	if len(usual) == 0 {
		return
	}
	slices.Sort(usual)
	for _, s := range streams {
		for i := range s {
			if s[i].Hold == 0 {
				s[i].Hold = usual[len(usual)/2]
			}
		}
	}
}

// A holdGroup is holds that are nearly the same. They weigh the same, so that sums of many profiles that came a little early or late can be used as they are.
type holdGroup struct {
	least  int64
	mean   float64
	weight int64
}

type holdGroups []holdGroup

// groupsOf divides sorted holds.
func groupsOf(holds []int64) (out holdGroups) {
	for from := 0; from < len(holds); {
		sum, to := 0.0, from
		for ; to < len(holds) && float64(holds[to]) <= alike*float64(holds[from]); to++ {
			sum += float64(holds[to])
		}
		out = append(out, holdGroup{least: holds[from], mean: sum / float64(to-from)})
		from = to
	}
	return out
}

// weight returns the weight of the group of a hold.
func (g holdGroups) weight(hold int64) int64 {
	i, found := slices.BinarySearchFunc(g, hold, func(g holdGroup, hold int64) int { return cmp.Compare(g.least, hold) })
	if !found {
		i--
	}
	return g[max(i, 0)].weight
}

// atEdge returns how long sample j of a stream stands for what its process held, if that is other than its hold: the first one from the start on, if the
// process just had no turn before, and the last one until the end.
func atEdge(s []Sample, j int, start, end int64) (hold int64, ok bool) {
	from, hold := s[j].At, s[j].Hold
	if s[j].Rounds > 1 || j > 0 && j < len(s)-1 {
		return hold, false
	}
	to := from + hold
	if j == 0 && from-start < hold {
		from = start
	}
	if j == len(s)-1 && (to > end || end-to < hold) {
		to = max(end, s[j].At)
	}
	return to - from, true
}

// Weights say how levels become means over time: the sum of the values, each times its weight, divided by Units.
type Weights struct {
	Of        [][]int64 // by stream and sample; nil if all are 1
	Units     int       // weights that one process has in the time of all
	Processes float64   // that there were on average
	counts    []int     // of samples, by stream
	Covered   int64     // time in which there were processes, in nanoseconds; 0 if nobody knows
}

// Weight returns the weight of a sample of a stream.
func (w *Weights) Weight(stream, sample int) int64 {
	if w.Of == nil {
		return 1
	}
	return w.Of[stream][sample]
}

// Mean returns the mean over time of values of samples.
func (w *Weights) Mean(value func(stream, sample int) int64) int64 {
	sum := int64(0)
	for i, n := range w.counts {
		for j := range n {
			sum += value(i, j) * w.Weight(i, j)
		}
	}
	return PerRound(sum, w.Units)
}

// Weigh weighs samples by the time for which they stand, which Hold has found out. They are of a time as long as within, if that is not 0. The time of all is
// that in which there were processes. One that another one replaces counts once. Since processes are sampled in turn, those that are there from the start
// have their first profiles one after the other; they count from the same time on.
func Weigh(streams [][]Sample, within int64) Weights {
	var holds []int64
	profiles, most := 0, 0
	counts := make([]int, len(streams))
	for i, s := range streams {
		counts[i] = len(s)
		n := 0
		for i := range s {
			if s[i].Hold > 0 {
				holds = append(holds, s[i].Hold)
			}
			profiles += s[i].Profiles
			n += s[i].Rounds
		}
		most = max(most, n)
	}
	if len(holds) == 0 {
		most = max(1, most)
		return Weights{Units: most, Processes: float64(profiles) / float64(most), counts: counts}
	}
	limit := func(hold int64) int64 {
		if within > 0 {
			return min(hold, within)
		}
		return hold
	}
	for i := range holds {
		holds[i] = limit(holds[i])
	}
	slices.Sort(holds)
	groups := groupsOf(holds)
	out := Weights{counts: counts}
	unit, even := groups[0].mean, len(groups) == 1
	start := int64(math.MaxInt64)
	last, end := int64(math.MinInt64), int64(math.MinInt64) // of the sample that comes last
	for _, s := range streams {
		for i := range s {
			start = min(start, s[i].At)
			if at := s[i].At + s[i].Hold*int64(s[i].Rounds-1); at > last || at == last && at+s[i].Hold > end {
				last, end = at, at+s[i].Hold
			}
		}
	}
	if within > 0 && start < math.MaxInt64-within {
		end = min(end, start+within)
	}
	if !even {
		unit = max(unit/weightOf, float64(end-start)/mostUnits)
		out.Of = make([][]int64, len(streams))
	}
	for i := range groups {
		groups[i].weight = max(1, int64(math.Round(groups[i].mean/unit)))
	}
	type run struct{ from, to int64 } // in units of weight
	var runs []run
	var all, longest int64
	for i, s := range streams {
		if !even {
			out.Of[i] = make([]int64, len(s))
		}
		total := int64(0)
		from := len(runs)
		for j := range s {
			hold := limit(s[j].Hold)
			weight := groups.weight(hold)
			if !even {
				if edge, ok := atEdge(s, j, start, end); ok {
					weight = max(1, int64(math.Round(float64(limit(edge))/unit)))
				}
				out.Of[i][j] = weight
			}
			at := int64(float64(s[j].At-start) / unit)
			if j == 0 && s[j].At-start < hold {
				at = 0
			}
			length := weight * int64(s[j].Rounds)
			all += weight * int64(s[j].Profiles)
			total += length
			if n := len(runs); n > from && at-runs[n-1].to <= 2*weight {
				runs[n-1].to += length
			} else {
				runs = append(runs, run{at, at + length})
			}
		}
		longest = max(longest, total)
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	covered, until := int64(0), int64(math.MinInt64)
	for _, r := range runs {
		if from := max(r.from, until); r.to > from {
			covered += r.to - from
			until = r.to
		}
	}
	covered = max(1, covered, longest)
	out.Units, out.Processes, out.Covered = int(covered), float64(all)/float64(covered), int64(float64(covered)*unit)
	return out
}
