package web

import (
	"bytes"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// TestAhead checks that what functions cost is added up and that calls thinner than those of a picture are opened while nobody asks, by
// one at a time, and never while somebody does.
func TestAhead(t *testing.T) {
	p, err := profile.Parse(bytes.NewReader(profiletest.Bytes(profiletest.Config{Samples: 20_000, Functions: 300})))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		busy  func(s *Server)
		opens bool
	}{
		{"nobody asks", func(*Server) {}, true},
		{"somebody asks", func(s *Server) { s.turns <- struct{}{} }, false},
		{"it is being done", func(s *Server) { s.opening.Lock() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New([]*recording.Recording{{Ref: "cpu.pprof", Profile: p}}, Options{Hosts: []string{"localhost:1234"}})
			s.idle.Stop() // it is asked for here
			s.turns = make(chan struct{}, 1)
			q := query.Query{Metric: "cpu"}
			f, err := s.flames(s.in, q)
			if err != nil {
				t.Fatal(err)
			}
			before, err := f.Flame(painted(q))
			if err != nil {
				t.Fatal(err)
			}
			c.busy(s)
			s.ahead()
			// What is left to be opened was not opened ahead.
			if left := !f.Deepen(thinnestAhead, func() bool { return true }); left == c.opens {
				t.Errorf("thin calls are left: %v", left)
			}
			if known := profileview.SumAhead(s.in[0], q, func() bool { return true }); known != c.opens {
				t.Errorf("what functions cost is known: %v", known)
			}
			if known := profileview.SearchGraph(s.in[0], q).Done(); known != c.opens {
				t.Errorf("the calls of the graph are known: %v", known)
			}
			after, err := f.Flame(painted(q))
			if err != nil {
				t.Fatal(err)
			}
			if after.Shown != before.Shown || after.Root.Cum != before.Root.Cum || after.Accounted != before.Accounted {
				t.Errorf("the picture has changed: %d calls of %d, which were %d of %d", after.Shown, after.Root.Cum, before.Shown, before.Root.Cum)
			}
		})
	}
}

// All trees that are kept may be looked at again, the last one first.
func TestMade(t *testing.T) {
	s, h := serverOf(t, "main;work 3\nmain;rest 2\n")
	var trees []*profileview.Flames
	for _, path := range []string{"/api/flame", "/api/flame?focus=work", "/api/flame?invert=true", "/api/top", "/api/flame?invert=true&focus=work"} {
		if w := get(s, h, path); w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		made := s.cache.made()
		if len(made) != min(cacheTrees, len(trees)+1) {
			t.Fatalf("%s: %d trees are there", path, len(made))
		}
		if path == "/api/top" {
			if made[0] != trees[len(trees)-1] {
				t.Errorf("a table has made another tree the last one")
			}
			continue
		}
		trees = append(trees, made[0])
	}
	if trees[0] == trees[1] || trees[1] == trees[2] || trees[2] == trees[3] {
		t.Errorf("the trees of four pictures are %v", trees)
	}
}
