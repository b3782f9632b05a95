package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/inflate"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/profileview"
	"github.com/hone-perf/hone/internal/view/traceview"
	"github.com/hone-perf/hone/internal/views"
)

// maxQuery is the maximum length of a query.
const maxQuery = 32 << 10

// usualTraces is the number of samples in an answer if the request has no limit.
const usualTraces = 1000

// mostAnswer is the maximum size of an answer in bytes of JSON. A page cannot show more, and scripts can use the command line.
const mostAnswer = 128 << 20

var errTooMuch = fmt.Errorf("the answer has more than %s", unit.Size(mostAnswer))

// A bounded writer fails after some number of bytes.
type bounded struct {
	io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooMuch
	}
	return b.Writer.Write(p)
}

// An answerer computes the body of an answer.
type answerer func(in []*recording.Recording, q query.Query) (any, error)

// view answers with the report of a view, in hone's JSON.
func (s *Server) view(w http.ResponseWriter, r *http.Request, v *view.View) {
	s.answer(w, r, v.Name, func(in []*recording.Recording, q query.Query) (any, error) {
		if v.Name == "traces" {
			if q.Limit == 0 {
				q.Limit = usualTraces
			} else if q.Limit < 0 {
				q.Limit = math.MaxInt // the view limits its answer itself
			}
		}
		rep, err := run(v, in, q)
		var elsewhere *traceview.NoGoroutineError
		if errors.As(err, &elsewhere) && elsewhere.Near != (query.Span{}) {
			q.At = elsewhere.Near // users choose a goroutine by its name or its row, also where nothing is painted there
			rep, err = run(v, in, q)
		}
		if err != nil {
			return nil, err
		}
		switch rep := rep.(type) {
		case *report.Top:
			profileview.SetOrigins(in[0].Profile, rep)
		case *report.Timeline:
			thin(rep, maxPoints)
		}
		return rep, nil
	})
}

// maker returns a command whose file has a part.
func maker(part view.Part) string {
	switch part {
	case view.Trace:
		return "hone record --trace ./cmd/server"
	case view.LoadRun:
		return "hone load -o load.hone URL"
	case view.Benchmarks:
		return "hone record --test ./pkg -bench ."
	case view.Versions:
		return "hone compare -o new.hone main..HEAD"
	}
	return "hone record ./cmd/server"
}

// run runs a view.
func run(v *view.View, in []*recording.Recording, q query.Query) (report.Report, error) {
	q.View = v.Name
	switch {
	case v.NeedsBase && len(in) < 2:
		return nil, withHint(errors.New("nothing to compare with"), "choose a recording to compare with, or open one: hone web NEW --base OLD")
	case v.Arg == "":
		q.Arg = "" // the argument belongs to the previous view of the page
	}
	var err error
	if v.Part != view.Profile {
		if in = in[:1]; !v.Has(in[0]) {
			return nil, withHint(fmt.Errorf("%s has no %s", in[0].Ref, v.Part.Doc), maker(v.Part)+" makes one that does")
		}
	}
	if len(in) == 2 && v.Part == view.Profile && !v.NeedsBase && !v.Compares {
		if in, err = profileview.Subtract(in, q); err != nil {
			return nil, err
		}
	}
	if _, q, err = views.Resolve(q); err != nil {
		return nil, err
	}
	return v.Run(in, q)
}

// answer parses the query of a request about a view, and sends the result of compute.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, name string, compute answerer) {
	q, in, err := s.asked(r, name, onlyFunctions)
	if err != nil {
		fail(w, http.StatusBadRequest, err, s.hintOf(err))
		return
	}
	key := keyOf(r.URL.Path, q, in)
	if body, ok := s.cache.answers.Get(key); ok {
		send(w, r, "application/json", body)
		return
	}
	done, ok := s.busy(r)
	if !ok {
		return
	}
	defer done()
	var out any
	if in, q, err = pickedFor(name, in, q); err == nil {
		out, err = compute(in, q)
	}
	if err != nil {
		fail(w, statusOf(err), err, s.hintOf(err))
		return
	}
	body, err := s.pack(out)
	if errors.Is(err, errTooMuch) {
		fail(w, http.StatusUnprocessableEntity, err, "a limit or a filter makes it smaller; hone "+name+" writes all of it")
		return
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Errorf("writing the answer: %w", err), "")
		return
	}
	s.cache.keep(key, body)
	send(w, r, "application/json", body)
}

