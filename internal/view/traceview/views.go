// Package traceview answers questions about execution traces: what goroutines waited for, and why a request was slow.
package traceview

import (
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
)

// Views are the views of this package, in the order in which help shows them.
var Views = []view.View{
	{
		Name:     "trace",
		Doc:      "Show an overview of an execution trace: scheduling, goroutines, GC",
		Examples: []string{"trace", "trace at=3s..4s"},
		Part:     view.Trace,
		Needs:    []string{recording.Metrics.Name},
		Uses:     "ref at",
		Run:      atTrace(Execution),
	},
	{
		Name:     "waits",
		Doc:      "Show where the goroutines of an execution trace waited",
		Examples: []string{"waits", "waits at=3s..4s limit=40"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Waits),
	},
	{
		Name:     "requests",
		Doc:      "Show the requests in an execution trace, and what the slow ones spend more time on",
		Examples: []string{"requests", "requests limit=50", "requests base=old.trace"},
		Part:     view.Trace,
		Uses:     "ref base at limit",
		Run:      atTrace(Requests),
		Compares: true,
	},
	{
		Name: "request", Arg: "N",
		Doc:      "Show what one request of an execution trace waited for, through all goroutines",
		Examples: []string{"request slowest", "request 1234"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Request),
	},
	{
		Name:     "tasks",
		Doc:      "Show the runtime/trace tasks in an execution trace",
		Examples: []string{"tasks", "tasks at=3s..4s"},
		Part:     view.Trace,
		Uses:     "ref base at limit",
		Run:      atTrace(Tasks),
		Compares: true,
	},
	{
		Name: "task", Arg: "N",
		Doc:      "Show what one task of an execution trace waited for, through all goroutines",
		Examples: []string{"task slowest", "task 1234"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Task),
	},
	{
		Name:     "regions",
		Doc:      "Show the runtime/trace regions in an execution trace",
		Examples: []string{"regions", "regions at=3s..4s"},
		Part:     view.Trace,
		Uses:     "ref base at limit",
		Run:      atTrace(Regions),
		Compares: true,
	},
	{
		Name: "region", Arg: "N",
		Doc:      "Show what one region of an execution trace waited for, through all goroutines",
		Examples: []string{"region slowest", "region 1234"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Region),
	},
	{
		Name: "blame", Arg: "RX",
		Doc:      "Show which goroutines ended the waits in matching functions",
		Examples: []string{"blame 'Mutex.*Lock'", "blame main.fetch limit=40"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Blame),
	},
	{
		Name:     "idle",
		Doc:      "Show why Ps were idle in an execution trace",
		Examples: []string{"idle", "idle at=3s..4s"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Idle),
	},
	{
		Name:     "kinds",
		Doc:      "Group the goroutines of an execution trace by start function",
		Examples: []string{"kinds", "kinds at=3s..4s"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Kinds),
	},
	{
		Name:     "lanes",
		Doc:      "Show an execution trace over time: Ps, requests, goroutines",
		Examples: []string{"lanes", "lanes at=3s..3.01s focus=fetch limit=40"},
		Part:     view.Trace,
		Uses:     "ref at focus ignore limit",
		Run:      atTrace(Lanes),
	},
	{
		Name: "goroutine", Arg: "N",
		Doc:      "Show what one goroutine of an execution trace did",
		Examples: []string{"goroutine 1", "goroutine 62 at=3s..3.01s"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Goroutine),
	},
	{
		Name:     "spans",
		Formats:  []string{".parquet", ".perfetto", ".pftrace"},
		Doc:      "Show the longest spans of an execution trace, or write all of them for SQL or Perfetto",
		Examples: []string{"spans", "spans at=3s..4s limit=40"},
		Part:     view.Trace,
		Uses:     "ref at limit",
		Run:      atTrace(Spans),
	},
}
