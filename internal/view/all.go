package view

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// A View answers one kind of question. Help, completion, the commands of the prompt, the routes of the web pages and
// the paths of the API are made from the list of all views.
type View struct {
	Name      string
	Aliases   []string
	Doc       string   // one line
	Arg       string   // what its argument is called in help; "" when it takes none
	Examples  []string // queries as they are written at the prompt
	Uses      []string // names of the keys that change its answer
	NeedsBase bool     // it takes a second recording, to compare the first with
	Part      Part     // of a recording that it is about
	Needs     []string // what else of a recording it looks at: kinds of profiles, and names of kinds of parts
	Kind      string   // of profile that it is about; "" is any
	Compares  bool     // it shows both sides when there is a second recording; other views show the difference

	Run func(in []*recording.Recording, q query.Query) (report.Report, error)
}

// A Part is what a view is about in a recording.
type Part = *recording.FileKind

// Most views are about a profile.
var (
	Profile    Part
	GCLog      = recording.GC.FileKind
	Metrics    = recording.Metrics.FileKind
	Versions   = recording.Versions.FileKind
	Benchmarks = recording.Benchmarks.FileKind
	LoadRun    = recording.LoadRun.FileKind
	Trace      = recording.Execution.FileKind
)

// What most views use.
var (
	filters = []string{
		"focus", "ignore", "hide", "show", "show-from", "prune-from",
		"tag", "tag-ignore", "tag-show", "tag-hide", "tag-root", "tag-leaf",
	}
	frames = []string{"by", "noinlines", "columns"}
	values = []string{"relative", "divide", "unit"}
	paths  = []string{"source-path", "trim-path"}

	// What says what requests cost a server.
	server = []string{Metrics.Name, GCLog.Name, recording.CPU, recording.Heap, recording.Block, recording.Mutex, recording.Goroutine}
)