// pack returns a compressed answer.
func (s *Server) pack(out any) ([]byte, error) {
	level := gzip.DefaultCompression
	if f, ok := out.(*report.Flame); ok && len(f.Path) > 0 && s.store == nil {
		level = gzip.BestSpeed // users wait for it while zooming, mostly on the same machine
	}
	var body bytes.Buffer
	zw, err := gzip.NewWriterLevel(&body, level)
	if err != nil {
		return nil, err
	}
	to := &bounded{zw, mostAnswer}
	if rep, ok := out.(report.Report); ok {
		err = render.JSON(&remarker{to, remarksOf(rep, s.opt.By)}, rep, render.Options{})
	} else {
		enc := json.NewEncoder(to)
		enc.SetEscapeHTML(false)
		err = enc.Encode(out)
	}
	if err == nil {
		err = zw.Close()
	}
	return body.Bytes(), err
}

// keyOf returns the cache key of an answer.
func keyOf(path string, q query.Query, in []*recording.Recording) string {
	key := path + " " + q.URL()
	for _, rec := range in {
		key += " " + rec.Key()
	}
	return key
}

// pickedFor returns the recordings with the profiles that q is about, and q with its metric replaced by a sample type, if the view is about profiles.
func pickedFor(name string, in []*recording.Recording, q query.Query) ([]*recording.Recording, query.Query, error) {
	if v, ok := views.Find(name); ok && v.Part != view.Profile {
		return in, q, nil
	} else if ok && v.Kind != "" {
		if q.Metric = ""; len(in[0].Parts) > 0 {
			q.Metric = v.Kind // the metric belongs to other views
		}
	}
	return open.Resolve(in, q)
}

// query parses the query of a request and returns the recordings that it is about.
func (s *Server) query(r *http.Request, name string) (query.Query, []*recording.Recording, error) {
	return s.asked(r, name, func(string, query.Query) bool { return false })
}

// asked is query for a view whose questions may be about functions alone, which functions reports.
func (s *Server) asked(r *http.Request, name string, functions func(view string, q query.Query) bool) (query.Query, []*recording.Recording, error) {
	q, err := parse(r, name)
	if err != nil {
		return q, nil, err
	}
	in, err := s.recordings(r.Context(), q.Refs, q.Base, functions(name, q))
	if v, ok := views.Find(name); ok && err == nil {
		in = v.Sides(in, q)
	}
	return q, in, err
}

// onlyFunctions reports whether the answer of a view to q is the same without line numbers.
func onlyFunctions(view string, q query.Query) bool {
	if len(q.Steps) > 0 || len(q.Base) > 0 {
		return false
	}
	switch q.By {
	case "", "function", "filefunction":
		return slices.Contains([]string{"flame", "calltree", "top", "sandwich", "graph"}, view)
	}
	return false
}

// parse parses the query of a request.
func parse(r *http.Request, name string) (query.Query, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return query.Query{}, fmt.Errorf("a query of more than %s", unit.Size(maxQuery))
	}
	u := *r.URL
	u.Path = "/" + name
	u.RawQuery = ownKeys(u.RawQuery)
	return pageGrammar.FromURL(&u)
}

// check answers with the error in a query, for input fields. An invalid query is a normal answer here, not a failed request.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	var out struct {
		Error string `json:"error,omitempty"`
	}
	if _, err := parse(r, "check"); err != nil {
		out.Error = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(out)
}

// pageGrammar allows every key for every view: a page keeps its state when the view changes, and each view uses its own keys.
var pageGrammar query.Grammar

// ownKeys removes the keys that only pages use.
func ownKeys(raw string) string {
	pairs := strings.Split(raw, "&")
	kept := pairs[:0]
	for _, p := range pairs {
		if !strings.HasPrefix(p, "ui.") && p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "&")
}

