// Package querier answers as Pyroscope does, so that Grafana and profilecli work on a store of hone: the calls of
// querier.v1.QuerierService.
//
// Answers differ from Pyroscope's where that adds up what cannot be added: memory in use and goroutines are the mean over time and
// not the sum of all profiles.
package querier

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/store"
)

// Options are what a Server is made of. Store and Gate have to be set.
type Options struct {
	Store store.Store
	Gate  *token.Gate
	Now   func() time.Time // nil is time.Now
}

// A Server answers questions about profiles.
type Server struct {
	opt     Options
	calls   map[string]func(*call) error
	working chan struct{} // calls that are being answered
}

// service is where the calls are.
const service = "/querier.v1.QuerierService/"

// What a question is bounded by.
const (
	maxRequest = 1 << 20 // bytes
	bodyTime   = 30 * time.Second
)

// New returns a Server.
func New(opt Options) *Server {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Server{opt: opt, working: make(chan struct{}, 4*runtime.GOMAXPROCS(0))}
	s.calls = map[string]func(*call) error{
		"ProfileTypes":           s.profileTypes,
		"LabelNames":             s.labelNames,
		"LabelValues":            s.labelValues,
		"Series":                 s.series,
		"SelectSeries":           s.selectSeries,
		"SelectMergeStacktraces": s.stacktraces,
		"SelectMergeSpanProfile": s.spanProfile,
		"SelectMergeProfile":     s.mergeProfile,
		"Diff":                   s.diff,
		"GetProfileStats":        s.stats,
	}
	return s
}

// Register adds the handler to a mux.
func (s *Server) Register(mux *http.ServeMux) {
	mux.HandleFunc(service, body.Bound(bodyTime, s.serve))
}

// A call is one that may be answered.
type call struct {
	ctx    context.Context
	tenant string
	form   connect.Form
	data   []byte
	w      http.ResponseWriter
	r      *http.Request
}

// decode reads the message of a call.
func (c *call) decode(into any) error { return c.form.Decode(c.data, into, message.Limits{}) }

func (c *call) answer(m any) error {
	c.form.Answer(c.w, c.r, m)
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	form, ok := connect.Accept(w, r)
	if !ok {
		return
	}
	who, err := s.opt.Gate.Allow(r, token.Read)
	if err == nil {
		c := &call{ctx: r.Context(), tenant: who.Tenant, form: form, w: w, r: r}
		err = s.do(c, strings.TrimPrefix(r.URL.Path, service))
	}
	if err != nil {
		connect.Fail(w, err)
	}
}

func (s *Server) do(c *call, name string) (err error) {
	answer := s.calls[name]
	if answer == nil {
		return connect.Errorf(connect.Unimplemented, "there is no such call here")
	}
	if c.data, _, err = body.Read(c.w, c.r, body.Limits{Bytes: maxRequest, Unpacked: maxRequest, Time: bodyTime}); err != nil {
		return err
	}
	select {
	case s.working <- struct{}{}:
		defer func() { <-s.working }()
	case <-c.ctx.Done():
		return connect.Errorf(connect.Unavailable, "the request ended before its turn came")
	}
	return answer(c)
}

// between returns the query for what is between two times, in milliseconds. Without times it is all there is.
func (s *Server) between(c *call, start, end int64) store.Query {
	q := store.Query{Tenant: c.tenant, From: time.UnixMilli(clamp(start)), To: time.UnixMilli(clamp(end)).Add(time.Millisecond)}
	if end == 0 {
		q.To = s.opt.Now().Add(24 * time.Hour)
	}
	return q
}

// clamp keeps times in the years that nanoseconds can tell.
func clamp(ms int64) int64 { return max(0, min(ms, 9e12)) }

// selectOne returns the query for a profile type and a selector.
func (s *Server) selectOne(c *call, typeID, selector string, start, end int64) (store.Query, typeRef, error) {
	ref, err := parseType(typeID)
	if err != nil {
		return store.Query{}, ref, err
	}
	q := s.between(c, start, end)
	q.Kind, q.Metric = ref.kind, ref.typ
	sel, err := parseSelector(selector)
	if err != nil {
		return q, ref, err
	}
	var virtual store.Selector
	q.Selector, virtual = split(sel)
	// A selector that names another type selects nothing.
	if !matchType(virtual, ref.full()) {
		q.To = q.From
	}
	return q, ref, nil
}

func (s *Server) profileTypes(c *call) error {
	var m profileTypesRequest
	if err := c.decode(&m); err != nil {
		return err
	}
	all, err := s.opt.Store.Series(c.ctx, s.between(c, m.Start, m.End))
	if err != nil {
		return err
	}
	return c.answer(&profileTypesResponse{typesOf(all)})
}

// typesOf returns the profile types of some series, in order.
func typesOf(all []store.Series) []profileType {
	seen := map[string]bool{}
	var out []profileType
	for i := range all {
		for _, t := range typesOfSeries(&all[i]) {
			if !seen[t.ID] {
				seen[t.ID] = true
				out = append(out, t)
			}
		}
	}
	order.Stable(out, func(a, b profileType) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (s *Server) stats(c *call) error {
	if err := c.decode(&statsRequest{}); err != nil {
		return err
	}
	all, err := s.opt.Store.Series(c.ctx, s.between(c, 0, 0))
	if err != nil {
		return err
	}
	var m statsResponse
	for i := range all {
		first, last := all[i].First.UnixMilli(), all[i].Last.UnixMilli()
		if !m.DataIngested || first < m.Oldest {
			m.Oldest = first
		}
		m.Newest = max(m.Newest, last)
		m.DataIngested = true
	}
	return c.answer(&m)
}
