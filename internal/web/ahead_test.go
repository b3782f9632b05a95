package web

import (
	"bytes"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// TestAhead checks that calls thinner than those of a picture are opened while nobody asks, by one at a time, and never
// while somebody does.
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
		{"nothing was looked at", func(s *Server) { s.latest.Store(nil) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New([]*recording.Recording{{Ref: "cpu.pprof", Profile: p}}, Options{Hosts: []string{"localhost:1234"}})
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
			s.latest.Store(f)
			c.busy(s)
			s.ahead()
			// What is left to be opened was not opened ahead.
			if left := f.Deepen(thinnestAhead) > 0; left == c.opens {
				t.Errorf("thin calls are left: %v", left)
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

// The tree that somebody looked at last is the one whose calls are opened.
func TestLatest(t *testing.T) {
	s, h := open(t, "main;work 3\nmain;rest 2\n")
	var trees []any
	for _, path := range []string{"/api/flame", "/api/flame?focus=work", "/api/flame?invert=true", "/api/top"} {
		if w := get(s, h, path); w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		trees = append(trees, s.latest.Load())
	}
	if trees[0] == trees[1] || trees[1] == trees[2] || trees[2] != trees[3] {
		t.Errorf("after three pictures and a table the trees are %v", trees)
	}
}
