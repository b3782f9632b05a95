package scrape

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// Metrics are settings for the metrics of targets: counts of requests and resident memory, in the text format of Prometheus. The store keeps
// them as a profile of kind process, whose functions are the handlers.
type Metrics struct {
	Path      string            `json:"path"`
	Interval  settings.Duration `json:"interval"`
	Requests  string            `json:"requests,omitempty"` // name of a counter of requests; "" is none
	Handler   string            `json:"handler"`            // the label of that counter that names the handler
	Functions map[string]string `json:"functions,omitempty"`
}

const (
	usualMetrics = "/metrics"
	usualHandler = "handler"
	memoryMetric = "process_resident_memory_bytes"

	mostMetrics     = 16 << 20 // bytes of an answer
	mostHandlers    = 500
	mostHandlerName = 500 // bytes
	mostCount       = 1 << 53
)

// Functions for values without a handler.
const (
	allRequests   = "(requests)"
	otherRequests = "(other handlers)"
	allMemory     = "(resident memory)"
)

// metrics reads the key of a job. Functions map names of handlers to Go functions, where these differ.
func (j *Job) metrics(v settings.Value) {
	m := &Metrics{Path: usualMetrics, Handler: usualHandler}
	if !v.IsNothing() {
		v.Mapping(
			settings.Key{Name: "path", Read: path(&m.Path)},
			settings.Key{Name: "interval", Read: settings.Time(&m.Interval, leastInterval, mostInterval)},
			settings.Key{Name: "requests", Read: settings.Name(&m.Requests)},
			settings.Key{Name: "handler", Read: settings.Name(&m.Handler)},
			settings.Key{Name: "functions", Read: func(v settings.Value) {
				m.Functions = map[string]string{}
				v.Pairs(func(key, value settings.Value) {
					handler, _ := key.Text()
					if f, ok := value.Name(); ok {
						m.Functions[handler] = f
					}
				})
			}},
		)
	}
	if m.Requests == "" && len(m.Functions) > 0 {
		v.Wrong("functions needs requests: the name of the counter whose handlers they are")
	}
	if m.Requests != "" && !isMetric(m.Requests) {
		v.Wrong("requests %q is not the name of a metric, such as http_requests_total", profile.Shorten(m.Requests, 60))
	}
	j.Metrics = m
}

// isMetric reports whether s can be the name of a metric.
func isMetric(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != ':' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// asked returns all profiles of a job, and its metrics as one more.
func (j *Job) asked() []Profile {
	if j.Metrics == nil {
		return j.Profiles
	}
	m := j.Metrics
	return append(slices.Clip(j.Profiles), Profile{Kind: recording.Process, Path: m.Path, Interval: cmp.Or(m.Interval, j.Interval), metrics: m})
}

// profile makes a profile of an answer.
func (m *Metrics) profile(text []byte, at time.Time) (*profile.Profile, error) {
	requests := map[string]float64{}
	memory, found := 0.0, false
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(strings.ToValidUTF8(string(line), "\ufffd"))
		if s == "" || s[0] == '#' || len(s) > 1<<20 {
			continue
		}
		end := strings.IndexAny(s, "{ \t")
		if end < 0 {
			continue
		}
		name := s[:end]
		if name != memoryMetric && (m.Requests == "" || name != m.Requests) {
			continue
		}
		labels, value, ok := sample(s[end:])
		if !ok {
			return nil, &Error{Cause: CauseFormat, Err: fmt.Errorf("%q is not a line of metrics in the text format of Prometheus", profile.Shorten(s, 80))}
		}
		if !(value >= 0 && value <= mostCount) { // NaN is not
			continue
		}
		found = true
		if name == memoryMetric {
			memory = value
			continue
		}
		handler, ok := labels[m.Handler]
		f := m.Functions[handler]
		switch {
		case !ok || handler == "":
			handler = allRequests
		case f != "":
			handler = f
		}
		handler = profile.Shorten(handler, mostHandlerName)
		if _, known := requests[handler]; !known && len(requests) >= mostHandlers {
			handler = otherRequests
		}
		requests[handler] += value
	}
	if !found {
		what := memoryMetric
		if m.Requests != "" {
			what = "neither " + m.Requests + " nor " + memoryMetric
		} else {
			what = "no " + what
		}
		return nil, &Error{Cause: CauseFormat, Err: errors.New("the answer has " + what)}
	}
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "rss", Unit: "bytes"}}, TimeNanos: at.UnixNano()}
	if m.Requests != "" {
		h.SampleTypes = append(h.SampleTypes, profile.ValueType{Type: "requests", Unit: "count"})
	}
	b := profile.NewBuilder(h)
	add := func(name string, values ...int64) {
		n := uint32(len(b.Tables.Functions))
		b.Tables.Functions = append(b.Tables.Functions, profile.Function{ID: uint64(n) + 1, Name: name, SystemName: name})
		b.Tables.Locations = append(b.Tables.Locations, profile.Location{ID: uint64(n) + 1, Mapping: profile.NoMapping, Lines: []profile.Line{{Function: n}}})
		b.Add([]uint32{n}, 0, values)
	}
	rest := make([]int64, len(h.SampleTypes)-1)
	add(allMemory, append([]int64{int64(memory)}, rest...)...)
	names := make([]string, 0, len(requests))
	for name := range requests {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, 0, int64(math.Round(min(requests[name], mostCount))))
	}
	return b.Profile()
}

// sample reads what follows the name of a metric: labels, a value, and perhaps a time.
func sample(s string) (labels map[string]string, value float64, ok bool) {
	if s[0] == '{' {
		labels = map[string]string{}
		s = s[1:]
		for {
			s = strings.TrimLeft(s, " \t,")
			if s == "" {
				return nil, 0, false
			}
			if s[0] == '}' {
				s = s[1:]
				break
			}
			name, rest, found := strings.Cut(s, "=")
			rest = strings.TrimLeft(rest, " \t")
			if !found || rest == "" || rest[0] != '"' || len(labels) > 100 {
				return nil, 0, false
			}
			var b strings.Builder
			i := 1
			for ; i < len(rest) && rest[i] != '"'; i++ {
				c := rest[i]
				if c == '\\' && i+1 < len(rest) {
					i++
					if c = rest[i]; c == 'n' {
						c = '\n'
					}
				}
				b.WriteByte(c)
			}
			if i == len(rest) {
				return nil, 0, false
			}
			labels[strings.TrimSpace(name)] = b.String()
			s = rest[i+1:]
		}
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, 0, false
	}
	value, err := strconv.ParseFloat(words[0], 64)
	return labels, value, err == nil
}
