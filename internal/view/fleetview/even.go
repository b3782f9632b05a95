package fleetview

import (
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Bounds of Even.
const (
	oftenEnough = 1.5  // profiles of a process in a step, from which on no process is missing
	nearlyAll   = 0.8  // of the steps
	allThere    = 0.95 // of the processes
	fewestSteps = 2
	longestStep = 2 * store.Baseline
)

// Even asks for totals in steps in which all processes have profiles: of this length or, where the time between two profiles of a process is longer, of
// a greater one. In shorter steps there would be only some of the processes, so sums over processes would be too small. It returns the window in the steps
// that it chose.
func Even(w Window, ask func(step time.Duration) ([]store.Line, error)) ([]store.Line, Window, error) {
	type level struct {
		Window
		lines []store.Line
		turns map[string]turns
	}
	var levels []level
	add := func(step time.Duration) error {
		lines, err := ask(step)
		w := Window{w.From, w.To, step}
		levels = append(levels, level{w, lines, turnsOf(lines, w)})
		return err
	}
	if err := add(w.Step); err != nil {
		return nil, w, err
	}
	open := map[string]bool{}
	for name, t := range levels[0].turns {
		if !t.often && t.points > 1 {
			open[name] = true
		}
	}
	best := 0
	for next := longer(w.Step); len(open) > 0 && next > 0 && next <= w.To.Sub(w.From)/fewestSteps; next = longer(next) {
		if err := add(next); err != nil {
			return nil, w, err
		}
		for name := range open {
			t := levels[len(levels)-1].turns[name]
			if !t.often {
				continue
			}
			delete(open, name)
			enough := 0
			for levels[enough].turns[name].processes < t.processes*allThere {
				enough++
			}
			best = max(best, enough)
		}
	}
	return levels[best].lines, levels[best].Window, nil
}

// longer returns the next step that is at least twice as long, or 0.
func longer(step time.Duration) time.Duration {
	for _, s := range steps {
		if s >= 2*step && s <= longestStep {
			return s
		}
	}
	return 0
}

// turns says how processes take turns in the steps of a line.
type turns struct {
	points    int
	processes float64 // in a step, on average
	often     bool    // each process has more than one profile in nearly all steps
}

// turnsOf looks at lines by their labels. Steps that are cut by the window do not count, where there are others.
func turnsOf(lines []store.Line, w Window) map[string]turns {
	points := map[string][]store.Point{}
	for _, l := range lines {
		name := l.Labels.String()
		if len(l.Points) > len(points[name]) { // lines may differ in nothing but their sample types
			points[name] = l.Points
		}
	}
	out := map[string]turns{}
	for name, all := range points {
		whole := make([]store.Point, 0, len(all))
		for _, p := range all {
			if w.part(p.Time) == w.Step {
				whole = append(whole, p)
			}
		}
		if len(whole) == 0 {
			whole = all
		}
		t := turns{points: len(all)}
		often := 0
		for _, p := range whole {
			t.processes += float64(p.Streams) / float64(len(whole))
			if float64(p.Profiles) >= oftenEnough*float64(p.Streams) {
				often++
			}
		}
		t.often = float64(often) >= nearlyAll*float64(len(whole))
		out[name] = t
	}
	return out
}
