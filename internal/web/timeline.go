package web

import (
	"fmt"

	"github.com/hone-perf/hone/internal/report"
)

// maxPoints is the maximum number of points in an answer about a timeline: more than the width of a screen.
const maxPoints = 4000

// thin merges neighboring points if there are more than most. It keeps peaks, because users look for them, and takes the mean for cores.
func thin(t *report.Timeline, most int) {
	n := (len(t.Points) + most - 1) / most
	if n <= 1 {
		return
	}
	var out []report.TimePoint
	before := t.Points[0].At
	for len(t.Points) > 0 {
		group := t.Points[:min(n, len(t.Points))]
		t.Points = t.Points[len(group):]
		sum := group[len(group)-1]
		whole := (sum.At - before).Seconds()
		sum.CPU, sum.GC = 0, 0
		for _, p := range group {
			if whole > 0 {
				share := (p.At - before).Seconds() / whole
				sum.CPU += p.CPU * share
				sum.GC += p.GC * share
			}
			before = p.At
			sum.RSS, sum.Heap, sum.Goal = max(sum.RSS, p.RSS), max(sum.Heap, p.Heap), max(sum.Goal, p.Goal)
			sum.Goroutines, sum.Threads = max(sum.Goroutines, p.Goroutines), max(sum.Threads, p.Threads)
		}
		out = append(out, sum)
	}
	t.Points = out
	t.Notes = append(t.Notes[:len(t.Notes):len(t.Notes)], fmt.Sprintf("each point stands for %d measurements: the mean for cores, the maximum for the others", n))
}
