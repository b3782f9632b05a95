package web

import (
	"net/http"
	"sync/atomic"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// A looked is a picture of all samples that somebody looked at.
type looked struct {
	rec *recording.Recording
	q   query.Query
}

// ahead finds out, while nobody asks, what will probably be asked next.
func (s *Server) ahead() {
	if !s.opening.TryLock() {
		return
	}
	defer s.opening.Unlock()
	for {
		next := s.next.Load()
		s.findAhead(next, func() bool { return len(s.turns) > 0 || s.next.Load() != next })
		if s.next.Load() == next || len(s.turns) > 0 {
			return
		}
	}
}

// findAhead works until somebody asks. It adds up what functions cost, which the overview, the ranking, callers and the graph begin with,
// and makes the answer that a page expects to ask for next. Then it opens more calls of the trees that were asked last: whoever looks
// closer or filters will want calls that are thinner than those of the first picture. A tenth of it, in which those wanted then are ten
// times thinner, is what people often look at. A browser that goes back to a picture does not ask again, so it may be any of the trees.
// Last it finds the calls that the graph begins with.
func (s *Server) findAhead(next *expected, enough func() bool) {
	if l := s.whole.Load(); l != nil && s.summed != l {
		if !profileview.SumAhead(l.rec, l.q, enough) {
			return
		}
		s.summed = l
	}
	if next != nil {
		s.makeAhead(next, enough)
	}
	for share := minPainted / 4; share >= thinnestAhead; share /= 2 {
		for _, f := range s.cache.made() {
			if enough() {
				return
			}
			f.Deepen(share, enough)
		}
	}
	if l := s.whole.Load(); l != nil {
		// What is half done stays, since it takes longer than many people rest.
		if s.graphing == nil || s.graphing.of != l {
			s.graphing = &graphing{l, profileview.SearchGraph(l.rec, l.q)}
		}
		s.graphing.Go(enough)
	}
}

// A graphing is the search for the calls of the graph of a picture.
type graphing struct {
	of *looked
	*profileview.GraphSearch
}

// expectedHeader is in requests whose answer a page expects to need, but does not need yet.
const expectedHeader = "Hone-Expected"

// An expected is a question about callers that a page will probably ask.
type expected struct {
	key    string // of its answer
	in     []*recording.Recording
	q      query.Query
	making atomic.Pointer[sandwiching] // nil until it is begun, and when it is done
}

// A sandwiching is an answer about callers in the making.
type sandwiching struct {
	key string // of the question as it was resolved
	*profileview.Sandwiching
}

// expect has the answer to a question made while nobody asks. Only the last one that pages expect counts. It takes no time itself.
func (s *Server) expect(w http.ResponseWriter, r *http.Request) {
	defer w.WriteHeader(http.StatusNoContent)
	q, in, err := s.asked(r, "sandwich", onlyFunctions)
	if err != nil || s.store != nil || !onlyFunctions("sandwich", q) {
		return // not for what cannot be given up when somebody asks, nor where many people look at the same time
	}
	key := keyOf(r.URL.Path, q, in)
	if now := s.next.Load(); now == nil || now.key != key {
		s.next.Store(&expected{key: key, in: in, q: q})
	}
	s.idle.Reset(settled)
}

// makeAhead makes the answer to a question that a page expects to ask. What is half done stays for whoever asks.
func (s *Server) makeAhead(next *expected, enough func() bool) {
	if _, there := s.cache.answers.Get(next.key); there || enough() {
		if there {
			next.making.Store(nil)
		}
		return
	}
	m := next.making.Load()
	if m == nil {
		in, q, err := pickedFor("sandwich", next.in, next.q)
		if err != nil {
			s.next.CompareAndSwap(next, nil)
			return // which whoever asks is told
		}
		m = newSandwiching(in, painted(q))
		next.making.Store(m)
	}
	if !m.Ahead(enough) {
		return
	}
	rep, err := m.Report()
	if err != nil {
		s.next.CompareAndSwap(next, nil)
		return // which whoever asks is told
	}
	if body, err := s.pack(rep); err == nil {
		s.cache.keep(next.key, body)
		next.making.Store(nil)
	}
}

func newSandwiching(in []*recording.Recording, q query.Query) *sandwiching {
	return &sandwiching{keyOf("sandwich", q, in), profileview.NewSandwiching(in, q)}
}

// sandwich answers with the callers and callees of a frame as pages paint them.
func (s *Server) sandwich(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(expectedHeader) != "" {
		s.expect(w, r)
		return
	}
	s.answer(w, r, "sandwich", func(in []*recording.Recording, q query.Query) (any, error) {
		m := newSandwiching(in, painted(q))
		if next := s.next.Load(); next != nil {
			if begun := next.making.Load(); begun != nil && begun.key == m.key {
				m = begun
			}
		}
		return m.Report()
	})
}
