// Package web is the workbench in a browser: pages whose numbers are the reports of package view.
//
// New makes a Server of recordings, and Later one whose recordings are still being read; its Handler answers pages, the API under /api, and downloads. All state of a page
// is the query in its URL. Everything is computed here, on the full data; the page only paints.
//
// What hone advise finds is looked for when a page asks for it, which pages do once their first picture is there.
package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/views"
)

// Options tune a Server. The zero Options allow only requests with the token.
type Options struct {
	Version string
	Hosts   []string // its names, without ports; see HostsOf
	Base    string   // default base

	Advise string       // folder in the module to search for findings; "" means no search
	By     hint.Speller // spells commands for a terminal
	Takes  bool         // allow uploads of files
	Saved  string       // file of saved views; "" means views cannot be saved
	Source string       // Advise as the user wrote it, for commands on pages; "" means the default
}

// A Server answers for recordings.
type Server struct {
	mu    sync.RWMutex // guards in, described and first
	in    []*recording.Recording
	taken int64 // bytes of uploaded files
	known known
	opt   Options
	token string
	first string // first page
	cache *memory
	turns chan struct{} // limits computations at the same time

	adviser *adviser // nil when nothing is to be looked for

	opened chan struct{} // closed when in is set, or failed says why there are no recordings
	failed error

	saving  sync.Mutex // held while saved views change
	opening sync.Mutex // held while hone computes answers in advance
	whole   atomic.Pointer[looked]
	next    atomic.Pointer[expected] // nil until a page expects to ask for something

	summed   *looked     // whose functions were added up in advance; opening is held for it
	graphing *graphing   // nil until it is begun; opening is held for it
	idle     *time.Timer // fires when there were no requests for a while

	// The same for all users.
	described func() (session, error)

	ready chan struct{}                                                                       // held while a page is made ready
	store func(ctx context.Context, ref string, functions bool) (*recording.Recording, error) // opens what pages name, in place of in; nil for others
}

// New returns a Server of recordings, of which the first is shown first.
func New(in []*recording.Recording, opt Options) *Server {
	s := Later(opt)
	s.Open(in)
	return s
}

// Later returns a Server of recordings that are still being read. It has pages already; for what they ask they wait until
// Open or Fail is called.
func Later(opt Options) *Server {
	var b [16]byte
	rand.Read(b[:]) // never fails
	s := &Server{
		opt:    opt,
		token:  base64.RawURLEncoding.EncodeToString(b[:]),
		turns:  make(chan struct{}, runtime.GOMAXPROCS(0)),
		ready:  make(chan struct{}, runtime.GOMAXPROCS(0)),
		cache:  newMemory(),
		known:  known{since: time.Now(), sent: make(map[sentFile]string), local: make(map[string]fs.FileInfo)},
		opened: make(chan struct{}),
	}
	if opt.Advise != "" {
		s.adviser = newAdviser(opt.Advise, opt.By)
	}
	s.described = sync.OnceValues(s.describe)
	s.idle = time.AfterFunc(settled, s.ahead)
	return s
}

// Open provides the recordings. It must be called once.
func (s *Server) Open(in []*recording.Recording) {
	s.in = make([]*recording.Recording, len(in))
	for i, rec := range in {
		s.in[i] = s.forMany(rec)
		s.known.opened(rec.Ref)
	}
	close(s.opened)
}

// forMany returns a recording for concurrent requests, which share what they computed.
func (s *Server) forMany(rec *recording.Recording) *recording.Recording {
	one := *rec.Numbered().Remembering(s.cache.costs)
	if one.Sources != nil {
		one.Sources = &sources{from: rec.Sources}
	}
	return &one
}

// all returns the open recordings.
func (s *Server) all() []*recording.Recording {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.in
}

// add opens an uploaded file.
func (s *Server) add(rec *recording.Recording, file sentFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = append(slices.Clip(s.in), s.forMany(rec))
	s.known.sent[file] = rec.Ref
	s.described = sync.OnceValues(s.describe)
}

// said returns the session that pages contain.
func (s *Server) said() (session, error) {
	s.mu.RLock()
	described := s.described
	s.mu.RUnlock()
	return described()
}

// Fail reports why there are no recordings. It replaces the call of Open.
func (s *Server) Fail(err error) {
	s.failed = err
	close(s.opened)
}

// whenOpen delays requests until the recordings are open.
func (s *Server) whenOpen(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.opened:
		case <-r.Context().Done():
			return
		}
		if s.failed != nil {
			fail(w, http.StatusServiceUnavailable, s.failed, "")
			return
		}
		next(w, r)
	}
}

// Sources are not safe for concurrent use, but requests are concurrent.
type sources struct {
	mu   sync.Mutex
	from recording.Sources
}

func (s *sources) Find(file, function string, line int) (recording.Text, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Find(file, function, line)
}

// URL returns the address of the first page, with the token. Serve prepares that page.
func (s *Server) URL(l net.Listener, page string) string {
	s.mu.Lock()
	s.first = page
	s.mu.Unlock()
	sep := "?"
	if strings.Contains(page, "?") {
		sep = "&"
	}
	at := l.Addr().String()
	if len(s.opt.Hosts) > 0 {
		_, port, _ := net.SplitHostPort(at)
		at = net.JoinHostPort(s.opt.Hosts[0], port)
	}
	return "http://" + at + page + sep + "token=" + s.token
}

