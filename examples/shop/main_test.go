package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func server(t testing.TB) *httptest.Server {
	s := &shop{}
	s.load()
	mux := http.NewServeMux()
	mux.HandleFunc("/price", s.price)
	mux.HandleFunc("/basket", s.basket)
	mux.HandleFunc("/hello", hello)
	mux.HandleFunc("/list", list)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func get(t testing.TB, url string) string {
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPages(t *testing.T) {
	srv := server(t)
	for page, want := range map[string]string{"/price?of=pear": "40\n", "/price?of=brick": "0\n", "/basket": "6\n", "/hello": "hello\n"} {
		if got := get(t, srv.URL+page); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
	if err := ask(srv.URL, 25, 3); err != nil {
		t.Error(err)
	}
}

func BenchmarkPages(b *testing.B) {
	srv := server(b)
	for _, page := range []string{"/price?of=pear", "/basket", "/hello"} {
		b.Run(page[1:], func(b *testing.B) {
			for range b.N {
				get(b, srv.URL+page)
			}
		})
	}
}
