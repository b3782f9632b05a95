package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestHi(t *testing.T) {
	rec := httptest.NewRecorder()
	handleHi(rec, get(t, "/"))
	if got := rec.Result().Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type is %q", got)
	}
	checkWelcome(t, rec.Code, rec.Body.String())
}

func TestHiServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(handleHi))
	defer server.Close()
	for range 3 {
		visit(t, server.URL)
	}
}

func TestHiServerParallel(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(handleHi))
	defer server.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				visit(t, server.URL)
			}
		})
	}
	wg.Wait()
}

func BenchmarkHi(b *testing.B) {
	req := get(b, "/")
	w := &response{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		w.reset()
		handleHi(w, req)
	}
}

func BenchmarkHiParallel(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := get(b, "/")
		w := &response{header: make(http.Header)}
		for pb.Next() {
			w.reset()
			handleHi(w, req)
		}
	})
}

// get returns a request as the server reads it.
func get(tb testing.TB, path string) *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + path + " HTTP/1.1\r\nHost: hi\r\n\r\n")))
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// visit asks a server for its welcome.
func visit(t *testing.T, url string) {
	res, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	checkWelcome(t, res.StatusCode, string(body))
}

func checkWelcome(t *testing.T, code int, body string) {
	if code != http.StatusOK || !strings.Contains(body, "visitor number ") {
		t.Errorf("status %d, body %q", code, body)
	}
}

// A response is a ResponseWriter that can be used again, so that benchmarks measure the handler and little else.
type response struct {
	header http.Header
	code   int
	body   []byte
}

func (r *response) reset() {
	clear(r.header)
	r.code, r.body = 0, r.body[:0]
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(code int) { r.code = code }

func (r *response) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}
