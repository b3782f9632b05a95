// Package profileview has the views of profiles: what costs most, who calls it, and what changed.
//
// Each view is a function from recordings and a query to a report. Views lists them, with what help, flags and completion need. Views
// compute costs with package calls, and fill a report with them.
package profileview

import (
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view"
)

// What most of the views use.
const (
	filters = "focus ignore hide show show-from prune-from collapse-package collapse-recursion tag tag-ignore tag-show tag-hide tag-root tag-leaf"
	frames  = "by noinlines columns"
	values  = "relative divide unit"
	paths   = "source-path trim-path"
)

// Views are the views of this package, in the order in which help shows them.
var Views = []view.View{
	{
		Name: "top", Aliases: []string{"text"},
		Doc:      "Show the hottest functions",
		Examples: []string{"top limit=20 focus=json", "top cum by=line", "top by=package"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " sort limit min mean positive normalize per " + values + " " + paths,
		Run:      Top,
		Compares: true,
	},
	{
		Name: "list", Arg: "RX",
		Doc:      "Show the source of matching functions with the cost of each line",
		Examples: []string{"list json.Unmarshal", "list 'Decoder.*Decode$' metric=alloc_space"},
		Uses:     "ref base base-tag metric at " + filters + " noinlines normalize per " + values + " " + paths,
		Run:      List,
		Compares: true,
	},
	{
		Name: "disasm", Arg: "RX",
		Doc:      "Show the machine code of matching functions with the cost of each instruction",
		Examples: []string{"disasm mallocgc", "disasm 0x47a2c0", "disasm json limit=3 metric=alloc_space"},
		Uses:     "ref metric at " + filters + " limit mean " + values + " " + paths,
		Run:      Disasm,
	},
	{
		Name: "weblist", Arg: "RX",
		Doc:      "Show the source of matching functions with the machine code of each line",
		Examples: []string{"weblist 'Decoder.*Decode$'"},
		Uses:     "ref metric at " + filters + " " + values + " " + paths,
		Run:      Weblist,
	},
	{
		Name:     "tree",
		Doc:      "Show every function between its callers and callees",
		Examples: []string{"tree limit=10", "tree focus=json cum"},
		Uses:     "ref metric at " + filters + " " + frames + " sort limit min min-edge mean positive " + values + " " + paths,
		Run:      Tree,
	},
	{
		Name: "peek", Arg: "RX",
		Doc:      "Show matching functions between their callers and callees",
		Examples: []string{"peek mallocgc", "peek main focus='a b'"},
		Uses:     "ref metric at " + filters + " " + frames + " sort mean positive " + values + " " + paths,
		Run:      Peek,
	},
	{
		Name: "flame", Aliases: []string{"flamegraph"},
		Doc:      "Draw a flame graph",
		Pictures: []string{"svg", "png", "html"},
		Examples: []string{"flame", "flame by=package min=1%", "flame show-from=ServeHTTP limit=100"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " limit min root invert collapse gone normalize per " + values + " " + paths,
		Run:      Flame,
		Compares: true,
	},
	{
		Name: "flamechart", Aliases: []string{"flame-chart"},
		Doc:      "Draw calls in the order of time: each second of a recording, or the CPU samples of an execution trace",
		Examples: []string{"flamechart", "flamechart focus=json metric=alloc_space"},
		Uses:     "ref metric at " + filters + " " + frames + " limit min collapse " + values + " " + paths,
		Timed:    true,
		Run:      FlameChart,
	},
	{
		Name:     "calltree",
		Doc:      "List calls below their callers, with the cum and flat cost of each",
		Examples: []string{"calltree", "calltree invert limit=50", "calltree root='main.main;main.work' depth=2"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " limit min root depth invert collapse normalize per " + values + " " + paths,
		Run:      CallTree,
		Compares: true,
	},
	{
		Name: "sandwich", Aliases: []string{"callers"}, Arg: "RX",
		Doc:      "Draw the flame graphs of a function's callers and callees",
		Examples: []string{"sandwich mallocgc", "sandwich json.Marshal min=1%"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " limit min collapse normalize per " + values + " " + paths,
		Run:      Sandwich,
		Compares: true,
	},
	{
		Name: "search", Arg: "RX",
		Doc:      "Add up the samples that pass through matching functions",
		Examples: []string{"search json", "search '^runtime[.]' focus=ServeHTTP"},
		Uses:     "ref metric at " + filters + " " + frames + " " + values + " " + paths,
		Run:      SearchFor,
	},
	{
		Name:     "traces",
		Doc:      "List every sample with its labels and stack",
		Examples: []string{"traces limit=20", "traces focus=Lock tag=endpoint=/checkout"},
		Uses:     "ref metric at " + filters + " " + frames + " limit mean " + values,
		Run:      Traces,
	},
	{
		Name:     "tags",
		Doc:      "Break samples down by label",
		Examples: []string{"tags", "tags tag-show=^endpoint$ focus=json"},
		Uses:     "ref metric at " + filters + " limit " + values,
		Run:      Tags,
	},
	{
		Name:     "info",
		Doc:      "Describe what a profile contains",
		Examples: []string{"info", "info privacy"},
		Uses:     "ref privacy",
		Run:      Info,
	},
	{
		Name:     "raw",
		Doc:      "Dump a profile entry by entry",
		Examples: []string{"raw", "raw focus=json noinlines"},
		Uses:     "ref " + filters + " noinlines columns divide",
		Run:      Raw,
	},
	{
		Name:     "comments",
		Doc:      "Print the comments in a profile",
		Examples: []string{"comments"},
		Uses:     "ref",
		Run:      Comments,
	},
	{
		Name:     "folded",
		Formats:  []string{".folded"},
		Doc:      "Write folded stacks for flame graph tools",
		Examples: []string{"folded", "folded metric=alloc_space ignore=^runtime", "folded base=old.pprof"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " normalize per " + paths,
		Run:      Folded,
		Compares: true,
	},
	{
		Name: "dot", Aliases: []string{"graph"},
		Formats:  []string{".dot"},
		Doc:      "Write the call graph for Graphviz",
		Pictures: []string{"svg", "png"},
		Examples: []string{"dot limit=40", "dot call-tree focus=json"},
		Uses:     "ref metric at " + filters + " " + frames + " sort limit min min-edge mean positive call-tree " + values + " " + paths + " base normalize per",
		Run:      Graph,
	},
	{
		Name: "callgrind", Aliases: []string{"kcachegrind"},
		Formats:  []string{".callgrind"},
		Doc:      "Write the call graph for KCachegrind",
		Examples: []string{"callgrind"},
		Uses:     "ref metric at " + filters + " noinlines columns mean positive call-tree " + paths,
		Run:      Callgrind,
	},
	{
		Name:     "diff",
		Doc:      "Compare two profiles function by function",
		Examples: []string{"diff base=old.pprof", "diff base=old.pprof per=second", "diff base=old.pprof normalize cum limit=20"},
		Uses:     "ref base base-tag metric at " + filters + " " + frames + " sort limit min positive normalize per " + values + " " + paths,

		NeedsBase: true,
		Run:       Diff,
	},
	{
		Name:     "goroutines",
		Doc:      "Group goroutines by what they do and find leaks",
		Examples: []string{"goroutines", "goroutines limit=50 focus=net/http"},
		Uses:     "ref base metric at " + filters + " limit " + paths,
		Kind:     recording.Goroutine,
		Run:      Goroutines,
		Compares: true,
	},
	{
		Name:     "holders",
		Doc:      "Show who keeps memory alive: variables, goroutines, finalizers",
		Examples: []string{"holders", "holders limit=50 focus=Session"},
		Uses:     "ref base metric at " + filters + " limit min normalize unit",
		Kind:     recording.Held,
		Run:      Holders,
		Compares: true,
	},
}
