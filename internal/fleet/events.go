package fleet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// How many events are answered.
const (
	usualEvents = 100
	mostEvents  = 1000
	pageEvents  = 20
)

// Happened is what is answered about events.
type Happened struct {
	Events []event.Event `json:"events"`
	More   bool          `json:"more"` // there are older ones in this time
	From   time.Time     `json:"from"`
	To     time.Time     `json:"to"`
}

// Report returns the answer.
func (h *Happened) Report() *report.Events { return event.Report(h.Events, h.More, h.From, h.To) }

// happened returns the events of a tenant that a request asks for: those of a day where it does not say of when.
func (s *Server) happened(r *http.Request, tenant string) (*Happened, error) {
	now := s.Now().UTC()
	h := &Happened{Events: []event.Event{}, From: now.Add(-24 * time.Hour), To: now}
	wrong := func(name, want string) error {
		return badRequest{fmt.Errorf("%s=%s: want %s", name, profile.Shorten(r.FormValue(name), 60), want)}
	}
	if text := r.FormValue("last"); text != "" {
		last, err := store.ParseAge(text)
		if err != nil || last <= 0 {
			return nil, wrong("last", "a time such as 1h or 7d")
		}
		h.From = now.Add(-last)
	}
	for name, into := range map[string]*time.Time{"from": &h.From, "to": &h.To} {
		t, err := store.ParseMoment(r.FormValue(name), *into, now)
		if err != nil {
			return nil, wrong(name, "a time such as -1h or "+time.RFC3339)
		}
		*into = t
	}
	f := event.Filter{Tenant: tenant, Service: r.FormValue("service"), From: h.From, To: h.To, Limit: usualEvents}
	if r.FormValue("to") == "" {
		f.To = time.Time{} // what happens now is part of it
	}
	for _, word := range strings.Split(strings.Join(r.Form["kind"], ","), ",") {
		if word == "" {
			continue
		}
		if !slices.Contains(event.Kinds, event.Kind(word)) {
			return nil, wrong("kind", "some of "+event.KindNames())
		}
		f.Kinds = append(f.Kinds, event.Kind(word))
	}
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostEvents {
			return nil, wrong("limit", fmt.Sprintf("a number from 1 to %d", mostEvents))
		}
		f.Limit = n
	}
	if s.Events == nil {
		return h, nil
	}
	found, more := s.Events.List(f)
	h.Events, h.More = append(h.Events, found...), more
	return h, nil
}

func (s *Server) events(w http.ResponseWriter, r *http.Request, tenant string) error {
	h, err := s.happened(r, tenant)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(h)
}
