package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// DotOptions tune Dot.
type DotOptions struct {
	Labels []string           // lines of the legend; none leaves it out
	Format func(int64) string // prints a value
	Dark   bool               // dark background; an SVG otherwise follows the reader's preference
}

// Dot writes g in graphviz' language. It writes the same graph as go tool pprof -dot.
func Dot(w io.Writer, g *report.Graph, o DotOptions) error {
	d := dot{w: bufio.NewWriter(w), g: g, format: o.Format}
	d.write(o.Labels)
	return d.w.Flush()
}

type dot struct {
	w      *bufio.Writer
	g      *report.Graph
	format func(int64) string
}

func (d *dot) write(legend []string) {
	g := d.g
	fmt.Fprintf(d.w, "digraph \"%s\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n", cmp.Or(g.Title, "unnamed"))
	if len(legend) > 0 {
		d.legend(legend)
	}
	var hottest int64
	for i := range g.Nodes {
		hottest = max(hottest, unit.Abs(g.Nodes[i].Flat))
	}
	tagged := make([]bool, len(g.Nodes))
	var edges []*report.Edge
	for i := range g.Nodes {
		d.node(i, hottest)
		tagged[i] = d.nodelets(i)
		for _, id := range g.Nodes[i].Out {
			edges = append(edges, &g.Edges[id])
		}
	}
	d.sort(edges)
	for _, e := range edges {
		d.edge(e, tagged[e.From])
	}
	d.w.WriteString("}\n")
}

func (d *dot) legend(lines []string) {
	text := make([]string, len(lines))
	for i, l := range lines {
		text[i] = escapeDot(l)
	}
	fmt.Fprintf(d.w, `subgraph cluster_L { "%s" [shape=box fontsize=16 label="%s\l"`, text[0], strings.Join(text, `\l`))
	if d.g.Title != "" {
		fmt.Fprintf(d.w, ` tooltip="%s"`, d.g.Title)
	}
	d.w.WriteString("] }\n")
}

// id returns the number of a node. Node 0 stands for all frames that are not listed.
func (d *dot) id(i int) int {
	if i < len(d.g.Nodes) {
		return i + 1
	}
	return 0
}

// shareOf returns a function that writes the share of a cost behind it. Means have none.
func shareOf(g *report.Graph) func(v int64) string {
	return func(v int64) string {
		if g.Mean {
			return ""
		}
		return " (" + percent(v, g.Total) + ")"
	}
}

func (d *dot) node(i int, hottest int64) {
	n, total := &d.g.Nodes[i], d.g.Total
	share := shareOf(d.g)
	own := d.format(n.Flat)
	label, all := dotName(&n.Frame), own
	if n.Flat != 0 {
		label += own + share(n.Flat)
	} else {
		label += "0"
	}
	if n.Cum != n.Flat {
		all = d.format(n.Cum)
		if n.Flat != 0 {
			label += `\n`
		} else {
			label += " "
		}
		label += "of " + all + share(n.Cum)
	}
	// The area of the text, not its height, is proportional to the cost.
	size := 8
	if hottest != 0 {
		size += int(math.Ceil(16 * math.Sqrt(float64(unit.Abs(n.Flat))/float64(hottest))))
	}
	heat := float64(n.Cum) / float64(unit.Abs(total))
	fmt.Fprintf(d.w, `N%d [label="%s" id="node%d" fontsize=%d shape=box tooltip="%s (%s)" color="%s" fillcolor="%s"]`+"\n",
		d.id(i), label, d.id(i), size, escapeDot(n.Frame.String()), all, dotColor(heat, lines), dotColor(heat, fills))
}

// dotName returns the label of a frame, split into short lines.
func dotName(f *report.Frame) string {
	short := *f
	short.Name = strings.NewReplacer(
		"::", `\n`,
		"[...]", "[…]", // dots in type arguments do not separate package and function
		".", `\n`,
	).Replace(escapeDot(shortName(f.Name)))
	short.File = f.FileBase()
	return string(short.Append(nil, `\n`)) + `\n`
}

func (d *dot) sort(edges []*report.Edge) {
	names := make(map[int]string)
	name := func(i int) string {
		s, ok := names[i]
		if !ok {
			s = d.g.Frame(i).String()
			names[i] = s
		}
		return s
	}
	// Graphviz uses the order of edges as a hint for the layout.
	slices.SortStableFunc(edges, func(a, b *report.Edge) int {
		if c := cmp.Compare(unit.Abs(b.Weight), unit.Abs(a.Weight)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(name(a.From), name(b.From)), cmp.Compare(name(a.To), name(b.To)))
	})
}

func (d *dot) edge(e *report.Edge, tagged bool) {
	total := d.g.Total
	weight := d.format(e.Mean)
	arrow, inline := "->", ""
	if e.Residual {
		arrow = "..."
	}
	if e.Inline {
		inline = `\n (inline)`
	}
	fmt.Fprintf(d.w, `N%d -> N%d [label=" %s%s"`, d.id(e.From), d.id(e.To), weight, inline)
	if total != 0 {
		// In a diff, a call can be larger than the total.
		if n := min(unit.Abs(e.Mean*100/total), 100); n > 0 {
			fmt.Fprintf(d.w, " weight=%d", n+1)
		}
		if n := min(unit.Abs(e.Mean*5/total), 5); n > 0 {
			fmt.Fprintf(d.w, " penwidth=%d", n+1)
		}
		fmt.Fprintf(d.w, ` color="%s"`, dotColor(float64(e.Mean)/float64(unit.Abs(total)), lines))
	}
	tip := fmt.Sprintf(`"%s %s %s (%s)"`, escapeDot(d.g.Frame(e.From).String()), arrow, escapeDot(d.g.Frame(e.To).String()), weight)
	fmt.Fprintf(d.w, ` tooltip=%s labeltooltip=%s`, tip, tip)
	if e.Residual {
		d.w.WriteString(` style="dotted"`)
	}
	if tagged {
		d.w.WriteString(" minlen=2") // leaves room for tags
	}
	d.w.WriteString("]\n")
}

