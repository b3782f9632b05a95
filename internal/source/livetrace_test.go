package source

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTraceOfServerIsLive holds that a trace that a server records just for a question is told from one in a file.
func TestTraceOfServerIsLive(t *testing.T) {
	b, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(b) }))
	defer s.Close()
	rec, err := (&Options{Duration: time.Second}).Trace(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Live {
		t.Error("it is not said to be live")
	}
}

// TestRefusedTrace holds that what a server says of an error is one line, without the line break at its end.
func TestRefusedTrace(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Go-Pprof", "1")
		http.Error(w, "Could not enable tracing: execution tracer already enabled", http.StatusInternalServerError)
	}))
	defer s.Close()
	_, err := (&Options{Duration: time.Second}).Trace(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	if want := "server response: 500 Internal Server Error - Could not enable tracing: execution tracer already enabled"; err == nil || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
