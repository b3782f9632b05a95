package rule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
)

// Options configure a Watcher. Store and Events are required.
type Options struct {
	Store  store.Store
	Events *event.Log
	Tenant string // of rules and actions that name none

	// Add stores profiles of captures.
	Add func(ctx context.Context, tenant string, uploads []*store.Upload) ([]store.Outcome, error)

	// Ask fetches more profiles from a process; nil if the server does not scrape.
	Ask func(ctx context.Context, of scrape.Deeper) (*scrape.Deep, error)

	// Keep stores a recording and returns its ID; nil if there is no shelf.
	Keep func(ctx context.Context, tenant, name, file string) (id string, err error)

	Version string // of hone, for recordings
	Log     *slog.Logger
	Now     func() time.Time // nil is time.Now

	wait func(ctx context.Context, d time.Duration) // for tests; nil waits
}

// A Watcher checks the rules of services.
type Watcher struct {
	opt  Options
	news chan news // of the log, for actions

	mu      sync.Mutex
	cfg     *Config
	last    map[string]measured // by rule and what it is measured of
	without map[string]*without // by rule
	senders map[*Action]*sender
	running *sync.WaitGroup // of Run; nil before and after
	ctx     context.Context

	states  map[string]*state  // of rules
	today   counts             // events of rules and of tenants, and captures of services
	began   time.Time          // when the watcher was made
	next    int                // measurement with which the next round begins, where the last could not do all
	streams map[string]*stream // processes
	since   map[string]time.Time
	wake    context.CancelFunc // ends the pause between rounds; guarded by mu
	pinned  time.Time          // when old pins were removed

	telling  sync.Mutex // held by Told
	captures captures
}

// news is what became of an event.
type news struct{ was, is *event.Event }

const mostNews = 1000

// New returns a Watcher. cfg may be nil.
func New(cfg *Config, o Options) *Watcher {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.wait == nil {
		o.wait = func(ctx context.Context, d time.Duration) {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
			case <-t.C:
			}
		}
	}
	w := &Watcher{
		opt: o, news: make(chan news, mostNews), states: map[string]*state{},
		streams: map[string]*stream{}, since: map[string]time.Time{}, last: map[string]measured{}, without: map[string]*without{},
	}
	w.captures.last, w.began = map[string]time.Time{}, o.Now()
	w.Reload(cfg)
	o.Events.Follow(func(was, is *event.Event) {
		select {
		case w.news <- news{was, is}:
		default:
			o.Log.Warn("nothing is done for an event", "id", is.ID, "why", "too many came at once")
		}
	})
	return w
}

// Reload replaces the configuration. Rules with the same name keep their state.
func (w *Watcher) Reload(cfg *Config) {
	own := &Config{}
	if cfg != nil {
		for _, r := range cfg.Rules {
			one := *r
			one.Tenant = cmp.Or(r.Tenant, w.opt.Tenant)
			own.Rules = append(own.Rules, &one)
		}
		for _, a := range cfg.Actions {
			one := *a
			one.Tenant = cmp.Or(a.Tenant, w.opt.Tenant)
			own.Actions = append(own.Actions, &one)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wake != nil {
		w.wake() // a rule that is broken now is told now
	}
	for _, s := range w.senders {
		close(s.queue) // it sends what it has, and ends
	}
	w.cfg, w.senders = own, map[*Action]*sender{}
	for _, a := range own.Actions {
		if a.Hook != nil {
			s := w.newSender(a.Hook)
			w.senders[a] = s
			if w.running != nil {
				w.running.Go(func() { s.run(w.ctx) })
			}
		}
	}
}

// config returns the configuration that counts now.
func (w *Watcher) config() *Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cfg
}

const (
	every = time.Minute
	// mostRound is how long a round may take, and mostMerges how many times profiles are merged in it.
	mostRound  = 50 * time.Second
	mostMerges = 100
	// mostSubjects is of how many services and versions a rule is measured.
	mostSubjects = 1000
)

// Run checks rules each minute, and acts on events, until ctx ends. It can be called once.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	w.mu.Lock()
	w.ctx, w.running = ctx, &running
	for _, s := range w.senders {
		running.Go(func() { s.run(ctx) })
	}
	w.mu.Unlock()
	running.Go(func() { w.act(ctx) })
	w.takeUp(w.opt.Now())
	for ctx.Err() == nil {
		pause, wake := context.WithCancel(ctx)
		w.mu.Lock()
		w.wake = wake
		w.mu.Unlock()
		w.round(ctx, w.opt.Now())
		w.opt.wait(pause, every)
		wake()
	}
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
	running.Wait()
}

