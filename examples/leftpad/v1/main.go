package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
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
	s := &service{log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds), NewStatsD(stats, "leftpad")}
	http.Handle("/pad", s.handler())
	if err := http.Serve(l, nil); !errors.Is(err, net.ErrClosed) {
		log.Fatal(err)
	}
	s.log.Print("no longer listening")
}
