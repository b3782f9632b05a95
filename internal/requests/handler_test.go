package requests

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/waits"
)

// matched says, as programs do that hone built, which pattern a request is for, before the handler begins.
func matched(pattern string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		trace.Log(r.Context(), waits.HandlerLog, pattern)
		h(w, r)
	}
}

// TestPatternOfHungRequest holds that requests have their patterns from the begin on: those that have not ended are the ones to look for. Requests with a body,
// and the first one of a connection, are told apart from those before them.
func TestPatternOfHungRequest(t *testing.T) {
	hung, release := make(chan bool), make(chan bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/read", matched("POST /read", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	mux.HandleFunc("/hang", matched("GET /hang", func(http.ResponseWriter, *http.Request) {
		hung <- true
		<-release
	}))
	s := httptest.NewServer(mux)
	defer s.Close()
	ended := make(chan error)
	tr := tracing(t, func() {
		for range 20 {
			resp, err := s.Client().Post(s.URL+"/read", "text/plain", strings.NewReader("text"))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		go func() {
			resp, err := s.Client().Get(s.URL + "/hang")
			if err == nil {
				resp.Body.Close()
			}
			ended <- err
		}()
		<-hung
	})
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	found, err := Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range found.Requests {
		count[r.Handler]++
		if r.Handler == "GET /hang" && !r.Open {
			t.Errorf("%+v has ended", r)
		}
	}
	if len(count) != 2 || count["POST /read"] != 20 || count["GET /hang"] != 1 {
		t.Errorf("requests by pattern: %v", count)
	}
	p, err := Profile(tr, waits.Window{})
	if err != nil {
		t.Fatal(err)
	}
	if by := timesBy(p, waits.HandlerLabel); by["POST /read"] == 0 || by["GET /hang"] == 0 || len(by) != 3 {
		t.Errorf("the profile has %v", by)
	}
}

// limitedPage is a handler that has a time limit.
func limitedPage(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) }

// TestTimeLimit holds that requests of http.TimeoutHandler have the handler that it calls, on a goroutine of its own.
func TestTimeLimit(t *testing.T) {
	s := httptest.NewServer(http.TimeoutHandler(http.HandlerFunc(limitedPage), time.Minute, ""))
	defer s.Close()
	tr := tracing(t, func() {
		for range 10 {
			resp, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	})
	found, err := Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Requests) != 10 {
		t.Errorf("%d requests, want 10", len(found.Requests))
	}
	for _, r := range found.Requests {
		if !strings.HasSuffix(r.Handler, ".limitedPage") {
			t.Errorf("handler %q", r.Handler)
		}
	}
}

// TestProfilesAreLeftOut holds that requests for profiles are not among those of the program.
func TestProfilesAreLeftOut(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) })
	mux.HandleFunc("/profiles/", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/debug/pprof/goroutine"
		pprof.Index(w, r)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	tr := tracing(t, func() {
		for _, path := range []string{"/page", "/profiles/?debug=1", "/page"} {
			resp, err := s.Client().Get(s.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	found, err := Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Requests) != 2 || len(found.Profiles) != 1 {
		t.Errorf("%d requests and %d for profiles: %+v", len(found.Requests), len(found.Profiles), found)
	}
}
