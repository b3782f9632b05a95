package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestLeftpad(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		chr  rune
		want string
	}{
		{"foo", 5, '!', "!!foo"},
		{"foo", 3, '!', "foo"},
		{"foobar", 3, '!', "foobar"},
		{"", 2, ' ', "  "},
		{"", 0, ' ', ""},
		{"x", -1, ' ', "x"},
		{"", maxLen + 1, '-', strings.Repeat("-", maxLen)},
	}
	for _, tt := range tests {
		if got := leftpad(tt.s, tt.n, tt.chr); got != tt.want {
			t.Errorf("leftpad(%q, %d, %q) = %q, want %q", tt.s, tt.n, tt.chr, got, tt.want)
		}
	}
}

func TestStatsD(t *testing.T) {
	var out bytes.Buffer
	c := NewStatsD(&out, "Test Me")
	c.Incr("a:b|c")
	c.Timing("took pad", 1234567*time.Nanosecond)
	if got, want := out.String(), "test.me.a_b_c:1|c\ntest.me.took.pad:1.235|ms\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestServer(t *testing.T) {
	var logged, sent bytes.Buffer
	s := &service{log.New(&logged, "", 0), NewStatsD(&sent, "test")}
	server := httptest.NewServer(s.handler())
	defer server.Close()
	tests := []struct {
		body   string
		status int
		want   string
	}{
		{`{"str": "7", "len": 3, "chr": "0"}`, 200, `{"str":"007"}`},
		{`{"str": "7", "len": 3}`, 200, `{"str":"  7"}`},
		{`{}`, 200, `{"str":""}`},
		{`{"str": 7}`, 400, "the request is not JSON: "},
		{`"` + strings.Repeat("long", 64<<8) + `"`, 413, "too long"},
	}
	for _, tt := range tests {
		res, err := http.Post(server.URL+"/pad", "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%.80s: %d %q, %v; want %d %q", tt.body, res.StatusCode, body, err, tt.status, tt.want)
		}
	}
	server.Close() // after this, nobody logs
	if want := `^padding "7" to 3 with "0"\nPOST /pad from 127\S+: status 200, took \S+s\n`; !regexp.MustCompile(want).Match(logged.Bytes()) {
		t.Errorf("logged %s; want %s", &logged, want)
	}
	if want := `^test.requests.pad:1\|c\ntest.status.ok:1\|c\ntest.took.pad:\d+\.\d{3}\|ms\n`; !regexp.MustCompile(want).Match(sent.Bytes()) {
		t.Errorf("sent %s; want %s", &sent, want)
	}
}

func BenchmarkLeftpad(b *testing.B) {
	for _, n := range []int{8, 100, 1000} {
		b.Run(fmt.Sprintf("len=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				leftpad("foo", n, '*')
			}
		})
	}
}

func BenchmarkTiming(b *testing.B) {
	c := NewStatsD(sink{}, "leftpad")
	b.ReportAllocs()
	for b.Loop() {
		c.Timing("took pad", 1234567*time.Nanosecond)
	}
}

const body = `{"str": "foo", "len": 100, "chr": "*"}`

func BenchmarkServe(b *testing.B) {
	h := newSilent().handler()
	w := &recorder{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		w.serve(b, h)
	}
}

func BenchmarkServeParallel(b *testing.B) {
	h := newSilent().handler()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		w := &recorder{header: make(http.Header)}
		for pb.Next() {
			w.serve(b, h)
		}
	})
}

// A sink takes everything. Unlike with io.Discard, a logger does not notice.
type sink struct{}

func (sink) Write(b []byte) (int, error) { return len(b), nil }

func newSilent() *service {
	return &service{log.New(sink{}, "", log.LstdFlags|log.Lmicroseconds), NewStatsD(sink{}, "leftpad")}
}

// A recorder is a ResponseWriter that can be used again.
type recorder struct {
	header http.Header
	code   int
	body   []byte
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(code int) { r.code = code }

func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}

// serve asks h to pad.
func (r *recorder) serve(b *testing.B, h http.Handler) {
	clear(r.header)
	r.code, r.body = 0, r.body[:0]
	req, err := http.NewRequest("POST", "/pad", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	h.ServeHTTP(r, req)
	if r.code != 0 || len(r.body) != 110 {
		b.Fatalf("status %d, body %s", r.code, r.body)
	}
}
