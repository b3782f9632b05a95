package load

import (
	"context"
	"encoding/base64"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// A run is a plan while it is carried out. All its times are since start.
type run struct {
	plan     Plan
	requests []request
	where    *place
	schedule *schedule // nil in a closed loop
	start    time.Time

	next    atomic.Int64 // requests that were given out…
	counted atomic.Int64 // …and of these, in a closed loop with a Number, those that count
	over    atomic.Bool  // no more are given out
	cutting atomic.Bool  // what is under way is not waited for any longer
	pace    sync.Mutex   // whoever waits for the next request to be due
	heard   atomic.Int64 // when something came, with Plan.Stalled
	length  atomic.Int64 // of the first body, and 1; 0 is not known yet
	first   sync.Once

	tallies []*tally
	each    sync.Mutex // for Plan.Each
	rows    []latency.Row
	second  moment // of all tallies, to make a row of; it is kept since a histogram is large
	health  latency.Health
	stopped string
	stopAt  time.Duration

	sampled, samples int64 // requests in flight, to get the mean of

	marks     []latency.Mark
	markEvery time.Duration

	ended chan struct{} // closed when over and nothing is under way
	cut   func()        // ends what is under way
}

// Run carries out a plan. When ctx ends, so does the run, and the log is of what was done. An error means that it could
// not begin.
func Run(ctx context.Context, p Plan) (*latency.Log, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &run{plan: p, ended: make(chan struct{})}
	if r.requests, err = p.prepare(); err != nil {
		return nil, err
	}
	if err := checkFiles(p.Conns); err != nil {
		return nil, err
	}
	if r.where, err = findPlace(ctx, &p); err != nil {
		return nil, err
	}
	r.schedule = scheduleOf(&p)
	engine, threads := r.portable, min(runtime.GOMAXPROCS(0), p.Conns)
	switch p.Engine {
	case Epoll:
		engine, threads = r.epoll, p.Threads
	case NetHTTP:
		engine = r.netHTTP
	}
	for range threads {
		r.tallies = append(r.tallies, newTally(r))
	}
	inner, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	r.cut = func() {
		r.cutting.Store(true)
		cut()
	}
	r.start = time.Now()
	watched := make(chan struct{})
	go func() {
		r.watch(ctx)
		close(watched)
	}()
	err = engine(inner)
	close(r.ended)
	<-watched
	if err != nil {
		return nil, err
	}
	return r.log(), nil
}

// now returns the time since the start.
func (r *run) now() time.Duration { return time.Since(r.start) }

// hear notes that something came.
func (r *run) hear() {
	if r.plan.Stalled {
		r.heard.Store(int64(r.now()))
	}
}

// expires returns when a request that began some time ago has taken too long.
func (r *run) expires(began time.Duration) time.Duration {
	if r.plan.Stalled {
		began = max(began, time.Duration(r.heard.Load()))
	}
	return began + r.plan.Timeout
}

// end returns when the last request may be due.
func (r *run) end() time.Duration {
	if r.schedule != nil {
		last := r.schedule.parts[len(r.schedule.parts)-1]
		end := last.begin + last.For
		if r.plan.Number > 0 {
			end = min(end, r.schedule.at(r.schedule.total))
		}
		return end
	}
	if r.plan.Duration > 0 {
		return r.plan.Warmup + r.plan.Duration
	}
	return r.plan.Warmup + MaxDuration
}

// A ticket allows to send a request.
type ticket struct {
	req     *request
	due     time.Duration // when it is to be sent; in a closed loop, at once
	counts  bool          // it is not of the warm-up
	waiting bool          // it was not due yet when it was given out
}

// take gives out a ticket, or none when the run is over. It does not wait.
func (r *run) take(now time.Duration) (ticket, bool) {
	if r.over.Load() {
		return ticket{}, false
	}
	t := ticket{due: now}
	var i int64
	if s := r.schedule; s != nil {
		if i = r.next.Add(1) - 1; i >= s.total {
			r.next.Add(-1)
			return ticket{}, false
		}
		t.due = s.at(i)
		t.waiting = t.due > now
		t.counts = t.due >= r.plan.Warmup
	} else {
		t.counts = now >= r.plan.Warmup
		if now >= r.end() || t.counts && r.plan.Number > 0 && r.counted.Add(1) > r.plan.Number {
			return ticket{}, false
		}
		i = r.next.Add(1) - 1
	}
	t.req = &r.requests[0]
	if n := int64(len(r.requests)); n > 1 {
		t.req = &r.requests[i%n]
	}
	return t, true
}

// ticket takes the ticket for the next request, and waits until it is due. There is none when the run is over.
func (r *run) ticket(ctx context.Context) (t ticket, ok bool) {
	if r.schedule == nil {
		t, ok = r.take(r.now())
	} else {
		t, ok = r.wait(ctx)
	}
	return t, ok && ctx.Err() == nil
}

// wait takes a ticket and waits until it is due. One waits at a time; the others wait for that one, since their requests
// are due later.
func (r *run) wait(ctx context.Context) (ticket, bool) {
	r.pace.Lock()
	defer r.pace.Unlock()
	t, ok := r.take(r.now())
	if ok && t.waiting && !sleepUntil(ctx, r.start.Add(t.due)) {
		r.next.Add(-1) // it was not used
		return ticket{}, false
	}
	return t, ok
}

// stop ends the giving out of requests.
func (r *run) stop(why string) {
	if r.over.CompareAndSwap(false, true) {
		r.stopped, r.stopAt = why, r.now()
	}
}

// Interrupted is why a run ended before its time when its context did.
const Interrupted = "interrupted"

// watch ends the run in time, and looks at it once a second, until all is over.
func (r *run) watch(ctx context.Context) {
	const glance = 20 * time.Millisecond
	ticks := time.NewTicker(glance)
	defer ticks.Stop()
	began, counting := usageNow(), r.plan.Warmup == 0
	from := r.plan.Warmup
	cutAt := r.end() + r.plan.Grace
	interrupted := ctx.Done()
	for {
		stop := false
		select {
		case <-interrupted:
			interrupted = nil
			r.stop(Interrupted)
			r.cut()
			continue
		case <-r.ended:
			stop = true
		case <-ticks.C:
		}
		now := r.now()
		if r.plan.Marks && !r.over.Load() && now <= r.end() {
			r.mark(now)
		}
		switch {
		case now < r.plan.Warmup && !stop:
			if r.hopeless(now) {
				r.stop("nothing could connect")
			}
			continue
		case !counting:
			began, counting = usageNow(), true
		}
		r.glance(now)
		if now >= cutAt {
			r.stop("")
			r.cut()
		}
		if r.hopeless(now) {
			r.stop("nothing could connect")
		}
		if now-from >= time.Second || stop && now > from {
			r.row(from, now)
			from = now
		}
		if stop {
			r.used(began)
			return
		}
	}
}

// glance looks how many requests are under way and how many wait for a connection.
func (r *run) glance(now time.Duration) {
	busy := r.inFlight()
	r.sampled += busy
	r.samples++
	if waiting := r.backlog(now); waiting > r.health.Backlog {
		r.health.Backlog, r.health.Idle = waiting, max(0, int64(r.plan.Conns)-busy)
	}
}

// mark notes how many requests were answered by now. When there are many marks, every second one is dropped.
func (r *run) mark(now time.Duration) {
	if n := len(r.marks); n > 0 && now < r.marks[n-1].At+max(r.markEvery, 1) {
		return
	}
	if len(r.marks) == latency.MaxMarks {
		for i := range latency.MaxMarks / 2 {
			r.marks[i] = r.marks[2*i+1]
		}
		r.marks = r.marks[:latency.MaxMarks/2]
		r.markEvery = max(2*r.markEvery, 40*time.Millisecond)
	}
	sum := int64(0)
	for _, t := range r.tallies {
		t.Lock()
		sum += t.warm.answered + t.count.answered
		t.Unlock()
	}
	r.marks = append(r.marks, latency.Mark{At: now, Answered: sum})
}

func (r *run) inFlight() int64 {
	sum := int64(0)
	for _, t := range r.tallies {
		t.Lock()
		sum += t.busy
		t.Unlock()
	}
	return sum
}

// backlog returns how many requests are due and were not given out.
func (r *run) backlog(now time.Duration) int64 {
	if r.schedule == nil {
		return 0
	}
	return max(0, min(r.schedule.count(now), r.schedule.total)-r.next.Load())
}

// hopeless reports whether nothing could connect for a second, or for some where it is known how many requests there will be: then
// it is likely over before that, with all of them counted. Whoever says what ends a run is not asked twice.
func (r *run) hopeless(now time.Duration) bool {
	if r.plan.StopAt != nil || now < time.Second || r.plan.Number > 0 && now < 5*time.Second {
		return false
	}
	tried := int64(0)
	for _, t := range r.tallies {
		t.Lock()
		opened, failed := t.warm.opened+t.count.opened, t.warm.failedBefore()+t.count.failedBefore()
		t.Unlock()
		if opened > 0 {
			return false
		}
		tried += failed
	}
	return tried > 0
}

// row ends a part of the run, which is about a second long.
func (r *run) row(from, to time.Duration) {
	sum := &r.second
	sum.reset()
	row := latency.Row{From: from - r.plan.Warmup, For: to - from}
	for _, t := range r.tallies {
		t.Lock()
		sum.add(&t.moment)
		t.moment.reset()
		row.InFlight += t.busy
		t.Unlock()
	}
	row.Sent, row.Answered, row.Good, row.Errors, row.Received = sum.sent, sum.answered, sum.good, sum.errors, sum.received
	row.Backlog = r.backlog(to)
	h := &sum.times
	row.Mean, row.P50, row.P90, row.P99, row.Max = h.Mean(), h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Max()
	if len(r.rows) < latency.MaxRows {
		r.rows = append(r.rows, row)
	}
	if r.plan.Row != nil {
		r.plan.Row(row)
	}
}

// log puts together what was counted.
func (r *run) log() *latency.Log {
	p := &r.plan
	l := &latency.Log{
		Target: p.Targets[0].URL.Redacted(), Engine: p.Engine, Conns: p.Conns, Rate: p.Rate, Stages: p.Stages,
		Number: p.Number, Duration: p.Duration, Warmup: p.Warmup, Timeout: p.Timeout, Stopped: r.stopped, TLS: r.where.tls,
		Method: p.Targets[0].method(), Rows: r.rows, Health: r.health, Notes: r.where.notes,
		Marks: r.marks, Began: r.start,
	}
	if n := len(p.Targets); n > 1 {
		l.Targets = n
	}
	begin, end := time.Duration(-1), time.Duration(0)
	for _, t := range r.tallies {
		t.Lock()
		t.count.addTo(&l.Counts)
		t.warm.addTo(&l.Warm)
		l.Service.Merge(&t.service)
		for _, a := range t.slowest {
			l.Slowest = latency.AddSlow(l.Slowest, a)
		}
		l.Response.Merge(&t.response)
		l.Cut.Merge(&t.cut)
		l.Connect.Merge(&t.connect)
		l.Health.Late.Merge(&t.late)
		if t.begin >= 0 && (begin < 0 || t.begin < begin) {
			begin = t.begin
		}
		end = max(end, t.end)
		t.Unlock()
	}
	if begin >= 0 {
		l.Took = max(end-begin, 0)
	}
	l.Health.Threads = len(r.tallies)
	if r.samples > 0 {
		l.Health.InFlight = float64(r.sampled) / float64(r.samples)
	}
	l.Asked = l.Sent + l.Counts.FailedBefore()
	if s := r.schedule; s != nil {
		due := s.total
		if r.stopped != "" {
			due = min(due, s.count(r.stopAt))
		}
		l.Unsent = max(0, due-s.count(p.Warmup)-l.Asked)
		// They took at least until now. Of very many it is enough to look at some.
		now, step := r.now(), l.Unsent/100_000+1
		for i := due - l.Unsent; i < due; i += step {
			l.Cut.AddN(max(0, now-s.at(i)), min(step, due-i))
		}
	} else if p.Number > 0 {
		l.Unsent = max(0, p.Number-l.Asked)
	}
	l.Asked += l.Unsent
	return l
}

// BasicAuth returns the value of the field Authorization for a user and a password.
func BasicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