// All are all views, in the order in which help shows them.
var All = []View{
	{
		Name: "top", Aliases: []string{"text"},
		Doc:      "Show the hottest functions",
		Examples: []string{"top limit=20 focus=json", "top cum by=line", "top by=package"},
		Uses:     keys("ref metric at", filters, frames, "sort limit min mean positive", values, paths),
		Run:      Top,
	},
	{
		Name: "list", Arg: "RX",
		Doc:      "Show the source of matching functions with the cost of each line",
		Examples: []string{"list json.Unmarshal", "list 'Decoder.*Decode$' metric=alloc_space"},
		Uses:     keys("ref metric at", filters, "noinlines", values, paths),
		Run:      List,
	},
	{
		Name: "disasm", Arg: "RX",
		Doc:      "Show the machine code of matching functions with the cost of each instruction",
		Examples: []string{"disasm mallocgc", "disasm 0x47a2c0", "disasm json limit=3 metric=alloc_space"},
		Uses:     keys("ref metric at", filters, "limit mean", values, paths),
		Run:      Disasm,
	},
	{
		Name: "weblist", Arg: "RX",
		Doc:      "Show the source of matching functions with the machine code of each line",
		Examples: []string{"weblist 'Decoder.*Decode$'"},
		Uses:     keys("ref metric at", filters, values, paths),
		Run:      Weblist,
	},
	{
		Name:     "tree",
		Doc:      "Show every function between its callers and callees",
		Examples: []string{"tree limit=10", "tree focus=json cum"},
		Uses:     keys("ref metric at", filters, frames, "sort limit min min-edge mean positive", values, paths),
		Run:      Tree,
	},
	{
		Name: "peek", Arg: "RX",
		Doc:      "Show matching functions between their callers and callees",
		Examples: []string{"peek mallocgc", "peek main focus='a b'"},
		Uses:     keys("ref metric at", filters, frames, "sort mean positive", values, paths),
		Run:      Peek,
	},
	{
		Name: "flame", Aliases: []string{"flamegraph"},
		Doc:      "Draw a flame graph",
		Examples: []string{"flame", "flame by=package min=1%", "flame show-from=ServeHTTP limit=100"},
		Uses:     keys("ref base metric at", filters, frames, "limit min root invert collapse gone normalize", values, paths),
		Run:      Flame,
		Compares: true,
	},
	{
		Name: "sandwich", Aliases: []string{"callers"}, Arg: "RX",
		Doc:      "Draw the flame graphs of a function's callers and callees",
		Examples: []string{"sandwich mallocgc", "sandwich json.Marshal min=1%"},
		Uses:     keys("ref metric at", filters, frames, "limit min collapse", values, paths),
		Run:      Sandwich,
	},
	{
		Name: "search", Arg: "RX",
		Doc:      "Sum up what passes through matching functions",
		Examples: []string{"search json", "search '^runtime[.]' focus=ServeHTTP"},
		Uses:     keys("ref metric at", filters, frames, values, paths),
		Run:      SearchFor,
	},
	{
		Name:     "traces",
		Doc:      "List every sample with its labels and stack",
		Examples: []string{"traces limit=20", "traces focus=Lock tag=endpoint=/checkout"},
		Uses:     keys("ref metric at", filters, frames, "limit mean", values),
		Run:      Traces,
	},
	{
		Name:     "tags",
		Doc:      "Break samples down by label",
		Examples: []string{"tags", "tags tag-show=^endpoint$ focus=json"},
		Uses:     keys("ref metric at", filters, "limit", values),
		Run:      Tags,
	},
	{
		Name:     "info",
		Doc:      "Describe what a profile holds",
		Examples: []string{"info", "info privacy"},
		Uses:     keys("ref privacy"),
		Run:      Info,
	},
	{
		Name:     "raw",
		Doc:      "Dump a profile entry by entry",
		Examples: []string{"raw", "raw focus=json noinlines"},
		Uses:     keys("ref", filters, "noinlines columns divide"),
		Run:      Raw,
	},
	{
		Name:     "comments",
		Doc:      "Print the comments in a profile",
		Examples: []string{"comments"},
		Uses:     keys("ref"),
		Run:      Comments,
	},
	{
		Name:     "folded",
		Doc:      "Write folded stacks for flame graph tools",
		Examples: []string{"folded", "folded metric=alloc_space ignore=^runtime"},
		Uses:     keys("ref metric at", filters, frames, paths),
		Run:      Folded,
	},
	{
		Name: "dot", Aliases: []string{"graph"},
		Doc:      "Write the call graph for Graphviz",
		Examples: []string{"dot limit=40", "dot call-tree focus=json"},
		Uses:     keys("ref metric at", filters, frames, "sort limit min min-edge mean positive call-tree", values, paths),
		Run:      Graph,
	},
	{
		Name: "callgrind", Aliases: []string{"kcachegrind"},
		Doc:      "Write the call graph for KCachegrind",
		Examples: []string{"callgrind"},
		Uses:     keys("ref metric at", filters, "noinlines columns mean positive call-tree", paths),
		Run:      Callgrind,
	},
	{
		Name:     "diff",
		Doc:      "Compare two profiles function by function",
		Examples: []string{"diff base=old.pprof", "diff base=old.pprof normalize cum limit=20"},
		Uses:     keys("ref base metric at", filters, frames, "sort limit min positive normalize", values, paths),

		NeedsBase: true,
		Run:       Diff,
	},
	{
		Name:     "goroutines",
		Doc:      "Group goroutines by what they do and find leaks",
		Examples: []string{"goroutines", "goroutines limit=50 focus=net/http"},
		Uses:     keys("ref base metric at", filters, "limit", paths),
		Kind:     recording.Goroutine,
		Run:      Goroutines,
		Compares: true,
	},
	{
		Name:     "timeline",
		Doc:      "Plot CPU, memory and goroutines over a run",
		Examples: []string{"timeline", "timeline at=10s..20s"},
		Uses:     keys("ref at"),
		Part:     Metrics,
		Needs:    []string{recording.CPU, recording.Heap, recording.Goroutine},
		Run:      Timeline,
	},
	{
		Name:     "mem",
		Doc:      "Break down memory: live, garbage, free, stacks, outside Go",
		Examples: []string{"mem", "mem at=10s..20s"},
		Uses:     keys("ref at"),
		Part:     Metrics,
		Needs:    []string{recording.Heap},
		Run:      Mem,
	},
	{
		Name:     "gc",
		Doc:      "Summarize and diagnose garbage collection (GODEBUG=gctrace=1)",
		Examples: []string{"gc", "gc limit=all at=10s..20s"},
		Uses:     keys("ref limit at process"),
		Part:     GCLog,
		Run:      GC,
	},
	{
		Name:     "trace",
		Doc:      "Show an overview of an execution trace: processors, goroutines, the collector",
		Examples: []string{"trace", "trace at=3s..4s"},
		Part:     Trace,
		Needs:    []string{recording.Metrics.Name},
		Uses:     keys("ref at"),
		Run:      Execution,
	},
	{
		Name:     "waits",
		Doc:      "Show where the goroutines of an execution trace waited",
		Examples: []string{"waits", "waits at=3s..4s limit=40"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Waits,
	},
	{
		Name:     "requests",
		Doc:      "Show the requests in an execution trace, and what the slow ones have more of",
		Examples: []string{"requests", "requests limit=50", "requests base=old.trace"},
		Part:     Trace,
		Uses:     keys("ref base at limit"),
		Run:      Requests,
		Compares: true,
	},
	{
		Name: "request", Arg: "N",
		Doc:      "Show what one request of an execution trace waited for, through all goroutines",
		Examples: []string{"request slowest", "request 1234"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Request,
	},
	{
		Name:     "tasks",
		Doc:      "Show the tasks in an execution trace, which runtime/trace was told of",
		Examples: []string{"tasks", "tasks at=3s..4s"},
		Part:     Trace,
		Uses:     keys("ref base at limit"),
		Run:      Tasks,
		Compares: true,
	},
	{
		Name: "task", Arg: "N",
		Doc:      "Show what one task of an execution trace waited for, through all goroutines",
		Examples: []string{"task slowest", "task 1234"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Task,
	},
	{
		Name:     "regions",
		Doc:      "Show the regions in an execution trace, which runtime/trace was told of",
		Examples: []string{"regions", "regions at=3s..4s"},
		Part:     Trace,
		Uses:     keys("ref base at limit"),
		Run:      Regions,
		Compares: true,
	},
	{
		Name: "region", Arg: "N",
		Doc:      "Show what one region of an execution trace waited for, through all goroutines",
		Examples: []string{"region slowest", "region 1234"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Region,
	},
	{
		Name: "blame", Arg: "RX",
		Doc:      "Show who ended the waits at matching functions of an execution trace",
		Examples: []string{"blame 'Mutex.*Lock'", "blame main.fetch limit=40"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Blame,
	},
	{
		Name:     "idle",
		Doc:      "Show what idle processors of an execution trace had nothing to run for",
		Examples: []string{"idle", "idle at=3s..4s"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Idle,
	},
	{
		Name:     "kinds",
		Doc:      "Show the goroutines of an execution trace by what they were started for",
		Examples: []string{"kinds", "kinds at=3s..4s"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Kinds,
	},
	{
		Name:     "lanes",
		Doc:      "Show what processors, requests and goroutines of an execution trace did over time",
		Examples: []string{"lanes", "lanes at=3s..3.01s focus=fetch limit=40"},
		Part:     Trace,
		Uses:     keys("ref at focus ignore limit"),
		Run:      Lanes,
	},
	{
		Name: "goroutine", Arg: "N",
		Doc:      "Show what one goroutine of an execution trace did",
		Examples: []string{"goroutine 1", "goroutine 62 at=3s..3.01s"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Goroutine,
	},
	{
		Name:     "spans",
		Doc:      "Show the longest spans of an execution trace, or write all of them for SQL or Perfetto",
		Examples: []string{"spans", "spans at=3s..4s limit=40"},
		Part:     Trace,
		Uses:     keys("ref at limit"),
		Run:      Spans,
	},
	{
		Name:     "compare",
		Doc:      "Compare the speed of two versions side by side",
		Examples: []string{"compare"},
		Uses:     keys("ref"),
		Part:     Versions,
		Needs:    append([]string{Benchmarks.Name, LoadRun.Name}, server...),
		Run:      Compare,
	},
	{
		Name:     "bench",
		Doc:      "Summarize benchmark results",
		Examples: []string{"bench", "bench focus=Encode limit=20"},
		Uses:     keys("ref focus ignore limit"),
		Part:     Benchmarks,
		Run:      Bench,
	},
	{
		Name:     "load",
		Doc:      "Report the results of a load test",
		Examples: []string{"load"},
		Uses:     keys("ref"),
		Part:     LoadRun,
		Needs:    server,
		Run:      Load,
	},
}

// keys puts lists of names together; a string is names with spaces between them.
func keys(lists ...any) []string {
	var out []string
	for _, l := range lists {
		switch l := l.(type) {
		case []string:
			out = append(out, l...)
		case string:
			out = append(out, strings.Fields(l)...)
		}
	}
	return out
}

// Find returns the view called name, or known by it.
func Find(name string) (*View, bool) {
	for i := range All {
		if v := &All[i]; v.Name == name || slices.Contains(v.Aliases, name) {
			return v, true
		}
	}
	return nil, false
}

// Keys is the grammar of queries about all views.
func Keys(view string) ([]string, error) {
	v, ok := Find(view)
	if !ok {
		return nil, unknownView(view)
	}
	return v.Uses, nil
}

func unknownView(name string) error {
	var names []string
	for i := range All {
		names = append(names, All[i].Name)
	}
	msg := fmt.Sprintf("unknown view %q; the views are %s", name, strings.Join(names, ", "))
	if near := query.Nearest(name, names); near != "" {
		msg += "; did you mean " + near + "?"
	}
	return errors.New(msg)
}

// Parse reads a query as it is written at the prompt and finds the view that answers it. A number in place of an
// argument is a limit: top 20, or top20 as at the prompt of pprof.
func Parse(s string) (*View, query.Query, error) {
	first, rest, _ := strings.Cut(s, " ")
	if name := strings.TrimRight(first, "0123456789"); name != first {
		if v, ok := Find(name); ok && slices.Contains(v.Uses, "limit") {
			s = name + " " + first[len(name):] + " " + rest
		}
	}
	q, err := query.Grammar(Keys).Parse(s)
	if err != nil {
		return nil, q, err
	}
	v, q, err := Resolve(q)
	if err != nil {
		return nil, q, fmt.Errorf("%s: %w", s, err)
	}
	return v, q, nil
}

// Resolve finds the view that answers q and checks that q says what the view is to be about, if it needs that.
func Resolve(q query.Query) (*View, query.Query, error) {
	v, ok := Find(q.View)
	if !ok {
		return nil, q, unknownView(q.View)
	}
	q.View = v.Name
	switch {
	case v.Arg != "" && q.Arg == "":
		return nil, q, fmt.Errorf("%s wants %s, as in %s", v.Name, v.Arg, v.Examples[0])
	case v.Arg != "" || q.Arg == "":
		return v, q, nil
	}
	if n, err := strconv.Atoi(q.Arg); err == nil && n > 0 && slices.Contains(v.Uses, "limit") {
		q.Arg, q.Limit = "", n
		return v, q, nil
	}
	if instead := notFlags(q.Arg); strings.Contains(q.Arg, "-") && instead != "" {
		return nil, q, fmt.Errorf("%s takes no argument, and no flags here: %s", v.Name, instead)
	}
	if slices.Contains(v.Uses, "focus") {
		return nil, q, fmt.Errorf("%s takes no argument; focus=%s shows what goes through that", v.Name, q.Arg)
	}
	return nil, q, fmt.Errorf("%s takes no argument", v.Name)
}

// notFlags says what to write in place of the flags of pprof and of the command line, or nothing when there is none of those.
func notFlags(arg string) string {
	var out []string
	for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return r == ' ' || r == '|' }) {
		n, err := strconv.Atoi(word)
		name, isFlag := strings.CutPrefix(word, "-")
		name = strings.TrimLeft(name, "-")
		switch {
		case err == nil && n > 0:
			out = append(out, "limit="+word)
		case !isFlag:
		case name == "n", name == "limit": // the number follows
		case name == "cum":
			out = append(out, "sort=cum")
		case isFlag:
			out = append(out, name+"=…")
		}
	}
	return strings.Join(out, " ")
}
