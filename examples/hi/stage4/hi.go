// Command hi welcomes the visitors of a web site and tells each of them how many there were.
//
// A visitor may choose the color of the welcome with the form value color, which has to be a word.
//
// This is stage 4: the memory profile pointed at the header and at the answer. The server finds the content type by
// itself, and the answer is formatted straight into the response.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"regexp"
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
	fmt.Fprintf(w, "<h1 style='color: %s'>Welcome!</h1>You are visitor number %d!", color, number)
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
