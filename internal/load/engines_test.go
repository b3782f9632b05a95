package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load/loadtest"
)

// overlooked are the faults that the client of net/http takes for an answer, or for another fault.
var overlooked = []string{"long-body", "both", "cut-header"}

// What is counted is what the server did: each status and each fault, to the last request.
func TestCounts(t *testing.T) {
	quick := loadtest.Names("connection reset", "closed before an answer", "closed inside an answer", "malformed answer", "")
	quick = append(quick, "200", "200", "204", "304", "404", "500", "503", "size/100000", "size/0")
	eachEngine(t, func(t *testing.T, e engineCase) {
		var mix []string
		for _, what := range quick {
			if e.name != NetHTTP || !slices.Contains(overlooked, what) {
				mix = append(mix, what)
			}
		}
		s := e.listen(t, mix...)
		p := e.plan(t, s.URL+"/mix")
		p.Number, p.Conns = int64(12*len(mix)+5), 7
		l := mustRun(t, p)
		checkAgainst(t, l, s)
		if l.Sent != p.Number || l.Asked != p.Number || l.Stopped != "" {
			t.Errorf("asked %d, sent %d, stopped %q; want all %d", l.Asked, l.Sent, l.Stopped, p.Number)
		}
		if good := l.Status[200] + l.Status[204] + l.Status[302] + l.Status[304]; l.Good != good || l.Unexpected[latency.OtherStatus] != l.Answered-good {
			t.Errorf("%d good, %v unexpected; want %d good of %d", l.Good, l.Unexpected, good, l.Answered)
		}
	})
}

// One fault at a time, so that none is counted as another.
func TestEachFault(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		for name, cause := range loadtest.Faults {
			if strings.HasPrefix(cause, "timeout") || e.name == NetHTTP && slices.Contains(overlooked, name) {
				continue
			}
			s := e.listen(t)
			p := e.plan(t, s.URL+"/"+name)
			p.Number, p.Conns = 11, 2
			l := mustRun(t, p)
			if cause == "" && (l.Answered != 11 || l.Good != 11) || cause != "" && l.Errors[latency.Cause(cause)] != 11 {
				t.Errorf("%s: %d answered, %d good, errors %v", name, l.Answered, l.Good, l.Errors)
			}
			checkAgainst(t, l, s)
		}
	})
}

// Answers that take too long are counted by how far they came.
func TestTimeouts(t *testing.T) {
	waits(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, e engineCase) {
		t.Parallel()
		for _, name := range loadtest.Names("timeout waiting", "timeout reading") {
			s := e.listen(t)
			p := e.plan(t, s.URL+"/"+name)
			p.Number, p.Conns, p.Timeout = 6, 6, 2*time.Second
			began := time.Now()
			l := mustRun(t, p)
			if cause := latency.Cause(loadtest.Faults[name]); l.Errors[cause] != 6 {
				t.Errorf("%s: %v, want 6 of %q", name, l.Errors, cause)
			}
			if l.Cut.Count() != 6 || l.Cut.Min() < p.Timeout {
				t.Errorf("%s: %d took at least %v, want 6 and %v", name, l.Cut.Count(), l.Cut.Min(), p.Timeout)
			}
			if took := time.Since(began); took < p.Timeout {
				t.Errorf("%s: it took %v, less than the timeout", name, took)
			}
		}
		s := e.listen(t)
		p := e.plan(t, s.URL+"/endless")
		p.Number, p.Conns, p.MaxBody = 6, 3, 1<<20
		if l := mustRun(t, p); l.Errors[latency.TooLarge] != 6 {
			t.Errorf("with a limit: %v", l.Errors)
		}
	})
}

