package rule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// After a restart, a process counts from zero, so its heap profiles report fewer allocations than before. hone only knows that it ran out of memory
// if it has a label memory_limit, or a client sends the event.

// A stream is the heap profiles of one process.
type stream struct {
	start     time.Time // of the last one
	allocated int64     // since the process began
	inuse     []int64   // of the last ones, the newest last
	build     string
	event     string    // ID of the last restart
	restarted time.Time // when it was
	totals    []int64   // what was allocated, in the last profiles, the newest last
	shared    bool      // several processes seem to send these profiles
}

const (
	firstLook   = 10 * time.Minute // how far the first round looks back
	overlap     = 5 * time.Minute  // how late profiles may come
	mostEntries = 5000             // profiles of a round
	mostStreams = 50_000
	streamLife  = 2 * time.Hour // without a profile
	inuseKept   = 10
	totalsKept  = 32
	sameEvent   = 30 * time.Minute // restarts that follow each other within it are one event
	sameShared  = 24 * time.Hour   // in which labels that several processes have are one event
	mostDaily   = 200              // restarts that become events, of a tenant
	beforePin   = 10 * time.Minute
	notEnforced = 1.1 // of a memory limit, which the heap of a process only comes to if nobody enforces the limit; estimates vary a little
)

// restarts looks for processes that were restarted.
func (w *Watcher) restarts(ctx context.Context, now time.Time) error {
	tenants, err := w.opt.Store.Tenants(ctx)
	errs := []error{err}
	for _, tenant := range tenants {
		from := now.Add(-firstLook)
		if since, ok := w.since[tenant]; ok {
			from = later(from, since.Add(-overlap))
		}
		entries, cut, err := w.opt.Store.Entries(ctx, store.Query{Tenant: tenant, Kind: recording.Heap, From: from, To: now.Add(time.Minute)}, mostEntries)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if cut {
			w.opt.Log.Warn("restarts may be missed", "tenant", tenant, "why", fmt.Sprintf("more than %d heap profiles in %v", mostEntries, now.Sub(from)))
		}
		w.since[tenant] = now
		for _, e := range slices.Backward(entries) { // the oldest first
			if err := w.heap(ctx, tenant, &e, now); err != nil {
				errs = append(errs, err)
			}
		}
	}
	for key, s := range w.streams {
		if now.Sub(s.start) > streamLife {
			delete(w.streams, key)
		}
	}
	return errors.Join(errs...)
}

// heap takes the next heap profile of a process.
func (w *Watcher) heap(ctx context.Context, tenant string, e *store.Entry, now time.Time) error {
	space, inuse := typeIn(e.Types, "alloc_space"), typeIn(e.Types, "inuse_space")
	if !e.Counters || space < 0 || inuse < 0 {
		return nil
	}
	// A new version is another process.
	build := e.Labels.Get(store.BuildLabel)
	labels := slices.DeleteFunc(slices.Clone(e.Labels), func(l store.Label) bool { return l.Name == store.BuildLabel })
	key := keyOf(tenant, e.Service, labels.String())
	s := w.streams[key]
	if s == nil {
		if len(w.streams) >= mostStreams {
			return nil
		}
		s = &stream{}
		w.streams[key] = s
	} else if !e.Start.After(s.start) {
		return nil
	}
	was := *s
	s.start, s.allocated, s.build = e.Start, e.Totals[space], build
	// Counters are estimates from samples, so they may decrease a little.
	fell := !was.start.IsZero() && s.allocated < was.allocated-was.allocated/10
	if fell {
		s.inuse = nil
	}
	s.inuse = append(s.inuse, e.Totals[inuse])
	if len(s.inuse) > inuseKept {
		s.inuse = slices.Delete(s.inuse, 0, 1)
	}
	if s.totals = append(s.totals, s.allocated); len(s.totals) > totalsKept {
		s.totals = slices.Delete(s.totals, 0, 1)
	}
	if !s.shared && store.AreShared(s.totals) {
		s.shared = true
		return w.sharedBy(tenant, e, labels, &was, now)
	}
	if s.shared {
		return nil // they seem to be restarted all the time
	}
	if !fell || was.build != build || e.Start.Sub(was.start) > store.Baseline {
		return nil
	}
	return w.restarted(ctx, tenant, e.Service, labels, &was, s, now)
}

