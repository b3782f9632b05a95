package profileview

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// TestSandwichAhead checks that callers are the same wherever those who make them ahead were told to give up, and that what they have
// done is not done again.
func TestSandwichAhead(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 20_000, Functions: 300}))
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{Arg: "."} // nearly all samples: more than are put into a tree one by one
	want, err := Sandwich(recorded(p), q)
	if err != nil {
		t.Fatal(err)
	}
	gaveUp := 0
	for checks := 0; ; checks = checks*8/5 + 1 {
		in := []*recording.Recording{recorded(p)[0].Numbered().Remembering(recording.NewMemo(1 << 20))}
		x := NewSandwiching(in, q)
		left := checks
		done := x.Ahead(func() bool { left--; return left < 0 })
		if !done && left != -1 {
			t.Errorf("told to give up at the check after %d, it went on for %d more", checks, -1-left)
		}
		starts, callees, callers := x.starts.Load(), x.halves[0].Load(), x.halves[1].Load()
		if all := starts != nil && callees != nil && callers != nil; done != all {
			t.Errorf("after %d checks it says that it is done: %t, but it has %v, %v, %v", checks, done, starts, callees, callers)
		}
		got, err := x.Report()
		if err != nil {
			t.Fatal(err)
		}
		if g, w := plain(got), plain(want); !reflect.DeepEqual(g, w) {
			t.Fatalf("after %d checks callers are\n%+v\nwant\n%+v", checks, g, w)
		}
		if starts != nil && x.starts.Load() != starts {
			t.Errorf("after %d checks the stacks were looked at again", checks)
		}
		if s := got.(*report.Sandwich); callees != nil && s.Callees.Root != callees.Root || callers != nil && s.Callers.Root != callers.Root {
			t.Errorf("after %d checks a half was made again", checks)
		}
		if done {
			break
		}
		gaveUp++
	}
	if gaveUp < 5 {
		t.Errorf("it gave up at %d places", gaveUp)
	}
}

// What cannot be given up is not begun.
func TestSandwichNotAhead(t *testing.T) {
	p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: 200, Functions: 30}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		in []*recording.Recording
		q  query.Query
	}{
		{recorded(p, p), query.Query{Arg: "."}},
		{recorded(p), query.Query{Arg: ".", Steps: []query.Step{{Op: query.Focus, Arg: "a"}}}},
	} {
		x := NewSandwiching(tt.in, tt.q)
		if x.Ahead(func() bool { return false }) || x.starts.Load() != nil {
			t.Errorf("%s of %d profiles is made ahead", tt.q, len(tt.in))
		}
	}
}

// plain returns a sandwich without what cannot be compared.
func plain(r report.Report) report.Sandwich {
	s := *r.(*report.Sandwich)
	s.Callees.Where, s.Callers.Where = nil, nil
	return s
}

// TestSearchMany checks which names a search returns when more match than it returns: the heaviest, which are on screen, and one that only
// matches because case is ignored, since filterOf of the page decides by the names.
func TestSearchMany(t *testing.T) {
	const many = 2 * maxFound
	search := func(arg string, other map[int]string, weight map[int]int64) *report.Search {
		t.Helper()
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		for i := range many {
			name := cmp.Or(other[i], fmt.Sprintf("app.f%05d.read", i))
			b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name})
			b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: uint32(i)}}})
			b.Add([]uint32{uint32(i)}, b.Labels(nil), []int64{cmp.Or(weight[i], 10)})
		}
		b.Renumber()
		p, err := b.Profile()
		if err != nil {
			t.Fatal(err)
		}
		r, err := SearchFor(recorded(p), query.Query{Arg: arg})
		if err != nil {
			t.Fatal(err)
		}
		s := r.(*report.Search)
		if s.Count != many || len(s.Names) != maxFound || !slices.IsSorted(s.Names) {
			t.Errorf("%s: %d names match and %d are returned, want %d and %d in order", arg, s.Count, len(s.Names), many, maxFound)
		}
		return s
	}
	s := search("(?i)read", map[int]string{many - 2: "app.z.Read"}, map[int]int64{many - 2: 1, many - 1: 99})
	for _, name := range []string{"app.z.Read", "app.f09999.read"} {
		if !slices.Contains(s.Names, name) {
			t.Errorf("%s is not among the names", name)
		}
	}
	// Nothing differs in case, so the heaviest are all that counts.
	light := make(map[int]int64)
	for i := range maxFound {
		light[i] = 1
	}
	for _, arg := range []string{"(?i)read", "read"} {
		if s := search(arg, nil, light); s.Names[0] != "app.f05000.read" {
			t.Errorf("%s: the first name is %s, want app.f05000.read", arg, s.Names[0])
		}
	}
}