// With Stalled, an answer may take as long as it likes, while something comes on any connection.
func TestStalled(t *testing.T) {
	waits(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, e engineCase) {
		if e.name == NetHTTP {
			return // which has no use for it
		}
		t.Parallel()
		s := e.listen(t)
		p := e.plan(t, s.URL+"/trickle/100")
		p.Number, p.Conns, p.Timeout, p.Stalled = 2, 2, time.Second, true
		if l := mustRun(t, p); l.Good != 2 {
			t.Errorf("answers of two seconds, byte by byte: %d good, %v", l.Good, l.Errors)
		}
		p.Stalled = false
		if l := mustRun(t, p); l.Errors[latency.ReadTimeout] != 2 {
			t.Errorf("without Stalled: %d good, %v", l.Good, l.Errors)
		}
		p = e.plan(t, s.URL+"/hang")
		p.Number, p.Conns, p.Timeout, p.Stalled = 2, 2, time.Second, true
		began := time.Now()
		if l := mustRun(t, p); l.Errors[latency.WaitTimeout] != 2 || time.Since(began) < p.Timeout {
			t.Errorf("nothing comes: %d good, %v after %v", l.Good, l.Errors, time.Since(began))
		}
	})
}

// Where nobody listens, nothing is sent.
func TestRefused(t *testing.T) {
	waits(t)
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	eachEngine(t, func(t *testing.T, e engineCase) {
		t.Parallel()
		scheme := "http"
		if e.cert != nil {
			scheme = "https"
		}
		p := e.plan(t, scheme+"://"+address+"/")
		p.Number, p.Conns = 40, 4
		l := mustRun(t, p)
		if l.Errors[latency.Refused] != 40 || l.Sent != 0 || l.Opened != 0 || l.Asked != 40 {
			t.Errorf("%v, %d sent, %d opened, %d asked", l.Errors, l.Sent, l.Opened, l.Asked)
		}
		// With only a time there is no point in going on.
		p.Number, p.Duration = 0, time.Hour
		if l := mustRun(t, p); l.Stopped == "" || l.Sent != 0 {
			t.Errorf("stopped %q, %d sent", l.Stopped, l.Sent)
		}
	})
}

func TestTLSErrors(t *testing.T) {
	s := engineCase{}.listen(t)
	p := engineCase{name: Portable}.plan(t, strings.Replace(s.URL, "http:", "https:", 1)+"/")
	p.Number, p.Conns = 10, 2
	if l := mustRun(t, p); l.Errors[latency.TLS] != 10 || l.Sent != 0 {
		t.Errorf("TLS to a server without: %v, %d sent", l.Errors, l.Sent)
	}
	eachEngine(t, func(t *testing.T, e engineCase) {
		if e.cert == nil {
			return
		}
		s := e.listen(t)
		p := e.plan(t, s.URL+"/")
		p.TLS.RootCAs = nil
		p.Number, p.Conns = 10, 2
		if l := mustRun(t, p); l.Errors[latency.TLS] != 10 || l.Sent != 0 {
			t.Errorf("a certificate that nobody knows: %v, %d sent", l.Errors, l.Sent)
		}
		p.TLS.InsecureSkipVerify = true
		if l := mustRun(t, p); l.Good != 10 || !strings.HasPrefix(l.TLS, "TLS 1.") {
			t.Errorf("not verified: %d good, %s", l.Good, l.TLS)
		}
	})
}

// A connection serves many requests, unless it may not.
func TestConnections(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		s := e.listen(t)
		p := e.plan(t, s.URL+"/200")
		p.Number, p.Conns = 100, 4
		most := int64(4)
		if e.name == NetHTTP {
			most = 3 * most // it opens some ahead
		}
		if l := mustRun(t, p); l.Opened < 1 || l.Opened > most {
			t.Errorf("%d connections, want 4, and at most %d", l.Opened, most)
		}
		p.NoKeepAlive = true
		if l := mustRun(t, p); l.Opened != 100 || l.Good != 100 {
			t.Errorf("%d connections, %d good, want 100", l.Opened, l.Good)
		}
		if !strings.Contains(s.Last(), "Connection: close\r\n") {
			t.Errorf("sent %q", s.Last())
		}
		if e.name == NetHTTP {
			return
		}
		p.NoKeepAlive, p.HTTP10 = false, true
		l := mustRun(t, p)
		if l.Opened < 1 || l.Opened > 4 || l.Good != 100 { // a few may have sent all before the others began
			t.Errorf("HTTP/1.0: %d connections, %d good, want at most 4, and 100", l.Opened, l.Good)
		}
		if last := s.Last(); !strings.HasPrefix(last, "GET /200 HTTP/1.0\r\n") || !strings.Contains(last, "Connection: Keep-Alive\r\n") {
			t.Errorf("sent %q", last)
		}
		closes := e.plan(t, s.URL+"/unsaid")
		closes.Number, closes.Conns, closes.HTTP10 = 100, 4, true
		if l := mustRun(t, closes); l.Opened != 100 || l.Good != 100 {
			t.Errorf("HTTP/1.0, closed without a word: %d connections, %d good, want 100", l.Opened, l.Good)
		}
	})
}

