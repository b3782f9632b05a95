package source

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRedirects holds that a server of this machine may lead to another place here, and to no other machine.
func TestRedirects(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/debug/pprof/heap", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/debug/pprof/heap", http.StatusFound) // an address that nobody has
		case "/around":
			http.Redirect(w, r, "/around", http.StatusFound)
		default:
			w.Write([]byte("a profile"))
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/here":   "unrecognized profile format", // it was read
		"/away":   "it redirects to another machine, http://192.0.2.1/debug/pprof/heap",
		"/around": "stopped after 10 redirects",
	} {
		_, err := (&Options{}).Fetch(t.Context(), server.URL+path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
}
