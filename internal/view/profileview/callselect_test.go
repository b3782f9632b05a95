package profileview

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestFlamesOfSelection checks that a flame graph cut from the tree of all samples is the one of the samples alone.
func TestFlamesOfSelection(t *testing.T) {
	profiles := corpus(t)
	most := 6000
	switch {
	case testrun.InNightly():
		most = 36_000
	case testing.Short():
		most = 1000
	}
	for _, c := range []profiletest.Config{
		{Samples: most, Functions: 300, Labels: true},
		{Samples: min(most, 3000), Functions: 100},
		{Kind: profiletest.Heap, Samples: min(most, 3000), Functions: 300},
	} {
		p, err := profile.ParseBytes(profiletest.Bytes(c))
		if err != nil {
			t.Fatal(err)
		}
		profiles[fmt.Sprintf("made %+v", c)] = p
	}
	mixed := 0
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			for _, q := range []query.Query{{}, {Invert: true}, {Collapse: true}, {By: "line"}, {By: "file"}} {
				mixed += selections(t, p, q)
			}
		})
	}
	if mixed == 0 {
		t.Error("no call was inlined in some places only")
	}
}

// selections compares flames of some selections of samples of p, and returns how many calls of the tree of all are
// inlined in some places only.
func selections(t *testing.T, p *profile.Profile, q query.Query) (mixed int) {
	all, err := NewFlames(recorded(p), q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Flame(q); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.tree.Nodes {
		if c.Called && c.Inlined {
			mixed++
		}
	}
	for i := range min(testrun.Size(3, 1), len(p.Functions)) {
		rx := regexp.QuoteMeta(p.Functions[i*(len(p.Functions)-1)/2].Name)
		for _, steps := range [][]query.Step{
			{{Op: query.Focus, Arg: rx}},
			{{Op: query.Ignore, Arg: rx}, {Op: query.Ignore, Arg: `^runtime\.ma`}},
		} {
			q := q
			q.Steps = steps
			got, err := NewFlames(recorded(p), q, all)
			if err != nil {
				t.Fatal(err)
			}
			if by := q.By; got.tree.Table != all.tree.Table && by != "file" {
				t.Errorf("%s: the tree of all samples is not used", q)
			}
			want, err := NewFlames(recorded(p), q)
			if err != nil {
				t.Fatal(err)
			}
			sameFlames(t, q, want, got)

			if i > 0 {
				continue
			}
			// The tree of a filter is where the next filter starts from, when that of all samples is gone.
			q.Steps = append(steps, query.Step{Op: query.Ignore, Arg: regexp.QuoteMeta(p.Functions[len(p.Functions)/3].Name)})
			if got, err = NewFlames(recorded(p), q, got); err != nil {
				t.Fatal(err)
			}
			if want, err = NewFlames(recorded(p), q); err != nil {
				t.Fatal(err)
			}
			sameFlames(t, q, want, got)
		}
	}
	return mixed
}

// TestSelectionOfSelection filters the samples of a call that is inlined in some places only, and then those that are left,
// so that those that are left in the end met it inlined and nowhere else.
func TestSelectionOfSelection(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	for _, name := range []string{"main", "work", "json", "http", "rest"} {
		b.Functions = append(b.Functions, profile.Function{Name: name})
	}
	const main, work, json, http, rest = 0, 1, 2, 3, 4
	at := func(functions ...uint32) uint32 { // innermost first
		var l profile.Location
		for _, f := range functions {
			l.Lines = append(l.Lines, profile.Line{Function: f})
		}
		l.Mapping = profile.NoMapping
		b.Locations = append(b.Locations, l)
		return uint32(len(b.Locations) - 1)
	}
	inlined, outer, called := at(work, main), at(main), at(work)
	inJSON, inHTTP, inRest := at(json), at(http), at(rest)
	for _, stack := range [][]uint32{
		{inHTTP, called, outer}, {inJSON, called, outer}, {inRest, called, outer}, {inJSON, inlined}, {inHTTP, inlined},
	} {
		b.Add(stack, 0, []int64{1})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{Min: -1}
	known, err := NewFlames(recorded(p), q)
	if err != nil {
		t.Fatal(err)
	}
	tree := func(of *calls.Tree, keep ...uint32) *calls.Tree {
		if _, err := of.Find("", 0); err != nil {
			t.Fatal(err)
		}
		picked := profile.NewSampleSet(p.NumSamples())
		for _, i := range keep {
			picked.Add(i)
		}
		return of.Selection(picked)
	}
	// work is call main;work of all these trees.
	inline := func(of *calls.Tree) bool {
		c, ok := of.Follow(calls.RootCall, "main;work")
		if !ok {
			t.Fatal("there is no call main;work")
		}
		return of.Nodes[c].Inline()
	}
	if inline(tree(known.tree, 0, 1, 2, 3, 4)) {
		t.Error("work is inlined in all places")
	}
	some := tree(known.tree, 0, 1, 3, 4)
	if inline(some) {
		t.Error("after one filter work is inlined in all places")
	}
	if !inline(tree(some, 3, 4)) {
		t.Error("after two filters work is not inlined, though it is in all places that are left")
	}
}

// Those who ask a tree and one that was selected from it wait at different locks, so nothing may be in both that either writes.
func TestSelectionSharesNoTexts(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 300, Functions: 20}))
	if err != nil {
		t.Fatal(err)
	}
	known, err := NewFlames(recorded(p), query.Query{Min: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := known.tree.Find("", 0); err != nil {
		t.Fatal(err)
	}
	known.tree.Text(0)
	picked := profile.NewSampleSet(p.NumSamples())
	picked.Add(0)
	some := known.tree.Selection(picked)
	some.Text(0)
	if &some.Texts[0] == &known.tree.Texts[0] {
		t.Error("a selection writes down the texts of frames where the tree does that it was selected from")
	}
}

// sameFlames checks that two trees look the same at their roots and somewhere deeper.
func sameFlames(t *testing.T, q query.Query, want, got *Flames) {
	t.Helper()
	for _, least := range []float64{0.01, 0.0005, -1} {
		q.Root, q.Min = "", least
		var deeper string
		for range 3 {
			w, err := want.Flame(q)
			if err != nil {
				t.Fatal(err)
			}
			g, err := got.Flame(q)
			if err != nil {
				t.Fatal(err)
			}
			if !sameFlame(w, g) {
				t.Errorf("%s: got\n%s\nwant\n%s", q, outline(g), outline(w))
				return
			}
			if deeper = deepest(w.Root); deeper == "" {
				break
			}
			q.Root = strings.TrimPrefix(q.Root+";"+deeper, ";")
		}
	}
}

// deepest returns the way from n down its heaviest calls, halfway to the end.
func deepest(n *report.FlameNode) string {
	var names []string
	for len(n.Children) > 0 {
		n = n.Children[0]
		names = append(names, n.Frame.String())
	}
	return strings.Join(names[:(len(names)+1)/2], ";")
}
