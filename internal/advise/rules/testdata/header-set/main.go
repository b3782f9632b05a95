package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

func handle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8") // cost: net/http.Header.Set net/textproto.MIMEHeader.Set; want
	h := w.Header()
	h.Set("x-cache", "no")      // cost: net/http.Header.Set net/textproto.MIMEHeader.Set; want
	h.Set("X-Path", r.URL.Path) // cost: net/http.Header.Set net/textproto.MIMEHeader.Set; want
	h.Add("Vary", "Origin")     // cost: net/http.Header.Add net/textproto.MIMEHeader.Add; want
	h["X-Good"] = nil           // cost: runtime.mapassign_faststr
}

func main() {
	for range 2 {
		rec := httptest.NewRecorder()
		handle(rec, httptest.NewRequest("GET", "/p", nil))
		fmt.Println(rec.Header())
	}
}
