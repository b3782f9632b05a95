package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestMetrics(t *testing.T) {
	reg := newShop()
	for range 3 {
		if got := scrape(t, reg, false); got != scrape(t, reg, true) || !strings.Contains(got,
			"\n"+`http_requests_total{path="/cart",method="POST",code="404"} 1103`+"\n") {
			t.Errorf("metrics are\n%s", got)
		}
	}
}

func TestMetricsParallel(t *testing.T) {
	reg := newShop()
	want := scrape(t, reg, false)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if got := scrape(t, reg, true); got != want {
					t.Errorf("metrics are\n%s", got)
				}
			}
		})
	}
	wg.Wait()
}

// scrape asks for the counters.
func scrape(t *testing.T, h http.Handler, compressed bool) string {
	req := httptest.NewRequest("GET", "/metrics", nil)
	if compressed {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Errorf("status %d", rec.Code)
	}
	var body io.Reader = rec.Body
	if compressed {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			t.Error(err)
			return ""
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func BenchmarkMetrics(b *testing.B) {
	reg := newShop()
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	w := discard{make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		reg.ServeHTTP(w, req)
	}
}

// A discard is a ResponseWriter that keeps nothing but the header.
type discard struct{ header http.Header }

func (d discard) Header() http.Header { return d.header }

func (d discard) WriteHeader(int) {}

func (d discard) Write(b []byte) (int, error) { return len(b), nil }
