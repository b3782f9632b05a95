// Command leaky answers questions by asking two replicas each time and taking the first answer, and remembers what it
// answered to whom.
//
// It grows: in goroutines and in heap, as much as the flags -lookups and -sessions say, besides some workers that do as
// they should. It ends after -for, and says what it thinks that it holds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"strings"
	"sync"
	"time"
)

// replica answers a question after a while.
func replica(name, question string, delay time.Duration) string {
	time.Sleep(delay)
	return name + " says " + strings.ToUpper(question)
}

// lookup asks two replicas and returns the answer of the faster one.
func lookup(question string) string {
	answers := make(chan string)
	for i, name := range []string{"left", "right"} {
		go func() {
			answers <- replica(name, question, time.Duration(i)*time.Millisecond)
		}()
	}
	return <-answers
}

// A session is what is known about somebody who asks.
type session struct {
	id      int
	history []byte
}

// A registry knows the sessions.
type registry struct {
	mu       sync.Mutex
	sessions map[int]*session
}

// open starts a session with a history of so many bytes.
func (r *registry) open(id, size int) *session {
	s := &session{id: id, history: newHistory(size)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil {
		r.sessions = make(map[int]*session)
	}
	r.sessions[id] = s
	return s
}

// newHistory returns an empty page to write on.
func newHistory(size int) []byte {
	page := make([]byte, size)
	for i := range page {
		page[i] = ' '
	}
	return page
}

// count returns how many sessions there are.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// work does what it is told until there is no more.
func work(jobs <-chan func(), wg *sync.WaitGroup) {
	defer wg.Done()
	for job := range jobs {
		job()
	}
}

func main() {
	lookups := flag.Int("lookups", 50, "number of questions")
	sessions := flag.Int("sessions", 1000, "number of sessions")
	size := flag.Int("size", 64<<10, "size of the history of a session, in `bytes`")
	workers := flag.Int("workers", 7, "number of workers, which end when there is no more to do")
	stop := flag.Duration("for", 2*time.Second, "how long to run; the sessions are spread over this time")
	addr := flag.String("addr", "", "`address` for /debug/pprof; empty means none")
	flag.Parse()
	if *addr != "" {
		l, err := net.Listen("tcp", *addr)
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("listening on http://%s", l.Addr())
		defer l.Close()
		go func() {
			if err := http.Serve(l, nil); !errors.Is(err, net.ErrClosed) {
				log.Print(err)
			}
		}()
	}

	start := time.Now()
	jobs := make(chan func())
	var wg sync.WaitGroup
	wg.Add(*workers)
	for range *workers {
		go work(jobs, &wg)
	}
	for range *lookups {
		lookup("who is there?")
	}
	var reg registry
	for i := range *sessions {
		reg.open(i, *size)
		time.Sleep(time.Until(start.Add(*stop * time.Duration(i) / time.Duration(*sessions))))
	}
	time.Sleep(time.Until(start.Add(*stop)))
	fmt.Printf("%d goroutines, %d sessions\n", runtime.NumGoroutine(), reg.count())
	close(jobs)
	wg.Wait()
}
