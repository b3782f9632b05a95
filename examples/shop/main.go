// Command shop is a web service with four pages: /price, /basket, /hello and /list. It asks itself for -n of them, from -clients at a time, and
// writes an execution trace of that when -trace names a file. With -addr it listens there, and others may ask as well, for -for.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// A shop knows what things cost.
type shop struct {
	mu     sync.Mutex
	prices map[string]int
	asked  int
}

// refresh gets new prices, again and again.
func (s *shop) refresh(every time.Duration) {
	for {
		time.Sleep(every)
		s.load()
	}
}

// load gets the price of everything.
func (s *shop) load() {
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(20 * time.Millisecond) // the database
	s.prices = map[string]int{"apple": 30, "pear": 40, "plum": 10}
}

func (s *shop) price(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	p := s.prices[r.FormValue("of")]
	s.mu.Unlock()
	fmt.Fprintln(w, p)
}

// basket adds up what four departments want for a basket.
func (s *shop) basket(w http.ResponseWriter, r *http.Request) {
	sums := make(chan int, 4)
	for d := range 4 {
		go department(d, sums)
	}
	total := 0
	for range 4 {
		total += <-sums
	}
	fmt.Fprintln(w, total)
}

// department says what it wants.
func department(d int, sums chan<- int) {
	if d == 3 {
		time.Sleep(5 * time.Millisecond) // it asks somebody else
	}
	sums <- d
}

func hello(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") }

// ask sends n requests, from so many clients at a time.
func ask(base string, n, clients int) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, clients)
	for range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				page := []string{"/hello", "/price?of=pear", "/hello", "/basket", "/price?of=plum"}[i%5]
				resp, err := c.Get(base + page)
				if err != nil {
					errs <- err
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen here")
	n := flag.Int("n", 1000, "ask for so many pages")
	clients := flag.Int("clients", 8, "from so many clients at a time")
	file := flag.String("trace", "", "write an execution trace to this file")
	length := flag.Duration("for", 0, "answer others for so long afterwards")
	flag.Parse()
	if err := run(*addr, *n, *clients, *file, *length); err != nil {
		log.Fatal(err)
	}
}

func run(addr string, n, clients int, file string, length time.Duration) error {
	s := &shop{}
	s.load()
	http.HandleFunc("/price", s.price)
	http.HandleFunc("/basket", s.basket)
	http.HandleFunc("/hello", hello)
	http.HandleFunc("/list", list)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	fmt.Fprintln(os.Stderr, "listening on", base)
	go http.Serve(l, nil)
	go s.refresh(30 * time.Millisecond)
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := trace.Start(f); err != nil {
			return err
		}
		defer trace.Stop()
	}
	if err := ask(base, n, clients); err != nil {
		return err
	}
	time.Sleep(length)
	return nil
}

// list writes all that there is, which it puts together line by line.
func list(w http.ResponseWriter, r *http.Request) {
	text := ""
	for i := range 1000 {
		text += fmt.Sprintf("item %d\n", i)
	}
	io.WriteString(w, text)
}
