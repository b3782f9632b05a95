package load

import (
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/latency"
)

// A tally counts. Each thread, or each core, has its own, so that they do not wait for each other; whoever calls its
// methods has locked it.
type tally struct {
	sync.Mutex
	r *run

	count, warm counts
	service     latency.Histogram
	response    latency.Histogram
	cut         latency.Histogram
	connect     latency.Histogram
	late        latency.Histogram
	slowest     []latency.Answer
	begin, end  time.Duration // of the first request and of the last answer that count; begin is -1 before

	busy   int64 // requests under way, those of the warm-up, too
	moment moment
	_      [64]byte // keeps the next one off this cache line
}

func newTally(r *run) *tally { return &tally{r: r, begin: -1} }

// counts are latency.Counts in a form that costs nothing to count in.
type counts struct {
	sent, answered, good, unfinished    int64
	opened, received, body, wrote       int64
	status                              [1000]int64
	errors                              [nCauses]int64
	otherStatus, otherLength, otherBody int64
}

// nCauses is how many causes there are.
const nCauses = 15

// A cause is the place of a latency.Cause in latency.Causes.
type cause int

const (
	causeResolve cause = iota
	causeNoPorts
	causeNoFiles
	causeRefused
	causeDial
	causeConnectTimeout
	causeTLS
	causeReset
	causeClosedBefore
	causeClosedInside
	causeWaitTimeout
	causeReadTimeout
	causeMalformed
	causeTooLarge
	causeOther
)

// failedBefore returns how many requests were not sent because something went wrong.
func (c *counts) failedBefore() int64 {
	sum := int64(0)
	for i := causeResolve; i <= causeTLS; i++ {
		sum += c.errors[i]
	}
	return sum
}

func (c *counts) addTo(out *latency.Counts) {
	one := latency.Counts{
		Sent: c.sent, Answered: c.answered, Good: c.good, Unfinished: c.unfinished, Opened: c.opened, Received: c.received,
		Body: c.body, Wrote: c.wrote,
		Status: map[int]int64{}, Errors: map[latency.Cause]int64{}, Unexpected: map[string]int64{},
	}
	for s, n := range c.status {
		if n > 0 {
			one.Status[s] = n
		}
	}
	for i, n := range c.errors {
		if n > 0 {
			one.Errors[latency.Causes[i]] = n
		}
	}
	for what, n := range map[string]int64{latency.OtherStatus: c.otherStatus, latency.OtherLength: c.otherLength, latency.OtherBody: c.otherBody} {
		if n > 0 {
			one.Unexpected[what] = n
		}
	}
	out.Add(&one)
}

// A moment is what was counted since the last row.
type moment struct {
	sent, answered, good, errors, received int64
	times                                  latency.Histogram
}

func (m *moment) add(o *moment) {
	m.sent += o.sent
	m.answered += o.answered
	m.good += o.good
	m.errors += o.errors
	m.received += o.received
	m.times.Merge(&o.times)
}

func (m *moment) reset() {
	m.sent, m.answered, m.good, m.errors, m.received = 0, 0, 0, 0, 0
	m.times.Reset()
}

// of returns where a request is counted.
func (t *tally) of(k *ticket) *counts {
	if k.counts {
		return &t.count
	}
	return &t.warm
}

// An Outcome is what came of one request. Times are since the first one.
type Outcome struct {
	Due       time.Duration // when it was to be sent
	Began     time.Duration // when a connection was there for it, or began to be opened
	Connected time.Duration // when it could be written; Began when the connection was there
	First     time.Duration // when the first byte of the answer came
	End       time.Duration
	Status    int // 0 is no answer
	Header    int64
	Body      int64
	KeptAlive bool
	Error     latency.Cause // "" is none
	Reason    string        // of an error in securing the connection
	Differs   string        // what was not as expected
}

// opened counts a connection that was opened after some time.
func (t *tally) opened(k *ticket, took time.Duration) {
	t.of(k).opened++
	if k.counts {
		t.connect.Add(took)
	}
}

// sending counts a request of which something is about to be written.
func (t *tally) sending(k *ticket, now time.Duration) {
	t.of(k).sent++
	t.busy++
	if !k.counts {
		return
	}
	t.moment.sent++
	if t.begin < 0 {
		t.begin = now
	}
	if k.waiting {
		t.late.Add(now - k.due)
	}
}

// traffic counts bytes.
func (t *tally) traffic(k *ticket, received, wrote int64) {
	c := t.of(k)
	c.received += received
	c.wrote += wrote
	if k.counts {
		t.moment.received += received
	}
}

// answered counts a whole answer.
func (t *tally) answered(k *ticket, o *Outcome, differs bool) {
	t.busy--
	c := t.of(k)
	c.answered++
	c.status[o.Status]++
	c.body += o.Body
	e := &t.r.plan.Expect
	switch {
	case !e.good(o.Status):
		c.otherStatus++
		o.Differs = latency.OtherStatus
	case e.HasLength && o.Body != e.Length, e.Same && !t.r.sameLength(o.Body):
		c.otherLength++
		o.Differs = latency.OtherLength
	case differs:
		c.otherBody++
		o.Differs = latency.OtherBody
	default:
		c.good++
	}
	if !k.counts {
		return
	}
	t.begin = min(t.begin, o.Began) // opening the connection is a part of it
	m := &t.moment
	m.answered++
	if o.Differs == "" {
		m.good++
	}
	t.end = max(t.end, o.End)
	service := o.End - o.Began
	t.service.Add(service)
	t.slowest = latency.AddSlow(t.slowest, latency.Answer{At: o.Began, Took: service, Status: o.Status})
	if t.r.schedule != nil {
		service = o.End - o.Due
		t.response.Add(service)
	}
	m.times.Add(service)
	t.tell(o)
}

// sameLength reports whether a body is as long as the first one.
func (r *run) sameLength(n int64) bool {
	return r.length.CompareAndSwap(0, n+1) || r.length.Load() == n+1
}

// failed counts a request without an answer. sent says whether sending has counted it.
func (t *tally) failed(k *ticket, o *Outcome, why cause, sent bool) {
	if sent {
		t.busy--
	}
	t.of(k).errors[why]++
	if stop := t.r.plan.StopAt; stop != nil && stop(latency.Causes[why]) {
		t.r.stop(string(latency.Causes[why]))
		t.r.cut()
	}
	if !k.counts {
		return
	}
	if t.begin < 0 || o.Began < t.begin {
		t.begin = o.Began
	}
	t.end = max(t.end, o.End)
	t.moment.errors++
	switch why {
	case causeConnectTimeout, causeWaitTimeout, causeReadTimeout:
		t.cut.Add(o.End - o.Due)
	}
	o.Error = latency.Causes[why]
	t.tell(o)
}

// unfinished counts a request that was sent and that nobody waits for any longer.
func (t *tally) unfinished(k *ticket, now time.Duration) {
	t.busy--
	t.of(k).unfinished++
	if k.counts {
		t.cut.Add(now - k.due)
		t.end = max(t.end, now)
	}
}

func (t *tally) tell(o *Outcome) {
	if t.r.plan.Each != nil {
		t.r.each.Lock()
		t.r.plan.Each(o)
		t.r.each.Unlock()
	}
}
