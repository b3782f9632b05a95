package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A network connects servers and the Scraper in memory, so that time can be simulated.
type network struct {
	mu      sync.Mutex
	servers map[string]*listener
}

type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  string
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return (*address)(l) }

type address listener

func (a *address) Network() string { return "memory" }
func (a *address) String() string  { return a.addr }

// serve has a handler answer at an address until stop is called.
func (n *network) serve(addr string, h http.Handler) (stop func()) {
	l := &listener{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
	n.mu.Lock()
	if n.servers == nil {
		n.servers = map[string]*listener{}
	}
	n.servers[addr] = l
	n.mu.Unlock()
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(l) }()
	return func() {
		n.mu.Lock()
		delete(n.servers, addr)
		n.mu.Unlock()
		srv.Close()
		<-done
	}
}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.servers[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An answerer is a program that is asked for profiles. It gives those of a kind one after the other, and counts.
type answerer struct {
	busy  int // answers that somebody else takes a CPU profile, for the next so many requests
	delay func(path string) time.Duration

	mu    sync.Mutex
	next  map[string][]*store.Upload // by kind
	given map[string][]*store.Upload // that were sent to the end
	asked map[string][]time.Time     // by path
	auth  []string
	cpu   int // CPU profiles that are being taken
	most  int // and the most at a time
}

func kindOf(path string) string {
	kind := path[strings.LastIndex(path, "/")+1:]
	if kind == "profile" {
		return cpuKind
	}
	return kind
}

func (a *answerer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := kindOf(r.URL.Path)
	a.mu.Lock()
	if a.asked == nil {
		a.asked, a.given = map[string][]time.Time{}, map[string][]*store.Upload{}
	}
	a.asked[kind] = append(a.asked[kind], time.Now())
	a.auth = append(a.auth, r.Header.Get("Authorization"))
	busy := kind == cpuKind && a.busy > 0
	if busy {
		a.busy--
	}
	if kind == cpuKind {
		if a.cpu++; a.cpu > a.most {
			a.most = a.cpu
		}
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.cpu--
		}()
	}
	a.mu.Unlock()
	if busy {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Go-Pprof", "1")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintln(w, "Could not enable CPU profiling: cpu profiling already in use")
		return
	}
	var wait time.Duration
	if s := r.FormValue("seconds"); s != "" {
		wait, _ = time.ParseDuration(s + "s")
	}
	if a.delay != nil {
		wait += a.delay(kind)
	}
	sleep(r.Context(), wait)
	if r.Context().Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.next[kind]) == 0 {
		http.Error(w, "Unknown profile", http.StatusNotFound)
		return
	}
	u := a.next[kind][0]
	if len(a.next[kind]) > 1 {
		a.next[kind] = a.next[kind][1:]
	}
	if _, err := w.Write(u.Raw); err == nil {
		a.given[kind] = append(a.given[kind], u)
	}
}

func (a *answerer) times(kind string) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time{}, a.asked[kind]...)
}

// fleet returns programs that give profiles of a generated fleet, one for each service.
func fleet(services, rounds int) []*answerer {
	f := storetest.Small()
	f.Services, f.Instances, f.Rounds = services, 1, rounds
	byService := map[string]*answerer{}
	var out []*answerer
	for _, u := range f.All() {
		a := byService[u.Service]
		if a == nil {
			a = &answerer{next: map[string][]*store.Upload{}}
			byService[u.Service] = a
			out = append(out, a)
		}
		a.next[u.Kind] = append(a.next[u.Kind], u)
	}
	return out
}

// A sink keeps what it is given in a store, unless it is to fail.
type sink struct {
	*storetest.Memory
	mu     sync.Mutex
	fail   func(uploads []*store.Upload) error
	calls  int
	again  bool // profiles may come twice
	bodies [][]byte
}

func newSink() *sink { return &sink{Memory: storetest.NewMemory()} }

func (s *sink) take(ctx context.Context, tenant string, uploads []*store.Upload) error {
	s.mu.Lock()
	s.calls++
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(uploads); err != nil {
			return err
		}
	}
	out, err := s.Add(ctx, tenant, uploads)
	for i, o := range out {
		err = errors.Join(err, o.Err)
		if o.Repeated && !s.again {
			err = errors.Join(err, errors.New("a profile came twice"))
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, uploads[i].Raw)
		s.mu.Unlock()
	}
	return err
}

func (s *sink) failWith(f func([]*store.Upload) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

// A bench is a Scraper at work in simulated time.
type bench struct {
	*Scraper
	*network
	sink *sink
	stop func()
}

// simulate runs a test in simulated time. Goroutines that are left at the end make it fail.
func simulate(t *testing.T, config string, opt Options, with func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{network: &network{}, sink: newSink()}
		opt.dial = b.dial
		opt.Sink = b.sink.take
		if opt.Tenant == "" {
			opt.Tenant = "main"
		}
		b.Scraper = New(mustParse(t, config), opt)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		b.stop = sync.OnceFunc(func() {
			cancel()
			<-done
			if n := b.memory.Load(); n != 0 {
				t.Errorf("%d bytes are still taken at the end", n)
			}
		})
		go func() { defer close(done); b.Run(ctx) }()
		with(b)
		b.stop()
	})
}

// totals returns the sums of what the store has, and how many profiles.
func (b *bench) totals(t *testing.T, service, kind string) ([]int64, int) {
	t.Helper()
	return totals(t, b.sink, service, kind)
}

func totals(t *testing.T, s store.Store, service, kind string) ([]int64, int) {
	t.Helper()
	m, err := s.Merge(context.Background(), store.Query{
		Tenant: "main", Selector: store.Service(service), Kind: kind, From: time.Unix(0, 0), To: time.Now().Add(time.Hour), Fold: store.Sum,
	})
	if err != nil {
		return nil, 0
	}
	return sums(m.Profile), m.Profiles
}

func sums(p *profile.Profile) []int64 {
	out := make([]int64, len(p.SampleTypes))
	for k := range out {
		for _, v := range p.Values(k) {
			out[k] += v
		}
	}
	return out
}

// sent returns the sums of what a program has given of a kind, and how many profiles.
func (a *answerer) sent(t *testing.T, kind string) ([]int64, int) {
	t.Helper()
	var out []int64
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.given[kind] {
		p, err := profile.Parse(bytes.NewReader(u.Raw))
		if err != nil {
			t.Fatal(err)
		}
		s := sums(p)
		if out == nil {
			out = make([]int64, len(s))
		}
		for k := range s {
			out[k] += s[k]
		}
	}
	return out, len(a.given[kind])
}

// profile returns the status of a kind of profile of the target whose address ends so.
func (b *bench) profile(address, kind string) ProfileStatus {
	for _, t := range b.Status().Targets {
		if strings.HasSuffix(t.Address, address) {
			for _, p := range t.Profiles {
				if p.Kind == kind {
					return p
				}
			}
		}
	}
	return ProfileStatus{}
}
