package scrape

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Settings of the hand-over to the store.
const (
	mostBatch      = 64 // profiles
	mostBatchBytes = 8 << 20
	firstRetry     = time.Second
	lastRetry      = 30 * time.Second
)

// A parcel is a profile that the store has not accepted yet.
type parcel struct {
	tenant string
	upload *store.Upload
	packed int64 // reserved bytes, as received
	parsed int64 // reserved bytes, parsed
	from   *task
	since  time.Time
	tries  int       // failed attempts to hand over this profile alone
	due    time.Time // of the next try
}

// A queue is profiles on their way to the store.
type queue struct {
	s    *Scraper
	wake chan struct{}

	mu      sync.Mutex
	waiting []*parcel
	stats   Delivery
}

func newQueue(s *Scraper) *queue { return &queue{s: s, wake: make(chan struct{}, 1)} }

// behind reports whether so many profiles wait for the store that scraping should pause.
func (q *queue) behind() bool {
	q.mu.Lock()
	waiting := q.bytes()
	q.mu.Unlock()
	return waiting > q.s.opt.Memory/2
}

// bytes returns the memory of waiting profiles. The caller holds the lock.
func (q *queue) bytes() (n int64) {
	for _, p := range q.waiting {
		n += p.packed + p.parsed
	}
	return n
}

func (q *queue) state() Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.stats
	d.Waiting, d.WaitingBytes = len(q.waiting), q.s.memory.Load()
	return d
}

func (q *queue) add(p *parcel) {
	q.mu.Lock()
	q.waiting = append(q.waiting, p)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run hands over until ctx ends.
func (q *queue) run(ctx context.Context) {
	for full := 0; ctx.Err() == nil; {
		batch, wait := q.batch(time.Now())
		switch {
		case len(batch) == 0:
			q.rest(ctx, wait)
			continue
		case q.deliver(ctx, batch):
			full = 0
			continue
		}
		sleep(ctx, backOff(full))
		full++
		q.mu.Lock()
		q.stats.Retries++
		q.mu.Unlock()
	}
}

// backOff returns how long to wait after so many failures.
func backOff(failed int) time.Duration { return min(firstRetry<<min(failed, 10), lastRetry) }

// rest waits for a new profile, for at most wait if it is not 0.
func (q *queue) rest(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-q.wake:
	case <-due:
	}
}

// batch returns due profiles of one tenant, oldest first, or how long to wait for the next one; 0 means until a new one arrives.
func (q *queue) batch(now time.Time) (batch []*parcel, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var size int64
	for _, p := range q.waiting {
		if d := p.due.Sub(now); d > 0 {
			if wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		if size += p.packed; len(batch) == mostBatch || len(batch) > 0 && size > mostBatchBytes {
			break
		}
		if len(batch) == 0 || p.tenant == batch[0].tenant {
			batch = append(batch, p)
		}
	}
	return batch, wait
}

// deliver hands over a batch. It returns false when the store is full. After any other error, it hands over each profile of the batch alone, since
// one of them may be the reason; those that fail wait for their next attempt, and others pass them.
func (q *queue) deliver(ctx context.Context, batch []*parcel) (ok bool) {
	err := q.hand(ctx, batch)
	var limit *store.LimitError
	switch {
	case err == nil:
		q.delivered(batch)
	case ctx.Err() != nil: // flush tries again
	case errors.Is(err, store.ErrFull):
		q.giveUp(batch)
		return false
	case len(batch) > 1:
		for i := range batch {
			if !q.deliver(ctx, batch[i:i+1]) {
				return false
			}
		}
	case errors.As(err, &limit):
		q.refuse(batch[0], err)
	case q.giveUp(batch) == 0:
		p := batch[0]
		q.mu.Lock()
		p.due = time.Now().Add(backOff(p.tries))
		p.tries++
		q.stats.Retries++
		q.mu.Unlock()
	}
	return true
}

// hand calls the sink.
func (q *queue) hand(ctx context.Context, batch []*parcel) error {
	uploads := make([]*store.Upload, len(batch))
	for i, p := range batch {
		uploads[i] = p.upload
	}
	err := q.s.opt.Sink(ctx, batch[0].tenant, uploads)
	q.mu.Lock()
	if ctx.Err() == nil || err == nil {
		q.stats.Err = textError(err)
	}
	q.mu.Unlock()
	if err != nil {
		q.mu.Lock()
		for _, p := range batch {
			q.s.release(p.parsed)
			p.upload.Parsed, p.parsed = nil, 0 // the store reads it again
		}
		q.mu.Unlock()
	}
	return err
}

// giveUp drops profiles of a batch that have waited for too long, and returns their number.
func (q *queue) giveUp(batch []*parcel) int {
	n := 0
	for n < len(batch) && time.Since(batch[n].since) > q.s.opt.Patience {
		n++
	}
	if n > 0 {
		q.s.opt.Log.Warn("profiles lost", "count", n, "why", "the store could not take them", "for", q.s.opt.Patience)
		q.done(batch[:n], func(d *Delivery) { d.Lost += n })
	}
	return n
}

// refuse drops a profile that the store refuses.
func (q *queue) refuse(p *parcel, err error) {
	p.from.refused(&Error{Cause: CauseRefused, Err: err})
	q.s.opt.Log.Warn("profile refused", "job", p.from.job, "target", p.from.base, "kind", p.from.kind, "err", err)
	q.done([]*parcel{p}, func(d *Delivery) { d.Refused++ })
}

func (q *queue) delivered(batch []*parcel) {
	for _, p := range batch {
		p.from.refused(nil)
	}
	q.done(batch, func(d *Delivery) { d.Delivered += len(batch) })
}

// done removes a batch from the queue.
func (q *queue) done(batch []*parcel, count func(*Delivery)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range batch {
		q.s.release(p.packed + p.parsed)
	}
	q.waiting = q.without(batch)
	count(&q.stats)
}

// without returns the waiting profiles except those of a batch, in a new slice, so that removed profiles can be collected. The caller holds the lock.
func (q *queue) without(batch []*parcel) []*parcel {
	rest := make([]*parcel, 0, max(0, len(q.waiting)-len(batch))+1)
	for _, p := range q.waiting {
		if !slices.Contains(batch, p) {
			rest = append(rest, p)
		}
	}
	return rest
}

// flush tries to hand over each remaining profile once, after scraping has ended.
func (q *queue) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.s.opt.Flush)
	defer cancel()
	for {
		batch, _ := q.batch(time.Now().Add(lastRetry)) // all that waits
		if len(batch) == 0 {
			return
		}
		if err := q.hand(ctx, batch); err != nil {
			q.s.opt.Log.Warn("profiles lost", "count", len(batch), "why", "the store could not take them before the end", "err", err)
			q.done(batch, func(d *Delivery) { d.Lost += len(batch) })
			continue
		}
		q.delivered(batch)
	}
}
