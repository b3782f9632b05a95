// Package runview answers questions about what a program did over time: its memory, its collector, its metrics.
package runview

import (
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
)

// Views are the views of this package, in the order in which help shows them.
var Views = []view.View{
	{
		Name:     "timeline",
		Doc:      "Plot CPU, memory and goroutines over a run",
		Pictures: []string{"svg", "png", "html"},
		Examples: []string{"timeline", "timeline at=10s..20s"},
		Uses:     "ref at",
		Part:     view.Metrics,
		Needs:    []string{recording.CPU, recording.Heap, recording.Goroutine},
		Run:      Timeline,
	},
	{
		Name:     "symptoms",
		Doc:      "List what is unusual about a run: growth, leaks, GC cost, waiting",
		Pictures: []string{"html"},
		Examples: []string{"symptoms"},
		Uses:     "ref",
		Part:     view.Metrics,
		Needs:    []string{recording.Heap, recording.Goroutine, recording.Mutex},
		Run:      Symptoms,
	},
	{
		Name:     "mem",
		Doc:      "Break down memory: live, garbage, free, stacks, non-Go",
		Pictures: []string{"svg", "png", "html"},
		Examples: []string{"mem", "mem at=10s..20s"},
		Uses:     "ref at",
		Part:     view.Metrics,
		Needs:    []string{recording.Heap, recording.GC.Name},
		Run:      Mem,
	},
	{
		Name:     "gc",
		Doc:      "Summarize and diagnose garbage collection (GODEBUG=gctrace=1)",
		Pictures: []string{"svg", "png", "html"},
		Examples: []string{"gc", "gc limit=all at=10s..20s"},
		Uses:     "ref limit at process",
		Part:     view.GCLog,
		Needs:    []string{recording.Metrics.Name},
		Run:      GC,
	},
}
