package receive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// ingest is POST /ingest of Pyroscope, which its SDKs use.
func (s *Server) ingest(w http.ResponseWriter, r *http.Request) {
	err := onlyPost(w, r)
	if err == nil {
		err = s.ingested(w, r)
	}
	if err != nil {
		http.Error(w, err.Error(), statusOf(w, err))
	}
}

// onlyPost refuses other methods.
func onlyPost(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost {
		return nil
	}
	w.Header().Set("Allow", http.MethodPost)
	return body.Errorf(http.StatusMethodNotAllowed, "profiles are sent with POST")
}

func (s *Server) ingested(w http.ResponseWriter, r *http.Request) error {
	req, done, err := s.begin(w, r, false)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.keep(r.Context(), req, func() ([]sent, error) {
		return parseIngest(r.URL.Query(), r.Header.Get("Content-Type"), req.data, req.limits, s.opt.Now())
	})
	return err
}

// parseIngest returns the profile of a request to /ingest, which may have none.
func parseIngest(q url.Values, contentType string, data []byte, limits Limits, now time.Time) ([]sent, error) {
	name, labels, err := parseAppName(q.Get("name"))
	if err != nil {
		return nil, err
	}
	in := &sent{service: name, labels: labels, sums: deltas, raw: data}
	if in.start, in.end, err = span(q.Get("from"), q.Get("until")); err != nil {
		return nil, err
	}
	format := q.Get("format")
	if kind, params, _ := mime.ParseMediaType(contentType); kind == "multipart/form-data" {
		if err := in.parts(data, params["boundary"], limits); err != nil {
			return nil, err
		}
		if format == "" {
			format = "pprof"
		}
	}
	if len(in.raw) == 0 { // Pyroscope takes it, too
		return nil, nil
	}
	if in.names == nil {
		// These are what Pyroscope takes the types for where nobody says what they are.
		in.names = map[string]string{"contentions": "mutex_count", "delay": "mutex_duration"}
	}
	switch format {
	case "pprof":
		return []sent{*in}, nil
	case "", "folded", "groups", "collapsed", "lines":
		if format == "" && profile.IsPacked(in.raw) {
			return []sent{*in}, nil // a profile for which nobody gave a format
		}
		if err := in.fold(q, format == "lines", limits, now); err != nil {
			return nil, err
		}
		return []sent{*in}, nil
	}
	return nil, body.Errorf(http.StatusUnsupportedMediaType, "the format %q is not known here: use pprof, folded or lines", profile.Shorten(format, 40))
}

// maxParts is how many parts a body may have.
const maxParts = 16

// parts reads a profile that came as a form.
func (in *sent) parts(data []byte, boundary string, limits Limits) error {
	bad := func(err error) error {
		return body.Errorf(http.StatusBadRequest, "failed to parse pprof /ingest multipart form %v", err)
	}
	if boundary == "" {
		return bad(errors.New("it has no boundary"))
	}
	in.raw = nil
	form := multipart.NewReader(bytes.NewReader(data), boundary)
	for range maxParts {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return bad(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return bad(err)
		}
		switch part.FormName() {
		case "profile":
			in.raw = text
		case "prev_profile":
			// These are the words of Pyroscope. Counters that two profiles tell are what the store works out by itself.
			return body.Errorf(http.StatusUnprocessableEntity, "unsupported client version. Please update github.com/grafana/pyroscope-go to the latest version")
		case "sample_type_config":
			var config map[string]*struct {
				DisplayName string `json:"display-name"`
			}
			if err := json.Unmarshal(text, &config); err != nil {
				return bad(fmt.Errorf("sample_type_config: %w", err))
			}
			in.names = map[string]string{}
			for t, c := range config {
				if c != nil {
					in.names[t] = c.DisplayName
				}
			}
		}
	}
	return bad(fmt.Errorf("it has more than %d parts", maxParts))
}

// parseAppName reads app{version=v2,region=eu}. What follows the closing brace counts for nothing, as in Pyroscope.
func parseAppName(text string) (name string, labels []store.Label, err error) {
	if len(text) > 64<<10 {
		return "", nil, body.Errorf(http.StatusBadRequest, "name: it has %d bytes", len(text))
	}
	name, rest, found := strings.Cut(text, "{")
	name = strings.TrimSpace(name)
	if name == "" {
		return "", nil, body.Errorf(http.StatusBadRequest, "name: service name is required")
	}
	for found {
		var key, value string
		stop := strings.IndexAny(rest, "}=")
		if stop < 0 || rest[stop] == '}' {
			break
		}
		key, rest = strings.TrimSpace(rest[:stop]), rest[stop+1:]
		stop = strings.IndexAny(rest, ",}")
		if stop < 0 {
			break
		}
		value, rest = strings.TrimSpace(rest[:stop]), rest[stop+1:]
		if key == "" {
			return "", nil, body.Errorf(http.StatusBadRequest, "name: label name is required")
		}
		labels = append(labels, store.Label{Name: key, Value: value})
	}
	return name, labels, nil
}

