package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// What pages get of a tree unless they ask for more: a pixel on a wide screen.
const (
	minPainted = 1.0 / 2048
	maxPainted = 20_000

	// The first picture of a large profile has only calls that are some pixels wide, though less than a name takes. The page asks for the others when
	// that is on the screen. It takes half of the time.
	firstPainted = 1.0 / 128

	thinnestAhead = minPainted / 16 // that are opened before anybody asks

	settled = 20 * time.Millisecond // that a browser has the cores to itself after an answer, to paint it
)

// firstFrom is how many samples a large profile has. Tests have fewer.
var firstFrom = 1 << 20

// firstShare returns the share of the thinnest calls of the first picture of a profile, or 0 where that has all.
func firstShare(samples int) float64 {
	if samples < firstFrom {
		return 0
	}
	return firstPainted
}

func painted(q query.Query) query.Query {
	if q.Min == 0 {
		q.Min = minPainted
	}
	if q.Limit == 0 {
		q.Limit = maxPainted
	}
	return q
}

// flame answers with the part of a flame graph that can be seen. The tree that it is cut from stays for the next part.
func (s *Server) flame(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "flame", func(in []*recording.Recording, q query.Query) (any, error) {
		flames, err := s.flames(in, q)
		if err != nil {
			return nil, err
		}
		if n := in[0].Profile.NumSamples(); n >= firstFrom && q.Min >= firstPainted {
			flames.Glance(q.Min)
		}
		return flames.Flame(painted(q))
	})
}

// before answers with the flame graph of the base alone, for pages that show it beside what is compared with it.
func (s *Server) before(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "flame", func(in []*recording.Recording, q query.Query) (any, error) {
		in, q, err := profileview.Base(in, q)
		if err != nil {
			return nil, err
		}
		flames, err := s.flames(in, q)
		if err != nil {
			return nil, err
		}
		return flames.Flame(painted(q))
	})
}

// mostCalls is how many calls a page gets of a call tree unless it asks for more; what somebody opens it asks for.
const mostCalls = 2000

// callTree answers with the calls of a call tree that cost most, or those on the levels below one call. They are of the tree that the flame
// graph is cut from.
func (s *Server) callTree(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "calltree", func(in []*recording.Recording, q query.Query) (any, error) {
		flames, err := s.flames(in, q)
		if err != nil {
			return nil, err
		}
		if q.Limit == 0 {
			q.Limit = mostCalls
		}
		if q.Min == 0 && q.Depth == 0 {
			q.Min = minPainted
		}
		return flames.CallTree(q)
	})
}

// flames returns the tree that the answers to q are cut from, whatever part of it they show.
func (s *Server) flames(in []*recording.Recording, q query.Query) (*profileview.Flames, error) {
	q.View, q.Root, q.Depth, q.Limit, q.Min, q.Gone = "flame", "", 0, 0, 0, false
	// The sample type does not tell the profile: those of block and mutex are both called delay. Nor does the name of a recording: what
	// a server is asked for twice is two recordings.
	profiles := ""
	for _, rec := range in {
		profiles += " " + rec.Key()
	}
	if l := s.whole.Load(); len(in) == 1 && len(q.Steps) == 0 && (l == nil || l.rec != in[0] || l.q.URL() != q.URL()) {
		s.whole.Store(&looked{in[0], q})
	}
	return s.cache.tree(q.URL()+profiles, profileview.TreeKey(q)+profiles, len(q.Steps), func(known ...*profileview.Flames) (*profileview.Flames, error) {
		return profileview.NewFlames(in, q, known...)
	})
}

// prepare makes the tree of a page before a browser asks for it: until one has started and read the page, there is time.
func (s *Server) prepare(ctx context.Context, page string) {
	u, err := url.Parse(page)
	if err != nil || u.Path != "/flame" || s.failed != nil {
		return
	}
	r := (&http.Request{URL: u}).WithContext(ctx)
	q, in, err := s.asked(r, "flame", onlyFunctions)
	if err != nil {
		return // which the page will say
	}
	if done, ok := s.busy(r); ok {
		defer done()
		if in, q, err = open.Resolve(in, q); err == nil {
			if f, err := s.flames(in, q); err == nil { // so will it with this error
				if share := firstShare(in[0].Profile.NumSamples()); share > 0 && q.Min == 0 && q.Root == "" {
					f.Glance(share)
				} else {
					f.Open(painted(q).Min)
				}
			}
		}
	}
}

// search answers how much matches what somebody types. Its pattern is rx here, since arg is that of the page.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	rx := r.URL.Query().Get("rx")
	u := *r.URL
	pairs := strings.Split(u.RawQuery, "&")
	kept := pairs[:0]
	for _, p := range pairs {
		if !strings.HasPrefix(p, "rx=") && !strings.HasPrefix(p, "arg=") {
			kept = append(kept, p)
		}
	}
	u.RawQuery = strings.Join(kept, "&")
	r = r.Clone(r.Context())
	r.URL = &u
	u.Path += " " + rx // part of what answers are kept by
	s.answer(w, r, "search", func(in []*recording.Recording, q query.Query) (any, error) {
		q.Arg = rx // which is what an error quotes
		if _, err := regexp.Compile(rx); err == nil {
			q.Arg = query.SmartCase(rx)
		}
		return profileview.SearchFor(in[:1], q)
	})
}

// lines answers with the lines of a call of a flame graph.
func (s *Server) lines(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "list", func(in []*recording.Recording, q query.Query) (any, error) {
		return profileview.ListCall(in[:1], q)
	})
}
