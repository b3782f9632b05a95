// Command hi welcomes the visitors of a web site and tells each of them how many there were.
//
// A visitor may choose the color of the welcome with the form value color, which has to be a word.
//
// This is stage 5: the answer is put together in a buffer of about the right size, without fmt.
package main

import (
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"
)

// visitors is how many were welcomed.
var visitors atomic.Int64

// validColor matches the colors that we put into the page.
var validColor = regexp.MustCompile(`^\d*$`)

func handleHi(w http.ResponseWriter, r *http.Request) {
	color := r.FormValue("color")
	if !validColor.MatchString(color) {
		http.Error(w, "color has to be a word", http.StatusBadRequest)
		return
	}
	number := visitors.Add(1)
	b := make([]byte, 0, 128)
	b = append(b, "<h1 style='color: "...)
	b = append(b, color...)
	b = append(b, "'>Welcome!</h1>You are visitor number "...)
	b = strconv.AppendInt(b, number, 10)
	b = append(b, '!')
	w.Write(b)
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
