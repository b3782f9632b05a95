package web

import (
	"fmt"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
)

// What a recording can hold beside profiles, as the session names it and as people do.
var (
	partNames = map[view.Part]string{
		view.Metrics: "metrics", view.GCLog: "gc", view.Versions: "compare", view.Benchmarks: "bench",
		view.LoadRun: "load",
	}
	partDocs = map[view.Part]string{
		view.Metrics: "metrics over time", view.GCLog: "word of the garbage collector",
		view.Versions: "comparison of versions", view.Benchmarks: "benchmark line", view.LoadRun: "load run",
	}
)

// partsOf names what a recording holds beside profiles.
func partsOf(rec *recording.Recording) []string {
	var out []string
	if rec.Series != nil && len(rec.Series.Times) > 0 {
		out = append(out, partNames[view.Metrics])
	}
	if rec.GC != nil && len(rec.GC.Cycles) > 0 {
		out = append(out, partNames[view.GCLog])
	}
	if rec.Duel != nil {
		out = append(out, partNames[view.Versions])
	}
	if rec.Bench != nil && len(rec.Bench.Results) > 0 {
		out = append(out, partNames[view.Benchmarks])
	}
	if rec.Load != nil {
		out = append(out, partNames[view.LoadRun])
	}
	return out
}

// maxPoints is how many points a page gets of a timeline: more than a screen has columns.
const maxPoints = 4000

// thin puts neighbours together where there are more points than a page can show. Peaks stay, because they are what one
// looks for; what processors did is the mean.
func thin(t *report.Timeline) {
	n := (len(t.Points) + maxPoints - 1) / maxPoints
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
	t.Notes = append(t.Notes[:len(t.Notes):len(t.Notes)], fmt.Sprintf("each point stands for %d measurements: processors are their mean, the others their largest", n))
}
