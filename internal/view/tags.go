package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// A tagMap holds label values of the samples that pass a node.
type tagMap map[string]*report.Tag

func (m tagMap) get(name, unit string, value int64) *report.Tag {
	t := m[name]
	if t == nil {
		t = &report.Tag{Name: name, Unit: unit, Value: value}
		m[name] = t
	}
	return t
}

func addTag(t *report.Tag, w weight, flat bool) {
	if flat {
		t.Flat += w.v
		t.FlatCount += w.div
	} else {
		t.Cum += w.v
		t.CumCount += w.div
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
func (b *builder) tag(tags []setTags, nodeAt func(above *node, f int32) *node) {
	values := b.p.Values(b.k)
	var stack []uint32
	seen := make(map[*node]bool)
	for i, v := range values {
		w := weight{v: v}
		if b.mean {
			w.div = b.p.Values(0)[i]
		}
		t := &tags[b.p.Label(i)]
		if w.v == 0 && w.div == 0 || t.text == "" && len(t.numbers) == 0 {
			continue
		}
		clear(seen)
		var last *node // nearest node above
		leaf := true   // whether last is the innermost frame
		stack = b.p.Stack(i, stack[:0])
		for _, l := range slices.Backward(stack) {
			for _, f := range b.table.of(l) {
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

func (n *node) addTags(t *setTags, w weight, flat bool) {
	if t.text != "" {
		if n.tags == nil {
			n.tags = make(tagMap)
		}
		addTag(n.tags.get(t.text, "", 0), w, flat)
	}
	for _, x := range t.numbers {
		if n.numbers == nil {
			n.numbers = make(map[string]tagMap)
		}
		m := n.numbers[t.text]
		if m == nil {
			m = make(tagMap)
			n.numbers[t.text] = m
		}
		addTag(m.get(x.Name, x.Unit, x.Value), w, flat)
	}
}

// trimTags takes out tags that weigh less than cutoff.
func (g *graph) trimTags(cutoff int64) {
	trim := func(m tagMap) {
		for name, t := range m {
			if g.abs(t.Flat) < cutoff && g.abs(t.Cum) < cutoff {
				delete(m, name)
			}
		}
	}
	for _, n := range g.nodes {
		trim(n.tags)
		for _, m := range n.numbers {
			trim(m)
		}
	}
}

// countTags returns how many tags of n have a flat value.
func (n *node) countTags() int {
	count := 0
	for _, t := range n.tags {
		if t.Flat != 0 {
			count++
		}
	}
	for _, m := range n.numbers {
		for _, t := range m {
			if t.Flat != 0 {
				count++
			}
		}
	}
	return count
}

// sorted returns the tags by magnitude, flat or cum, then by name.
func (m tagMap) sorted(flat bool, abs magnitude) []report.Tag {
	out := make([]report.Tag, 0, len(m))
	for _, t := range m {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b report.Tag) int {
		if !flat {
			if c := cmp.Compare(unit.Abs(b.Cum), unit.Abs(a.Cum)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(unit.Abs(b.Flat), unit.Abs(a.Flat)), cmp.Compare(a.Name, b.Name))
	})
	return out
}
