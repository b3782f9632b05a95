package scrape

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	_ "net/http/pprof"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// practice is the variable that makes the test binary a program that is scraped.
const practice = "HONE_SCRAPE_PRACTICE"

func TestMain(m *testing.M) {
	if os.Getenv(practice) != "" {
		if err := serveProfiles(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveProfiles is a program that works, allocates and waits, until its standard input ends.
func serveProfiles() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	go http.Serve(l, nil)
	go func() {
		var mu sync.Mutex
		for {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					mu.Lock()
					defer mu.Unlock()
					end := time.Now().Add(2 * time.Millisecond)
					for kept := []byte{}; time.Now().Before(end); {
						kept = append(kept, bytes.Repeat([]byte{1}, 100)...)
					}
				})
			}
			wg.Wait()
			time.Sleep(40 * time.Millisecond)
		}
	}()
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A passage is between the Scraper and a program, and remembers what passed.
type passage struct {
	*httptestServer
	mu     sync.Mutex
	bodies map[string][][]byte // by path, those that the client has read to the end
	closed bool
}

type httptestServer struct {
	addr string
	stop func()
}

func newPassage(t *testing.T, to string) *passage {
	t.Helper()
	p := &passage{bodies: map[string][][]byte{}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) { w.WriteHeader(502) }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		closed := p.closed
		p.mu.Unlock()
		if closed {
			w.WriteHeader(503)
			return
		}
		kept := &keeper{ResponseWriter: w, status: 200}
		proxy.ServeHTTP(kept, r)
		if kept.status == 200 && r.Context().Err() == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.bodies[kindOf(r.URL.Path)] = append(p.bodies[kindOf(r.URL.Path)], kept.body.Bytes())
		}
	})}
	go srv.Serve(l)
	p.httptestServer = &httptestServer{addr: l.Addr().String(), stop: func() { srv.Close() }}
	return p
}

type keeper struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *keeper) WriteHeader(status int) { k.status = status; k.ResponseWriter.WriteHeader(status) }
func (k *keeper) Write(b []byte) (int, error) {
	k.body.Write(b)
	return k.ResponseWriter.Write(b)
}

// TestRealPrograms scrapes three programs with net/http/pprof, and holds that all that they sent is in the store, to the last unit. Somebody
// else takes CPU profiles of one of them all the time until hone has met that.
func TestRealPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes profiles of programs")
	}
	var passages []*passage
	var addresses []string
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), practice+"=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer in.Close()
		var addr string
		if _, err := fmt.Fscanln(out, &addr); err != nil {
			t.Fatal(err)
		}
		p := newPassage(t, addr)
		defer p.stop()
		passages = append(passages, p)
		addresses = append(addresses, addr)
	}
	kinds := []string{"cpu", "heap", "goroutine", "mutex", "block", "allocs"}
	config := fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
- job_name: practice
  profiles: {cpu: {interval: 2s, seconds: 1}, heap: , goroutine: , mutex: , block: {delta: true, seconds: 1}, allocs: {delta: true, seconds: 1}}
  static_configs:
  - {targets: [%q], labels: {service_name: s0, __scrape_timeout__: 3m}}
  - {targets: [%q], labels: {service_name: s1, __scrape_timeout__: 3m}}
  - {targets: [%q], labels: {service_name: s2, __scrape_timeout__: 3m}}
`, passages[0].addr, passages[1].addr, passages[2].addr)
	s := newSink()
	scraper := New(mustParse(t, config), Options{Sink: s.take, Tenant: "main"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); scraper.Run(ctx) }()

	// Somebody else.
	other, enough := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() {
		for other.Err() == nil {
			req, _ := http.NewRequestWithContext(other, "GET", "http://"+addresses[2]+"/debug/pprof/profile?seconds=30", nil)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	})
	busy := func() (n int) {
		for _, tg := range scraper.Status().Targets {
			for _, p := range tg.Profiles {
				n += p.Busy
			}
		}
		return n
	}
	all := func() bool {
		for _, tg := range scraper.Status().Targets {
			for _, p := range tg.Profiles {
				if p.Profiles < 2 {
					return false
				}
			}
		}
		return len(scraper.Status().Targets) == 3
	}
	deadline := time.Now().Add(3 * time.Minute)
	wait := func(what string, ok func() bool) {
		for !ok() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v", what, scraper.Status())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	wait("nobody else was met", func() bool { return busy() > 0 })
	enough()
	others.Wait()
	wait("there are not two profiles of each", all)
	for _, p := range passages {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
	}
	wait("it does not come to rest", func() bool {
		for _, tg := range scraper.Status().Targets {
			for _, p := range tg.Profiles {
				if p.Health == Up || p.Running {
					return false
				}
			}
		}
		return scraper.Status().Delivery.Waiting == 0
	})
	cancel()
	<-done
	for i, p := range passages {
		for _, kind := range kinds {
			var want []int64
			for _, body := range p.bodies[kind] {
				one, err := profile.ParseBytes(body)
				if err != nil {
					t.Fatal(err)
				}
				if kind == "allocs" {
					one = one.WithTypes([]string{"alloc_objects", "alloc_space"})
				}
				if want == nil {
					want = make([]int64, len(one.SampleTypes))
				}
				for k, v := range sums(one) {
					want[k] += v
				}
			}
			got, n := totals(t, s, fmt.Sprint("s", i), kind)
			if n != len(p.bodies[kind]) || n < 2 || !slices.Equal(got, want) {
				t.Errorf("%s of program %d: the store has %v in %d profiles; sent were %v in %d", kind, i, got, n, want, len(p.bodies[kind]))
			}
		}
	}
	m, err := s.Merge(t.Context(), store.Query{Tenant: "main", Selector: store.Service("s0"), Kind: "heap", From: time.Unix(0, 0), To: time.Now(), Fold: store.Natural})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.Profile.Functions, func(f profile.Function) bool { return strings.HasPrefix(f.Name, "bytes.Repeat") }) {
		t.Error("what the program allocated is not in its heap profiles")
	}
}
