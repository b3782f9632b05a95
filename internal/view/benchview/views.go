// Package benchview answers questions about benchmarks, and about versions that were measured side by side.
package benchview

import (
	"github.com/hone-perf/hone/internal/view"
)

// Views are the views of this package, in the order in which help shows them.
var Views = []view.View{
	{
		Name:     "compare",
		Doc:      "Compare the speed of two versions side by side",
		Pictures: []string{"html"},
		Examples: []string{"compare"},
		Uses:     "ref",
		Part:     view.Versions,
		Needs:    append([]string{view.Benchmarks.Name, view.LoadRun.Name}, view.Server...),
		Run:      Compare,
	},
	{
		Name:     "bench",
		Doc:      "Summarize benchmark results",
		Examples: []string{"bench", "bench focus=Encode limit=20"},
		Uses:     "ref focus ignore limit",
		Part:     view.Benchmarks,
		Run:      Bench,
	},
}