// restarted notes that a process was restarted between the last profile before and the first one after it.
func (w *Watcher) restarted(ctx context.Context, tenant, service string, labels store.Labels, was, is *stream, now time.Time) error {
	process := &event.Process{Instance: event.ProcessOf(labels), Limit: limitOf(labels)}
	if n := len(was.inuse); n > 0 {
		process.Memory = was.inuse[n-1]
		if float64(slices.Max(was.inuse)) > notEnforced*float64(process.Limit) {
			process.Limit = 0
		}
	}
	kind := event.Restarted
	if noMemory(was.inuse, process.Limit) {
		kind, process.Likely = event.Killed, true
	}
	id := restartID(tenant, service, labels, is.start)
	// A client may have sent the event already, or it is of an earlier server, whose profiles this one reads again.
	known := w.sameProcess(tenant, service, process.Instance, was.start.Add(-overlap), is.start.Add(time.Second))
	if known == nil && was.event != "" {
		known = w.opt.Events.Get(tenant, was.event)
	}
	switch {
	case known != nil && !known.Ended.IsZero() && !is.start.After(known.Ended): // it was counted
		is.event, is.restarted = known.ID, is.start
		return nil
	case known != nil && known.ID != was.event && !seenBefore(known, labels, is.start):
		is.event, is.restarted = known.ID, is.start
		return w.opt.Events.Update(tenant, known.ID, func(e *event.Event) {
			if e.Process != nil {
				p := *e.Process
				p.Memory, p.Limit = process.Memory, process.Limit
				e.Process = &p
			}
		})
	case known != nil && known.ID != was.event:
		was.event, was.restarted = known.ID, later(known.Time, known.Ended)
	}
	if was.event != "" && is.start.Sub(was.restarted) <= sameEvent {
		is.event, is.restarted = was.event, is.start
		return w.opt.Events.Update(tenant, was.event, func(e *event.Event) {
			if e.Process == nil {
				return
			}
			p := *e.Process
			p.Times, p.Memory, p.Limit = max(1, p.Times)+1, process.Memory, process.Limit
			e.Ended = is.start
			if kind == event.Killed && e.Kind != kind {
				e.Kind, p.Likely = kind, true
			}
			e.Process = &p
		})
	}
	before, _ := w.opt.Events.List(event.Filter{Tenant: tenant, Service: service, Kinds: []event.Kind{event.Restarted}, From: now.Add(-sameShared)})
	if slices.ContainsFunc(before, func(e event.Event) bool {
		return e.Process != nil && e.Process.Shared && slices.Equal(e.Labels, labels)
	}) {
		is.shared = true
		return nil
	}
	is.event, is.restarted = id, is.start
	if w.opt.Events.Get(tenant, id) != nil || !w.today.more(keyOf("restarts", tenant), now, mostDaily) {
		return nil
	}
	return w.note(ctx, event.Event{ID: id, Tenant: tenant, Kind: kind, Service: service, Labels: labels, Time: is.start, Noticed: now, Process: process})
}

// restartID returns the ID of the event of a restart that is seen in profiles.
func restartID(tenant, service string, labels store.Labels, at time.Time) string {
	return idOf("restart", tenant, service, labels.String(), at.UTC().Format(time.RFC3339Nano))
}

// seenBefore reports whether an event was made from profiles before a time, so that a restart at that time is another one. The time of an event
// that a client sent says less: it is by another clock, and profiles come later.
func seenBefore(e *event.Event, labels store.Labels, at time.Time) bool {
	return e.Time.Before(at) && e.ID == restartID(e.Tenant, e.Service, labels, e.Time)
}

