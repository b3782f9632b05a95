// Command loadgen sends requests to a web server, from several clients at a time, each of which waits for its answer
// before it sends the next.
//
// Without -url it starts a small server of its own on the loopback interface.
//
// This is version 1: written to work.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// A job is what to ask for, how often, and by how many clients at a time.
type job struct {
	method, url string
	body        []byte
	n, clients  int
}

// A result is what came of a job.
type result struct {
	good, bad int   // answers with a status below 400, and all else
	bytes     int64 // in the bodies of good answers
}

// run does a job.
func run(client *http.Client, j job) (result, error) {
	requests := make(chan *http.Request, j.n)
	for range j.n {
		req, err := newRequest(j)
		if err != nil {
			return result{}, err
		}
		requests <- req
	}
	close(requests)

	var sum result
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range j.clients {
		wg.Go(func() {
			for req := range requests {
				n, err := send(client, req)
				mu.Lock()
				if err == nil {
					sum.good++
					sum.bytes += n
				} else {
					sum.bad++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return sum, nil
}

// newRequest returns a request of a job.
func newRequest(j job) (*http.Request, error) {
	req, err := http.NewRequest(j.method, j.url, bytes.NewReader(j.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "loadgen/1")
	req.Header.Set("Accept", "*/*")
	return req, nil
}

// send sends a request and returns the length of the answer.
func send(client *http.Client, req *http.Request) (int64, error) {
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode >= 400 {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	return n, err
}

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) {
	io.Copy(w, r.Body)
}

func main() {
	url := flag.String("url", "", "what to ask for; empty means a server of our own")
	method := flag.String("method", "POST", "request method")
	body := flag.String("body", "hello", "request body")
	n := flag.Int("n", 20000, "number of requests")
	clients := flag.Int("c", 8, "number of clients")
	flag.Parse()
	if *url == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		go http.Serve(l, http.HandlerFunc(echo))
		*url = "http://" + l.Addr().String()
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *clients}}
	start := time.Now()
	sum, err := run(client, job{*method, *url, []byte(*body), *n, *clients})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d good and %d bad answers, %d bytes\n", sum.good, sum.bad, sum.bytes)
	log.Printf("%.0f requests per second", float64(*n)/time.Since(start).Seconds())
}
