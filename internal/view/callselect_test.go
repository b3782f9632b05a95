package view

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// TestFlamesOfSelection checks that a flame graph cut from the tree of all samples is the one of the samples alone.
func TestFlamesOfSelection(t *testing.T) {
	profiles := corpus(t)
	for _, c := range []profiletest.Config{
		{Samples: 36_000, Functions: 300, Labels: true},
		{Samples: 3000, Functions: 100},
		{Kind: profiletest.Heap, Samples: 3000, Functions: 300},
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
	for _, c := range all.tree.nodes {
		if c.called && c.inlined {
			mixed++
		}
	}
	for i := range min(3, len(p.Functions)) {
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
			if by := q.By; got.tree.table != all.tree.table && by != "file" {
				t.Errorf("%s: the tree of all samples is not used", q)
			}
			want, err := NewFlames(recorded(p), q)
			if err != nil {
				t.Fatal(err)
			}
			sameFlames(t, q, want, got)
		}
	}
	return mixed
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
			if !reflect.DeepEqual(w, g) {
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
