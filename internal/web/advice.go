package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/rules"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile/inflate"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
)

// An adviser looks for findings in recordings. All requests about a recording share one search and its result.
//
// A search loads packages, which takes seconds and all cores. So the adviser searches one recording at a time, and does not count against the limit
// on views that are computed at once. It continues when no request is waiting, because somebody will ask again.
type adviser struct {
	find func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error)
	by   hint.Speller
	most int // larger profiles are searched only on request

	ctx  context.Context // ends with the server
	stop context.CancelFunc
	jobs sync.WaitGroup
	turn chan struct{} // held during a search

	mu    sync.Mutex
	known map[string]*advice // by key of the recording
}

// An advice is the result of a search, as JSON.
type advice struct {
	stop context.CancelFunc // ends the search
	now  atomic.Pointer[advise.Progress]
	once sync.Once
	done chan struct{} // closed when the others are set
	body []byte
	err  error
}

// newAdviser returns an adviser that finds sources in the module around a folder.
func newAdviser(dir string, by hint.Speller) *adviser {
	a := &adviser{by: by, most: 500_000, turn: make(chan struct{}, 1), known: make(map[string]*advice)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		one := *rec
		one.Sources = rec.Kept() // other sources may have changed since the recording
		if len(rec.Parts) > 0 {
			one.Profile = nil // findings are about all profiles, not only the first
		}
		return advise.Run(ctx, rules.All, []*recording.Recording{&one}, advise.Options{Dir: dir, Progress: say})
	}
	return a
}

// about returns the findings of a recording, after starting a search if there is none.
func (a *adviser) about(rec *recording.Recording) *advice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got, ok := a.known[rec.Key()]; ok {
		return got
	}
	ctx, stop := context.WithCancel(a.ctx)
	got := &advice{done: make(chan struct{}), stop: stop}
	a.known[rec.Key()] = got
	// Type checking cannot be interrupted, so tell the waiting requests now.
	context.AfterFunc(ctx, func() { a.end(rec, got, nil, ctx.Err()) })
	a.jobs.Go(func() {
		defer stop()
		body, err := a.look(ctx, rec, func(p advise.Progress) { got.now.Store(&p) })
		a.end(rec, got, body, err)
	})
	return got
}

// end gives waiting requests the result of a search, or its error. It ignores a later result.
func (a *adviser) end(rec *recording.Recording, got *advice, body []byte, err error) {
	got.once.Do(func() {
		defer close(got.done)
		if got.body, got.err = body, err; err != nil {
			// Do not keep an error: the next search may find what was missing.
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.known, rec.Key())
		}
	})
}

// look searches a recording when it is its turn. It recovers from panics, because one must not end a server with open recordings.
func (a *adviser) look(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (body []byte, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("looking for findings in %s failed, which is a bug in hone: %v", rec.Ref, x)
		}
	}()
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := a.find(ctx, rec, say)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, advise.ErrNothing) {
		return nil, withHint(fmt.Errorf("%s: %w", rec.Ref, err), "record for longer, or put the program under load")
	}
	var homeless *advise.NoModuleError
	if errors.As(err, &homeless) || errors.Is(err, advise.ErrForeign) { // the rest of the page is about the profile and needs neither
		found, err = &report.Advice{Refs: []string{rec.Ref}, Findings: []report.Finding{}, Notes: hint.Texts{hint.With(err)}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for findings in %s: %w", rec.Ref, err)
	}
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if err := errors.Join(render.JSON(&remarker{zw, remarksOf(found, a.by)}, found, render.Options{}), zw.Close()); err != nil {
		return nil, fmt.Errorf("writing the findings: %w", err)
	}
	return b.Bytes(), nil
}

// looking returns the advice of a running search, or nil.
func (a *adviser) looking(rec *recording.Recording) *advice {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.known[rec.Key()]
	if got == nil {
		return nil
	}
	select {
	case <-got.done:
		return nil
	default:
		return got
	}
}

// found returns the findings of a recording as JSON, or nil if the search has not ended.
func (a *adviser) found(rec *recording.Recording) []byte {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	got := a.known[rec.Key()]
	a.mu.Unlock()
	if got == nil {
		return nil
	}
	select {
	case <-got.done:
	default:
		return nil
	}
	if got.err != nil {
		return nil
	}
	zr, err := inflate.NewReader(bytes.NewReader(got.body))
	if err != nil {
		return nil
	}
	defer zr.Close()
	text, err := io.ReadAll(zr)
	if err != nil {
		return nil
	}
	return text
}

// close stops all searches, and waits until the programs that they run have ended.
func (a *adviser) close() {
	a.stop()
	a.jobs.Wait()
}

// advise answers with the findings of a recording, in the JSON of hone advise.
func (s *Server) advise(w http.ResponseWriter, r *http.Request) {
	rec, ok := s.advisable(w, r)
	if !ok {
		return
	}
	found := s.adviser.about(rec)
	select {
	case <-found.done:
	case <-r.Context().Done():
		return
	}
	if errors.Is(found.err, context.Canceled) {
		fail(w, http.StatusConflict, errors.New("looking for findings was stopped"), "")
		return
	}
	if found.err != nil {
		fail(w, statusOf(found.err), found.err, s.hintOf(found.err))
		return
	}
	send(w, r, "application/json", found.body)
}

// progress answers how much of a recording has been searched.
func (s *Server) progress(w http.ResponseWriter, r *http.Request) {
	in, ok := s.advisable(w, r)
	if !ok {
		return
	}
	var out advise.Progress
	if got := s.adviser.looking(in); got != nil {
		if now := got.now.Load(); now != nil {
			out = *now
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(out)
}

// stopAdvice stops the search of a recording, for all requests that wait for it.
func (s *Server) stopAdvice(w http.ResponseWriter, r *http.Request) {
	in, ok := s.advisable(w, r)
	if !ok {
		return
	}
	if got := s.adviser.looking(in); got != nil {
		got.stop()
	}
	w.WriteHeader(http.StatusNoContent)
}

// advisable returns the recording of a request about findings.
func (s *Server) advisable(w http.ResponseWriter, r *http.Request) (*recording.Recording, bool) {
	if s.adviser == nil {
		fail(w, http.StatusNotFound, errors.New("this server looks for no findings"), "hone web REF does")
		return nil, false
	}
	_, in, err := s.query(r, "advise")
	if err != nil {
		fail(w, http.StatusBadRequest, err, "")
		return nil, false
	}
	return in[0], true
}
