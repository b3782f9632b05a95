package agent

import (
	"sync/atomic"
	"time"
)

// A requests is what net/http says of the requests that it answered: see http.go.txt. Whoever answers one only compares its
// time with the limit.
type requests struct {
	limit   atomic.Int64 // nanoseconds that a request may take; 0 when that is not watched
	seen    atomic.Bool  // one was answered
	slowest atomic.Pointer[request]
}

// A request took longer than the limit.
type request struct {
	took    time.Duration
	pattern string // of the ServeMux; "" when it is not known
}

// add is told of each request that was answered.
func (q *requests) add(took time.Duration, pattern string) {
	if !q.seen.Load() {
		q.seen.Store(true)
	}
	if int64(took) <= q.limit.Load() {
		return
	}
	now := &request{took, pattern}
	for {
		old := q.slowest.Load()
		if old != nil && old.took >= took || q.slowest.CompareAndSwap(old, now) {
			return
		}
	}
}

// watch says how long a request may take: the least that a condition allows.
func (q *requests) watch(conditions []Condition) {
	for _, c := range conditions {
		if limit := int64(c.Limit); c.Of == Latency && limit > 0 && (q.limit.Load() == 0 || limit < q.limit.Load()) {
			q.limit.Store(limit)
		}
	}
}

// settle is how long the trace goes on after a slow request: its handler has returned, but its answer may not have been sent.
const settle = 5 * time.Millisecond

// trouble reports whether there is trouble worth a look, and whether it is a slow request.
func (r *recorder) trouble() (any, slow bool) {
	var q *request
	if r.requests != nil {
		q = r.requests.slowest.Swap(nil)
		r.sys.watched.served, r.sys.watched.latency = r.requests.seen.Load(), 0
	}
	if q != nil {
		r.sys.watched.latency = q.took
	}
	before := len(r.alarm.Troubles)
	any = r.alarm.Look(r.since(), r.sys.watched.value)
	for i := range r.alarm.Troubles[before:] {
		t := &r.alarm.Troubles[before+i]
		if q != nil && r.When[t.Condition].Of == Latency {
			t.Request, slow = q.pattern, true
		}
	}
	return any, slow
}
