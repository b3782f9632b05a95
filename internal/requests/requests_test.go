package requests

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/exectrace"
)

// tracing records what happens meanwhile.
func tracing(t *testing.T, do func()) *exectrace.Trace {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skipf("somebody else records a trace: %v", err)
	}
	do()
	trace.Stop()
	tr, err := exectrace.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A task is what a handler says of itself, which Find does not look at.
type task struct {
	from, to  int64
	goroutine int64
}

func tasks(t *testing.T, tr *exectrace.Trace) []task {
	t.Helper()
	open := map[uint64]task{}
	var list []task
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case exectrace.TaskBegin:
			open[e.Task] = task{from: e.Time, goroutine: e.Goroutine}
		case exectrace.TaskEnd:
			if x, ok := open[e.Task]; ok {
				x.to = e.Time
				list = append(list, x)
			}
		}
	}
	if d := tr.Damage(); len(d) > 0 {
		t.Fatalf("damage: %v", d)
	}
	return list
}

// handling is done when no handler runs: clients may have their answer before.
var handling sync.WaitGroup

// told wraps a handler in a task.
func told(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handling.Add(1)
		defer handling.Done()
		_, task := trace.NewTask(context.Background(), "truth")
		defer task.End()
		h(w, r)
	})
}

var lock sync.Mutex

// mix is handlers that do this and that.
func mix() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/small", told(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") }))
	mux.Handle("/large", told(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 200<<10)) }))
	mux.Handle("/lock", told(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		time.Sleep(50 * time.Microsecond)
		lock.Unlock()
	}))
	mux.Handle("/fan", told(func(w http.ResponseWriter, r *http.Request) {
		done := make(chan int)
		for i := range 3 {
			go func() { done <- i }()
		}
		for range 3 {
			<-done
		}
	}))
	mux.Handle("/flush", told(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			io.WriteString(w, "a piece\n")
			w.(http.Flusher).Flush()
		}
	}))
	mux.Handle("/body", told(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, n)
	}))
	mux.Handle("/panic", told(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	mux.Handle("/hijack", told(func(w http.ResponseWriter, r *http.Request) {
		c, out, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		out.Flush()
	}))
	return mux
}

var pages = []string{"/small", "/large", "/lock", "/fan", "/flush", "/body", "/small"}

// TestFind holds that each request that servers answer is found once, and none that was not there, without what handlers say of themselves.
func TestFind(t *testing.T) {
	const clients, each = 4, 14
	ask := func(client func() *http.Client, pages []string, fails bool) func(t *testing.T, url string) int {
		return func(t *testing.T, url string) int {
			var wg sync.WaitGroup
			for range clients {
				wg.Add(1)
				go func() {
					defer wg.Done()
					c := client()
					defer c.CloseIdleConnections()
					for i := range each {
						page := pages[i%len(pages)]
						req, _ := http.NewRequest("POST", url+page, strings.NewReader(strings.Repeat("x", 1000)))
						resp, err := c.Do(req)
						if err != nil {
							if !fails {
								t.Error(err)
							}
							continue
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				}()
			}
			wg.Wait()
			return clients * each
		}
	}
	plain := func() *http.Client { return &http.Client{Transport: &http.Transport{}} }
	closing := func() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }
	tests := []struct {
		name  string
		start func(h http.Handler) *httptest.Server
		ask   func(t *testing.T, url string) int
		own   bool // handlers run on the goroutine of the request
	}{
		{"keep-alive", httptest.NewServer, ask(plain, pages, false), true},
		{"close", httptest.NewServer, ask(closing, pages, false), true},
		{"panic", httptest.NewServer, ask(closing, []string{"/panic", "/small"}, true), true},
		{"hijack", httptest.NewServer, ask(plain, []string{"/small", "/hijack", "/fan"}, false), true},
		{"timeout", func(h http.Handler) *httptest.Server {
			return httptest.NewServer(http.TimeoutHandler(h, time.Minute, "late"))
		}, ask(plain, []string{"/small", "/lock", "/body"}, false), false},
		{"pipelined", httptest.NewServer, func(t *testing.T, url string) int {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, strings.Repeat("GET /small HTTP/1.1\r\nHost: x\r\n\r\n", 10))
			in := bufio.NewReader(c)
			for range 10 {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
			}
			return 10
		}, true},
		{"idle", httptest.NewServer, func(t *testing.T, url string) int {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			return 0
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			srv := test.start(mix())
			srv.Config.ErrorLog = nil
			defer srv.Close()
			want := 0
			tr := tracing(t, func() { want = test.ask(t, srv.URL); handling.Wait(); srv.Close() })
			check(t, tr, want, test.own)
		})
	}
	t.Run("TLS", func(t *testing.T) {
		srv := httptest.NewTLSServer(mix())
		defer srv.Close()
		want := 0
		tr := tracing(t, func() {
			want = ask(srv.Client, pages, false)(t, srv.URL)
			srv.Close()
		})
		check(t, tr, want, true)
	})
	t.Run("HTTP2", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(mix())
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		want := 0
		tr := tracing(t, func() {
			want = ask(srv.Client, pages, false)(t, srv.URL)
			srv.Close()
		})
		check(t, tr, want, true)
	})
}

