package scrape

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// How much less often hone scrapes a target that answers slowly or with errors.
const (
	slowShare    = 10 // answers may take 1/slowShare of the time, in addition to the duration of profiles
	mostStretch  = 10
	mostDoubling = 3 // times
)

// A task scrapes one target at intervals.
type task struct {
	*target
	s      *Scraper
	client *client
	gate   *gate
	at     time.Duration // within each interval
	stop   context.CancelFunc

	mu       sync.Mutex
	state    ProfileStatus
	overhead time.Duration // of the last attempt, in addition to the duration of the profile
	errors   int           // consecutive errors
	warned   bool          // that it fails is in the log
}

// after returns the time of the next scrape after now.
func (t *task) after(now time.Time) time.Time {
	n := now.UnixNano()
	into := (n - int64(t.at)) % int64(t.interval)
	return time.Unix(0, n-into+int64(t.interval))
}

func (t *task) run(ctx context.Context) {
	next := t.after(time.Now())
	stretch := 1
	for {
		t.mu.Lock()
		t.state.Next, t.state.Every = next, time.Duration(stretch)*t.interval
		t.mu.Unlock()
		// Scraping must go on after the clock was set back.
		sleep(ctx, min(time.Until(next), time.Duration(stretch)*t.interval))
		if ctx.Err() != nil {
			return
		}
		t.round(ctx, next)
		if ctx.Err() != nil {
			return
		}
		stretch = t.stretch()
		wanted := next.Add(time.Duration(stretch) * t.interval)
		if now := time.Now(); wanted.After(now) && wanted.Sub(now) <= time.Duration(stretch)*t.interval {
			next = wanted
		} else {
			next = t.after(now)
		}
	}
}

// stretch returns how many intervals there are between two scrapes.
func (t *task) stretch() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	slow := int((slowShare*t.overhead + t.interval - 1) / t.interval)
	failing := 1 << min(max(0, t.errors-1), mostDoubling)
	return max(1, min(slow, mostStretch), failing)
}

// round tries until it gets a profile or the next round begins.
func (t *task) round(ctx context.Context, begun time.Time) {
	end := begun.Add(t.interval)
	for try := 0; ; try++ {
		busy, ok := t.once(ctx, end)
		if !ok {
			t.mu.Lock()
			t.state.Missed++
			t.mu.Unlock()
			return
		}
		if !busy {
			return
		}
		wait := t.backOff(try)
		if ends := time.Now().Add(wait + time.Duration(t.seconds)*time.Second); ends.After(end) {
			return
		}
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return
		}
	}
}

// backOff returns how long to wait while another client takes a CPU profile. It is random, so that those who wait for the same process do not retry at
// the same time.
func (t *task) backOff(try int) time.Duration {
	d := max(time.Second, time.Duration(t.seconds)*time.Second/2) << min(try, 6)
	return d + time.Duration(uint64(t.at)%uint64(d))
}

// once scrapes once, when it is its turn. It is not ok if that is not before end.
func (t *task) once(ctx context.Context, end time.Time) (busy, ok bool) {
	if t.s.queue.behind() {
		return false, false
	}
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	// For deltas the target only waits, so they can run at the same time.
	if t.kind == cpuKind || t.seconds == 0 {
		if !enter(waiting, t.gate.open) {
			return false, false
		}
		defer leave(t.gate.open)
	}
	if !enter(waiting, t.s.slots) {
		return false, false
	}
	defer leave(t.s.slots)
	return t.ask(ctx), true
}

