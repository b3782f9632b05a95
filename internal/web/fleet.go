package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// fleetPages are the paths of pages about a store, except those about a selection.
var fleetPages = []string{"services", "service", "heat", "events", "shelf"}

// OfStore returns what answers the pages of a store. It asks open for what they name, and opens its answers to whoever asks:
// open has to know from the context of a request what that one may see. With functions, it may leave the lines of stacks out.
func OfStore(opt Options, open func(ctx context.Context, ref string, functions bool) (*recording.Recording, error)) http.Handler {
	s := Later(opt)
	s.store = open
	close(s.opened)
	return s.Handler()
}

// storeHead is the session of a page that names nothing yet.
func (s *Server) storeHead() session {
	out := session{Version: s.opt.Version, Fleet: true, Recordings: []sessionRecord{}}
	out.describe()
	return out
}

// storeSession answers with the session of the refs in a request.
func (s *Server) storeSession(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r, "session")
	if err != nil {
		fail(w, http.StatusBadRequest, err, "")
		return
	}
	out := s.storeHead()
	if len(q.Refs) > 0 {
		done, ok := s.busy(r)
		if !ok {
			return
		}
		defer done()
		in, err := s.recordings(r.Context(), q.Refs, q.Base, true)
		for _, rec := range in {
			one, bad := recordOf(rec)
			if err == nil {
				err = bad
			}
			if strings.HasPrefix(rec.Ref, store.RefPrefix) {
				one.Samples = 0 // with lines there are more stacks than this
				for i := range one.Metrics {
					one.Metrics[i].Samples = 0
				}
			}
			out.Recordings = append(out.Recordings, one)
		}
		if err != nil {
			status := http.StatusUnprocessableEntity
			if errors.As(err, new(*store.NothingError)) {
				status = http.StatusNotFound
			}
			fail(w, status, err, s.hintOf(err))
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(out)
}