// check compares what was found with what the handlers said, and with how many requests were sent.
func check(t *testing.T, tr *exectrace.Trace, want int, own bool) {
	t.Helper()
	truth := tasks(t, tr)
	found, err := Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Requests) != want || len(truth) != want {
		t.Errorf("%d requests found, %d said by handlers, %d sent", len(found.Requests), len(truth), want)
	}
	for i, r := range found.Requests {
		sum := int64(0)
		for _, v := range r.Split {
			sum += v
		}
		if sum != r.Took() || r.From > r.To || r.Number != i+1 {
			t.Errorf("request %d took %d from %d to %d, and its parts %d", r.Number, r.Took(), r.From, r.To, sum)
		}
	}
	if !own {
		return
	}
	for _, x := range truth {
		n := 0
		for _, r := range found.Requests {
			if r.Goroutine == x.goroutine && r.From <= x.from && x.to <= r.To {
				n++
			}
		}
		if n != 1 {
			var near []string
			for _, r := range found.Requests {
				if r.Goroutine == x.goroutine {
					near = append(near, fmt.Sprintf("%d..%d", r.From, r.To))
				}
			}
			t.Errorf("a handler that ran from %d to %d on goroutine %d is in %d requests, of %v", x.from, x.to, x.goroutine, n, near)
		}
	}
	paths, err := Paths(tr, nil, found.Requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		covered(t, &found.Requests[i], p)
	}
}

// covered holds that a path has all of the time of its request, without a gap.
func covered(t *testing.T, r *Request, p []Segment) {
	t.Helper()
	at := r.From
	for _, s := range p {
		if s.From != at || s.To < s.From {
			t.Errorf("request %d from %d to %d: a segment from %d to %d follows %d", r.Number, r.From, r.To, s.From, s.To, at)
			return
		}
		at = s.To
	}
	if at != r.To {
		t.Errorf("request %d ends at %d, its path at %d", r.Number, r.To, at)
	}
}

