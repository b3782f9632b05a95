package rule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// act does what is to be done for events, until ctx ends.
func (w *Watcher) act(ctx context.Context) {
	var capturing sync.WaitGroup
	defer capturing.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-w.news:
			w.heed(ctx, n, &capturing)
		}
	}
}

// heed does what is to be done when an event began, and tells when that of a rule is over.
func (w *Watcher) heed(ctx context.Context, n news, capturing *sync.WaitGroup) {
	began := n.was == nil || n.was.Kind != n.is.Kind
	ended := n.is.Kind == event.Broken && n.was != nil && n.was.Ended.IsZero() && !n.is.Ended.IsZero()
	if !began && !ended {
		return
	}
	for _, a := range w.config().Actions {
		if !a.fits(n.is) {
			continue
		}
		if a.Hook != nil {
			status := "began"
			if ended {
				status = "ended"
			}
			w.tell(a, message{textOf(n.is), status, *n.is})
		}
		if !began {
			continue
		}
		if a.Pin != nil {
			e := *n.is
			name, err := w.pin(ctx, &e, store.Service(e.Service), e.Time.Add(-time.Duration(a.Pin.Before)), e.Time.Add(time.Duration(a.Pin.After)))
			if err == nil {
				err = w.opt.Events.Update(e.Tenant, e.ID, func(e *event.Event) { e.Pin = name })
			}
			if err != nil && ctx.Err() == nil {
				w.opt.Log.Error("pinning for an event", "event", e.ID, "err", err)
			}
		}
		if a.Capture != nil && w.opt.Ask != nil && w.mayCapture(a, n.is) {
			capturing.Go(func() { w.capture(ctx, a, *n.is) })
		}
	}
}

// fits reports whether an action is for an event.
func (a *Action) fits(e *event.Event) bool {
	if e.Tenant != a.Tenant || !a.Selector.Match(e.Service, nil, nil) {
		return false
	}
	if len(a.On) == 0 {
		return e.Kind != event.Captured // which comes from another one
	}
	return slices.ContainsFunc(a.On, func(o on) bool {
		return o.kind == e.Kind && (o.rule == "" || e.Rule != nil && e.Rule.Name == o.rule)
	})
}

// tell has a receiver told, when it is its turn.
func (w *Watcher) tell(a *Action, m message) {
	w.mu.Lock()
	s, full := w.senders[a], false
	if s != nil { // else there is another configuration since
		select {
		case s.queue <- m:
		default:
			full = true
		}
	}
	w.mu.Unlock()
	if full {
		s.told(&m.Event, fmt.Errorf("%d events wait for it already", mostQueue))
	}
}

// captures bounds how often services are asked for more.
type captures struct {
	mu      sync.Mutex
	last    map[string]time.Time // by tenant and service
	running int
}

// mostCaptures is how many are made at a time.
const mostCaptures = 2

// mayCapture reports whether a service may be asked for more now.
func (w *Watcher) mayCapture(a *Action, e *event.Event) bool {
	c := &w.captures
	c.mu.Lock()
	defer c.mu.Unlock()
	now, key := w.opt.Now(), keyOf("capture", e.Tenant, e.Service)
	if c.running >= mostCaptures || now.Sub(c.last[key]) < time.Duration(a.Capture.Cooldown) || !w.today.more(key, now, a.Capture.Daily) {
		return false
	}
	if len(c.last) > mostStreams {
		clear(c.last)
	}
	c.last[key] = now
	c.running++
	return true
}

// captured notes that a capture is over. One that gave nothing is no reason to wait until the next one, but counts for the day.
func (w *Watcher) captured(e *event.Event, some bool) {
	c := &w.captures
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if !some {
		delete(c.last, keyOf("capture", e.Tenant, e.Service))
	}
}

// capture asks a process for more than usual, and keeps what it says: the profiles in the store, and all of it as a recording.
func (w *Watcher) capture(ctx context.Context, a *Action, cause event.Event) {
	began := w.opt.Now()
	out := event.Event{
		ID: idOf("capture", cause.Tenant, cause.ID), Tenant: cause.Tenant, Kind: event.Captured, Service: cause.Service, Time: began, Cause: cause.ID,
		Capture: &event.Capture{},
	}
	id, labels, err := w.deepen(ctx, a.Capture, &cause)
	w.captured(&cause, id != "" || err == nil)
	if ctx.Err() != nil {
		return
	}
	out.Noticed, out.Labels, out.Capture.Recording = w.opt.Now(), labels, id
	if err != nil {
		out.Capture.Failed = err.Error()
	}
	if err := w.opt.Events.Add(out); err != nil {
		w.opt.Log.Error("noting a capture", "err", err)
	}
}

// deepen takes a recording. There may be one, and an error that says what is missing.
func (w *Watcher) deepen(ctx context.Context, c *Capture, cause *event.Event) (id string, labels store.Labels, err error) {
	instance := event.ProcessOf(cause.Labels)
	if cause.Process != nil {
		instance = cmp.Or(cause.Process.Instance, instance)
	}
	got, err := w.opt.Ask(ctx, scrape.Deeper{
		Tenant: cause.Tenant, Service: cause.Service, Instance: instance, Version: cause.Labels.Get(versionLabel),
		CPU: time.Duration(c.CPU), Trace: time.Duration(c.Trace),
	})
	if err != nil {
		return "", nil, err
	}
	errs := []error{got.Err}
	var uploads []*store.Upload
	for _, p := range got.Parts {
		if p.Upload != nil {
			uploads = append(uploads, p.Upload)
		}
	}
	if w.opt.Add != nil && len(uploads) > 0 {
		outcomes, err := w.opt.Add(ctx, cause.Tenant, uploads)
		for _, o := range outcomes {
			err = errors.Join(err, o.Err)
		}
		errs = append(errs, err)
	}
	if w.opt.Keep != nil {
		folder, err := os.MkdirTemp("", "hone-capture-")
		if err != nil {
			return "", got.Labels, errors.Join(append(errs, err)...)
		}
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "capture.hone")
		if err = w.packed(got, cause, filepath.Join(folder, "parts"), file); err == nil {
			id, err = w.opt.Keep(ctx, cause.Tenant, cause.Service+" "+got.Began.UTC().Format("2006-01-02 15:04"), file)
		}
		errs = append(errs, err)
	}
	return id, got.Labels, errors.Join(errs...)
}

// packed makes a recording of what a process said.
func (w *Watcher) packed(got *scrape.Deep, cause *event.Event, folder, file string) error {
	m := &recording.Manifest{
		Format: recording.Format, Hone: w.opt.Version, How: recording.Fetched, Target: got.Address, Started: got.Began, Ended: got.Ended,
		Notes: []string{"taken when " + cause.Text()},
	}
	if got.Err != nil {
		m.Notes = append(m.Notes, got.Err.Error())
	}
	for _, p := range got.Parts {
		name := recording.TraceFile
		if p.Kind != scrape.TraceKind {
			name = recording.PartFile(p.Kind, p.From.Sub(got.Began), p.To.Sub(got.Began))
		}
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, p.Raw, 0o600); err != nil {
			return err
		}
	}
	_, err := recording.Pack(folder, file, m)
	return err
}
