// Command busy is a server that never rests. It prints its address; with an address and seconds, it is
// a client that says how many requests failed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

type session struct {
	ID   int
	Name string
	Tags []string
	Buf  []byte
	Next *session
}

var (
	mu    sync.Mutex
	cache = map[string]*session{}
	sums  atomic.Int64
)

func handle(w http.ResponseWriter, r *http.Request) {
	s := &session{Name: r.URL.Path, Buf: make([]byte, 1000)}
	for i := range 20 {
		s.Tags = append(s.Tags, fmt.Sprint("tag", i))
		s.Next = &session{ID: i, Next: s.Next}
	}
	mu.Lock()
	cache[fmt.Sprint(len(cache)%5000, r.URL.Path)] = s
	mu.Unlock()
	json.NewEncoder(w).Encode(s.Tags)
}

func client(addr string, n int) {
	var bad, good atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(time.Duration(n) * time.Second)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	var ended atomic.Bool
	go func() {
		<-stop
		ended.Store(true)
	}()
	for c := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; time.Now().Before(end) && !ended.Load(); i++ {
				resp, err := http.Get(fmt.Sprintf("http://%s/%d/%d", addr, c, i%1000))
				if err != nil {
					bad.Add(1)
					fmt.Fprintln(os.Stderr, "client:", err)
					continue
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || len(b) < 100 {
					bad.Add(1)
					fmt.Fprintln(os.Stderr, "client:", err, resp.StatusCode)
				}
				good.Add(1)
			}
		}()
	}
	wg.Wait()
	fmt.Println(good.Load(), bad.Load())
}

func main() {
	if len(os.Args) > 2 {
		n := 0
		fmt.Sscan(os.Args[2], &n)
		client(os.Args[1], n)
		return
	}
	debug.SetGCPercent(10)
	go func() {
		for {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	for range 2 {
		go func() { // never at rest
			var keep *session
			for i := 0; ; i++ {
				keep = &session{ID: i, Next: keep}
				if i%1000 == 0 {
					keep = nil
				}
				sums.Add(int64(i))
			}
		}()
	}
	go func() {
		for {
			time.Sleep(50 * time.Millisecond)
			if err := exec.Command("/bin/true").Run(); err != nil {
				fmt.Fprintln(os.Stderr, "exec:", err)
				os.Exit(1)
			}
		}
	}()
	for range 1000 {
		go func() {
			for {
				s := &session{Buf: make([]byte, 100)}
				time.Sleep(10 * time.Millisecond)
				sums.Add(int64(len(s.Buf)))
			}
		}()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	http.HandleFunc("/", handle)
	panic(http.Serve(l, nil))
}
