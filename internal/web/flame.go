package web

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// What pages get of a tree unless they ask for more: a pixel on a wide screen.
const (
	minPainted = 1.0 / 2048
	maxPainted = 20_000

	thinnestAhead = minPainted / 16 // that are opened before anybody asks

	settled = 20 * time.Millisecond // that a browser has the processors to itself after an answer, to paint it
)

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
		f, err := flames.Flame(painted(q))
		if err != nil {
			return nil, err
		}
		return flameOf(f, s.placesOf(in[0])), nil
	})
}

// flames returns the tree that the answers to q are cut from, whatever part of it they show.
func (s *Server) flames(in []*recording.Recording, q query.Query) (*profileview.Flames, error) {
	q.Root, q.Limit, q.Min, q.Gone = "", 0, 0, false
	// The sample type does not tell the profile: those of block and mutex are both called delay. Nor does the name of a recording: what
	// a server is asked for twice is two recordings.
	profiles := ""
	for _, rec := range in {
		profiles += " " + rec.Key()
	}
	return s.cache.tree(q.URL()+profiles, profileview.TreeKey(q)+profiles, len(q.Steps), func(known ...*profileview.Flames) (*profileview.Flames, error) {
		return profileview.NewFlames(in, q, known...)
	})
}

// prepare makes the tree of a page before a browser asks for it: until one has started and read the page, there is time.
func (s *Server) prepare(page string) {
	u, err := url.Parse(page)
	if err != nil || u.Path != "/flame" || s.failed != nil {
		return
	}
	r := &http.Request{URL: u}
	q, in, err := s.query(r, "flame")
	if err != nil {
		return // which the page will say
	}
	if done, ok := s.busy(r); ok {
		defer done()
		if in, q, err = open.Resolve(in, q); err == nil {
			if f, err := s.flames(in, q); err == nil { // so will it with this error
				f.Open(painted(q).Min)
			}
		}
	}
}

// ahead opens more calls of the trees that were asked last, until somebody asks: whoever looks closer or filters will want
// calls that are thinner than those of the first picture. A tenth of it, in which those wanted then are ten times thinner, is
// what people often look at. A browser that goes back to a picture does not ask again, so it may be any of the trees.
func (s *Server) ahead() {
	if !s.opening.TryLock() {
		return
	}
	defer s.opening.Unlock()
	asked := func() bool { return len(s.turns) > 0 }
	for share := minPainted / 4; share >= thinnestAhead; share /= 2 {
		for _, f := range s.cache.made() {
			if asked() {
				return
			}
			f.Deepen(share, asked)
		}
	}
}

// A flameAnswer is a flame graph as pages paint it.
type flameAnswer struct {
	report.Head
	Whole      int64        `json:"whole"`
	Before     *report.Head `json:"before,omitempty"`
	Normalized bool         `json:"normalized,omitempty"`
	Path       []crumb      `json:"path"`
	rowsAnswer
	Cut      cut  `json:"cut"`
	Inverted bool `json:"inverted"`
}

// A crumb is a call on the way to what is shown.
type crumb struct {
	Name   string `json:"name"`
	Cum    int64  `json:"cum"`
	Flat   int64  `json:"flat"`
	Before *int64 `json:"before,omitempty"`
}

// A cut says what was too small to be sent.
type cut struct {
	Below int64 `json:"below"`
	Nodes int   `json:"nodes"`
}

func flameOf(f *report.Flame, places func(name string) place) flameAnswer {
	out := flameAnswer{
		Head: f.Head, Whole: f.Whole, Before: f.Before, Normalized: f.Normalized, Path: []crumb{},
		rowsAnswer: rowsOf(f.Root, places),
		Cut:        cut{f.Below, f.Dropped + f.Of - f.Shown}, Inverted: f.Inverted,
	}
	for i := range f.Path {
		n := &f.Path[i]
		c := crumb{Name: n.Frame.String(), Cum: n.Cum, Flat: n.Flat}
		if n.Before != nil {
			c.Before = &n.Before.Cum
		}
		out.Path = append(out.Path, c)
	}
	return out
}

// sandwich answers with the callers and callees of a frame as pages paint them.
func (s *Server) sandwich(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "sandwich", func(in []*recording.Recording, q query.Query) (any, error) {
		rep, err := profileview.Sandwich(in[:1], painted(q))
		if err != nil {
			return nil, err
		}
		sw := rep.(*report.Sandwich)
		places := s.placesOf(in[0])
		whole, err := profileview.Head(in[:1], query.Query{Metric: q.Metric})
		if err != nil {
			return nil, err
		}
		return struct {
			report.Head
			Whole   int64         `json:"whole"`
			Frame   report.Frame  `json:"frame"`
			Origin  report.Origin `json:"origin,omitempty"`
			Flat    int64         `json:"flat"`
			Cum     int64         `json:"cum"`
			Matches []string      `json:"matches,omitempty"`
			Callees rowsAnswer    `json:"callees"`
			Callers rowsAnswer    `json:"callers"`
		}{
			sw.Head, whole.Total, sw.Frame, sw.Origin, sw.Flat, sw.Cum, sw.Matches,
			rowsOf(sw.Callees, places), rowsOf(sw.Callers, places),
		}, nil
	})
}

// search answers how much matches. Its pattern is rx here, since arg is that of the page.
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
		q.Arg = rx
		return profileview.SearchFor(in[:1], q)
	})
}

// lines answers with the lines of a call of a flame graph.
func (s *Server) lines(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, "list", func(in []*recording.Recording, q query.Query) (any, error) {
		return profileview.ListCall(in[:1], q)
	})
}

// A place is where a function is.
type place struct {
	pkg, file string
	line      int64
}

// placesOf returns a function that tells where the functions of a recording are. For those that are open it is made once.
func (s *Server) placesOf(rec *recording.Recording) func(name string) place {
	if f, ok := s.places[rec.Key()]; ok {
		return f
	}
	return placesOf(rec.Profile)
}

// placesOf returns a function that tells where functions are, by their names.
func placesOf(p *profile.Profile) func(name string) place {
	known := sync.OnceValue(func() map[string]*profile.Function {
		known := make(map[string]*profile.Function, len(p.Functions))
		for i := range p.Functions {
			if f := &p.Functions[i]; known[f.Name] == nil || known[f.Name].File == "" {
				known[f.Name] = f
			}
		}
		return known
	})
	return func(name string) place {
		f := known()[name]
		if name == "" || f == nil {
			return place{}
		}
		return place{f.Package(), f.File, f.StartLine}
	}
}