// round looks once.
func (w *Watcher) round(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, mostRound)
	defer cancel()
	failed := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			w.opt.Log.Error(what, "err", err)
		}
	}
	failed("looking for restarts", w.restarts(ctx, now))
	failed("looking at rules", w.rules(ctx, now))
	failed("removing old pins", w.oldPins(ctx, now))
}

// A state is the state of a rule for a subject.
type state struct {
	rule    string
	tenant  string
	of      subject
	process store.Labels // that the event is of, if it is of one
	since   time.Time    // since when it is broken; zero while it is not
	last    time.Time    // when it was broken last
	event   string       // ID of the event that goes on
	most    float64      // the largest value while it goes on
	ended   time.Time    // when the last event was over
	looked  time.Time
	seen    time.Time // when there was something to measure
	usual   float64
	usualAt time.Time
}

// counts says how many there were today of what a key names.
type counts struct {
	mu  sync.Mutex
	day time.Time
	of  map[string]int
}

// more reports whether there can be one more, and counts it.
func (c *counts) more(key string, now time.Time, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if today := now.UTC().Truncate(day); !c.day.Equal(today) {
		c.day, c.of = today, map[string]int{}
	}
	if c.of[key] >= most {
		return false
	}
	c.of[key]++
	return true
}

func keyOf(parts ...string) string { return strings.Join(parts, "\x00") }

// idOf makes the ID of an event from what it is about.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(keyOf(parts...)))
	return hex.EncodeToString(sum[:12])
}

const (
	endsAfter   = 5 * time.Minute  // that a rule is not broken any more, until its event is over
	silentAfter = 30 * time.Minute // that a whole service sends nothing, which may be because hone cannot reach it
	usualGaps   = 3                // times as long as it usually took until the next profile of a version or process
	usualFresh  = 30 * time.Minute
)

// takeUp goes on with events of rules that were not over when the server ended.
func (w *Watcher) takeUp(now time.Time) {
	tenants := map[string]bool{}
	for _, r := range w.config().Rules {
		tenants[r.Tenant] = true
	}
	for tenant := range tenants {
		list, _ := w.opt.Events.List(event.Filter{Tenant: tenant, Kinds: []event.Kind{event.Broken}, From: now.Add(-7 * day)})
		for _, e := range list {
			if e.Rule == nil {
				continue
			}
			of := subjectOf(e.Rule.Metric, e.Service, e.Labels)
			key := keyOf(tenant, e.Rule.Name, of.service, of.version)
			if w.states[key] != nil { // a newer one
				continue
			}
			s := &state{rule: e.Rule.Name, tenant: tenant, of: of, ended: e.Ended, looked: now}
			if e.Ended.IsZero() {
				s.since, s.last, s.event, s.process = e.Time, now, e.ID, e.Labels
			}
			w.states[key] = s
		}
	}
}

// A measurement is one rule for one service.
type measurement struct {
	rule *Rule
	of   subject
}

// rules measures, as much as a round can, and begins and ends events.
func (w *Watcher) rules(ctx context.Context, now time.Time) error {
	cfg := w.config()
	var all []measurement
	known := map[string][]store.Series{}
	var errs []error
	for _, r := range cfg.Rules {
		kind := kindOf(r.Metric)
		q := store.Query{Tenant: r.Tenant, Selector: r.Selector, Kind: kind, From: now.Add(-time.Duration(r.Over)), To: now}
		key := keyOf(r.Tenant, r.Selector.String(), kind, r.Over.String())
		series, ok := known[key]
		if !ok {
			var err error
			if series, err = w.opt.Store.Series(ctx, q); err != nil {
				errs = append(errs, err)
				continue
			}
			known[key] = series
		}
		if err := w.heard(ctx, r, len(series) > 0, now); err != nil {
			errs = append(errs, err)
		}
		var of []subject
		for _, s := range series {
			one := subjectOf(r.Metric, s.Service, s.Labels)
			if len(of) < mostSubjects && !slices.Contains(of, one) {
				of = append(of, one)
			}
		}
		for _, one := range of {
			all = append(all, measurement{r, one})
		}
	}
	m := &meter{store: w.opt.Store}
	done := 0
	for n := range all {
		if m.merges >= mostMerges || ctx.Err() != nil {
			break
		}
		one := all[(w.next+n)%len(all)]
		if err := w.look(ctx, m, one.rule, one.of, now); err != nil {
			errs = append(errs, err)
		}
		done++
	}
	if w.next += done; done == len(all) {
		w.next = 0
	}
	return errors.Join(append(errs, w.settle(ctx, cfg, now))...)
}

