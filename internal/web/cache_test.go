package web

import (
	"testing"

	"github.com/hone-perf/hone/internal/query"
)

// TestTreesWithSameName holds that the tree of a recording is not the answer about another one that is called the same, as when a server
// is asked twice.
func TestTreesWithSameName(t *testing.T) {
	s, _ := serverOf(t, "main;work 3\n", "main;rest 5\n")
	s.in[1].Ref = s.in[0].Ref
	for i, want := range []int64{3, 5, 3} {
		f, err := s.flames(s.in[i%2:i%2+1], query.Query{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Flame(painted(query.Query{}))
		if err != nil {
			t.Fatal(err)
		}
		if p.Root.Cum != want {
			t.Errorf("the tree of recording %d has %d samples, want %d", i%2, p.Root.Cum, want)
		}
	}
}
