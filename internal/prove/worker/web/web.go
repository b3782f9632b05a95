// Package web makes HTTP requests and takes down answers, for the workers of packages that serve HTTP.
package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

var (
	responseWriter = reflect.TypeOf((*http.ResponseWriter)(nil)).Elem()
	handler        = reflect.TypeOf((*http.Handler)(nil)).Elem()
	handlerFunc    = reflect.TypeOf(http.HandlerFunc(nil))
	plainHandler   = reflect.TypeOf((func(http.ResponseWriter, *http.Request))(nil))
	request        = reflect.TypeOf((*http.Request)(nil))
)

// Make makes response writers, requests, and handlers to be called by what is under test.
func Make(v *worker.Value, t reflect.Type, _ *worker.Run) (reflect.Value, bool) {
	switch {
	case t == responseWriter && v.Kind == worker.Writer:
		x := reflect.New(t).Elem()
		x.Set(reflect.ValueOf(&answer{header: make(http.Header)}))
		return x, true
	case t == request && v.Kind == worker.Request:
		r := newRequest(v)
		if r == nil {
			return reflect.Value{}, false
		}
		return reflect.ValueOf(r), true
	case (t == handler || t == handlerFunc || t == plainHandler) && v.Kind == worker.Func:
		h := inner(v.Int)
		x := reflect.New(t).Elem()
		if t == handler {
			x.Set(reflect.ValueOf(http.HandlerFunc(h)))
		} else {
			x.Set(reflect.ValueOf(h).Convert(t))
		}
		return x, true
	}
	return reflect.Value{}, false
}

// newRequest returns the request as a server would hand it on, or nil.
func newRequest(v *worker.Value) *http.Request {
	method, target, ok := strings.Cut(v.Text, " ")
	if !ok {
		return nil
	}
	body := ""
	if len(v.Elems) == len(v.Names)+1 {
		body = v.Elems[len(v.Names)].Text
	}
	r, err := http.NewRequest(method, "http://example.com"+target, strings.NewReader(body))
	if err != nil {
		return nil
	}
	r.RequestURI, r.RemoteAddr = target, "192.0.2.1:1234"
	for i, name := range v.Names {
		switch {
		case i >= len(v.Elems):
		case name == "Host": // which a server takes out of the header
			r.Host, r.URL.Host = v.Elems[i].Text, v.Elems[i].Text
		default:
			r.Header.Add(name, v.Elems[i].Text)
		}
	}
	return r
}

// inner is a handler that a middleware may call.
func inner(mode int64) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		switch mode % 6 {
		case 0:
			io.WriteString(w, "ok "+r.Method+" "+r.URL.String())
		case 1:
			http.Error(w, "there is no such thing", http.StatusNotFound)
		case 2:
			io.Copy(w, r.Body)
		case 3:
			w.Header().Set("X-Inner", "set")
			w.WriteHeader(http.StatusCreated)
		case 4: // says nothing
		case 5:
			w.Header().Add("Vary", "Inner")
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "first ")
			io.WriteString(w, "second")
		}
	}
}

// An answer is a response as a client sees it: what is put into the header after it was sent does not count, and the type
// of what has none is found out, from as much as a server looks at.
type answer struct {
	header, sent http.Header
	code         int
	body         []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if a.sent == nil {
		a.code, a.sent = code, a.header.Clone()
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, p[:min(len(p), maxBody-len(a.body))]...)
	return len(p), nil
}

// Flush is there because handlers ask for it.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

const maxBody = 4 << 20

// Show takes down a response.
func Show(v reflect.Value, emit func(layer worker.Layer, name, text string)) bool {
	if !v.CanInterface() {
		return false
	}
	a, ok := v.Interface().(*answer)
	if !ok {
		_, isRequest := v.Interface().(*http.Request)
		return isRequest
	}
	header, code := a.sent, a.code
	if header == nil {
		header, code = a.header.Clone(), http.StatusOK
	}
	emit(worker.LayerResult, " status", strconv.Itoa(code))
	if _, set := header["Content-Type"]; !set && len(a.body) > 0 && header.Get("Content-Encoding") == "" {
		header.Set("Content-Type", http.DetectContentType(a.body[:min(len(a.body), 512)]))
	}
	names := make([]string, 0, len(header))
	for n := range header {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		emit(worker.LayerResult, " header "+n, strconv.Quote(strings.Join(header[n], "\n")))
	}
	text, name := string(a.body), " body"
	if z, err := gzip.NewReader(bytes.NewReader(a.body)); err == nil {
		if plain, err := io.ReadAll(io.LimitReader(z, maxBody)); err == nil {
			text, name = string(plain), " body when decompressed"
		}
	}
	emit(worker.LayerResult, name, strconv.Quote(text))
	return true
}