// pages are the paths of the page.
var pages = []string{"overview", "flame", "flamechart", "calltree", "sandwich", "top", "graph", "source", "diff", "tags", "traces", "timeline", "trace", "compare", "bench", "load", "goroutines", "holders", "mem", "gc"}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	if s.store != nil {
		for _, p := range fleetPages {
			mux.HandleFunc("GET /"+p, s.page)
		}
	}
	for _, p := range pages {
		mux.HandleFunc("GET /"+p, s.page)
	}
	mux.HandleFunc("GET /assets/{name}", s.asset)
	mux.HandleFunc("GET /api/session", s.whenOpen(s.session))
	mux.HandleFunc("GET /api/flame", s.whenOpen(s.flame))
	mux.HandleFunc("GET /api/before", s.whenOpen(s.before))
	mux.HandleFunc("GET /api/calltree", s.whenOpen(s.callTree))
	mux.HandleFunc("GET /api/sandwich", s.whenOpen(s.sandwich))
	mux.HandleFunc("GET /api/search", s.whenOpen(s.search))
	mux.HandleFunc("GET /api/lines", s.whenOpen(s.lines))
	mux.HandleFunc("GET /api/check", s.whenOpen(s.check))
	mux.HandleFunc("GET /api/advise", s.whenOpen(s.advise))
	mux.HandleFunc("DELETE /api/advise", s.whenOpen(s.stopAdvice))
	mux.HandleFunc("GET /api/advise/progress", s.whenOpen(s.progress))
	for v := range views.All() {
		switch v.Name {
		case "flame", "calltree", "sandwich", "search":
		default:
			answer := s.whenOpen(func(w http.ResponseWriter, r *http.Request) { s.view(w, r, v) })
			mux.HandleFunc("GET /api/"+v.Name, answer)
			for _, alias := range v.Aliases {
				mux.HandleFunc("GET /api/"+alias, answer)
			}
		}
	}
	mux.HandleFunc("GET /download/{format}", s.whenOpen(s.download))
	if s.opt.Takes {
		mux.HandleFunc("POST /api/open", s.whenOpen(s.take))
	}
	if s.opt.Saved != "" {
		mux.HandleFunc("GET /api/saved", s.savedViews)
		mux.HandleFunc("POST /api/saved", s.saveView)
		mux.HandleFunc("PATCH /api/saved", s.renameView)
		mux.HandleFunc("DELETE /api/saved", s.forgetView)
	}
	for name, page := range pageOf {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			u := url.URL{Path: "/" + page, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, u.RequestURI(), http.StatusSeeOther)
		})
	}
	mux.HandleFunc("/", s.elsewhere)
	if s.store != nil {
		return policed(mux) // the store checks permissions
	}
	return s.guard(mux)
}

// pageOf maps commands to pages with other names.
var pageOf = map[string]string{
	"text": "top", "list": "source", "weblist": "source", "disasm": "source", "flamegraph": "flame", "flame-chart": "flamechart", "search": "flame",
	"callers": "sandwich", "peek": "sandwich", "dot": "graph", "tree": "graph", "info": "overview", "lanes": "trace",
}

// elsewhere answers requests for unknown paths: with a page for people, with JSON for programs.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && !isData(r.URL) && wantsPage(r) {
		s.write(w, http.StatusNotFound)
		return
	}
	fail(w, http.StatusNotFound, fmt.Errorf("there is nothing at %s", r.URL.Path), "")
}

// wantsPage reports whether a browser wants to show the answer of a request.
func wantsPage(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" || strings.Contains(r.Header.Get("Accept"), "text/html")
}

// busy waits for a turn to compute. It reports false if the client disconnects first.
func (s *Server) busy(r *http.Request) (done func(), ok bool) {
	select {
	case s.turns <- struct{}{}:
		return func() {
			<-s.turns
			s.idle.Reset(settled)
		}, true
	case <-r.Context().Done():
		return nil, false
	}
}

// recordings returns the recording that a query names, or the first one, and its base. With functions, recordings from a store may lack line numbers.
func (s *Server) recordings(ctx context.Context, refs, base []string, functions bool) ([]*recording.Recording, error) {
	all := s.all()
	if len(all) == 0 && (s.store == nil || len(refs) == 0) {
		return nil, errors.New("no recording is open")
	}
	in := slices.Clone(all[:min(len(all), 1)])
	if len(refs) > 0 {
		rec, err := s.find(ctx, refs, functions)
		if err != nil {
			return nil, err
		}
		in = []*recording.Recording{rec}
	}
	if len(base) > 0 {
		rec, err := s.find(ctx, base, functions)
		if err != nil {
			return nil, err
		}
		in = append(in, rec)
	}
	return in, nil
}

func (s *Server) find(ctx context.Context, refs []string, functions bool) (*recording.Recording, error) {
	name := strings.Join(refs, " ")
	if s.store != nil {
		return s.store(ctx, name, functions)
	}
	all := s.all()
	names := make([]string, len(all))
	for i, rec := range all {
		if rec.Ref == name {
			return rec, nil
		}
		names[i] = rec.Ref
	}
	return nil, fmt.Errorf("%s is not open; open are %s", name, strings.Join(names, ", "))
}
