// Package loadview answers questions about load tests, and what requests cost the server.
package loadview

import (
	"github.com/hone-perf/hone/internal/view"
)

// Views are the views of this package, in the order in which help shows them.
var Views = []view.View{
	{
		Name:     "load",
		Doc:      "Report the results of a load test",
		Pictures: []string{"svg", "png", "html"},
		Examples: []string{"load"},
		Uses:     "ref",
		Part:     view.LoadRun,
		Needs:    append([]string{view.Trace.Name}, view.Server...),
		Run:      Load,
	},
}
