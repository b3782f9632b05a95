package disk

import (
	"slices"

	"github.com/hone-perf/hone/internal/store"
)

// courses adds the course of each of all streams to the one that of returns, also of those that have profiles only before or after the time.
func (a *answer) courses(all [][]*found, of func(f *found) *store.Course) {
	streams := only(all, func(f *found) bool { return f.part.near[f.at] })
	stages := make([][]store.Stage, len(streams))
	values := make([][]float64, len(streams))
	for i, s := range streams {
		stages[i], values[i] = make([]store.Stage, len(s)), make([]float64, 0, len(s)*len(s[0].totals))
		var natures [2][]store.Nature // without and with counters
		for j, f := range s {
			n := &natures[f.flags&flagCounters]
			if *n == nil {
				*n = a.natures(f)
			}
			if f.part.rolled {
				stages[i][j] = f.stageOfSum()
				values[i] = append(values[i], f.meansOfSum(*n)...)
				continue
			}
			g := store.Stage{At: f.start, Took: f.duration, Counters: f.counters()}
			if g.Took == 0 {
				g.Took = f.end - f.start
			}
			restarted := false
			if f.before != nil {
				restarted = f.restarted(*n)
				g.Since, g.Same = f.start-f.before.start, !restarted && slices.Contains(*n, store.Counter)
			}
			stages[i][j] = g
			for k, nature := range *n {
				v := f.totals[k]
				switch {
				case nature != store.Counter || restarted:
				case f.before == nil:
					v = 0
				default:
					v -= f.before.totals[k]
				}
				values[i] = append(values[i], float64(v))
			}
		}
	}
	store.Follow(stages, func(i int) string { return streams[i][0].part.Service }, a.To.UnixNano())
	for i, s := range streams {
		types := len(s[0].totals)
		of(s[0]).Add(stages[i], func(j, k int) float64 { return values[i][j*types+k] })
	}
}

// processes returns how many processes a sum is of, on average.
func (f *found) processes() float64 { return float64(f.profiles) / float64(max(1, f.rounds)) }

// stageOfSum returns the stage of a sum.
func (f *found) stageOfSum() store.Stage {
	return store.Stage{At: f.start, End: f.end, Took: f.end - f.start, Sum: true, Alive: f.processes()}
}

// meansOfSum returns what all processes of a sum did in its time, by type, and what they held.
func (f *found) meansOfSum(natures []store.Nature) []float64 {
	out := make([]float64, len(natures))
	for k, nature := range natures {
		out[k] = float64(f.totals[k])
		switch {
		case nature == store.Level:
			out[k] /= float64(max(1, f.rounds))
		case f.duration > 0:
			out[k] *= f.processes() * float64(f.end-f.start) / float64(f.duration)
		}
	}
	return out
}
