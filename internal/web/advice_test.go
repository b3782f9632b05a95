package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
)

// shop is a program that does two things for every request that once would do for.
const shop = `package main

import (
	"net/http"
	"regexp"
)

func handle(w http.ResponseWriter, r *http.Request) {
	if ok, _ := regexp.MatchString("^[a-z]*$", r.FormValue("color")); !ok {
		http.Error(w, "no such color", http.StatusBadRequest)
		return
	}
	w.Write([]byte("<h1 style='color: " + r.FormValue("color") + "'>Welcome!</h1>"))
}

func main() {
	http.HandleFunc("/", handle)
	http.ListenAndServe("localhost:0", nil)
}
`

// Shop returns a recording of a program with its sources in it, and the folder of the module.
func Shop(t *testing.T) (rec *recording.Recording, module string) {
	t.Helper()
	module = t.TempDir()
	file := filepath.Join(module, "shop.go")
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(file, []byte(shop))
	put(filepath.Join(module, "go.mod"), []byte("module example.com/shop\n\ngo 1.26\n"))

	b := profile.NewBuilder(profile.Header{SampleTypes: cpu, DurationNanos: int64(time.Second)})
	at := func(name, file string, start, line int64) uint32 {
		n := uint32(len(b.Locations))
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: file, StartLine: start})
		b.Locations = append(b.Locations, profile.Location{Mapping: profile.NoMapping, Lines: []profile.Line{{Function: n, Line: line}}})
		return n
	}
	serve := at("net/http.HandlerFunc.ServeHTTP", "/go/src/net/http/server.go", 2000, 2001)
	check, write := at("main.handle", file, 8, 9), at("main.handle", file, 8, 13)
	match, compile := at("regexp.MatchString", "/go/src/regexp/regexp.go", 560, 561), at("regexp.compile", "/go/src/regexp/regexp.go", 170, 175)
	concat, convert := at("runtime.concatstrings", "/go/src/runtime/string.go", 20, 60), at("runtime.stringtoslicebyte", "/go/src/runtime/string.go", 160, 170)
	send := at("net/http.(*response).Write", "/go/src/net/http/server.go", 1600, 1610)
	b.Renumber()
	for _, s := range []struct {
		stack []uint32
		ms    int64
	}{
		{[]uint32{compile, match, check, serve}, 600},
		{[]uint32{concat, write, serve}, 150},
		{[]uint32{convert, write, serve}, 100},
		{[]uint32{send, write, serve}, 150},
	} {
		b.Add(s.stack, 0, []int64{s.ms / 10, s.ms * int64(time.Millisecond)})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := p.Write(&packed); err != nil {
		t.Fatal(err)
	}
	index, err := json.Marshal([]recording.KeptSource{{File: file, At: "shop.go", From: file}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(filepath.Join(dir, filepath.FromSlash(recording.PartFile(recording.CPU, 0, time.Second))), packed.Bytes())
	put(filepath.Join(dir, filepath.FromSlash(recording.SourceIndex)), index)
	put(filepath.Join(dir, recording.SourcesDir, "shop.go"), []byte(shop))
	rec = reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Started: time.Now()})
	return rec, module
}

// HoldFindings has a server look for findings only when it is let go: a failure is what it then says first.
func HoldFindings(s *Server) (let func(failure error)) {
	find := s.adviser.find
	turns := make(chan error)
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		select {
		case err := <-turns:
			if err != nil {
				return nil, err
			}
			return find(ctx, rec, say)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func(failure error) { turns <- failure }
}

// HoldFindingsAt is HoldFindings after so many functions.
func HoldFindingsAt(s *Server, done, of int) (let func(failure error)) {
	let = HoldFindings(s)
	find := s.adviser.find
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		say(advise.Progress{Done: done, Of: of})
		return find(ctx, rec, say)
	}
	return let
}

// FewSamples has a server look through profiles of more samples only when it is told to.
func FewSamples(s *Server, most int) { s.adviser.most = most }