// A counted is what numbers next to stacks mean.
type counted struct {
	kind string
	profile.ValueType
	ticks bool // of a clock, as many a second as the sample rate says
}

// suffixes are the ends of names of applications that tell what is counted, as old agents of Pyroscope write them: app.cpu.
var suffixes = sync.OnceValue(func() map[string]counted {
	return map[string]counted{
		"cpu":            {cpu, profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, true},
		"itimer":         {cpu, profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, true},
		"wall":           {"wall", profile.ValueType{Type: "wall", Unit: "nanoseconds"}, true},
		"inuse_objects":  {heap, profile.ValueType{Type: "inuse_objects", Unit: "count"}, false},
		"inuse_space":    {heap, profile.ValueType{Type: "inuse_space", Unit: "bytes"}, false},
		"alloc_objects":  {heap, profile.ValueType{Type: "alloc_objects", Unit: "count"}, false},
		"alloc_space":    {heap, profile.ValueType{Type: "alloc_space", Unit: "bytes"}, false},
		"goroutines":     {goroutine, profile.ValueType{Type: "goroutine", Unit: "count"}, false},
		"mutex_count":    {mutex, profile.ValueType{Type: "contentions", Unit: "count"}, false},
		"mutex_duration": {mutex, profile.ValueType{Type: "delay", Unit: "nanoseconds"}, false},
		"block_count":    {block, profile.ValueType{Type: "contentions", Unit: "count"}, false},
		"block_duration": {block, profile.ValueType{Type: "delay", Unit: "nanoseconds"}, false},
		"lock_count":     {block, profile.ValueType{Type: "contentions", Unit: "count"}, false},
		"lock_duration":  {block, profile.ValueType{Type: "delay", Unit: "nanoseconds"}, false},
		"exceptions":     {"exceptions", profile.ValueType{Type: "samples", Unit: "count"}, false},
	}
})

// fold reads stacks as text. What they count is told by the name of the application.
func (in *sent) fold(q url.Values, lines bool, limits Limits, now time.Time) error {
	what := suffixes()["cpu"]
	if at := strings.LastIndexByte(in.service, '.'); at > 0 {
		if w, ok := suffixes()[in.service[at+1:]]; ok {
			what, in.service = w, in.service[:at]
		}
	}
	text := in.raw
	if lines {
		text = countLines(text)
	}
	p, err := read(text, limits.Unpacked)
	if err != nil {
		return err
	}
	if len(p.SampleTypes) != 1 {
		return body.Errorf(http.StatusBadRequest, "the body is a profile in another form than folded stacks: say format=pprof")
	}
	in.kind = what.kind
	h := profile.Header{SampleTypes: []profile.ValueType{what.ValueType}}
	if what.ticks {
		rate, err := sampleRate(q.Get("sampleRate"))
		if err != nil {
			return err
		}
		h.Period, h.PeriodType = 1e9/rate, profile.ValueType{Type: what.Type, Unit: what.Unit}
		if p, err = times(p, h.Period); err != nil {
			return err
		}
	}
	if !in.start.IsZero() {
		h.TimeNanos = in.start.UnixNano()
		// Two times of one wrong clock are as far apart as those of a right one. If only the end is impossible, nobody knows how long it took.
		if store.WrongClock(in.start, now) || !store.WrongClock(in.end, now) {
			h.DurationNanos = in.end.Sub(in.start).Nanoseconds()
		}
	}
	in.parsed = p.WithHeader(h)
	var raw bytes.Buffer
	if err := in.parsed.Write(&raw); err != nil {
		return err
	}
	in.raw = raw.Bytes()
	return nil
}

// sampleRate reads how often a second stacks were taken.
func sampleRate(text string) (int64, error) {
	if text == "" {
		return 100, nil
	}
	rate, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rate < 0 || rate > 1e6 {
		return 0, body.Errorf(http.StatusBadRequest, "sampleRate=%s: want a number from 0 to 1000000", profile.Shorten(text, 40))
	}
	if rate == 0 {
		return 100, nil
	}
	return rate, nil
}

// times multiplies values, which are not more than fits.
func times(p *profile.Profile, by int64) (*profile.Profile, error) {
	const most = 1 << 62
	for _, v := range p.Values(0) {
		if v > most/by || v < -most/by {
			return nil, body.Errorf(http.StatusBadRequest, "a count of %d is more than fits", v)
		}
	}
	return p.MapValues(func(_ int, v int64) int64 { return v * by }), nil
}

// countLines makes folded stacks of lines that are one stack each.
func countLines(text []byte) []byte {
	counts := map[string]int{}
	var order []string
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if counts[string(line)]++; counts[string(line)] == 1 {
			order = append(order, string(line))
		}
	}
	var out []byte
	for _, line := range order {
		out = append(append(out, line...), ' ')
		out = append(strconv.AppendInt(out, int64(counts[line]), 10), '\n')
	}
	return out
}
