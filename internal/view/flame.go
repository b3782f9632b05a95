package view

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// What a flame shows unless told otherwise. Less than half a thousandth of a picture is less than a pixel, and
// programs that read a flame get into trouble when it is nested too deeply.
const (
	minFlameShare = 0.0005
	maxFlameCalls = 10_000
	maxFlameDepth = 2_000
)

// Flame shows what each call costs in its context: the frames below a frame are those that it calls there.
//
// It takes the heaviest call first, wherever it is, so that a limit leaves the most important part. What is left out
// stays in the cum of its callers.
func Flame(in []*recording.Recording, q query.Query) (report.Report, error) {
	a, err := ask(in, q)
	if err != nil {
		return nil, err
	}
	t, err := a.callTree("flame")
	if err != nil {
		return nil, err
	}
	limits := a.trim(maxFlameCalls, minFlameShare, 0)
	out := &report.Flame{Head: a.head}
	out.Below = abs(int64(float64(a.head.Total) * limits.min))

	origins := a.origins(t.table)
	t.grow(out.Below)
	out.Root = &report.FlameNode{Cum: t.sums[rootCall].value}
	queue := &flameQueue{}
	deep := 0
	add := func(at uint32, to *report.FlameNode, depth int) {
		c := &t.nodes[at]
		to.Flat = c.flat.value
		out.Accounted += c.flat.value
		for _, b := range t.calls(at) {
			switch {
			case t.sums[b].weight < out.Below:
				out.Dropped++
			case depth == maxFlameDepth:
				deep++
			default:
				heap.Push(queue, &pending{call: b, weight: t.sums[b].weight, parent: to, depth: depth + 1, seq: queue.seq})
				queue.seq++
			}
		}
	}
	add(rootCall, out.Root, 0)
	for queue.Len() > 0 && (limits.nodes == 0 || out.Shown < limits.nodes) {
		next := heap.Pop(queue).(*pending)
		c := &t.nodes[next.call]
		n := &report.FlameNode{Frame: t.table.frames[c.frame], Origin: origins[c.frame], Inline: c.inline, Cum: t.sums[next.call].value}
		next.parent.Children = append(next.parent.Children, n)
		out.Shown++
		add(next.call, n, next.depth)
	}
	out.Of = out.Shown + queue.Len()
	if deep > 0 {
		out.Notes = append(slices.Clip(out.Notes), fmt.Sprintf(
			"stacks are cut below %d frames, where they make %d more calls; show-from starts them further down", maxFlameDepth, deep))
	}
	return out, nil
}

// A pending call waits for being put below its parent.
type pending struct {
	call   uint32
	weight int64
	parent *report.FlameNode
	depth  int
	seq    int // in the order of their coming
}

// A flameQueue gives out the heaviest call first.
type flameQueue struct {
	list []*pending
	seq  int
}

func (q *flameQueue) Len() int { return len(q.list) }
func (q *flameQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if a.weight != b.weight {
		return a.weight > b.weight
	}
	return a.seq < b.seq
}
func (q *flameQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *flameQueue) Push(x any)    { q.list = append(q.list, x.(*pending)) }
func (q *flameQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// callTree returns the tree of calls that the query asks for.
func (a *question) callTree(view string) (*callTree, error) {
	if a.mean {
		return nil, errors.New(view + ": means of calls do not add up to that of their caller; leave mean out")
	}
	d, err := detailOf(a.query)
	if err != nil {
		return nil, err
	}
	table := newFrameTable(a.p, d, pathTrimmer(a.query.TrimPath, a.query.SourcePath))
	return newCallTree(a.measure, table, isCoarse(a.query.By)), nil
}

// isCoarse reports whether frames stand for so much that calls within one say nothing.
func isCoarse(by string) bool { return by == "file" || by == "package" || by == "module" }
