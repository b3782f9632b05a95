package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
)

// Default and maximum number of events in an answer.
const (
	usualEvents = 100
	mostEvents  = 1000
	pageEvents  = 20
)

// Happened is the answer to a request about events.
type Happened struct {
	Events []event.Event `json:"events"`
	More   bool          `json:"more"` // there are older ones in this period
	From   time.Time     `json:"from"`
	To     time.Time     `json:"to"`

	WithoutData []report.RuleWithoutData `json:"rules_without_data,omitempty"` // rules that cannot fire
}

// Report returns the answer as a report.
func (h *Happened) Report() *report.Events {
	out := event.Report(h.Events, h.More, h.From, h.To)
	out.WithoutData = h.WithoutData
	return out
}

// happened returns the events of a tenant that a request selects. Without a time, it returns those of the last day.
func (s *Server) happened(r *http.Request, tenant string) (*Happened, error) {
	now := s.Now().UTC()
	h := &Happened{Events: []event.Event{}, From: now.Add(-24 * time.Hour), To: now}
	if err := onlyKeys(r, "service", "kind", "last", "from", "to", "limit"); err != nil {
		return nil, err
	}
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
			return nil, wrong(name, "a time such as -1h or 2026-09-01T14:30Z")
		}
		*into = t
	}
	if h.To.Before(h.From) {
		return nil, badRequest{fmt.Errorf("the time ends before it begins: from %s to %s", h.From.Format(time.RFC3339), h.To.Format(time.RFC3339))}
	}
	f := event.Filter{Tenant: tenant, Service: r.FormValue("service"), From: h.From, To: h.To, Limit: usualEvents}
	if r.FormValue("to") == "" {
		f.To = time.Time{} // no end, so that it includes current events
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
	if s.Events != nil {
		found, more := s.Events.List(f)
		h.Events, h.More = append(h.Events, found...), more
	}
	if s.Rules != nil && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, event.Broken)) {
		h.WithoutData = rulesOf(s.Rules.WithoutData(tenant), f.Service)
	}
	if f.Service != "" && len(h.Events) == 0 {
		return h, s.known(r.Context(), tenant, f.Service, h.From, h.To)
	}
	return h, nil
}

// rulesOf returns the rules that name a service, or all rules without a service.
func rulesOf(all []report.RuleWithoutData, service string) []report.RuleWithoutData {
	return slices.DeleteFunc(all, func(r report.RuleWithoutData) bool {
		of, err := store.ParseSelector(r.Of)
		named, ok := of.Only(store.ServiceLabel)
		return service != "" && (err != nil || !ok || named != service)
	})
}

// known returns an error with the names of services where there are neither events nor profiles of one, at any time.
func (s *Server) known(ctx context.Context, tenant, service string, from, to time.Time) error {
	var all []event.Event
	if s.Events != nil {
		all, _ = s.Events.List(event.Filter{Tenant: tenant})
	}
	if slices.ContainsFunc(all, func(e event.Event) bool { return e.Service == service }) {
		return nil
	}
	none := s.explain(ctx, store.Query{Tenant: tenant, Selector: store.Service(service), From: from, To: to})
	if none.Found == nil || none.Found.Services == nil {
		return nil
	}
	for _, e := range all {
		if names := &none.Found.Services; !slices.Contains(*names, e.Service) {
			*names = append(*names, e.Service)
		}
	}
	slices.Sort(none.Found.Services)
	return source.Nothing(store.RefPrefix, none)
}

// A tale is an event that a client sends.
type tale struct {
	Kind    event.Kind        `json:"kind"`
	Service string            `json:"service"`
	Labels  map[string]string `json:"labels"`
	Time    time.Time         `json:"time"`
	Version string            `json:"version"`
	Build   string            `json:"build"`
}

// Limits of such events.
const (
	mostTale       = 16 << 10 // bytes
	taleTime       = 10 * time.Second
	mostToldLabels = 30
	mostName       = 128 // bytes of a label name
	mostValue      = 1024
	oldestTale     = 7 * 24 * time.Hour
	aheadTale      = 10 * time.Minute
)

// kindsTold are the kinds of events that clients may send.
var kindsTold = []event.Kind{event.Deployed, event.Restarted, event.Killed}

// event converts a tale, or returns what is wrong with it.
func (t *tale) event(now time.Time) (event.Event, error) {
	e := event.Event{Kind: t.Kind, Service: t.Service, Time: t.Time}
	text := func(what, s string, most int) error {
		if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("%s: want one line of UTF-8 of at most %d bytes", what, most)
		}
		return nil
	}
	switch {
	case !slices.Contains(kindsTold, t.Kind):
		return e, fmt.Errorf("kind %q: want deploy, restart or oom", profile.Shorten(string(t.Kind), 40))
	case t.Service == "":
		return e, errors.New("service: name the service of the event")
	case len(t.Labels) > mostToldLabels:
		return e, fmt.Errorf("there are %d labels; the limit is %d", len(t.Labels), mostToldLabels)
	case t.Time.IsZero(): // Told sets the time
	case now.Sub(t.Time) > oldestTale, t.Time.Sub(now) > aheadTale:
		return e, fmt.Errorf("time %s: want one of the last seven days", t.Time.Format(time.RFC3339))
	}
	err := errors.Join(text("service", t.Service, mostValue), text("version", t.Version, mostValue), text("build", t.Build, mostValue))
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		value := t.Labels[name]
		err = errors.Join(err, text("the name of a label", name, mostName), text("the label "+profile.Shorten(name, 40), value, mostValue))
		e.Labels = append(e.Labels, store.Label{Name: name, Value: value})
	}
	e.Labels = store.NewLabels(e.Labels...)
	if t.Kind == event.Deployed {
		e.Deploy = &event.Deploy{Version: cmp.Or(t.Version, e.Labels.Get("version")), Build: t.Build}
		if e.Deploy.Version == "" && t.Build == "" {
			err = errors.Join(err, errors.New("a deploy needs a version or a build"))
		}
	}
	return e, err
}

// told stores an event from a client, and answers with it.
func (s *Server) told(w http.ResponseWriter, r *http.Request, tenant string) error {
	if s.Rules == nil {
		return badRequest{errors.New("this server keeps no events")}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(taleTime)) // connections in tests may not support it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostTale))
	if err != nil {
		return badRequest{fmt.Errorf("reading the event (at most %d bytes): %w", mostTale, err)}
	}
	var t tale
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := wrongJSON(d.Decode(&t)); err != nil {
		return badRequest{fmt.Errorf(`%w; an event looks like {"kind":"oom","service":"api","labels":{"instance":"10.0.0.7:6060"}}`, err)}
	}
	if d.More() {
		return badRequest{errors.New("the body goes on after the event: send one event at a time")}
	}
	e, err := t.event(s.Now().UTC())
	if err != nil {
		return badRequest{err}
	}
	if e, err = s.Rules.Told(r.Context(), tenant, e); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(e)
}

// wrongJSON words an error of package json for readers who do not know hone's types.
func wrongJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return errors.New("the body is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the body ends before its JSON does")
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("the body is not an event but a JSON %s", wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s cannot be a JSON %s", wrong.Field, wrong.Value)
	}
	return err
}

func (s *Server) events(w http.ResponseWriter, r *http.Request, tenant string) error {
	h, err := s.happened(r, tenant)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(h)
}