// What is sent is what was asked for.
func TestRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		s := e.listen(t)
		p := e.plan(t, strings.Replace(s.URL, "://", "://user:secret@", 1)+"/echo?a=b%20c")
		p.Targets[0].Method = "POST"
		p.Targets[0].Body = []byte(strings.Repeat("body", 100_000))
		p.Targets[0].Header = []Field{{"X-One", "1"}, {"X-Two", "ü"}, {"User-Agent", "me"}}
		p.Number, p.Conns = 10, 2
		l := mustRun(t, p)
		if l.Good != 10 {
			t.Fatalf("%d good: %v %v", l.Good, l.Status, l.Errors)
		}
		last := s.Last()
		for _, want := range []string{"POST /echo?a=b%20c HTTP/1.1\r\n", "X-One: 1\r\n", "X-Two: ü\r\n", "User-Agent: me\r\n", "Content-Length: 400000\r\n", "Authorization: Basic dXNlcjpzZWNyZXQ=\r\n", "\r\n\r\nbodybody"} {
			if !strings.Contains(last, want) {
				t.Errorf("no %q in %.400q", want, last)
			}
		}
		if l.Wrote < 10*400_000 {
			t.Errorf("%d bytes were sent", l.Wrote)
		}
	})
}

func TestRefusedRequests(t *testing.T) {
	e := engineCase{name: Portable}
	for _, test := range []struct {
		change func(*Plan)
		err    string
	}{
		{func(p *Plan) { p.Targets[0].Header = []Field{{"A", "b\r\nC: d"}} }, "control character"},
		{func(p *Plan) { p.Targets[0].Header = []Field{{"A b", "c"}} }, "not a name of a header field"},
		{func(p *Plan) { p.Targets[0].Method = "GET /" }, "not a method"},
		{func(p *Plan) { p.Targets[0].Header = []Field{{"Content-Length", "7"}} }, "the body has 0 bytes"},
		{func(p *Plan) { p.Targets[0].URL.Scheme = "ftp" }, "want a URL"},
		{func(p *Plan) { p.Targets[0].URL.Host = "localhost:99999" }, "no such port"},
		{func(p *Plan) { p.Targets[0].URL.Host = "8.8.8.8" }, "outside this machine"},
		{func(p *Plan) { p.Conns = 1 << 30 }, "connections"},
		{func(p *Plan) { p.Rate = -1 }, "rate"},
		{func(p *Plan) { p.Targets = nil }, "no requests to send"},
		{func(p *Plan) { p.HTTP2 = true }, "needs the engine net/http"},
		{func(p *Plan) { p.Engine = "curl" }, "unknown engine"},
	} {
		p := e.plan(t, "http://127.0.0.1:1/")
		p.Number = 1
		test.change(&p)
		_, err := Run(context.Background(), p)
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%v, want an error with %q", err, test.err)
		}
	}
	var public *PublicError
	p := e.plan(t, "http://[2001:db8::1]/")
	if _, err := Run(context.Background(), p); !errors.As(err, &public) {
		t.Errorf("%v, want a PublicError", err)
	}
}

// Expectations tell good answers from others.
func TestExpect(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		s := e.listen(t, "200", "404", "size/3", "500")
		p := e.plan(t, s.URL+"/mix")
		p.Number, p.Conns = 40, 3
		for _, test := range []struct {
			expect Expect
			good   int64
			other  map[string]int64
		}{
			{Expect{}, 20, map[string]int64{"status": 20}},
			{Expect{Status: []StatusRange{{404, 404}, {500, 599}}}, 20, map[string]int64{"status": 20}},
			{Expect{Body: []byte("hi")}, 10, map[string]int64{"status": 20, "body": 10}},
			{Expect{HasLength: true, Length: 3}, 10, map[string]int64{"status": 20, "length": 10}},
			{Expect{Status: []StatusRange{{100, 599}}, Same: true}, 0, nil},
		} {
			p.Expect = test.expect
			l := mustRun(t, p)
			if test.expect.Same { // which of them came first is not known
				if l.Good != 30 && l.Good != 10 {
					t.Errorf("same length: %d good", l.Good)
				}
				continue
			}
			if l.Good != test.good || !maps.Equal(l.Unexpected, test.other) {
				t.Errorf("%+v: %d good, %v; want %d, %v", test.expect, l.Good, l.Unexpected, test.good, test.other)
			}
		}
	})
}