// sharedBy notes that several processes seem to send profiles with the same labels. What was noted as a restart was none.
func (w *Watcher) sharedBy(tenant string, e *store.Entry, labels store.Labels, was *stream, now time.Time) error {
	process := event.Process{Instance: event.ProcessOf(labels), Shared: true}
	if was.event != "" {
		return w.opt.Events.Update(tenant, was.event, func(e *event.Event) { e.Kind, e.Process, e.Ended = event.Restarted, &process, time.Time{} })
	}
	id := idOf("shared", tenant, e.Service, labels.String())
	if w.opt.Events.Get(tenant, id) != nil || !w.today.more(keyOf("restarts", tenant), now, mostDaily) {
		return nil
	}
	return w.opt.Events.Add(event.Event{ID: id, Tenant: tenant, Kind: event.Restarted, Service: e.Service, Labels: labels, Time: e.Start, Noticed: now, Process: &process})
}

// note adds an event of a process, and pins what is known of the process before it.
func (w *Watcher) note(ctx context.Context, e event.Event) error {
	only := store.Service(e.Service)
	for _, name := range event.ProcessLabels {
		if v := e.Labels.Get(name); v != "" {
			only = append(only, store.Matcher{Name: name, Op: store.Is, Value: v})
		}
	}
	pin, err := w.pin(ctx, &e, only, e.Time.Add(-beforePin), e.Time)
	e.Pin = pin
	return errors.Join(err, w.opt.Events.Add(e))
}

// noMemory reports whether a process probably had no memory left, by what its heap held at last. The collector lets a heap grow to
// twice what is live before it collects again, so a process whose live heap comes to half of its limit, and grows, is about to be killed.
func noMemory(inuse []int64, limit int64) bool {
	if limit <= 0 || len(inuse) == 0 {
		return false
	}
	last := float64(inuse[len(inuse)-1]) / float64(limit)
	grown := float64(inuse[len(inuse)-1]) >= 1.25*float64(slices.Min(inuse))
	return last >= 0.8 || last >= 0.45 && grown
}

// sameProcess returns an event that says that a process ended in some time, or nil.
func (w *Watcher) sameProcess(tenant, service, instance string, from, to time.Time) *event.Event {
	list, _ := w.opt.Events.List(event.Filter{Tenant: tenant, Service: service, Kinds: []event.Kind{event.Restarted, event.Killed}, From: from, To: to})
	for i, e := range list {
		if e.Process != nil && e.Process.Instance == instance && instance != "" {
			return &list[i]
		}
	}
	return nil
}

