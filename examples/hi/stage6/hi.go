// Command hi welcomes the visitors of a web site and tells each of them how many there were.
//
// A visitor may choose the color of the welcome with the form value color, which has to be a word.
//
// This is stage 6: the buffers of the answers are used again.
package main

import (
	"bytes"
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

// buffers holds buffers for the answers.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// validColor matches the colors that we put into the page.
var validColor = regexp.MustCompile(`^\d*$`)

func handleHi(w http.ResponseWriter, r *http.Request) {
	color := r.FormValue("color")
	if !validColor.MatchString(color) {
		http.Error(w, "color has to be a word", http.StatusBadRequest)
		return
	}
	number := visitors.Add(1)
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	buf.WriteString("<h1 style='color: ")
	buf.WriteString(color)
	buf.WriteString("'>Welcome!</h1>You are visitor number ")
	b := strconv.AppendInt(buf.AvailableBuffer(), number, 10)
	buf.Write(b)
	buf.WriteByte('!')
	w.Write(buf.Bytes())
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
