package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestRun(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "hello" || r.Method != "PUT" || r.UserAgent() != "loadgen/1" || r.Header.Get("Accept") != "*/*" {
			t.Errorf("asked with %s %v %q", r.Method, r.Header, body)
		}
		if asked.Add(1)%10 == 0 {
			http.Error(w, "not today", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "hi")
	}))
	defer server.Close()
	got, err := run(server.Client(), job{"PUT", server.URL, []byte("hello"), 100, 4})
	if want := (result{90, 10, 180}); got != want || err != nil || asked.Load() != 100 {
		t.Errorf("run gave %+v, %v, and the server was asked %d times; want %+v", got, err, asked.Load(), want)
	}
}

func TestRunNothing(t *testing.T) {
	if got, err := run(http.DefaultClient, job{"GET", "http://127.0.0.1:1", nil, 0, 4}); got != (result{}) || err != nil {
		t.Errorf("run gave %+v, %v", got, err)
	}
	if _, err := run(http.DefaultClient, job{"GET", "http://127.0.0.1:port", nil, 1, 4}); err == nil {
		t.Error("a bad URL is no error")
	}
}

// BenchmarkRun runs jobs over a transport that answers at once.
func BenchmarkRun(b *testing.B) {
	client := &http.Client{Transport: answer{}}
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := run(client, job{"POST", "http://example.com/", []byte("hello"), n, 4})
				if err != nil || got.good != n {
					b.Fatalf("%+v, %v", got, err)
				}
			}
		})
	}
}

type answer struct{}

func (answer) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("hi")), Request: req}, nil
}
