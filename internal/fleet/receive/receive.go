// Package receive stores profiles that clients send: from agents and SDKs of Pyroscope, from OpenTelemetry, and files sent with curl.
//
// A Server has a handler for each protocol. The handlers parse requests and write answers. They convert each profile to a sent, and one function
// makes a store.Upload of it, within the limits of the tenant.
package receive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
)

// Options configure a Server. Store and Gate are required.
type Options struct {
	Store store.Store
	Gate  *token.Gate

	// Row lists the labels that identify processes and machines. They can have any number of values, because they belong to profiles and not to
	// series. nil means DefaultRow.
	Row []string

	Limits   func(tenant string) Limits // nil is DefaultLimits for all
	BodyTime time.Duration              // how long is waited for bodies of requests that are refused; 0 is that of DefaultLimits
	Now      func() time.Time           // nil is time.Now
	Log      *slog.Logger               // nil is silent
}

// DefaultRow is the labels for processes and machines of Prometheus, Kubernetes, OpenTelemetry and Pyroscope.
var DefaultRow = []string{
	"instance", "pod", "pod_name", "pod_ip", "pod_uid", "container_id", "hostname", "host", "host_name", "node", "node_name", "ip", "pid",
	"k8s_pod_name", "k8s_pod_uid", "k8s_pod_ip", "k8s_node_name", "service_instance_id", "process_pid", "host_id",
	"k8s.pod.name", "k8s.pod.uid", "k8s.pod.ip", "k8s.node.name", "service.instance.id", "process.pid", "host.id", "host.name", "host.ip",
	"container.id", "process.command_args", "process.executable.path", "process.executable.name", "process.start_time", sessionLabel,
}

// sessionLabel is given to each run of a process by the SDKs of Pyroscope.
const sessionLabel = "__session_id__"

// A Server receives profiles.
type Server struct {
	opt     Options
	row     atomic.Pointer[map[string]bool]
	reading chan struct{} // profiles that are being unpacked and read, which takes memory

	mu      sync.Mutex
	tenants map[string]*tenant
	full    time.Time // when it was last logged that the store is full
}

// New returns a Server.
func New(opt Options) *Server {
	if opt.Row == nil {
		opt.Row = DefaultRow
	}
	if opt.Limits == nil {
		opt.Limits = func(string) Limits { return DefaultLimits }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.BodyTime = cmp.Or(opt.BodyTime, DefaultLimits.BodyTime)
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opt: opt, tenants: map[string]*tenant{},
		reading: make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
	}
	row := map[string]bool{}
	for _, name := range opt.Row {
		row[name] = true
	}
	s.row.Store(&row)
	return s
}

// Register adds the handlers to a mux.
func (s *Server) Register(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"/ingest":                 s.ingest,
		"/push.v1.PusherService/": s.push,
		"/api/v1/profiles":        s.plain,
		"/v1development/profiles": s.otlp,
	} {
		mux.HandleFunc(path, body.Bound(s.opt.BodyTime, h))
	}
}

// A request is an authorized request.
type request struct {
	who    token.Who
	tenant *tenant
	limits Limits
	data   []byte // the body, unpacked once if its Content-Encoding says so
}

// begin finds out who sent a request and reads its body, which may be a recording where recordings are expected. done has to be called once nothing of the request is held any more.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, recordings bool) (req *request, done func(), err error) {
	defer func() { err = withSetting(err) }()
	who, err := s.opt.Gate.Allow(r, token.Write)
	if err != nil {
		return nil, nil, err
	}
	t := s.tenant(who.Tenant)
	if err := t.enter(); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			t.leave()
		}
	}()
	// Check the announced size against the rate limit before reading.
	limits := t.limited()
	sizes := body.Limits{Bytes: limits.Bytes, Unpacked: limits.Unpacked, Time: limits.BodyTime}
	if recordings {
		sizes.Recording = limits.Recording
	}
	announced := max(0, r.ContentLength)
	if limits.Bytes > 0 {
		announced = min(announced, max(limits.Bytes, sizes.Recording))
	}
	if err := t.spend(announced, s.opt.Now()); err != nil {
		return nil, nil, err
	}
	data, sent, err := body.Read(w, r, sizes)
	t.charge(sent - announced)
	if err != nil {
		return nil, nil, err
	}
	return &request{who, t, limits, data}, t.leave, nil
}

