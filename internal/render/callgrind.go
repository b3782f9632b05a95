package render

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Callgrind writes g in the format that KCachegrind reads, as go tool pprof -callgrind does. event names what the
// values count; they are converted from sampleUnit to outputUnit.
func Callgrind(w io.Writer, g *report.Graph, event, sampleUnit, outputUnit string) error {
	c := callgrind{
		w:       bufio.NewWriter(w),
		from:    sampleUnit,
		to:      outputUnit,
		objects: make(dictionary),
		files:   make(dictionary),
		names:   make(dictionary),
	}
	fmt.Fprintf(c.w, "positions: instr line\nevents: %s(%s)\n", event, outputUnit)
	unique := uniqueNames(g)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		c.enter(&n.Frame)
		fmt.Fprintf(c.w, "%s %d %d\n", c.address(n.Address), n.Line, c.value(n.Flat))
		for _, id := range n.Out {
			e := &g.Edges[id]
			callee := g.Frame(e.To)
			name := "" // set for callees that are not listed
			if e.To < len(unique) {
				name = unique[e.To]
			}
			fmt.Fprintf(c.w, "cfl=%s\ncfn=%s\n", c.files.ref(callee.File), c.names.ref(name))
			// Profiles do not record the number of calls or their lines in the caller.
			fmt.Fprintf(c.w, "calls=0 %s %d\n* * %d\n", c.address(callee.Address), callee.Line, c.value(e.Weight))
		}
		c.last = &n.Frame
	}
	return c.w.Flush()
}

type callgrind struct {
	w                     *bufio.Writer
	from, to              string // units
	objects, files, names dictionary
	last                  *report.Frame // the previous frame; positions are relative to it
}

// enter writes the function of the following lines, unless it is the same as before.
func (c *callgrind) enter(f *report.Frame) {
	if c.last != nil && c.last.Object == f.Object && c.last.File == f.File && c.last.Name == f.Name {
		return
	}
	fmt.Fprintf(c.w, "\nob=%s\nfl=%s\nfn=%s\n", c.objects.ref(f.Object), c.files.ref(f.File), c.names.ref(f.Name))
}

func (c *callgrind) value(v int64) int64 {
	x, _ := unit.Scale(v, c.from, c.to)
	return int64(x)
}

// address returns a in the shortest form that the format allows.
func (c *callgrind) address(a uint64) string {
	absolute := "0x" + strconv.FormatUint(a, 16)
	if c.last == nil {
		return absolute
	}
	if a == c.last.Address {
		return "*"
	}
	if relative := fmt.Sprintf("%+d", int64(a-c.last.Address)); len(relative) < len(absolute) {
		return relative
	}
	return absolute
}

// A dictionary numbers names, so that each name is written in full once.
type dictionary map[string]int

func (d dictionary) ref(name string) string {
	if name == "" {
		return ""
	}
	if id, ok := d[name]; ok {
		return "(" + strconv.Itoa(id) + ")"
	}
	d[name] = len(d) + 1
	return "(" + strconv.Itoa(len(d)) + ") " + name
}

// uniqueNames returns the names of the nodes of g. Readers of the format merge functions with the same file and name. If several nodes agree in both,
// as in a call tree, a number in the name keeps them apart.
func uniqueNames(g *report.Graph) []string {
	type place struct{ file, name string }
	type numbers map[int]int // by function, from 1
	functions := make(map[place]numbers)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		at := place{n.File, n.Name}
		if functions[at] == nil {
			functions[at] = make(numbers)
		}
		if _, ok := functions[at][n.Function]; !ok {
			functions[at][n.Function] = len(functions[at]) + 1
		}
	}
	names := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		names[i] = n.Name
		if all := functions[place{n.File, n.Name}]; len(all) > 1 {
			names[i] = fmt.Sprintf("%s [%d/%d]", n.Name, all[n.Function], len(all))
		}
	}
	return names
}
