// Command leftpad serves left-pad as JSON: POST {"str": "7", "len": 3, "chr": "0"} to /pad and get {"str": "007"}.
//
// It logs what it does, counts and times its requests with a StatsD server, and offers its profiles at /debug/pprof.
//
// This is version 1: written to work.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"time"
	"unicode/utf8"
)

// maxLen is the longest that is padded to; a limit above it means this.
const maxLen = 4096

// leftpad puts chr before s until it is at least n bytes long.
func leftpad(s string, n int, chr rune) string {
	n = min(n, maxLen)
	for len(s) < n {
		s = string(chr) + s
	}
	return s
}

type request struct {
	Str string `json:"str"`
	Len int    `json:"len"`
	Chr string `json:"chr"` // only the first character counts; none means a space
}

type response struct {
	Str string `json:"str"`
}

// A service pads for the world.
type service struct {
	log   *log.Logger
	stats *StatsD
}

// handler returns the service with everything around it.
func (s *service) handler() http.Handler {
	return s.timed("pad", s.pad)
}

func (s *service) pad(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, "the request is not JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	chr := ' '
	if req.Chr != "" {
		chr, _ = utf8.DecodeRuneInString(req.Chr)
	}
	s.log.Printf("padding %q to %d with %q", req.Str, req.Len, req.Chr)
	answer, err := json.Marshal(response{leftpad(req.Str, req.Len, chr)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// timed logs, counts and times the requests to next.
func (s *service) timed(name string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		sw := &statusWriter{w, http.StatusOK}
		next(sw, r)
		took := time.Since(start)
		s.stats.Incr("requests " + name)
		s.stats.Incr("status " + http.StatusText(sw.code))
		s.stats.Timing("took "+name, took)
		s.log.Printf("%s %s from %s: status %d, took %s", r.Method, r.URL.Path, r.RemoteAddr, sw.code, took)
	})
}

// A statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}
