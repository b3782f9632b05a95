// Package fleet is the server of a store: it receives profiles of many processes, asks targets for theirs, and answers about
// all of them over time.
//
// What it answers with is recordings, so that all that hone does with the recording of one run works for a service, too: a
// selection of profiles is merged, kind by kind, into one recording.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/querier"
	"github.com/hone-perf/hone/internal/fleet/receive"
	"github.com/hone-perf/hone/internal/fleet/rule"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/fleet/shelf"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/view/fleetview"
)

// Options configure a Server. Store and Tokens are required.
type Options struct {
	Store   store.Store
	Tokens  *token.File
	Hosts   []string        // accepted host names; see token.Gate
	Scraper *scrape.Scraper // nil if the server does not scrape
	Events  *event.Log      // nil if events are not kept
	Rules   *rule.Watcher   // nil if clients cannot send events
	Version string          // version of hone, for recordings
	Pages   http.Handler    // handler for browsers, for all paths outside of the API; it may call Open. nil if there are no pages
	Shelf   *shelf.Shelf    // nil if there is no shelf
	Log     *slog.Logger
	Now     func() time.Time // nil means time.Now
}

// A Server answers requests.
type Server struct {
	Options
	gate    *token.Gate
	mux     *http.ServeMux
	counted *counted

	receiver *receive.Server
	opened   *cache.Cache[string, *selection]
	adding   chan struct{} // limits merging for pages
	filling  atomic.Bool
}

// New returns a Server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, gate: &token.Gate{Tokens: o.Tokens, Hosts: o.Hosts, Now: o.Now}, mux: http.NewServeMux(), counted: &counted{Store: o.Store}, opened: newOpened(), adding: make(chan struct{}, runtime.GOMAXPROCS(0))}
	s.receiver = receive.New(receive.Options{Store: s.counted, Gate: s.gate, Log: o.Log, Now: o.Now})
	s.receiver.Register(s.mux)
	querier.New(querier.Options{Store: o.Store, Gate: s.gate, Now: o.Now}).Register(s.mux)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /api/v1/recording", s.read(s.recording))
	s.mux.HandleFunc("GET /api/v1/profile", s.read(s.profile))
	s.mux.HandleFunc("GET /api/v1/series", s.read(s.series))
	s.mux.HandleFunc("GET /api/v1/names", s.read(s.nameList))
	s.mux.HandleFunc("GET /api/v1/services", s.read(s.services))
	s.mux.HandleFunc("GET /api/v1/events", s.read(s.events))
	s.mux.HandleFunc("POST /api/v1/events", s.may(token.Write, s.told))
	s.mux.HandleFunc("GET /api/v1/targets", s.allow(token.Read, s.targets))
	s.mux.HandleFunc("GET /metrics", s.allow(token.Read, s.metrics))
	s.mux.HandleFunc("GET /api/v1/fleet/services", s.read(s.fleetServices))
	s.mux.HandleFunc("GET /api/v1/fleet/graph", s.read(s.fleetGraph))
	s.mux.HandleFunc("GET /api/v1/fleet/labels", s.read(s.fleetLabels))
	s.mux.HandleFunc("GET /api/v1/fleet/heat", s.read(s.fleetHeat))
	s.mux.HandleFunc("GET /api/v1/fleet/bases", s.read(s.fleetBases))
	s.mux.HandleFunc("GET /api/v1/fleet/targets", s.read(s.failing))
	s.mux.HandleFunc("GET /api/v1/fleet/time", s.read(s.fleetTime))
	s.mux.HandleFunc("/", s.read(s.pages))
	s.registerShelf()
	return s
}

// Configure sets the limits of tenants, and the labels that identify processes.
func (s *Server) Configure(c *receive.Config) { s.receiver.Configure(c) }

// Fill sets whether the server is still making its first profiles, which answers then say.
func (s *Server) Fill(filling bool) { s.filling.Store(filling) }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// A badRequest is an error in a request.
type badRequest struct{ error }

// read returns a handler for clients with read scope.
func (s *Server) read(answer func(w http.ResponseWriter, r *http.Request, tenant string) error) http.HandlerFunc {
	return s.may(token.Read, answer)
}

// may returns a handler for clients with a scope.
func (s *Server) may(need token.Scope, answer func(w http.ResponseWriter, r *http.Request, tenant string) error) http.HandlerFunc {
	return s.allow(need, func(w http.ResponseWriter, r *http.Request, who token.Who) error { return answer(w, r, who.Tenant) })
}