// tenant returns what is known about a tenant.
func (s *Server) tenant(name string) *tenant {
	s.mu.Lock()
	t := s.tenants[name]
	if t == nil {
		t = newTenant(s.opt.Limits(name))
		s.tenants[name] = t
	}
	s.mu.Unlock()
	t.once.Do(func() { s.learn(name, t) })
	return t
}

// learn finds out which series of a tenant there are, so that limits hold when a server starts anew.
func (s *Server) learn(name string, t *tenant) {
	now := s.opt.Now()
	series, err := s.opt.Store.Series(context.Background(), store.Query{Tenant: name, From: now.Add(-active), To: now.Add(time.Hour)})
	if err != nil {
		s.opt.Log.Warn("series of a tenant are not known", "tenant", name, "err", err)
	}
	for i := range series {
		t.known(&series[i])
	}
}

// readSlot waits until there is room to unpack and read a profile.
func (s *Server) readSlot(ctx context.Context) (release func(), err error) {
	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-ctx.Done():
		return nil, body.Errorf(http.StatusServiceUnavailable, "the request ended before its turn came")
	}
}

// uploads makes uploads of what was sent. All of it is fine, or none of it is kept.
func (s *Server) uploads(ctx context.Context, t *tenant, parse func() ([]sent, error)) ([]*store.Upload, error) {
	release, err := s.readSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	in, err := parse()
	if err != nil {
		return nil, err
	}
	out := make([]*store.Upload, len(in))
	for i := range in {
		if out[i], err = s.upload(t, &in[i]); err != nil {
			if len(in) > 1 {
				err = inContext(fmt.Sprintf("profile %d of %d", i+1, len(in)), err)
			}
			return nil, err
		}
	}
	// Count series last, when nothing else can fail.
	for _, u := range out {
		if err := t.admit(u, s.opt.Now()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inContext says what an error is about.
func inContext(what string, err error) error {
	var bad *body.Error
	if errors.As(err, &bad) {
		e := *bad
		e.Message = what + ": " + e.Message
		return &e
	}
	return fmt.Errorf("%s: %w", what, err)
}

// keep puts the profiles that parse finds in a request into the store.
func (s *Server) keep(ctx context.Context, req *request, parse func() ([]sent, error)) ([]keptProfile, error) {
	uploads, err := s.uploads(ctx, req.tenant, parse)
	if err != nil || len(uploads) == 0 {
		return nil, withSetting(err)
	}
	outcomes, err := s.opt.Store.Add(ctx, req.who.Tenant, uploads)
	if err == nil {
		if i := slices.IndexFunc(outcomes, func(o store.Outcome) bool { return o.Err != nil }); i >= 0 {
			err = outcomes[i].Err
		}
	}
	if err == nil {
		kept := make([]keptProfile, len(uploads))
		for i, u := range uploads {
			kept[i] = keptProfile{outcomes[i].ID.String(), u.Service, u.Kind, outcomes[i].Repeated}
		}
		return kept, nil
	}
	var limit *store.LimitError
	switch {
	case errors.Is(err, store.ErrFull):
		s.tellFull(err)
		return nil, &body.Error{Status: http.StatusInsufficientStorage, Message: "no room is left: " + err.Error(), Retry: time.Minute}
	case errors.As(err, &limit):
		return nil, &body.Error{Status: http.StatusUnprocessableEntity, Limit: limit.What, Message: err.Error()}
	case ctx.Err() != nil:
		return nil, body.Errorf(http.StatusServiceUnavailable, "the request ended before its profiles were kept")
	}
	s.opt.Log.ErrorContext(ctx, "keeping profiles", "tenant", req.who.Tenant, "err", err)
	return nil, body.Errorf(http.StatusInternalServerError, "keeping the profile: %v", err)
}

// tellFull logs that there is no room, once a minute: senders are told each time, but it is the operator who can make room.
func (s *Server) tellFull(err error) {
	now := s.opt.Now()
	s.mu.Lock()
	due := now.Sub(s.full) >= time.Minute
	if due {
		s.full = now
	}
	s.mu.Unlock()
	if due {
		s.opt.Log.Error("profiles are refused, for want of room", "err", err)
	}
}

// statusOf returns the status of HTTP for an error, and sets the headers that go with it.
func statusOf(w http.ResponseWriter, err error) int {
	var bad *body.Error
	if errors.As(err, &bad) {
		if bad.Retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(bad.Retry.Seconds()+0.999)))
		}
		return bad.Status
	}
	refused := token.ReasonOf(err)
	if refused.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="hone"`)
	}
	return refused.Status
}