// A schedule sends what it says, however long answers take, and counts from when requests were due.
func TestOpenLoop(t *testing.T) {
	waits(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, e engineCase) {
		t.Parallel()
		s := e.listen(t)
		p := e.plan(t, s.URL+"/200")
		p.Rate, p.Duration, p.Conns = 300, time.Second, 4
		p.Grace = time.Minute
		l := mustRun(t, p)
		checkAgainst(t, l, s)
		if l.Sent != 300 || l.Asked != 300 || l.Good != 300 || l.Response.Count() != 300 {
			t.Errorf("%d asked, %d sent, %d good, %d times; want 300", l.Asked, l.Sent, l.Good, l.Response.Count())
		}
		if l.Took < 500*time.Millisecond { // it may begin late on a busy machine
			t.Errorf("it took %v, so it did not wait", l.Took)
		}
		// Two connections on a server that stalls for all of the time: requests are due, and nobody can send them.
		s = e.serve(t, loadtest.Options{Every: time.Hour, Stall: time.Hour})
		p = e.plan(t, s.URL+"/200")
		p.Rate, p.Duration, p.Conns, p.Grace = 100, time.Second, 2, 100*time.Millisecond
		l = mustRun(t, p)
		if l.Asked != 100 || l.Sent != 2 || l.Unfinished != 2 || l.Unsent != 98 {
			t.Errorf("%d asked, %d sent, %d unfinished, %d not sent; want 100, 2, 2, 98", l.Asked, l.Sent, l.Unfinished, l.Unsent)
		}
		if l.Cut.Count() != 100 || l.Cut.Max() < time.Second {
			t.Errorf("%d took at least up to %v, want 100 and a second", l.Cut.Count(), l.Cut.Max())
		}
		if l.Health.Backlog < 50 {
			t.Errorf("the most that waited were %d", l.Health.Backlog)
		}
	})
}

// A schedule opens connections as it needs them, up to those that are allowed: while a server stalls there is one for each
// request, as there is one for each user. While it answers, those that are idle are used again.
func TestOpenConnections(t *testing.T) {
	waits(t)
	eachEngine(t, func(t *testing.T, e engineCase) {
		t.Parallel()
		s := e.serve(t, loadtest.Options{Every: time.Hour, Stall: time.Hour})
		p := e.plan(t, s.URL+"/200")
		p.Rate, p.Duration, p.Conns, p.Grace = 100, time.Second, 400, time.Second
		l := mustRun(t, p)
		if l.Sent+l.Unsent != 100 || l.Opened < l.Sent || l.Opened > 100 || l.Sent < 50 {
			t.Errorf("%d connections for %d requests, %d not sent; want one for each of 100", l.Opened, l.Sent, l.Unsent)
		}
		if e.name != Epoll {
			return // they take any of their connections
		}
		s = e.listen(t)
		p = e.plan(t, s.URL+"/200")
		p.Rate, p.Duration, p.Conns, p.Threads, p.Grace = 200, time.Second, 400, 1, time.Minute
		if l := mustRun(t, p); l.Good != 200 || l.Opened > 150 {
			t.Errorf("%d connections for %d requests of which each is answered at once", l.Opened, l.Good)
		} else {
			t.Logf("%d connections for %d requests", l.Opened, l.Good)
		}
	})
}

// The warm-up does not count.
func TestWarmup(t *testing.T) {
	waits(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, e engineCase) {
		t.Parallel()
		s := e.listen(t)
		p := e.plan(t, s.URL+"/200")
		p.Number, p.Conns, p.Warmup = 50, 2, 200*time.Millisecond
		l := mustRun(t, p)
		if l.Good != 50 || l.Warm.Good == 0 || l.Sent+l.Warm.Sent != s.Counts().Requests {
			t.Errorf("%d good, %d in the warm-up, the server had %d", l.Good, l.Warm.Good, s.Counts().Requests)
		}
		p.Number, p.Rate, p.Duration = 0, 100, time.Second
		l = mustRun(t, p)
		if l.Sent != 100 || l.Warm.Sent != 20 {
			t.Errorf("%d sent, %d in the warm-up; want 100 and 20", l.Sent, l.Warm.Sent)
		}
	})
}