// kindOf returns the kind of the profiles that a rule measures.
func kindOf(metric string) string {
	switch metric {
	case report.RuleHeap, report.RuleMemory:
		return recording.Heap
	case report.RuleRSS:
		return recording.Process
	case report.RuleGoroutines:
		return recording.Goroutine
	}
	return recording.CPU
}

// subjectOf returns what a rule measures of profiles with these labels.
func subjectOf(metric, service string, labels store.Labels) subject {
	if metric == report.RuleShare || metric == report.RuleGC {
		return subject{service: service, version: labels.Get(versionLabel)}
	}
	return subject{service: service, every: true}
}

// look measures one rule of one service.
func (w *Watcher) look(ctx context.Context, m *meter, r *Rule, of subject, now time.Time) error {
	key := keyOf(r.Tenant, r.Name, of.service, of.version)
	s := w.states[key]
	if s == nil {
		s = &state{rule: r.Name, tenant: r.Tenant, of: of}
		w.states[key] = s
	}
	s.looked = now
	got, err := m.measure(ctx, r, of, now)
	if err == nil && r.Grown {
		before := now
		if s.event != "" {
			before = s.since // what is broken for long must not become usual
		}
		if s.usualAt.IsZero() || now.Sub(s.usualAt) >= usualFresh && s.event == "" {
			usual, err := m.usual(ctx, r, of, before)
			if err != nil && err != errNothing {
				return err
			}
			s.usual, s.usualAt = usual, now
		}
		if s.usual <= 0 {
			err = errNothing
		}
		got.v /= s.usual
	}
	if err == errNothing {
		return nil // settle ends what is gone
	}
	if err != nil {
		return err
	}
	s.seen = now
	w.mu.Lock()
	w.last[key] = measured{Measured{r.Tenant, r.Name, of.service, of.version, got.v}, now}
	w.mu.Unlock()
	if got.v <= r.Above {
		if s.event == "" {
			s.since = time.Time{}
			return nil
		}
		last, gone, err := w.gone(ctx, s, r, now)
		if err != nil {
			return err
		}
		if gone {
			return w.end(s, last, true)
		}
		if now.Sub(s.last) >= min(endsAfter, time.Duration(r.For)) {
			return w.end(s, s.last, false)
		}
		return nil
	}
	if s.since.IsZero() || s.event == "" && now.Sub(s.last) > silentAfter {
		s.since = now
	}
	s.last = now
	s.most = max(s.most, got.v)
	if s.event != "" || now.Sub(s.since) < time.Duration(r.For) || now.Sub(s.ended) < time.Duration(r.Cooldown) {
		return nil
	}
	if !w.today.more(keyOf("rule", r.Tenant, r.Name), now, r.Daily) {
		return nil
	}
	e := event.Event{
		ID: idOf("rule", r.Tenant, r.Name, of.service, of.version, s.since.UTC().Format(time.RFC3339Nano)), Tenant: r.Tenant, Kind: event.Broken,
		Service: of.service, Labels: got.process, Time: s.since, Noticed: now,
		Rule: &event.Rule{Name: r.Name, Metric: r.Metric, Function: got.function, Value: got.v, Limit: r.Above, Unit: metricOf(r.Metric).unit, Grown: r.Grown},
	}
	if of.version != "" {
		e.Labels = got.process.With(store.Labels{{Name: versionLabel, Value: of.version}})
	}
	s.event, s.most, s.process = e.ID, got.v, got.process
	return w.opt.Events.Add(e)
}

