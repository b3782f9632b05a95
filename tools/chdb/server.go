package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A server speaks ClickHouse's HTTP interface.
type server struct{ engine *engine }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.answer(r)
	if err != nil {
		code := "0"
		if m := errorCode.FindStringSubmatch(err.Error()); m != nil {
			code = m[1]
		}
		w.Header().Set("X-ClickHouse-Exception-Code", code)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(out)
}

var errorCode = regexp.MustCompile(`Code: (\d+)`)

// notSettings are the parameters of a request that are about the request.
var notSettings = []string{"query", "database", "default_format", "client_protocol_version", "wait_end_of_query", "buffer_size", "query_id",
	"compress", "decompress", "enable_http_compression", "user", "password", "session_id"}

func (s *server) answer(r *http.Request) ([]byte, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	params := r.URL.Query()
	query := params.Get("query")
	if query == "" {
		b, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		query, body = string(b), nil
	}
	if query == helloQuery && params.Has("client_protocol_version") {
		return hello(), nil
	}
	var settings []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(notSettings, k) {
			settings = append(settings, k+" = '"+strings.NewReplacer("'", `\'`, `\`, `\\`).Replace(params.Get(k))+"'")
		}
	}
	head, format, hasFormat := cutLast(query, " FORMAT ")
	if !hasFormat && strings.HasPrefix(query, "SELECT") {
		head, format, hasFormat = query, "Native", true
	}
	if body != nil {
		if !hasFormat {
			return nil, fmt.Errorf("the query has a body and no format: %.200s", query)
		}
		file, err := os.CreateTemp("", "chdb")
		if err != nil {
			return nil, err
		}
		defer os.Remove(file.Name())
		_, err = io.Copy(file, body)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err // of a body that was cut off, nothing is kept
		}
		head += " FROM INFILE '" + file.Name() + "'"
	}
	if hasFormat {
		if len(settings) > 0 {
			head += " SETTINGS " + strings.Join(settings, ", ")
		}
		query = head + " FORMAT " + format
	}
	var before []string
	if db := params.Get("database"); db != "" {
		before = append(before, "USE `"+db+"`")
	}
	out, err := s.engine.run("Native", append(before, query)...)
	if err != nil {
		err = fmt.Errorf("%w, in %.2000s", err, query)
	}
	return out, err
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// helloQuery is what clickhouse-go asks first. It expects the answer in the form of its own protocol revision, and what follows in
// that of the revision that the answer names: with 0 that is the form that the engine writes.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

func hello() []byte {
	b := []byte{1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 4, 1} // what a block says of itself, then its columns and rows
	text := func(s string) { b = append(append(b, byte(len(s))), s...) }
	for _, c := range []struct{ name, kind, value string }{
		{"displayName()", "String", "chdb"}, {"version()", "String", "26.5.1.1"}, {"revision()", "UInt32", ""}, {"timezone()", "String", "UTC"},
	} {
		text(c.name)
		text(c.kind)
		b = append(b, 0) // written in the usual way
		if c.kind == "String" {
			text(c.value)
		} else {
			b = append(b, 0, 0, 0, 0)
		}
	}
	return b
}
