// Command hi welcomes the visitors of a web site and tells each of them how many there were.
//
// A visitor may choose the color of the welcome with the form value color, which has to be a word.
//
// This is stage 3: the CPU profile pointed at the regexp, which is now compiled once.
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
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte("<h1 style='color: " + color + "'>Welcome!</h1>" +
		"You are visitor number " + fmt.Sprint(number) + "!"))
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