// Measured is the last value of a rule for a service or version: a share or growth as a factor, otherwise in the unit of its condition.
type Measured struct {
	Tenant, Rule, Service, Version string
	Value                          float64
}

type measured struct {
	Measured
	at time.Time
}

// Measured returns the last values of rules, sorted.
func (w *Watcher) Measured() []Measured {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Measured, 0, len(w.last))
	for _, key := range slices.Sorted(maps.Keys(w.last)) {
		out = append(out, w.last[key].Measured)
	}
	return out
}

// end ends the event of a rule. Its subject may be gone.
func (w *Watcher) end(s *state, when time.Time, gone bool) error {
	id, most := s.event, s.most
	s.event, s.process, s.ended, s.since, s.most = "", nil, when, time.Time{}, 0
	return w.opt.Events.Update(s.tenant, id, func(e *event.Event) {
		e.Ended = when
		if e.Rule == nil {
			return
		}
		rule := *e.Rule
		rule.Gone = gone
		if most > rule.Value {
			rule.Most = most
		}
		e.Rule = &rule
	})
}

// gone reports whether the version, process or service of an event sends profiles no more, and when the last one was. That decides, and not when this server
// began: an event that goes on over its restart would never end where it is restarted often.
func (w *Watcher) gone(ctx context.Context, s *state, r *Rule, now time.Time) (last time.Time, gone bool, err error) {
	if now.Sub(w.began) < endsAfter { // it may have been away, and processes come one after the other
		return time.Time{}, false, nil
	}
	of := store.Service(s.of.service)
	q := store.Query{
		Tenant: r.Tenant, Selector: slices.Concat(r.Selector, of), Kind: kindOf(r.Metric), From: s.since.Add(-time.Duration(r.Over)), To: now.Add(time.Minute),
	}
	all, err := w.opt.Store.Series(ctx, q)
	if err != nil {
		return time.Time{}, false, err
	}
	of = s.of.selector()
	for _, name := range event.ProcessLabels {
		if v := s.process.Get(name); v != "" {
			of = append(of, store.Matcher{Name: name, Op: store.Is, Value: v})
		}
	}
	q.Selector = slices.Concat(r.Selector, of)
	own, err := w.opt.Store.Series(ctx, q)
	if err != nil {
		return time.Time{}, false, err
	}
	var first, other time.Time
	profiles := 0
	for _, one := range own {
		if first.IsZero() || one.First.Before(first) {
			first = one.First
		}
		last = later(last, one.Last)
		profiles += one.Profiles
	}
	for _, one := range all {
		other = later(other, one.Last)
	}
	// Where others of the service send profiles, and this one did so often, it is soon known that it is gone.
	silent := silentAfter
	if other.After(last) && profiles > 1 {
		silent = min(silent, max(endsAfter, usualGaps*last.Sub(first)/time.Duration(profiles-1)))
	}
	if profiles == 0 {
		last = s.last
	}
	return later(last, s.since), now.Sub(last) >= silent, nil
}

// settle ends events of rules that are gone, and of what says nothing any more, and forgets these.
func (w *Watcher) settle(ctx context.Context, cfg *Config, now time.Time) error {
	there := func(tenant, name string) *Rule {
		i := slices.IndexFunc(cfg.Rules, func(r *Rule) bool { return r.Name == name && r.Tenant == tenant })
		if i < 0 {
			return nil
		}
		return cfg.Rules[i]
	}
	w.mu.Lock()
	w.forgetWithout(cfg)
	maps.DeleteFunc(w.last, func(_ string, m measured) bool { return now.Sub(m.at) > silentAfter || there(m.Tenant, m.Rule) == nil })
	w.mu.Unlock()
	var errs []error
	for key, s := range w.states {
		r := there(s.tenant, s.rule)
		switch {
		case s.event == "":
		case r == nil:
			errs = append(errs, w.end(s, later(s.last, s.since), false))
		case now.Sub(s.seen) >= 2*every: // a round may not do all
			last, gone, err := w.gone(ctx, s, r, now)
			if err == nil && gone {
				err = w.end(s, last, true)
			}
			errs = append(errs, err)
		}
		if s.event == "" && (r == nil || now.Sub(s.looked) > 8*day) { // longer than any cooldown
			delete(w.states, key)
		}
	}
	return errors.Join(errs...)
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
