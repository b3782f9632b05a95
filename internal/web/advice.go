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

// An adviser looks for findings in recordings, for whoever asks first, and keeps what it found for all who ask later.
//
// Packages have to be loaded for it, which takes seconds and what cores there are. So it looks through one recording at
// a time, apart from the turns of those who ask for views; and it goes on when nobody waits any more, since somebody will
// ask again.
type adviser struct {
	find func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error)
	by   hint.Speller
	most int // samples of a profile that is looked through without anybody asking for it

	ctx  context.Context // ends with the server
	stop context.CancelFunc
	jobs sync.WaitGroup
	turn chan struct{} // held while looking

	mu    sync.Mutex
	known map[string]*advice // by keys of recordings
}

// An advice is what was found in a recording, as it is sent.
type advice struct {
	stop context.CancelFunc // ends looking
	now  atomic.Pointer[advise.Progress]
	once sync.Once
	done chan struct{} // closed when the others are set
	body []byte
	err  error
}

// newAdviser returns an adviser that looks for sources in the module around a folder.
func newAdviser(dir string, by hint.Speller) *adviser {
	a := &adviser{by: by, most: 500_000, turn: make(chan struct{}, 1), known: make(map[string]*advice)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.find = func(ctx context.Context, rec *recording.Recording, say func(advise.Progress)) (*report.Advice, error) {
		one := *rec
		one.Sources = rec.Kept() // what else is known is what the sources are now, and not what they were
		if len(rec.Parts) > 0 {
			one.Profile = nil // findings are about all profiles, and not about the one that pages begin with
		}
		return advise.Run(ctx, rules.All, []*recording.Recording{&one}, advise.Options{Dir: dir, Progress: say})
	}
	return a
}

// about returns the findings of a recording, which may be in the making.
func (a *adviser) about(rec *recording.Recording) *advice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got, ok := a.known[rec.Key()]; ok {
		return got
	}
	ctx, stop := context.WithCancel(a.ctx)
	got := &advice{done: make(chan struct{}), stop: stop}
	a.known[rec.Key()] = got
	// Type-checking a package and looking at a function go on to their end, so those who wait are told before that is over.
	context.AfterFunc(ctx, func() { a.end(rec, got, nil, ctx.Err()) })
	a.jobs.Go(func() {
		defer stop()
		body, err := a.look(ctx, rec, func(p advise.Progress) { got.now.Store(&p) })
		a.end(rec, got, body, err)
	})
	return got
}

// end tells those who wait what was found in a recording, or why nothing was. What comes later than that is dropped.
func (a *adviser) end(rec *recording.Recording, got *advice, body []byte, err error) {
	got.once.Do(func() {
		defer close(got.done)
		if got.body, got.err = body, err; err != nil {
			// What was missing may be there when somebody asks again.
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.known, rec.Key())
		}
	})
}

// look looks through a recording when it is its turn. A mistake in it must not end a server with all that is open in it.
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
	if errors.As(err, &homeless) { // the rest of the page is about the profile, and needs none
		found, err = &report.Advice{Refs: []string{rec.Ref}, Findings: []report.Finding{}, Notes: hint.Texts{hint.With(homeless)}}, nil
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

// looking returns what is being found in a recording, or nil when it is not being looked through.
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

// found returns the findings of a recording in JSON, or nil where they are not known yet.
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

// close ends what is being looked for, and waits until programs that were started for it are gone.
func (a *adviser) close() {
	a.stop()
	a.jobs.Wait()
}

// advise answers with what hone advise finds in a recording, as it writes that in JSON.
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

// progress answers how far looking through a recording has come.
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

// stopAdvice ends looking through a recording, for all who wait for that.
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

// advisable returns the recording that a request about findings is for.
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