// What a page is told of findings is what hone advise writes as JSON, and is found out once.
func TestAdvise(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	rec, module := Shop(t)
	one := *rec
	one.Profile, one.Sources = nil, rec.Kept()
	want, err := advise.Run(t.Context(), rules.All, []*recording.Recording{&one}, advise.Options{Dir: module})
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Findings) != 2 || want.Findings[0].Rule != "regexp-per-call" || want.Findings[1].Rule != "write-joined" {
		t.Fatalf("found %+v", want.Findings)
	}
	var text bytes.Buffer
	if err := render.JSON(&text, want, render.Options{}); err != nil {
		t.Fatal(err)
	}

	rec.Sources = recording.Either(rec.Sources, nowhere{})
	s := New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}, Advise: module, Source: "../shop"})
	defer s.adviser.close()
	times := 0
	find := s.adviser.find
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		switch times++; times {
		case 1:
			return nil, errors.New("there is no go command")
		case 2:
			panic("nobody thought of it")
		}
		return find(ctx, rec, say)
	}
	h := s.Handler()
	var there session
	answered(t, get(s, h, "/api/session"), &there)
	if !there.Advises || there.Source != "../shop" {
		t.Errorf("the page is told %+v", there)
	}
	for _, why := range []string{"there is no go command", "nobody thought of it"} {
		if w := get(s, h, "/api/advise?ref=run.hone"); w.Code != 422 || !strings.Contains(w.Body.String(), why) {
			t.Errorf("a failure is answered with %d %s, want %s", w.Code, w.Body, why)
		}
	}
	for range 2 {
		w := get(s, h, "/api/advise?ref=run.hone")
		_, said, ok := strings.Cut(w.Body.String(), "\n,\n") // behind the remarks, which only the page has
		if w.Code != 200 || !ok || "{\n"+said != text.String() {
			t.Errorf("%d %s\nwant what hone advise says: %s", w.Code, w.Body, &text)
		}
	}
	if times != 3 {
		t.Errorf("looked %d times, want 3, the last for all who ask", times)
	}
	if w := get(s, h, "/api/advise?ref=other.hone"); w.Code != 400 {
		t.Errorf("another recording: %d %s", w.Code, w.Body)
	}
	// Who goes away does not wait.
	gone, leave := context.WithCancel(t.Context())
	leave()
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	clear(s.adviser.known)
	get(s, h, "/api/advise", func(r *http.Request) { *r = *r.WithContext(gone) })
}

// TestAdviseStopped holds that a page is told how far looking for findings is, and that it can be stopped and begun again.
func TestAdviseStopped(t *testing.T) {
	rec, module := Shop(t)
	s := New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}, Advise: module})
	defer s.adviser.close()
	begun := make(chan bool, 1)
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		say(advise.Progress{Done: 3, Of: 7})
		begun <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h := s.Handler()
	progress := func() (p advise.Progress) {
		answered(t, get(s, h, "/api/advise/progress?ref=run.hone"), &p)
		return p
	}
	if got := progress(); got.Of != 0 {
		t.Errorf("before anybody asked: %+v", got)
	}
	for range 2 {
		ended := make(chan int)
		go func() { ended <- get(s, h, "/api/advise?ref=run.hone").Code }()
		<-begun
		if got := progress(); got.Done != 3 || got.Of != 7 {
			t.Errorf("while it is looked: %+v", got)
		}
		if w := get(s, h, "/api/advise?ref=run.hone", func(r *http.Request) { r.Method = http.MethodDelete }); w.Code != http.StatusNoContent {
			t.Errorf("stopping: %d %s", w.Code, w.Body)
		}
		if code := <-ended; code != http.StatusConflict {
			t.Errorf("who waited is told %d, want %d", code, http.StatusConflict)
		}
	}
	if got := progress(); got.Of != 0 {
		t.Errorf("after it was stopped: %+v", got)
	}
}

// Who waits is told at once that looking was stopped, also while something is under way that cannot be stopped. Looking again begins after that.
func TestAdviseStoppedAtOnce(t *testing.T) {
	rec, module := Shop(t)
	s := New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}, Advise: module})
	defer s.adviser.close()
	begun, let := make(chan bool, 2), make(chan bool)
	var running atomic.Int32
	s.adviser.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		if n := running.Add(1); n > 1 {
			t.Errorf("%d recordings are looked through together", n)
		}
		defer running.Add(-1)
		say(advise.Progress{Done: 3, Of: 7})
		begun <- true
		<-let
		return &report.Advice{Root: "found", Findings: []report.Finding{}}, nil
	}
	h := s.Handler()
	ended := make(chan *httptest.ResponseRecorder)
	ask := func() { ended <- get(s, h, "/api/advise?ref=run.hone") }
	go ask()
	<-begun
	get(s, h, "/api/advise?ref=run.hone", func(r *http.Request) { r.Method = http.MethodDelete })
	if w := <-ended; w.Code != http.StatusConflict {
		t.Errorf("who waited is told %d %s, want %d", w.Code, w.Body, http.StatusConflict)
	}
	go ask()
	let <- true // what was stopped comes to its end
	<-begun
	let <- true
	if w := <-ended; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"found"`) {
		t.Errorf("who asked again is told %d %s", w.Code, w.Body)
	}
}

// Without a module nothing is found, and what is missing is said; a server that does not advise says so.
func TestAdviseWithout(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	rec, module := Shop(t)
	if err := os.Remove(filepath.Join(module, "shop.go")); err != nil {
		t.Fatal(err)
	}
	s := New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}, Advise: t.TempDir()})
	defer s.adviser.close()
	var found report.Advice
	answered(t, get(s, s.Handler(), "/api/advise"), &found)
	if len(found.Findings) != 0 || !strings.Contains(found.Notes.String(), "source=DIR") {
		t.Errorf("found %+v, and said %q", found.Findings, found.Notes)
	}
	s = New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}})
	if w := get(s, s.Handler(), "/api/advise"); w.Code != 404 {
		t.Errorf("a server that does not advise answers %d %s", w.Code, w.Body)
	}
}

// nowhere knows other sources than those that a recording holds.
type nowhere struct{}

func (nowhere) Find(file, function string, line int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: []string{"package other"}}, nil
}