// A run that is interrupted reports what was done, and what was under way.
func TestInterrupted(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		s := e.listen(t, "200", "200", "200", "hang")
		ctx, cancel := context.WithCancel(context.Background())
		p := e.plan(t, s.URL+"/mix")
		p.Conns, p.Duration = 4, time.Hour
		done := make(chan *latency.Log)
		go func() {
			l, err := Run(ctx, p)
			if err != nil {
				t.Error(err)
			}
			done <- l
		}()
		for s.Did()["hang"] < 4 { // then all connections wait
			runtime.Gosched()
			time.Sleep(time.Millisecond)
		}
		cancel()
		l := <-done
		checkSums(t, l)
		if l.Stopped != Interrupted || l.Unfinished != 4 || l.Answered != s.Did()["200"] || l.Sent != s.Counts().Requests {
			t.Errorf("stopped %q, %d unfinished, %d answered, %d sent; the server has %v", l.Stopped, l.Unfinished, l.Answered, l.Sent, s.Did())
		}
	})
}

// Several targets take turns.
func TestTargets(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engineCase) {
		s := e.listen(t)
		p := e.plan(t, s.URL+"/200")
		for _, path := range []string{"/404", "/500"} {
			p.Targets = append(p.Targets, e.plan(t, s.URL+path).Targets[0])
		}
		p.Targets[2].Method = "HEAD"
		p.Number, p.Conns = 30, 3
		l := mustRun(t, p)
		checkAgainst(t, l, s)
		if want := map[int]int64{200: 10, 404: 10, 500: 10}; !maps.Equal(l.Status, want) {
			t.Errorf("%v, want %v", l.Status, want)
		}
	})
}

func TestHTTP2AndProxy(t *testing.T) {
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusUpgradeRequired)
		}
		fmt.Fprint(w, "hi")
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP2(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	p := engineCase{}.plan(t, h.URL)
	p.HTTP2, p.Number, p.Conns = true, 50, 5
	p.TLS = &tls.Config{InsecureSkipVerify: true}
	l := mustRun(t, p)
	if l.Good != 50 || l.Engine != NetHTTP || !strings.HasPrefix(l.TLS, "HTTP/2.0") {
		t.Errorf("HTTP/2: %d good, %v, %v, engine %s, %s", l.Good, l.Status, l.Errors, l.Engine, l.TLS)
	}

	s := engineCase{}.listen(t) // it answers what it is asked as a proxy
	p = engineCase{}.plan(t, "http://127.0.0.1:9/404")
	var err error
	if p.Proxy, err = url.Parse(s.URL); err != nil {
		t.Fatal(err)
	}
	p.Number, p.Conns = 20, 2
	l = mustRun(t, p)
	if l.Status[404] != 20 || s.Counts().Requests != 20 {
		t.Errorf("by a proxy: %v, %v, and it had %d requests", l.Status, l.Errors, s.Counts().Requests)
	}
}

// A request costs no memory, but for the connection it is sent on.
func TestRunAllocates(t *testing.T) {
	for _, name := range Engines() {
		if name == NetHTTP {
			continue
		}
		s, err := startPlain()
		if err != nil {
			t.Fatal(err)
		}
		p := engineCase{name: name}.plan(t, "http://"+s.Addr().String()+"/")
		p.Conns, p.Number = 4, 1000
		few := allocated(t, p)
		p.Number = 21_000
		many := allocated(t, p)
		s.Close()
		if per := float64(int64(many)-int64(few)) / 20_000; per > 0.05 {
			t.Errorf("%s: %.3f allocations for each request", name, per)
		}
	}
}

func allocated(t *testing.T, p Plan) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if l := mustRun(t, p); l.Good != p.Number {
		t.Fatalf("%d good of %d: %v", l.Good, p.Number, l.Errors)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// startPlain starts a server that allocates nothing for a request.
func startPlain() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l, nil
}
