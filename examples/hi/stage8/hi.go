// Command hi welcomes the visitors of a web site and tells each of them how many there were.
//
// A visitor may choose the color of the welcome with the form value color, which has to be a word.
//
// This is stage 8: the block profile of the parallel benchmark showed requests that wait for the regexp, so each request
// takes one of its own from a pool.
package main

import (
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// visitors is how many were welcomed.
var visitors atomic.Int64

// buffers holds the bytes of answers that were sent.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// colors holds regexps that match the colors that we put into the page.
var colors = sync.Pool{New: func() any { return regexp.MustCompile(`\w*$`) }}

func handleHi(w http.ResponseWriter, r *http.Request) {
	color := r.FormValue("color")
	validColor := colors.Get().(*regexp.Regexp)
	if !validColor.MatchString(color) {
		http.Error(w, "color has to be a word", http.StatusBadRequest)
		return
	}
	number := visitors.Add(1)
	buf := buffers.Get().(*[]byte)
	b := append((*buf)[:0], "<h1 style='color: "...)
	b = append(b, color...)
	b = append(b, "'>Welcome!</h1>You are visitor number "...)
	b = strconv.AppendInt(b, number, 10)
	b = append(b, '!')
	w.Write(b)
	*buf = b
	buffers.Put(buf)
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
	http.HandleFunc("/", handleHi)
	if err := http.Serve(l, nil); !errors.Is(err, net.ErrClosed) {
		log.Fatal(err)
	}
}
