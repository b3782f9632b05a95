package pprof

import (
	"math"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// A command is one kind of report.
type command struct {
	name  string
	param bool // takes a regexp
	run   func([]*recording.Recording, query.Query) (report.Report, error)
	print printer
	file  string // ending of the file that keeps binary output off a terminal

	dot    string   // format that graphviz makes of the graph
	viewer []string // programs to show the result with
	ending string   // of the name of the file that those get; "" is that of dot
}

var commands = []command{
	{name: "callgrind", run: profileview.Callgrind, print: printCallgrind, file: "callgraph.out"},
	{name: "comments", run: profileview.Comments, print: printComments},
	{name: "disasm", param: true, run: profileview.DisasmByAddress, print: printDisasm},
	{name: "dot", run: profileview.Graph, print: printDot},
	{name: "eog", run: profileview.Graph, print: printSVG, ending: "svg", viewer: []string{"eog"}},
	{name: "evince", run: profileview.Graph, print: printDot, dot: "pdf", viewer: []string{"evince"}},
	{name: "gif", run: profileview.Graph, print: printDot, file: "gif", dot: "gif"},
	{name: "gv", run: profileview.Graph, print: printDot, dot: "ps", viewer: []string{"gv --noantialias"}},
	{name: "kcachegrind", run: profileview.Callgrind, print: printCallgrind, viewer: []string{"kcachegrind"}},
	{name: "list", param: true, run: profileview.ListFromStart, print: printList},
	{name: "pdf", run: profileview.Graph, print: printDot, file: "pdf", dot: "pdf"},
	{name: "peek", param: true, run: profileview.Peek, print: printTree},
	{name: "png", run: profileview.Graph, print: printPNG, file: "png"},
	{name: "proto", run: profileview.Raw, print: printProto, file: "pb.gz"},
	{name: "ps", run: profileview.Graph, print: printDot, file: "ps", dot: "ps"},
	{name: "raw", run: profileview.Raw, print: printRaw},
	{name: "svg", run: profileview.Graph, print: printSVG, file: "svg"},
	{name: "tags", run: allTags, print: printTags},
	{name: "text", run: profileview.TopByCalls, print: printTop},
	{name: "top", run: profileview.TopByCalls, print: printTop},
	{name: "topproto", run: profileview.TopByCalls, print: printTopProto, file: "pb.gz"},
	{name: "traces", run: profileview.Traces, print: printTraces},
	{name: "tree", run: profileview.Tree, print: printTree},
	{name: "web", run: profileview.Graph, print: printSVG, ending: "svg", viewer: browsers()},
	{name: "weblist", param: true, run: newWeblist, print: printWeblist, ending: "html", viewer: browsers()},
}

// allTags shows all labels: pprof leaves out none.
func allTags(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.Limit = -1
	return profileview.Tags(in, q)
}

func findCommand(name string) *command {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i]
		}
	}
	return nil
}

// unlimited reports whether a command shows all there is: cutting before its regexp is looked at could leave nothing
// to show.
func (c *command) unlimited() bool {
	switch c.name {
	case "disasm", "weblist", "peek", "list", "proto", "raw", "traces", "callgrind", "kcachegrind":
		return true
	}
	return false
}

// query returns the question that a command with settings cfg and an argument asks.
func (c *command) query(cfg config, arg string) query.Query {
	q := query.Query{
		View:       c.name,
		Arg:        arg,
		Metric:     cfg.sampleIndex,
		Sort:       cfg.sort,
		NoInlines:  cfg.noInlines,
		Columns:    cfg.showColumns,
		Mean:       cfg.mean,
		Relative:   cfg.relative,
		Positive:   cfg.dropNegative,
		CallTree:   cfg.callTree,
		Divide:     cfg.divideBy,
		Unit:       cfg.unit,
		SourcePath: cfg.sourcePath,
		TrimPath:   cfg.trimPath,
		PProf:      true,
	}
	switch cfg.granularity {
	case "filefunctions":
		q.By = "filefunction"
	case "files":
		q.By = "file"
	case "lines":
		q.By = "line"
	case "addresses":
		q.By = "address"
	}
	q.Limit, q.Min, q.MinEdge = cfg.nodeCount, math.Abs(cfg.nodeFraction), math.Abs(cfg.edgeFraction)
	switch {
	case c.unlimited() || !cfg.trim:
		q.Limit, q.Min, q.MinEdge = -1, -1, -1
	case cfg.nodeCount == -1 && (c.name == "text" || c.name == "top" || c.name == "topproto"):
		q.Limit = -1
	case cfg.nodeCount == -1:
		q.Limit = 80
	case cfg.nodeCount <= 0:
		q.Limit = -1
	}
	if q.Min == 0 {
		q.Min = -1
	}
	if q.MinEdge == 0 {
		q.MinEdge = -1
	}
	q.Steps = cfg.steps()
	return q
}

// steps returns the filters in the order in which pprof applies them.
func (cfg *config) steps() []query.Step {
	var steps []query.Step
	for _, f := range []struct {
		op  query.Op
		arg string
	}{
		{query.TagRoot, cfg.tagRoot},
		{query.TagLeaf, cfg.tagLeaf},
		{query.Focus, cfg.focus},
		{query.Ignore, cfg.ignore},
		{query.Hide, cfg.hide},
		{query.Show, cfg.show},
		{query.ShowFrom, cfg.showFrom},
		{query.TagFocus, cfg.tagFocus},
		{query.TagIgnore, cfg.tagIgnore},
		{query.TagShow, cfg.tagShow},
		{query.TagHide, cfg.tagHide},
		{query.PruneFrom, cfg.pruneFrom},
	} {
		if f.arg != "" {
			steps = append(steps, query.Step{Op: f.op, Arg: f.arg})
		}
	}
	return steps
}

// filters returns the lines about filters at the head of a report.
func (cfg *config) filters() []string {
	var lines []string
	for _, f := range []struct{ name, arg string }{
		{"focus", cfg.focus},
		{"ignore", cfg.ignore},
		{"hide", cfg.hide},
		{"show", cfg.show},
		{"show_from", cfg.showFrom},
		{"tagfocus", cfg.tagFocus},
		{"tagignore", cfg.tagIgnore},
		{"tagshow", cfg.tagShow},
		{"taghide", cfg.tagHide},
	} {
		if f.arg == "" {
			continue
		}
		line := f.name + "=" + f.arg
		if len(line) > 80 {
			line = line[:80] + "…"
		}
		lines = append(lines, "   "+line)
	}
	if lines != nil {
		lines = append([]string{"Active filters:"}, lines...)
	}
	return lines
}