func enter(ctx context.Context, slots chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func leave(slots chan struct{}) { <-slots }

// ask scrapes once, and reports whether another client is taking a CPU profile.
func (t *task) ask(ctx context.Context) (busy bool) {
	t.mu.Lock()
	t.state.Running = true
	t.mu.Unlock()
	start := time.Now()
	asked := time.Duration(t.seconds) * time.Second
	within, cancel := context.WithTimeout(ctx, asked+t.timeout)
	r := request{most: t.s.opt.Limits.Bytes, reserve: t.s.reserve}
	if t.metrics != nil {
		r.most, r.accept = min(r.most, mostMetrics), "text/plain;version=0.0.4"
	}
	raw, err := t.client.get(within, t.url, r)
	cancel()
	took := time.Since(start)
	one := &parcel{tenant: t.tenant, packed: int64(cap(raw)), from: t, since: start}
	size := int64(len(raw))
	if err == nil {
		one.upload, one.parsed, err = t.upload(ctx, raw, start, took)
	}
	if ctx.Err() != nil {
		t.s.release(one.packed + one.parsed)
		return false
	}

	t.mu.Lock()
	st := &t.state
	st.Running, st.Last, st.Took = false, start, took
	t.overhead = max(0, took-asked)
	known := textError(err)
	isError := known != nil && known.Cause == CauseStatus
	busy = known != nil && known.Cause == CauseBusy
	if st.Err = known; known == nil {
		st.Profiles++
		st.Bytes, st.Good, st.Health, st.Since = size, start, Up, time.Time{}
	} else {
		st.Health = Down
		if st.Since.IsZero() {
			st.Since = start
		}
		if busy {
			st.Busy++
		} else {
			st.Failures++
		}
	}
	if isError {
		t.errors++
	} else {
		t.errors = 0
	}
	warned, fails := t.warned, st.fails()
	t.warned = fails || warned && st.Health == Down
	t.mu.Unlock()

	switch {
	case fails && !warned:
		t.s.opt.Log.WarnContext(ctx, "scrape failed", "job", t.job, "target", t.base, "kind", t.kind, "err", err)
	case known == nil && warned:
		t.s.opt.Log.InfoContext(ctx, "scrape works again", "job", t.job, "target", t.base, "kind", t.kind)
	}
	if one.upload == nil {
		t.s.release(one.packed + one.parsed)
	} else {
		t.s.queue.add(one)
	}
	return busy
}

// refused records the error of the store for a profile.
func (t *task) refused(err *Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Refused = err
}

// upload makes the upload for the store.
func (t *task) upload(ctx context.Context, raw []byte, start time.Time, took time.Duration) (*store.Upload, int64, error) {
	if !enter(ctx, t.s.parsed) {
		return nil, 0, ctx.Err()
	}
	defer leave(t.s.parsed)
	p, unpacked, err := t.parse(&raw, start)
	if err != nil {
		return nil, unpacked, err
	}
	if err := store.CheckKind(t.kind, p.SampleTypes); err != nil {
		return nil, unpacked, &Error{Cause: CauseFormat, Err: err}
	}
	u := &store.Upload{
		Service: t.service, Kind: t.kind, Labels: t.labels, Row: t.row,
		Start: start.Round(0), End: start.Round(0), Raw: raw, Parsed: p,
	}
	if t.seconds > 0 {
		// The clock of the target may be wrong, but the duration that it reports is the most exact.
		lasted := time.Duration(p.DurationNanos)
		if lasted <= 0 || lasted > took {
			lasted = min(took, time.Duration(t.seconds)*time.Second)
		}
		u.End = u.Start.Add(lasted)
	}
	u.Counters = t.seconds == 0 && counts(p)
	if t.delta {
		if asked := time.Duration(t.seconds) * time.Second; took < asked-asked/10 {
			return nil, unpacked, &Error{Cause: CauseFormat, Err: errors.New("the server answered at once, so this is not a delta profile: Go before 1.15 has none")}
		}
		if err := onlyFlows(u); err != nil {
			return nil, unpacked, err
		}
	}
	return u, unpacked, nil
}

// parse reads an answer. For metrics, raw becomes their profile.
func (t *task) parse(raw *[]byte, start time.Time) (*profile.Profile, int64, error) {
	if t.metrics == nil {
		return parse(*raw, unpackedShare*t.s.opt.Limits.Bytes, t.s.reserve)
	}
	p, err := t.metrics.profile(*raw, start)
	if err != nil {
		return nil, 0, err
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, 0, err
	}
	*raw = b.Bytes()
	return p, 0, nil
}

// counts reports whether a profile has counters.
func counts(p *profile.Profile) bool {
	for _, st := range p.SampleTypes {
		if store.NatureOf("", st.Type, true) == store.Counter {
			return true
		}
	}
	return false
}

// onlyFlows removes values of a moment, such as live memory, from a delta: net/http/pprof subtracts the previous value from these, too, and the
// difference is not an amount of memory.
func onlyFlows(u *store.Upload) error {
	var keep []string
	for _, st := range u.Parsed.SampleTypes {
		if store.NatureOf(u.Kind, st.Type, false) != store.Level {
			keep = append(keep, st.Type)
		}
	}
	if len(keep) == len(u.Parsed.SampleTypes) {
		return nil
	}
	if len(keep) == 0 {
		return &Error{Cause: CauseFormat, Err: errors.New("this profile has no values that can be added up, so it has no delta")}
	}
	p := u.Parsed.WithTypes(keep).MapValues(func(_ int, v int64) int64 { return v })
	var raw bytes.Buffer
	if err := p.Write(&raw); err != nil {
		return err
	}
	u.Parsed, u.Raw = p, raw.Bytes()
	return nil
}