// Told stores an event from a client: a restart, a kill, or a deploy. It returns the stored event, which is an earlier one if the event is known
// already. Without a time, it happened now, or it is the same as one of the last minute, because the client sends again what was not acknowledged.
func (w *Watcher) Told(ctx context.Context, tenant string, e event.Event) (event.Event, error) {
	w.telling.Lock()
	defer w.telling.Unlock()
	now := w.opt.Now()
	e.Tenant, e.Noticed = tenant, now
	retry := e.Time.IsZero()
	if retry {
		e.Time = now
	}
	version, build := "", ""
	switch e.Kind {
	case event.Deployed:
		if e.Deploy != nil {
			version, build = e.Deploy.Version, e.Deploy.Build
		}
		list, _ := w.opt.Events.List(event.Filter{Tenant: tenant, Service: e.Service, Kinds: []event.Kind{event.Deployed}, From: e.Time.Add(-sameEvent), To: e.Time.Add(sameEvent)})
		for _, old := range list {
			if d := old.Deploy; d != nil && d.Version == version && (d.Build == build || d.Build == "" || build == "") {
				return old, nil
			}
		}
	default:
		if e.Process == nil {
			e.Process = &event.Process{}
		}
		e.Process.Instance = cmp.Or(e.Process.Instance, event.ProcessOf(e.Labels))
		if old := w.sameProcess(tenant, e.Service, e.Process.Instance, e.Time.Add(-overlap), e.Time.Add(overlap)); old != nil {
			if old.Kind == e.Kind && !old.Process.Likely || e.Kind == event.Restarted {
				return *old, nil
			}
			err := w.opt.Events.Update(tenant, old.ID, func(known *event.Event) {
				p := *known.Process
				p.Likely = false
				known.Kind, known.Process = event.Killed, &p
			})
			if known := w.opt.Events.Get(tenant, old.ID); known != nil {
				old = known
			}
			return *old, err
		}
	}
	if retry {
		list, _ := w.opt.Events.List(event.Filter{Tenant: tenant, Service: e.Service, Kinds: []event.Kind{e.Kind}, From: now.Add(-sameTold)})
		for _, old := range list {
			if old.Noticed.Equal(old.Time) && slices.Equal(old.Labels, e.Labels) {
				return old, nil
			}
		}
	}
	e.ID = idOf("told", tenant, string(e.Kind), e.Service, e.Labels.String(), version, build, e.Time.UTC().Format(time.RFC3339Nano))
	if old := w.opt.Events.Get(tenant, e.ID); old != nil {
		return *old, nil
	}
	if !w.today.more(keyOf("told", tenant), now, mostTold) {
		return e, ErrMany
	}
	if e.Kind == event.Deployed {
		return e, w.opt.Events.Add(e)
	}
	err := w.note(ctx, e)
	if kept := w.opt.Events.Get(tenant, e.ID); kept != nil {
		e = *kept
	}
	return e, err
}

// sameTold is how long the same event without a time is a retry.
const sameTold = time.Minute

// mostTold is how many events others can tell of in a day: the log has room for many days, and is shared by all tenants.
const mostTold = 1000

// ErrMany means that a client has sent too many events.
var ErrMany = fmt.Errorf("there were %d events of this tenant today; that is the limit", mostTold)

// pinPrefix begins the names of pins of events.
const pinPrefix = "event-"

// pin keeps profiles for an event, and returns the name of the pin.
func (w *Watcher) pin(ctx context.Context, e *event.Event, only store.Selector, from, to time.Time) (string, error) {
	name := pinPrefix + e.ID
	err := w.opt.Store.Pin(ctx, store.Query{Tenant: e.Tenant, Selector: only, From: from, To: to},
		store.Pin{Name: name, Reason: e.Text(), Made: w.opt.Now()})
	if err != nil {
		return "", fmt.Errorf("pinning profiles: %w", err)
	}
	return name, nil
}

// Duration of pins of events. Pins bypass the limits of the store, and nobody removes them by hand.
const (
	pinLife     = 14 * day
	pinsKept    = 20 // of a service
	pinsEach    = time.Hour
	farthestPin = 10_000 // that are looked at
)

// oldPins removes pins of events that are old, or too many.
func (w *Watcher) oldPins(ctx context.Context, now time.Time) error {
	if now.Sub(w.pinned) < pinsEach {
		return nil
	}
	w.pinned = now
	tenants, err := w.opt.Store.Tenants(ctx)
	errs := []error{err}
	for _, tenant := range tenants {
		pins, err := w.opt.Store.Pins(ctx, tenant)
		errs = append(errs, err)
		order.Stable(pins, func(a, b store.Pin) int { return b.Made.Compare(a.Made) })
		of := map[string]int{}
		for _, p := range pins[:min(len(pins), farthestPin)] {
			if !strings.HasPrefix(p.Name, pinPrefix) {
				continue
			}
			service, _ := p.Query.Selector.Only(store.ServiceLabel)
			if of[service]++; of[service] > pinsKept || now.Sub(p.Made) > pinLife {
				errs = append(errs, w.opt.Store.Unpin(ctx, tenant, p.Name))
			}
		}
	}
	return errors.Join(errs...)
}
