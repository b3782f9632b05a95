package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/store"
)

// A Deeper is a request for more detail from one process than regular scrapes have.
type Deeper struct {
	Tenant, Service string
	Instance        string // label of the process, such as its instance or pod; if there is no such process, another one is profiled
	Version         string // preferred version; "" is any
	CPU, Trace      time.Duration
}

// TraceKind is the kind of execution traces.
const TraceKind = "trace"

// A Deep is the result. Err explains missing parts.
type Deep struct {
	Address      string
	Labels       store.Labels // of the process
	Began, Ended time.Time
	Parts        []DeepPart
	Err          error
}

// A DeepPart is a profile, or an execution trace, which is not an Upload.
type DeepPart struct {
	Kind     string
	From, To time.Time
	Raw      []byte
	Upload   *store.Upload
}

const (
	mostTrace  = 128 << 20        // bytes of an execution trace; counts towards Options.Memory
	deeperWait = 2 * time.Minute  // for other requests to the process to end
	traceSlack = 15 * time.Second // that fetching a trace may take beyond its duration
	leastDeep  = 1 * time.Second  // shortest CPU profile and trace
	mostDeep   = 10 * time.Minute // longest CPU profile and trace
)

// Deeper fetches a CPU profile and an execution trace at the same time, and the heap and goroutine profiles. It waits for its turn like a regular
// scrape.
func (s *Scraper) Deeper(ctx context.Context, d Deeper) (*Deep, error) {
	cpu, others := s.processOf(&d)
	if cpu == nil {
		return nil, fmt.Errorf("hone scrapes no CPU profiles of %s: add its targets to a job with cpu among its profiles", d.Service)
	}
	out := &Deep{Address: cpu.base, Labels: cpu.labels.With(cpu.row), Began: time.Now()}
	var mu sync.Mutex
	keep := func(kind string, from time.Time, raw []byte, u *store.Upload, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			out.Err = errors.Join(out.Err, fmt.Errorf("%s: %w", kind, err))
			return
		}
		out.Parts = append(out.Parts, DeepPart{kind, from, time.Now(), raw, u})
	}
	for _, t := range others {
		at, raw, u, err := t.deeper(ctx, 0)
		keep(t.kind, at, raw, u, err)
	}
	var all sync.WaitGroup
	if seconds := inSeconds(d.CPU); seconds > 0 {
		all.Go(func() {
			at, raw, u, err := cpu.deeper(ctx, seconds)
			keep(cpuKind, at, raw, u, err)
		})
	}
	if seconds := inSeconds(d.Trace); seconds > 0 {
		all.Go(func() {
			at, raw, err := cpu.trace(ctx, seconds)
			keep(TraceKind, at, raw, nil, err)
		})
	}
	all.Wait()
	out.Ended = time.Now()
	if len(out.Parts) == 0 {
		return nil, out.Err
	}
	order.Stable(out.Parts, func(a, b DeepPart) int { return a.From.Compare(b.From) })
	return out, nil
}

// inSeconds rounds up to whole seconds.
func inSeconds(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return int((min(max(d, leastDeep), mostDeep) + time.Second - 1) / time.Second)
}

// processOf returns the targets for the CPU profile and the snapshots of the process that d names, or of one like it. It prefers processes
// that answer.
func (s *Scraper) processOf(d *Deeper) (cpu *task, others []*task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rank := func(t *task) int {
		n := 0
		labels := t.labels.With(t.row)
		if d.Instance != "" && slices.ContainsFunc(labels, func(l store.Label) bool { return l.Value == d.Instance }) {
			n += 4
		}
		if d.Version != "" && labels.Get("version") == d.Version {
			n += 2
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.state.Health == Up {
			n++
		}
		return n
	}
	best := -1
	for _, t := range s.tasks {
		if t.tenant != d.Tenant || t.service != d.Service || t.kind != cpuKind {
			continue
		}
		if n := rank(t); n > best || n == best && t.url.String() < cpu.url.String() {
			cpu, best = t, n
		}
	}
	if cpu == nil {
		return nil, nil
	}
	for _, kind := range []string{"heap", "goroutine"} {
		for _, t := range s.tasks {
			if t.kind == kind && t.job == cpu.job && t.base == cpu.base && t.service == cpu.service && slices.Equal(t.labels, cpu.labels) && slices.Equal(t.row, cpu.row) {
				others = append(others, t)
				break
			}
		}
	}
	return cpu, others
}

// deeper fetches a profile. CPU profiles run for so many seconds.
func (t *task) deeper(ctx context.Context, seconds int) (start time.Time, raw []byte, u *store.Upload, err error) {
	one := *t.target
	if seconds > 0 {
		one.url = withSeconds(one.url, seconds)
		one.seconds = seconds
	} else if one.seconds > 0 { // a delta; fetch the snapshot instead
		one.url = withSeconds(one.url, 0)
		one.seconds, one.delta = 0, false
	}
	release, err := t.turn(ctx, one.kind == cpuKind || one.seconds == 0)
	if err != nil {
		return start, nil, nil, err
	}
	defer release()
	start = time.Now()
	within, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+t.timeout)
	raw, err = t.client.get(within, one.url, request{most: t.s.opt.Limits.Bytes, reserve: t.s.reserve})
	cancel()
	took := time.Since(start)
	defer t.s.release(int64(cap(raw)))
	if err != nil {
		return start, nil, nil, err
	}
	asking := &task{target: &one, s: t.s, client: t.client, gate: t.gate}
	u, parsed, err := asking.upload(ctx, raw, start, took)
	t.s.release(parsed)
	return start, raw, u, err
}

// trace fetches an execution trace of so many seconds.
func (t *task) trace(ctx context.Context, seconds int) (start time.Time, raw []byte, err error) {
	u := withSeconds(t.url, seconds)
	u.Path, u.RawPath = pathpkg.Join(pathpkg.Dir(t.url.Path), TraceKind), ""
	if !enter(ctx, t.s.slots) {
		return start, nil, ctx.Err()
	}
	defer leave(t.s.slots)
	start = time.Now()
	within, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+t.timeout+traceSlack)
	defer cancel()
	raw, err = t.client.get(within, u, request{most: min(mostTrace, t.s.opt.Memory/2), reserve: t.s.reserve})
	t.s.release(int64(cap(raw)))
	if err == nil && !strings.HasPrefix(string(raw[:min(len(raw), 16)]), "go 1.") {
		err = &Error{Cause: CauseFormat, Err: errors.New("the answer is not an execution trace")}
	}
	return start, raw, err
}

// turn waits until the task may send a request, and returns the function that ends its turn.
func (t *task) turn(ctx context.Context, alone bool) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, deeperWait)
	defer cancel()
	late := errors.New("it waited too long for other requests")
	if alone && !enter(ctx, t.gate.open) {
		return nil, cmp.Or(context.Cause(ctx), late)
	}
	if !enter(ctx, t.s.slots) {
		if alone {
			leave(t.gate.open)
		}
		return nil, cmp.Or(context.Cause(ctx), late)
	}
	return func() {
		leave(t.s.slots)
		if alone {
			leave(t.gate.open)
		}
	}, nil
}

// withSeconds returns a URL with another duration; 0 removes it.
func withSeconds(u *url.URL, seconds int) *url.URL {
	out := *u
	q := out.Query()
	q.Del("seconds")
	if seconds > 0 {
		q.Set("seconds", strconv.Itoa(seconds))
	}
	out.RawQuery = q.Encode()
	return &out
}
