package receive

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// plain is POST /api/v1/profiles, for curl.
func (s *Server) plain(w http.ResponseWriter, r *http.Request) {
	err := onlyPost(w, r)
	var kept []keptProfile
	if err == nil {
		kept, err = s.plainly(w, r)
	}
	if err == nil {
		writeJSON(w, http.StatusOK, struct {
			Profiles []keptProfile `json:"profiles"`
		}{kept})
		return
	}
	answer := failure{Error: err.Error()}
	var bad *body.Error
	if errors.As(err, &bad) {
		answer.Limit = bad.Limit
	}
	writeJSON(w, statusOf(w, err), answer)
}

// A keptProfile is what became of a profile.
type keptProfile struct {
	ID       string `json:"id"`
	Service  string `json:"service"`
	Kind     string `json:"kind"`
	Repeated bool   `json:"repeated,omitempty"` // it was there already
}

type failure struct {
	Error string `json:"error"`
	Limit string `json:"limit,omitempty"` // that it met
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // nobody is there to be told that nobody is there
}

func (s *Server) plainly(w http.ResponseWriter, r *http.Request) ([]keptProfile, error) {
	req, done, err := s.begin(w, r, true)
	if err != nil {
		return nil, err
	}
	defer done()
	return s.keep(r.Context(), req, func() ([]sent, error) { return parsePlain(r.URL.RawQuery, req.data, req.limits) })
}

// plainKeys are what can stand in the query.
var plainKeys = []string{"service", "kind", "label", "from", "until", "delta"}

// parsePlain returns the profiles of a request: one, or those of a recording.
func parsePlain(query string, data []byte, limits Limits) ([]sent, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, body.Errorf(http.StatusBadRequest, "the query: %v", err)
	}
	for key, values := range q {
		if !slices.Contains(plainKeys, key) {
			return nil, body.Errorf(http.StatusBadRequest, "unknown key %q; the keys are %s", profile.Shorten(key, 40), strings.Join(plainKeys, ", "))
		}
		if len(values) > 1 && key != "label" {
			return nil, body.Errorf(http.StatusBadRequest, "%s is given %d times", key, len(values))
		}
	}
	in := sent{service: q.Get("service"), kind: q.Get("kind"), raw: data}
	if in.service == "" {
		return nil, body.Errorf(http.StatusBadRequest, "name the service of the profile: service=NAME")
	}
	for _, l := range q["label"] {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" || strings.HasPrefix(name, "__") {
			return nil, body.Errorf(http.StatusBadRequest, "label=%s: want the form label=version=v2", profile.Shorten(l, 60))
		}
		if name == store.ServiceLabel {
			return nil, body.Errorf(http.StatusBadRequest, "label=%s: name the service with service=NAME", profile.Shorten(l, 60))
		}
		if slices.ContainsFunc(in.labels, func(l store.Label) bool { return l.Name == name }) {
			return nil, body.Errorf(http.StatusBadRequest, "the label %s is given more than once", profile.Shorten(name, 60))
		}
		in.labels = append(in.labels, store.Label{Name: name, Value: value})
	}
	if in.start, in.end, err = span(q.Get("from"), q.Get("until")); err != nil {
		return nil, err
	}
	if text := q.Get("delta"); text != "" {
		delta, err := strconv.ParseBool(text)
		if err != nil {
			return nil, body.Errorf(http.StatusBadRequest, "delta=%s: want true or false", profile.Shorten(text, 40))
		}
		in.sums = counters
		if delta {
			in.sums = deltas
		}
	}
	if len(data) == 0 {
		return nil, body.Errorf(http.StatusBadRequest, "the body is empty: send a profile or a recording")
	}
	if !strings.HasPrefix(string(data[:min(len(data), 4)]), "PK\x03\x04") {
		return []sent{in}, nil
	}
	if in.kind != "" || !in.start.IsZero() || in.sums != asProfile {
		return nil, body.Errorf(http.StatusBadRequest, "a recording has its own kinds and times: leave out kind, from, until and delta")
	}
	return fromRecording(in, limits)
}

// fromRecording returns the profiles of a recording.
func fromRecording(base sent, limits Limits) ([]sent, error) {
	bad := func(err error) error { return body.Errorf(http.StatusBadRequest, "reading the recording: %v", err) }
	file, err := os.CreateTemp("", "hone-*.hone")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(base.raw)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	r, err := recording.Open(file.Name())
	if err != nil {
		return nil, body.Errorf(http.StatusBadRequest, "the body is not a recording of hone, nor a profile")
	}
	defer r.Close()
	if r.Manifest == nil || r.Manifest.Started.IsZero() {
		return nil, body.Errorf(http.StatusBadRequest, "the recording does not say when it was made")
	}
	var out []sent
	left := limits.Unpacked
	for _, kind := range recording.Kinds {
		for _, part := range r.Parts[kind] {
			if len(out) == maxProfiles {
				return nil, body.Errorf(http.StatusUnprocessableEntity, "the recording has more than %d profiles", maxProfiles)
			}
			in := base
			in.kind = kind
			in.start, in.end = r.Manifest.Started.Add(part.From), r.Manifest.Started.Add(part.To)
			if in.raw, err = readPart(r, part.File, left); err != nil {
				return nil, bad(err)
			}
			if limits.Unpacked > 0 {
				left = max(1, left-int64(len(in.raw)))
			}
			in.sums = counters
			out = append(out, in)
		}
	}
	if len(out) == 0 {
		return nil, body.Errorf(http.StatusUnprocessableEntity, "the recording has no profiles")
	}
	return out, nil
}

func readPart(r *recording.Recording, name string, limit int64) ([]byte, error) {
	in, err := r.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var rd io.Reader = in
	if limit > 0 {
		rd = io.LimitReader(in, limit+1)
	}
	raw, err := io.ReadAll(rd)
	if err == nil && limit > 0 && int64(len(raw)) > limit {
		err = body.TooLarge(body.LimitUnpacked, "what is in it", limit)
	}
	return raw, err
}