// TestShop holds what is said of a trace of examples/shop: who holds the lock, and the slow part of a basket.
func TestShop(t *testing.T) {
	f, err := os.Open("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := exectrace.Open(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	found, err := Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := Paths(tr, nil, found.Requests)
	if err != nil {
		t.Fatal(err)
	}
	blamed := map[string]map[string]int{}
	for i, r := range found.Requests {
		covered(t, &found.Requests[i], paths[i])
		if r.Took() < 4e6 {
			continue
		}
		longest := slices.MaxFunc(paths[i], func(a, b Segment) int { return int(a.Took() - b.Took()) })
		if blamed[r.Handler] == nil {
			blamed[r.Handler] = map[string]int{}
		}
		blamed[r.Handler][longest.What.String()+" in "+longest.Place.Func]++
	}
	for handler, want := range map[string]string{"main.(*shop).price": "sleep in main.(*shop).load", "main.(*shop).basket": "sleep in main.department"} {
		if len(blamed[handler]) != 1 || blamed[handler][want] == 0 {
			t.Errorf("slow requests of %s are blamed on %v, want %s alone", handler, blamed[handler], want)
		}
	}
}

// TestPath holds paths of made-up spans.
func TestPath(t *testing.T) {
	run, wait := Running, Lock
	tests := []struct {
		name  string
		spans map[int64][]span
		born  map[int64]birth
		want  string
	}{
		{
			"holder of a lock",
			map[int64][]span{
				1: {{From: 0, To: 10, what: run}, {From: 10, To: 80, what: wait, by: 2}, {From: 80, To: 85, what: Ready}, {From: 85, To: 100, what: run}},
				2: {{From: 0, To: 20, what: run}, {From: 20, To: 70, what: Sleep}, {From: 70, To: 80, what: run}},
			},
			nil,
			"1 running 0-10, 2 running 10-20, 2 sleep 20-70, 2 running 70-80, 1 ready 80-85, 1 running 85-100",
		},
		{
			"chain",
			map[int64][]span{
				1: {{From: 0, To: 90, what: Channel, by: 2}, {From: 90, To: 100, what: run}},
				2: {{From: 0, To: 50, what: Channel, by: 3}, {From: 50, To: 90, what: run}},
				3: {{From: 0, To: 50, what: Syscall}},
			},
			nil,
			"3 syscall 0-50, 2 running 50-90, 1 running 90-100",
		},
		{
			"born meanwhile",
			map[int64][]span{
				1: {{From: 0, To: 20, what: run}, {From: 20, To: 90, what: Channel, by: 2}, {From: 90, To: 100, what: run}},
				2: {{From: 40, To: 45, what: Ready}, {From: 45, To: 90, what: run}},
				3: {{From: 0, To: 100, what: run}},
			},
			map[int64]birth{2: {40, 3, 0}},
			"1 running 0-20, 3 running 20-40, 2 ready 40-45, 2 running 45-90, 1 running 90-100",
		},
		{
			"nobody to blame",
			map[int64][]span{1: {{From: 0, To: 60, what: Network}, {From: 60, To: 100, what: run}}},
			nil,
			"1 network 0-60, 1 running 60-100",
		},
		{
			"waits for each other",
			map[int64][]span{
				1: {{From: 0, To: 30, what: Channel, by: 2}, {From: 30, To: 50, what: run}, {From: 50, To: 80, what: Channel, by: 2}, {From: 80, To: 100, what: run}},
				2: {{From: 0, To: 30, what: run}, {From: 30, To: 50, what: Channel, by: 1}, {From: 50, To: 80, what: run}, {From: 80, To: 100, what: Channel}},
			},
			nil,
			"2 running 0-30, 1 running 30-50, 2 running 50-80, 1 running 80-100",
		},
		{
			"what is not known",
			map[int64][]span{1: {{From: 50, To: 100, what: run}}},
			nil,
			"1 other 0-50, 1 running 50-100",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr, err := exectrace.Open(strings.NewReader("go 1.26 trace\x00\x00\x00"), 16)
			if err != nil {
				t.Fatal(err)
			}
			w := newWalker(tr)
			w.spans, w.born = test.spans, test.born
			var got []string
			for _, s := range w.path(&Request{From: 0, To: 100, Goroutine: 1}) {
				got = append(got, fmt.Sprintf("%d %v %d-%d", s.Goroutine, s.What, s.From, s.To))
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

//go:noinline
func hold(mu *sync.Mutex) {
	for begin := time.Now(); time.Since(begin) < 3*time.Millisecond; {
	}
	mu.Unlock()
}

//go:noinline
func goOn() {
	for begin := time.Now(); time.Since(begin) < time.Millisecond; {
	}
	time.Sleep(time.Millisecond)
}

// TestPlaceOfWaker holds that who was waited for is found where it was when the wait ended, and not where it went on to. On a busy machine, the
// lock may be free again before anybody waits for it, so this is tried several times.
func TestPlaceOfWaker(t *testing.T) {
	for range 20 {
		took := placesOfWaker(t)
		if took["goOn"] != 0 {
			t.Fatalf("the lock was waited for because of %v", took)
		}
		if took["hold"] > 0 {
			return
		}
	}
	t.Error("it was never found where it held the lock")
}

// placesOfWaker returns how long one goroutine waited for each function of another that held a lock.
func placesOfWaker(t *testing.T) map[string]int64 {
	var mu sync.Mutex
	tr := tracing(t, func() {
		var wg sync.WaitGroup
		held, waits := make(chan bool), make(chan bool)
		wg.Go(func() {
			mu.Lock()
			held <- true
			<-waits
			hold(&mu)
			goOn()
		})
		<-held
		trace.WithRegion(context.Background(), "locks", func() {
			close(waits)
			mu.Lock()
			defer mu.Unlock()
		})
		wg.Wait()
	})
	found, err := Regions(tr)
	if err != nil || len(found.Requests) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	paths, err := Paths(tr, nil, found.Requests)
	if err != nil {
		t.Fatal(err)
	}
	took := map[string]int64{}
	for _, s := range paths[0] {
		if s.What == Running && s.Depth > 0 {
			_, name, _ := strings.Cut(s.Place.Func, "requests.")
			took[name] += s.Took()
		}
	}
	return took
}