// allow returns a handler that gets the identity of the client.
func (s *Server) allow(need token.Scope, answer func(w http.ResponseWriter, r *http.Request, who token.Who) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.gate.Allow(r, need)
		if err != nil {
			why := token.ReasonOf(err)
			if why.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="hone"`)
			}
			http.Error(w, why.Message, why.Status)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		err = answer(w, r, who)
		if err == nil || r.Context().Err() != nil {
			return
		}
		status := http.StatusInternalServerError
		err = s.explained(r.Context(), err)
		var sent *body.Error
		var none *store.NothingError
		switch {
		case errors.As(err, &sent):
			if status = sent.Status; sent.Retry > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(sent.Retry.Seconds())))
			}
		case errors.Is(err, store.ErrFull):
			w.Header().Set("Retry-After", "60")
			status = http.StatusInsufficientStorage
		case errors.Is(err, shelf.ErrNotFound):
			status = http.StatusNotFound
		case errors.Is(err, shelf.ErrNotYours):
			status = http.StatusForbidden
		case errors.As(err, new(badRequest)):
			status = http.StatusBadRequest
		case errors.Is(err, rule.ErrMany):
			status = http.StatusTooManyRequests
		case errors.Is(err, store.ErrNotFound), errors.As(err, new(*store.NothingError)):
			status = http.StatusNotFound
		default:
			s.Log.Error("answering", "url", r.URL.Redacted(), "err", err)
		}
		if errors.As(err, &none) && r.Header.Get("Accept") == source.JSON {
			// The client words the error, in the user's time zone.
			w.Header().Set("Content-Type", source.JSON)
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(none.Found)
			return
		}
		http.Error(w, hint.With(err).String(), status)
	}
}

// query returns the selection in a request.
func (s *Server) query(r *http.Request, tenant string) (store.Query, error) {
	ref, err := store.ParseRef(r.FormValue("ref"), s.Now())
	if err != nil {
		return store.Query{}, badRequest{fmt.Errorf("%s: %w", profile.Shorten(r.FormValue("ref"), 200), err)}
	}
	return store.Query{Tenant: tenant, Selector: ref.Selector, From: ref.From, To: ref.To}, nil
}

// recording answers with the recording of a selection.
func (s *Server) recording(w http.ResponseWriter, r *http.Request, tenant string) error {
	q, err := s.query(r, tenant)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hone-serve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	one, err := s.selected(r.Context(), q)
	if err != nil {
		return err
	}
	if one.manifest.Cores, err = s.coresOf(r.Context(), q); err != nil {
		return err
	}
	file := filepath.Join(folder, "made.hone")
	if err := one.pack(filepath.Join(folder, "parts"), file); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	_, err = io.Copy(w, f)
	return err
}

// coresOf returns the mean number of cores that all processes of a selection used together.
func (s *Server) coresOf(ctx context.Context, q store.Query) (float64, error) {
	q.Kind = recording.CPU
	at := fleetview.Window{From: q.From, To: q.To, Step: max(q.To.Sub(q.From)/fleetview.Steps, time.Minute)}
	lines, err := s.means(ctx, q, at.Step)
	if err != nil {
		return 0, err
	}
	return fleetview.Cores(lines, at), nil
}

// profile answers with the merged profile of a selection.
func (s *Server) profile(w http.ResponseWriter, r *http.Request, tenant string) error {
	q, err := s.query(r, tenant)
	if err != nil {
		return err
	}
	q.Kind = cmp.Or(r.FormValue("kind"), recording.CPU)
	merged, err := s.Store.Merge(r.Context(), q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	return merged.Profile.Write(w)
}

// series answers with the series of a selection.
func (s *Server) series(w http.ResponseWriter, r *http.Request, tenant string) error {
	q := store.Query{Tenant: tenant, From: s.Now().Add(-24 * time.Hour), To: s.Now()}
	if r.FormValue("ref") != "" {
		var err error
		if q, err = s.query(r, tenant); err != nil {
			return err
		}
	}
	series, err := s.Store.Series(r.Context(), q)
	if err != nil {
		return err
	}
	if series == nil {
		series = []store.Series{} // an empty list in JSON, not null
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(series)
}

// mostNames is the maximum number of names in an answer.
const mostNames = 200

// nameList answers with the label names of the last week, or with the values of one label, for completion of refs.
func (s *Server) nameList(w http.ResponseWriter, r *http.Request, tenant string) error {
	q := store.Query{Tenant: tenant, From: s.Now().Add(-7 * 24 * time.Hour), To: s.Now().Add(time.Minute)}
	err := onlyKeys(r, "service", "label", "prefix")
	if err != nil {
		return err
	}
	if service := r.FormValue("service"); service != "" {
		q.Selector = store.Service(service)
	}
	label, prefix := r.FormValue("label"), r.FormValue("prefix")
	var out struct {
		Names []string `json:"names"`
		More  bool     `json:"more,omitempty"`
	}
	if label != "" {
		out.Names, out.More, err = s.Store.Values(r.Context(), q, label, prefix, mostNames)
	} else if out.Names, err = s.Store.Names(r.Context(), q); err == nil {
		out.Names = slices.DeleteFunc(out.Names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
		out.Names, out.More = out.Names[:min(len(out.Names), mostNames)], len(out.Names) > mostNames
	}
	if err != nil {
		return err
	}
	if out.Names == nil {
		out.Names = []string{} // an empty list in JSON, not null
	}
	return answerJSON(w, out)
}

// onlyKeys refuses unknown keys, because a mistyped filter would select something else.
func onlyKeys(r *http.Request, keys ...string) error {
	for key := range r.URL.Query() {
		if !slices.Contains(keys, key) {
			return badRequest{fmt.Errorf("unknown key %q; the keys are %s", profile.Shorten(key, 40), strings.Join(keys, ", "))}
		}
	}
	return nil
}

// Costs are the input of fleetview.Services.
type Costs struct {
	From    time.Time        `json:"from"`
	To      time.Time        `json:"to"`
	Step    time.Duration    `json:"step_ns"`
	Series  []store.Series   `json:"series"`
	Totals  fleetview.Totals `json:"totals"`            // in steps
	Before  []store.Line     `json:"before,omitempty"`  // CPU totals of the preceding period of the same length
	Any     bool             `json:"any"`               // the store has profiles, perhaps of another time
	Filling bool             `json:"filling,omitempty"` // the server is still making its first profiles
}

// Report returns the answer.
func (c *Costs) Report() *report.Services {
	out := fleetview.Services(c.Totals, c.Before, c.Series, fleetview.Window{From: c.From, To: c.To, Step: c.Step})
	switch {
	case c.Filling:
		out.Notes = append(out.Notes, source.FillingStore)
	case len(out.Rows) > 0:
	case c.Any:
		out.Notes = append(out.Notes, hint.Text{"there are only profiles of other times; ", hint.Option{Name: "last", Value: "7d"}, " shows the last week"})
	default:
		out.Notes = append(out.Notes, source.EmptyStore)
	}
	return out
}

// costs returns the costs of all services of a tenant, in the time that a request selects.
func (s *Server) costs(r *http.Request, tenant string) (*Costs, error) {
	last := time.Hour
	if text := r.FormValue("last"); text != "" {
		var err error
		if last, err = store.ParseAge(text); err != nil || last < time.Minute {
			return nil, badRequest{fmt.Errorf("last=%s: want a time such as 1h or 7d", profile.Shorten(text, 40))}
		}
	}
	c := &Costs{To: s.Now().UTC(), Filling: s.filling.Load()}
	c.From = c.To.Add(-last)
	q := store.Query{Tenant: tenant, From: c.From, To: c.To}
	var err error
	if c.Series, err = s.Store.Series(r.Context(), q); err != nil {
		return nil, err
	}
	c.Step = max(last/fleetview.Steps, time.Minute)
	if c.Totals, err = s.totals(r.Context(), q, c.Step); err != nil {
		return nil, err
	}
	if c.Before, err = s.before(r.Context(), q, c.Step); err != nil {
		return nil, err
	}
	if c.Any = len(c.Series) > 0; !c.Any {
		c.Any, err = s.has(r.Context(), tenant)
	}
	return c, err
}

func (s *Server) services(w http.ResponseWriter, r *http.Request, tenant string) error {
	c, err := s.costs(r, tenant)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(c)
}

// failing answers with what fails of the targets of a tenant.
func (s *Server) failing(w http.ResponseWriter, _ *http.Request, tenant string) error {
	if s.Scraper == nil {
		return answerJSON(w, &report.Targets{Now: s.Now(), Rows: []report.FailingTarget{}, None: true})
	}
	st := s.Scraper.Status()
	return answerJSON(w, st.Failing(tenant, s.Now()))
}

// ofAllTenants reports whether a client may see all tenants and the server itself, and names no single tenant.
func ofAllTenants(r *http.Request, who token.Who) bool {
	return who.Token == "" || who.Admin && r.Header.Get(token.TenantHeader) == ""
}

// targets answers with the status of scrape targets: those of one tenant or, with an admin token, of all tenants.
func (s *Server) targets(w http.ResponseWriter, r *http.Request, who token.Who) error {
	w.Header().Set("Content-Type", "application/json")
	if s.Scraper == nil {
		_, err := io.WriteString(w, "{}\n")
		return err
	}
	st := s.Scraper.Status()
	if !ofAllTenants(r, who) {
		st = st.Of(who.Tenant)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(st)
}
