package profileview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// defaultNodes is how many nodes a graph shows unless told otherwise.
const defaultNodes = 80

// Tree shows frames with their callers and callees.
func Tree(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	b, err := a.builder(false)
	if err != nil {
		return nil, err
	}
	return a.graph(b, a.trim(defaultNodes, minShare, minEdgeShare), calls.CallFilter{}), nil
}

// Peek shows the frames that match, with their callers and callees.
func Peek(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	rx, err := a.pattern()
	if err != nil {
		return nil, err
	}
	b, err := a.builder(false)
	if err != nil {
		return nil, err
	}
	matched := make([]bool, len(b.Table.Frames))
	var name []byte
	for i := range matched {
		name = b.Table.Frames[i].Append(name[:0], " ")
		matched[i] = rx.Match(name)
	}
	// No frames are left out: those asked for may be small. But only their calls matter.
	b.Costs()
	out := &report.Graph{Head: a.head, Title: a.head.File}
	abs := a.Magnitude()
	for f := range matched {
		if !b.Listed(f) {
			continue
		}
		out.Trimming.Of++
		n := b.Node(int32(f))
		out.Accounted += n.FlatValue()
		if v := abs(cmp.Or(n.FlatValue(), n.CumValue())); !matched[f] && v != 0 && (out.Others == 0 || v < out.Others) {
			out.Others = v
		}
	}
	out.Trimming.Shown = out.Trimming.Of
	g := b.Graph(nil, matched)
	if len(g.Nodes) == 0 {
		return nil, a.noMatch()
	}
	b.Edges(g, calls.CallFilter{To: matched, From: matched})
	g.TrimEdges(0) // those whose sum overflowed
	g.Sort(q.Sort == "cum", false)
	putGraph(g, out, false)
	return out, nil
}

// Graph is the call graph for a picture.
func Graph(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t := a.trim(defaultNodes, minShare, minEdgeShare)
	t.Visual = true
	t.Tree = q.CallTree
	b, err := a.summed()
	if err != nil {
		return nil, err
	}
	known, _ := recording.Recall[*calls.KnownCalls](a.rec, a.calling(t))
	b.Known = known
	if begun, ok := recording.Recall[*calls.CallSearch](a.rec, a.calling(t)); ok && !t.Tree {
		b.Known = begun.Finish()
	}
	out := a.graph(b, t, calls.CallFilter{})
	if b.Known != known {
		recording.Note(a.rec, a.calling(t), b.Known)
	}
	return out, nil
}

// calling names the calls that a graph chooses its nodes by among what is kept of a recording, and the search for them.
func (a *question) calling(t calls.Trim) string {
	return fmt.Sprint("calls ", t.Min, a.query.Positive, " ", a.costing())
}

// Callgrind is the whole call graph, for the format of that tool.
func Callgrind(in []*recording.Recording, q query.Query) (report.Report, error) {
	q.By = "address"
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	b, err := a.builder(true)
	if err != nil {
		return nil, err
	}
	return a.graph(b, calls.Trim{ByCum: q.Sort == "cum", Tree: q.CallTree, Units: a.units}, calls.CallFilter{}), nil
}

func (a *question) graph(b *calls.Builder, t calls.Trim, filter calls.CallFilter) *report.Graph {
	g, trimming := a.cut(b, t, filter)
	out := &report.Graph{Head: a.head, Trimming: trimming, Title: a.head.File}
	putGraph(g, out, t.Visual)
	return out
}

// putGraph copies g into out.
func putGraph(g *calls.Graph, out *report.Graph, tags bool) {
	index := make(map[*calls.Node]int, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n] = i
	}
	at := func(n *calls.Node) int {
		i, ok := index[n]
		if !ok {
			i = len(g.Nodes) + len(out.Unlisted)
			out.Unlisted = append(out.Unlisted, *n.Frame)
			index[n] = i
		}
		return i
	}
	edges := make(map[*calls.Edge]int)
	number := func(list []*calls.Edge) []int {
		var ids []int
		for _, e := range calls.SortEdges(list, g.Abs) {
			id, ok := edges[e]
			if !ok {
				id = len(out.Edges)
				edges[e] = id
				out.Edges = append(out.Edges, report.Edge{
					From: at(e.From), To: at(e.To),
					Weight: e.Weight, Mean: e.Value(), Inline: e.Inline, Residual: e.Residual,
				})
			}
			ids = append(ids, id)
		}
		return ids
	}
	// Nodes are parts of one function when they differ only in the place in it; in a tree each caller has its own.
	type function struct {
		parent             int
		name, file, object string
		startLine          int64
	}
	functions := make(map[function]int)
	out.Nodes = make([]report.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		key := function{n.Parent, n.Name, n.File, n.Object, n.StartLine}
		id, ok := functions[key]
		if !ok {
			id = len(functions)
			functions[key] = id
		}
		out.Nodes[i] = report.Node{Cost: costOf(n), Function: id, In: number(n.In), Out: number(n.Out)}
		if !tags {
			continue
		}
		// A leaf of the picture also stands for what is left out below it, so all that passes counts there; inside
		// the picture each tag belongs where the time was spent.
		flat := len(n.Out) > 0
		out.Nodes[i].Tags = n.Tags.Sorted(flat, g.Abs)
		for text, m := range n.Numbers {
			if len(m) == 0 {
				continue
			}
			if out.Nodes[i].Numbers == nil {
				out.Nodes[i].Numbers = make(map[string][]report.Tag)
			}
			out.Nodes[i].Numbers[text] = m.Sorted(flat, g.Abs)
		}
	}
}

// sortedKeys returns the keys of m in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