// send sends a compressed answer, or uncompressed if the client does not accept gzip.
func send(w http.ResponseWriter, r *http.Request, contentType string, packed []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		w.Write(packed)
		return
	}
	zr, err := inflate.NewReader(bytes.NewReader(packed))
	if err == nil {
		_, err = io.Copy(w, zr)
		zr.Close()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// A hinted error has a next step.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

func withHint(err error, hint string) error { return &hinted{err, hint} }

func (s *Server) hintOf(err error) string {
	var h *hinted
	var none *view.NoMatch
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &none) && none.Unused != "":
		return "the functions that match have no samples of " + none.Unused
	case errors.As(err, &none):
		return "the name is a regexp; filters may have removed the functions that it matches"
	}
	if next := hint.Next(err); next != nil {
		return next.Spell(s.opt.By)
	}
	return ""
}

func statusOf(err error) int {
	var none *view.NoMatch
	if errors.As(err, &none) {
		return http.StatusNotFound
	}
	return http.StatusUnprocessableEntity
}

// fail sends an error as JSON, for pages and scripts.
func fail(w http.ResponseWriter, status int, err error, hint string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
	}{err.Error(), hint})
}

// A session describes the open recordings.
type session struct {
	Version    string          `json:"version"`
	Fleet      bool            `json:"fleet,omitempty"`   // pages name profiles in a store
	Base       string          `json:"base,omitempty"`    // default base
	Filters    string          `json:"filters,omitempty"` // of a saved page, as the query string of a URL
	Advises    bool            `json:"advises,omitempty"` // findings can be asked for
	Takes      bool            `json:"takes,omitempty"`   // files can be uploaded
	Saves      bool            `json:"saves,omitempty"`   // views can be saved by name
	Source     string          `json:"source,omitempty"`  // folder of the sources, as the user wrote it
	Recordings []sessionRecord `json:"recordings"`
	Views      []sessionView   `json:"views"`
	Keys       []sessionKey    `json:"keys"`
}

type sessionRecord struct {
	Ref      string          `json:"ref"`
	Program  string          `json:"program,omitempty"`
	BuildID  string          `json:"build_id,omitempty"`
	Kind     string          `json:"kind"`
	Time     int64           `json:"time_nanos,omitempty"`
	Duration int64           `json:"duration_nanos,omitempty"`
	Samples  int             `json:"samples,omitempty"` // 0 if unknown
	First    float64         `json:"first,omitempty"`   // share of the thinnest calls in the first picture of a large profile
	Whole    bool            `json:"whole,omitempty"`   // it is a recording that can be downloaded
	Many     bool            `json:"many,omitempty"`    // a search for findings takes long, because there are so many samples
	Metrics  []sessionMetric `json:"metrics"`
	Labels   []string        `json:"labels,omitempty"`
	Views    []string        `json:"views"` // views with an answer about it
	Notes    []string        `json:"notes,omitempty"`
}

type sessionMetric struct {
	Type    string   `json:"type"`
	Unit    string   `json:"unit"`
	Default bool     `json:"default,omitempty"`
	Total   int64    `json:"total"`
	Samples int      `json:"samples,omitempty"` // stacks with a value, each with its labels; 0 if unknown
	Taken   int64    `json:"taken,omitempty"`   // number of events, if the profile counts them
	Names   []string `json:"names,omitempty"`   // other names in queries
	Held    bool     `json:"held,omitempty"`    // it counts what somebody holds, and not what functions cost
}

// mostLabels is the maximum number of label keys on a page.
const mostLabels = 1000

// metricOf describes a sample type for pages.
func metricOf(p *profile.Profile, k int) sessionMetric {
	t := p.SampleTypes[k]
	out := sessionMetric{Type: t.Type, Unit: t.Unit, Held: profileview.Held(t.Type)}
	for _, v := range p.Values(k) {
		if v != 0 {
			out.Samples++
		}
	}
	for i, t := range p.SampleTypes {
		if t.Type == "samples" && t.Unit == "count" && i != k {
			for _, n := range p.Values(i) {
				out.Taken += n
			}
		}
	}
	return out
}

