package main

import (
	"bufio"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	statsd := flag.String("statsd", "", "`address` of the StatsD server, as 127.0.0.1:8125; empty means none")
	block := flag.Int("block", 0, "`rate` of the block profile, as in runtime.SetBlockProfileRate")
	stop := flag.Duration("for", 0, "how long to serve; 0 means until interrupted")
	flag.Parse()
	runtime.SetBlockProfileRate(*block)
	stats := io.Discard
	if *statsd != "" {
		conn, err := net.Dial("udp", *statsd)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		stats = conn
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", l.Addr())
	if *stop > 0 {
		time.AfterFunc(*stop, func() { l.Close() })
	}
	out := newBuffered(os.Stderr)
	defer out.flush()
	s := &service{log.New(out, "", log.LstdFlags|log.Lmicroseconds), NewStatsD(stats, "leftpad")}
	http.Handle("/pad", s.handler())
	if err := http.Serve(l, nil); !errors.Is(err, net.ErrClosed) {
		out.flush()
		log.Fatal(err)
	}
	s.log.Print("no longer listening")
}

// A buffered writes in larger pieces, what is left after a second at the latest.
type buffered struct {
	mu    sync.Mutex
	w     *bufio.Writer
	timer *time.Timer
	set   bool // the timer
}

func newBuffered(w io.Writer) *buffered {
	b := &buffered{w: bufio.NewWriterSize(w, 64<<10)}
	b.timer = time.AfterFunc(time.Hour, b.flush)
	b.timer.Stop()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.set {
		b.timer.Reset(time.Second)
		b.set = true
	}
	return b.w.Write(p)
}

func (b *buffered) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.Flush()
	b.set = false
}
