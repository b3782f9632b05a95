package calls

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A TagMap holds label values of the samples that pass a node.
type TagMap map[string]*report.Tag

func (m TagMap) get(name, unit string, value int64) *report.Tag {
	t := m[name]
	if t == nil {
		t = &report.Tag{Name: name, Unit: unit, Value: value}
		m[name] = t
	}
	return t
}

func addTag(t *report.Tag, w Weight, flat bool) {
	if flat {
		t.Flat += w.V
		t.FlatCount += w.Div
	} else {
		t.Cum += w.V
		t.CumCount += w.Div
	}
}

// A setTags is what the label set of a sample shows in a graph: all text labels in one, and sizes.
type setTags struct {
	text    string
	numbers []report.Tag
}

// graphTags returns what each label set of p shows in a graph, and whether any shows anything.
func graphTags(p *profile.Profile, units map[string]string, showUnit string) ([]setTags, bool) {
	some := false
	out := make([]setTags, len(p.LabelSets()))
	for i, s := range p.LabelSets() {
		var texts []string
		for _, l := range s {
			switch {
			case !l.Numeric && l.Key != BaseLabel:
				texts = append(texts, l.Key+":"+l.Str)
			case l.Numeric && l.Key == "bytes":
				u := units[l.Key]
				out[i].numbers = append(out[i].numbers, report.Tag{Name: unit.Format(l.Num, u, showUnit), Unit: u, Value: l.Num})
			}
		}
		slices.Sort(texts)
		out[i].text = strings.Join(texts, `\n`)
		some = some || len(texts)+len(out[i].numbers) > 0
	}
	return out, some
}

// tag adds the labels of samples to the nodes they pass. nodeAt returns the node of a frame below the node that it
// returned for the frame above, or nil.
func (b *Builder) tag(tags []setTags, nodeAt func(above *Node, f int32) *Node) {
	values := b.Profile.Values(b.Type)
	var stack []uint32
	seen := make(map[*Node]bool)
	for i, v := range values {
		w := Weight{V: v}
		if b.Mean {
			w.Div = b.Profile.Values(0)[i]
		}
		t := &tags[b.Profile.Label(i)]
		if w.V == 0 && w.Div == 0 || t.text == "" && len(t.numbers) == 0 {
			continue
		}
		clear(seen)
		var last *Node // nearest node above
		leaf := true   // whether last is the innermost frame
		stack = b.Profile.Stack(i, stack[:0])
		for _, l := range slices.Backward(stack) {
			for _, f := range b.Table.Of(l) {
				n := nodeAt(last, f)
				if leaf = n != nil; !leaf {
					continue
				}
				if !seen[n] {
					seen[n] = true
					n.addTags(t, w, false)
				}
				last = n
			}
		}
		if last != nil && leaf {
			last.addTags(t, w, true)
		}
	}
}

func (n *Node) addTags(t *setTags, w Weight, flat bool) {
	if t.text != "" {
		if n.Tags == nil {
			n.Tags = make(TagMap)
		}
		addTag(n.Tags.get(t.text, "", 0), w, flat)
	}
	for _, x := range t.numbers {
		if n.Numbers == nil {
			n.Numbers = make(map[string]TagMap)
		}
		m := n.Numbers[t.text]
		if m == nil {
			m = make(TagMap)
			n.Numbers[t.text] = m
		}
		addTag(m.get(x.Name, x.Unit, x.Value), w, flat)
	}
}

// trimTags takes out tags that weigh less than cutoff.
func (g *Graph) trimTags(cutoff int64) {
	trim := func(m TagMap) {
		for name, t := range m {
			if g.Abs(t.Flat) < cutoff && g.Abs(t.Cum) < cutoff {
				delete(m, name)
			}
		}
	}
	for _, n := range g.Nodes {
		trim(n.Tags)
		for _, m := range n.Numbers {
			trim(m)
		}
	}
}

// countTags returns how many tags of n have a flat value.
func (n *Node) countTags() int {
	count := 0
	for _, t := range n.Tags {
		if t.Flat != 0 {
			count++
		}
	}
	for _, m := range n.Numbers {
		for _, t := range m {
			if t.Flat != 0 {
				count++
			}
		}
	}
	return count
}

// Sorted returns the tags by magnitude, flat or cum, then by name.
func (m TagMap) Sorted(flat bool, abs Magnitude) []report.Tag {
	out := make([]report.Tag, 0, len(m))
	for _, t := range m {
		out = append(out, *t)
	}
	order.Stable(out, func(a, b report.Tag) int {
		if !flat {
			if c := cmp.Compare(unit.Abs(b.Cum), unit.Abs(a.Cum)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(unit.Abs(b.Flat), unit.Abs(a.Flat)), cmp.Compare(a.Name, b.Name))
	})
	return out
}
