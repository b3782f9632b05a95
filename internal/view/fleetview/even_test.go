package fleetview

import (
	"slices"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// taken is a profile of a process.
type taken struct {
	process int
	at      time.Duration
}

// every returns profiles of so many processes, one after the other, each with a profile every so often.
func every(d time.Duration, processes int, from, to time.Duration) (out []taken) {
	for p := range processes {
		for at := from + d*time.Duration(p)/time.Duration(processes); at < to; at += d {
			out = append(out, taken{p, at})
		}
	}
	return out
}

// lineOf adds up profiles of ten seconds, of processes that each use half a core, as a store does.
func lineOf(all []taken, step time.Duration) store.Line {
	l := store.Line{Types: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	points := map[time.Time]*store.Point{}
	seen := map[time.Time]map[int]bool{}
	for _, t := range all {
		at := start.Add(t.at).Truncate(step)
		if points[at] == nil {
			points[at], seen[at] = &store.Point{Time: at, Values: []int64{0}}, map[int]bool{}
		}
		p := points[at]
		seen[at][t.process] = true
		p.Values[0] += 5e9
		p.Covered += 10 * time.Second
		p.Profiles++
		p.Streams = len(seen[at])
	}
	for _, p := range points {
		l.Points = append(l.Points, *p)
	}
	slices.SortFunc(l.Points, func(a, b store.Point) int { return a.Time.Compare(b.Time) })
	return l
}

// Steps are as short as they can be with all processes in each of them.
func TestEven(t *testing.T) {
	const long = 6 * time.Hour
	once := func(n int) (out []taken) { // jobs that send one profile each
		for i := range n {
			out = append(out, taken{i, time.Duration(i) * long / time.Duration(n)})
		}
		return out
	}
	for name, c := range map[string]struct {
		all        []taken
		step, want time.Duration
		cores      float64
		asks       int
	}{
		"each minute":                   {every(time.Minute, 4, 0, long), 2 * time.Minute, 2 * time.Minute, 2, 1},
		"each minute, in minutes":       {every(time.Minute, 4, 0, long), time.Minute, time.Minute, 2, 2},
		"each five minutes":             {every(5*time.Minute, 4, 0, long), 2 * time.Minute, 5 * time.Minute, 2, 3},
		"each five minutes, in minutes": {every(5*time.Minute, 4, 0, long), time.Minute, 5 * time.Minute, 2, 4},
		"each hour":                     {every(time.Hour, 4, 0, long), 2 * time.Minute, time.Hour, 2, 6},
		"each minute at the end":        {append(every(5*time.Minute, 4, 0, long/2), every(time.Minute, 4, long/2, long)...), 2 * time.Minute, 5 * time.Minute, 2, 3},
		"one process":                   {every(5*time.Minute, 1, 0, long), time.Minute, time.Minute, 0.5, 4},
		"jobs":                          {once(72), 2 * time.Minute, 2 * time.Minute, 0.5, 6},
		"one profile":                   {once(1), 2 * time.Minute, 2 * time.Minute, 0.5, 1},
		"nothing":                       {nil, 2 * time.Minute, 2 * time.Minute, 0, 1},
	} {
		asks := 0
		lines, w, err := Even(Window{start, start.Add(long), c.step}, func(step time.Duration) ([]store.Line, error) {
			asks++
			return []store.Line{lineOf(c.all, step)}, nil
		})
		if cores := Cores(lines, w); err != nil || w.Step != c.want || cores != c.cores || asks != c.asks {
			t.Errorf("%s: steps of %s with %v cores, asked %d times, %v; want steps of %s with %v cores, asked %v times", name, w.Step, cores, asks, err, c.want, c.cores, c.asks)
		}
	}
}
