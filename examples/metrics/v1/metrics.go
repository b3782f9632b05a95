// Command metrics serves the counters of a made-up shop as text, compressed for clients that ask for it.
//
// This is version 1: written to work.
package main

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Registry holds counters by name.
type Registry struct {
	mu       sync.Mutex
	counters map[string]float64
}

// Add adds n to a counter.
func (reg *Registry) Add(name string, n float64) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.counters == nil {
		reg.counters = make(map[string]float64)
	}
	reg.counters[name] += n
}

// Write writes all counters, one a line, sorted by name.
func (reg *Registry) Write(w io.Writer) error {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(reg.counters)) {
		if _, err := fmt.Fprintf(w, "%s %g\n", name, reg.counters[name]); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP answers with all counters.
func (reg *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		reg.Write(w)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	zw := gzip.NewWriter(w)
	defer zw.Close()
	reg.Write(zw)
}

// newShop returns the counters of the shop.
func newShop() *Registry {
	reg := new(Registry)
	for i, path := range []string{"/", "/cart", "/login", "/order", "/search"} {
		for j, method := range []string{"GET", "POST"} {
			for k, code := range []int{200, 302, 400, 404, 500} {
				labels := fmt.Sprintf(`{path=%q,method=%q,code="%d"}`, path, method, code)
				reg.Add("http_requests_total"+labels, float64(1000*i+100*j+k))
				reg.Add("http_request_seconds_sum"+labels, float64(17*i+3*j+k)/8)
			}
		}
	}
	return reg
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	stop := flag.Duration("for", 0, "how long to serve; 0 means until interrupted")
	flag.Parse()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", l.Addr())
	if *stop > 0 {
		time.AfterFunc(*stop, func() { l.Close() })
	}
	http.Handle("/metrics", newShop())
	if err := http.Serve(l, nil); !errors.Is(err, net.ErrClosed) {
		log.Fatal(err)
	}
}