type sessionView struct {
	Name string   `json:"name"`
	Doc  string   `json:"doc"`
	Arg  string   `json:"arg,omitempty"`
	Uses []string `json:"uses"`
}

type sessionKey struct {
	Name    string   `json:"name"`
	Value   string   `json:"value,omitempty"`
	Doc     string   `json:"doc"`
	Choices []string `json:"choices,omitempty"`
	Repeats bool     `json:"repeats,omitempty"`
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	if s.store != nil {
		s.storeSession(w, r)
		return
	}
	out, err := s.said()
	if err != nil {
		fail(w, http.StatusInternalServerError, err, "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(out)
}

// describe returns the session.
func (s *Server) describe() (session, error) {
	out := session{Version: s.opt.Version, Base: s.opt.Base, Advises: s.adviser != nil, Takes: s.opt.Takes, Saves: s.opt.Saved != "", Source: s.opt.Source, Recordings: []sessionRecord{}}
	for _, rec := range s.all() {
		one, err := recordOf(rec)
		if err != nil {
			return out, err
		}
		one.Many = s.adviser != nil && one.Samples > s.adviser.most
		out.Recordings = append(out.Recordings, one)
	}
	out.describe()
	return out, nil
}

// describe adds the views and keys of a recording.
func (s *session) describe() {
	for v := range views.All() {
		s.Views = append(s.Views, sessionView{v.Name, v.Doc, v.Arg, v.Uses.List()})
	}
	for _, k := range query.Keys {
		s.Keys = append(s.Keys, sessionKey{k.Name, k.Value, k.Doc, k.Choices, k.Repeats})
	}
}

// viewsOf names the views that have something to show of a recording. Pages make their tabs from it. If a recording is empty, the views of profiles
// explain why.
func viewsOf(rec *recording.Recording) []string {
	var out, ofProfiles []string
	for v := range views.All() {
		if v.Has(rec) {
			out = append(out, v.Name)
		}
		if v.Part == view.Profile {
			ofProfiles = append(ofProfiles, v.Name)
		}
	}
	if len(out) == 0 {
		return ofProfiles
	}
	return out
}

// recordOf describes a recording for pages.
func recordOf(rec *recording.Recording) (sessionRecord, error) {
	p := rec.Profile
	out := sessionRecord{
		Ref: rec.Ref, Samples: p.NumSamples(), First: firstShare(p.NumSamples()), Time: p.TimeNanos, Duration: p.DurationNanos, Notes: p.Notes,
		Metrics: []sessionMetric{}, Views: viewsOf(rec), Whole: rec.Whole(),
	}
	l, err := profileview.Contents([]*recording.Recording{rec})
	if errors.Is(err, profile.ErrEmpty) || err != nil && len(p.SampleTypes) == 0 {
		return out, nil // pages show that it is empty
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", rec.Ref, err)
	}
	out.Program, out.BuildID, out.Kind, out.Labels = l.File, l.BuildID, l.Metric, l.Labels
	out.Labels = out.Labels[:min(len(out.Labels), mostLabels)]
	if len(rec.Parts) == 0 {
		for k, t := range l.Types {
			m := metricOf(p, k)
			m.Default, m.Total, m.Names = t.Default, t.Total, p.TypeNames(k)
			out.Metrics = append(out.Metrics, m)
		}
		return out, nil
	}
	for i, metric := range rec.Metrics() {
		q := query.Query{Metric: metric}
		in, q, err := open.Resolve([]*recording.Recording{rec}, q)
		if err != nil {
			out.Notes = append(slices.Clip(out.Notes), err.Error())
			continue
		}
		h, err := profileview.Head(in, q)
		if err != nil {
			return out, err
		}
		k, err := in[0].Profile.SampleIndex(q.Metric)
		if err != nil {
			return out, err
		}
		m := metricOf(in[0].Profile, k)
		m.Type, m.Default, m.Total, m.Names = metric, i == 0, h.Total, rec.MetricNames(metric)
		out.Metrics = append(out.Metrics, m)
	}
	return out, nil
}
