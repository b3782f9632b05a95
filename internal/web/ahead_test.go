package web

import (
	"bytes"
	"net/http"
	"testing"
	"time"

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
			s := New([]*recording.Recording{{Ref: "cpu.pprof", Profile: p}}, Options{Hosts: []string{"localhost"}})
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

// aheadOf returns a server that finds out nothing ahead unless it is told to.
func aheadOf(t *testing.T) (*Server, http.Handler) {
	t.Helper()
	p, err := profile.Parse(bytes.NewReader(profiletest.Bytes(profiletest.Config{Samples: 20_000, Functions: 300})))
	if err != nil {
		t.Fatal(err)
	}
	s := New([]*recording.Recording{{Ref: "cpu.pprof", Profile: p}}, Options{Hosts: []string{"localhost"}})
	s.idle.Stop()
	s.idle = time.NewTimer(time.Hour) // it is asked for here
	return s, s.Handler()
}

func expecting(r *http.Request) { r.Header.Set(expectedHeader, "1") }

// TestExpected checks that the callers that a page expects to ask for are made once, while nobody asks.
func TestExpected(t *testing.T) {
	const path, other = "/api/sandwich?arg=runtime.mallocgc", "/api/sandwich?arg=runtime.memmove"
	fresh, h := aheadOf(t)
	want := get(fresh, h, path)
	if want.Code != 200 {
		t.Fatalf("%d %s", want.Code, want.Body)
	}
	keyOf := func(s *Server, h http.Handler, path string) string {
		t.Helper()
		if w := get(s, h, path, expecting); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Fatalf("expecting %s is answered by %d %s", path, w.Code, w.Body)
		}
		return s.next.Load().key
	}
	made := func(s *Server, key string) bool {
		_, there := s.cache.answers.Get(key)
		return there
	}
	check := func(s *Server, h http.Handler) {
		t.Helper()
		if got := get(s, h, path); got.Body.String() != want.Body.String() {
			t.Errorf("the answer is\n%.300s\nwant\n%.300s", got.Body, want.Body)
		}
	}

	t.Run("nobody asks", func(t *testing.T) {
		s, h := aheadOf(t)
		key := keyOf(s, h, path)
		if made(s, key) {
			t.Error("it is made at once")
		}
		s.ahead()
		if !made(s, key) || s.next.Load().making.Load() != nil {
			t.Errorf("it is not made, or not only the answer is kept")
		}
		// It is not made again.
		next := s.next.Load()
		keyOf(s, h, path)
		s.ahead()
		if s.next.Load() != next || next.making.Load() != nil {
			t.Error("it is made again")
		}
		check(s, h)
	})
	t.Run("somebody asks", func(t *testing.T) {
		s, h := aheadOf(t)
		key := keyOf(s, h, path)
		s.turns <- struct{}{}
		s.ahead()
		if made(s, key) || s.next.Load().making.Load() != nil {
			t.Error("it is begun while somebody asks")
		}
		<-s.turns
		s.ahead()
		if !made(s, key) {
			t.Error("it is not made afterwards")
		}
		check(s, h)
	})
	t.Run("asked for before it is done", func(t *testing.T) {
		s, h := aheadOf(t)
		keyOf(s, h, path)
		next := s.next.Load()
		for range 2 { // each goes on where the one before gave up
			left := 12
			s.findAhead(next, func() bool { left--; return left < 0 })
		}
		if next.making.Load() == nil {
			t.Error("nothing is half done")
		}
		check(s, h)
		s.ahead()
		if next.making.Load() != nil {
			t.Error("what was half done stays after the answer")
		}
	})
	t.Run("another one", func(t *testing.T) {
		s, h := aheadOf(t)
		key := keyOf(s, h, path)
		first := s.next.Load()
		// Meanwhile another function is selected.
		s.findAhead(first, func() bool {
			if s.next.Load() == first {
				keyOf(s, h, other)
			}
			return s.next.Load() != first
		})
		s.ahead()
		if made(s, key) || !made(s, s.next.Load().key) {
			t.Error("the first one is made, or the second one is not")
		}
		check(s, h)
	})
	t.Run("nothing that takes long to give up", func(t *testing.T) {
		s, h := aheadOf(t)
		for _, more := range []string{"&focus=json", "&by=package", "&metric=none"} {
			if w := get(s, h, path+more, expecting); w.Code != http.StatusNoContent {
				t.Errorf("%s: %d", more, w.Code)
			}
			if s.ahead(); s.next.Load() != nil {
				t.Errorf("%s is made ahead", more)
			}
		}
	})
	t.Run("no such function", func(t *testing.T) {
		s, h := aheadOf(t)
		get(s, h, "/api/sandwich?arg=none", expecting)
		if s.ahead(); s.next.Load() != nil {
			t.Error("it is tried again and again")
		}
		if w := get(s, h, "/api/sandwich?arg=none"); w.Code != http.StatusNotFound {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