// maxNodelets is the maximum number of tags of each kind at a node.
const maxNodelets = 4

// nodelets writes the tags of a node and reports whether there are any.
func (d *dot) nodelets(i int) bool {
	n := &d.g.Nodes[i]
	flat := len(n.Out) > 0
	some := false
	for j := range min(len(n.Tags), maxNodelets) {
		t := &n.Tags[j]
		v := t.CumMean()
		if flat {
			v = t.FlatMean()
		}
		if v == 0 {
			continue
		}
		some = true
		from := fmt.Sprintf("N%d", d.id(i))
		box := fmt.Sprintf("%s_%d", from, j)
		d.nodelet(from, box, t.Name, v, "")
		d.ranges(n.Numbers[t.Name], flat, box)
	}
	if d.ranges(n.Numbers[""], flat, fmt.Sprintf("N%d", d.id(i))) {
		some = true
	}
	return some
}

// ranges writes numeric tags in at most maxNodelets ranges.
func (d *dot) ranges(tags []report.Tag, flat bool, from string) bool {
	some := false
	for j, t := range tagRanges(tags, flat) {
		v, style := t.CumMean(), ` style="dotted"`
		if flat || t.FlatMean() == v {
			v, style = t.FlatMean(), ""
		}
		if v != 0 {
			some = true
			d.nodelet(from, fmt.Sprintf("N%s_%d", from, j), t.Name, v, style)
		}
	}
	return some
}

func (d *dot) nodelet(from, box, name string, v int64, style string) {
	w := d.format(v)
	fmt.Fprintf(d.w, `%s [label = "%s" id="%s" fontsize=8 shape=box3d tooltip="%s"]`+"\n", box, name, box, w)
	fmt.Fprintf(d.w, `%s -> %s [label=" %s" weight=100 tooltip="%s" labeltooltip="%s"%s]`+"\n", from, box, w, w, w, style)
}

// tagRanges merges light tags into the nearest heavy one. Its input is sorted by weight.
func tagRanges(tags []report.Tag, flat bool) []report.Tag {
	if len(tags) <= maxNodelets {
		return tags
	}
	groups := make([][]report.Tag, maxNodelets)
	for i := range groups {
		groups[i] = tags[i : i+1 : i+1]
	}
	for _, t := range tags[maxNodelets:] {
		nearest, least := 0, math.Inf(1)
		for i, g := range groups {
			v, _ := unit.Scale(g[0].Value, g[0].Unit, t.Unit)
			if d := math.Abs(v - float64(t.Value)); d < least {
				nearest, least = i, d
			}
		}
		groups[nearest] = append(groups[nearest], t)
	}
	out := make([]report.Tag, len(groups))
	for i, g := range groups {
		out[i] = joinTags(g)
	}
	sortTags(out, flat)
	return out
}

// joinTags returns one tag for a range of tags. Its sizes have their own units, because most would be zero in the unit of the report.
func joinTags(tags []report.Tag) report.Tag {
	lo, hi, sum := tags[0], tags[0], tags[0]
	for _, t := range tags[1:] {
		if v, _ := unit.Scale(t.Value, t.Unit, lo.Unit); int64(v) < lo.Value {
			lo = t
		}
		if v, _ := unit.Scale(t.Value, t.Unit, hi.Unit); int64(v) > hi.Value {
			hi = t
		}
		sum.Flat += t.Flat
		sum.FlatCount += t.FlatCount
		sum.Cum += t.Cum
		sum.CumCount += t.CumCount
	}
	name := unit.Label(lo.Value, lo.Unit)
	if len(tags) > 1 {
		name += ".." + unit.Label(hi.Value, hi.Unit)
	}
	return report.Tag{Name: name, Flat: sum.FlatMean(), Cum: sum.CumMean()}
}

// sortTags sorts tags by magnitude, flat or cum, then by name.
func sortTags(tags []report.Tag, flat bool) {
	order.Stable(tags, func(a, b report.Tag) int {
		if !flat {
			if c := cmp.Compare(unit.Abs(b.Cum), unit.Abs(a.Cum)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(unit.Abs(b.Flat), unit.Abs(a.Flat)), cmp.Compare(a.Name, b.Name))
	})
}

// A palette is the maximum saturation and brightness of colors.
type palette struct{ saturation, value float64 }

var (
	lines = palette{1, 0.7}
	fills = palette{0.1, 0.93}
)

// dotColor returns red for costs, green for savings, and gray for small values. heat is a share of the total.
func dotColor(heat float64, p palette) string {
	heat = max(-1, min(1, heat))
	saturation := p.saturation
	if math.Abs(heat) < 0.2 {
		saturation *= math.Abs(heat) / 0.2
	}
	// The root makes small differences visible.
	strength := saturation * math.Pow(math.Abs(heat), 0.3)
	r, g, b := p.value, p.value, p.value*(1-saturation)
	if heat < 0 {
		r = p.value * (1 - strength)
	} else {
		g = p.value * (1 - strength)
	}
	return fmt.Sprintf("#%02x%02x%02x", uint8(r*255), uint8(g*255), uint8(b*255))
}

// escapeDot escapes s for a quoted string, with lines aligned on the left.
func escapeDot(s string) string { return dotEscapes.Replace(s) }

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\l`)
