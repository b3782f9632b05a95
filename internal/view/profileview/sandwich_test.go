package profileview

import (
	"reflect"
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
