// Package scrape fetches profiles from Go programs at intervals, and hands them to a store.
//
// Parse reads a Config in the format of Prometheus: jobs, ways to discover their targets, and rules for labels. New makes a Scraper. Run
// scrapes until its context ends. Reload replaces the Config; targets that are in both continue. Status reports on each target.
//
// A Scraper must not harm its targets. It fetches one CPU profile of a process at a time, by default for ten seconds of each minute. It
// asks targets that are slow or return errors less often, and limits all that they can send.
package scrape

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Options tune a Scraper.
type Options struct {
	// Sink stores profiles of a tenant, and returns when they are on stable storage. One goroutine calls it. It may get the same profiles again.
	Sink func(ctx context.Context, tenant string, uploads []*store.Upload) error

	Tenant      string        // of jobs that name none
	Seed        string        // tells several Scrapers of the same targets from each other, so that they ask at different times
	Limits      store.Limits  // zero is store.DefaultLimits
	Concurrency int           // requests at a time; 0 is 256
	Memory      int64         // bytes of answers and of profiles that wait for the store; 0 is 256 MiB
	Patience    time.Duration // how long a profile may wait for the store; 0 is 15 minutes
	Flush       time.Duration // how long Run waits for the store when its context has ended; 0 is 10 seconds
	Log         *slog.Logger  // nil is silent
	Resolver    Resolver      // nil is that of the system

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // for tests
}

// A Scraper fetches profiles from targets.
type Scraper struct {
	opt    Options
	queue  *queue
	slots  chan struct{} // limits concurrent requests
	parsed chan struct{} // limits profiles that are parsed at the same time

	memory atomic.Int64 // bytes in use

	mu       sync.Mutex
	ctx      context.Context // of Run; nil before
	ended    bool            // nothing is started any more
	running  sync.WaitGroup  // tasks and finders
	jobs     map[string]*job
	tasks    map[string]*task
	gates    map[string]*gate
	reloaded sync.Mutex // held by Reload
}

// A job is a running Job.
type job struct {
	*Job
	how     string // fingerprint of its client
	client  *client
	finders map[string]*finder
	status  JobStatus
}

// New returns a Scraper.
func New(cfg *Config, opt Options) *Scraper {
	if opt.Limits == (store.Limits{}) {
		opt.Limits = store.DefaultLimits
	}
	if opt.Limits.Bytes <= 0 {
		opt.Limits.Bytes = store.DefaultLimits.Bytes // answers always have a limit
	}
	opt.Concurrency = cmp.Or(opt.Concurrency, 256)
	opt.Memory = cmp.Or(opt.Memory, 256<<20)
	opt.Patience = cmp.Or(opt.Patience, 15*time.Minute)
	opt.Flush = cmp.Or(opt.Flush, 10*time.Second)
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Resolver == nil {
		opt.Resolver = net.DefaultResolver
	}
	s := &Scraper{
		opt:    opt,
		slots:  make(chan struct{}, opt.Concurrency),
		parsed: make(chan struct{}, 2),
		jobs:   map[string]*job{}, tasks: map[string]*task{}, gates: map[string]*gate{},
	}
	s.queue = newQueue(s)
	s.Reload(cfg)
	return s
}

// Run scrapes until ctx ends. It then cancels requests, which ends the profiles that targets are taking, and hands over the received profiles. It can
// be called once.
func (s *Scraper) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return errors.New("the scraper runs already")
	}
	s.ctx = ctx
	for _, j := range s.jobs {
		for _, f := range j.finders {
			s.find(j.Name, f)
		}
		s.sync(j)
	}
	s.mu.Unlock()

	delivering := make(chan struct{})
	go func() {
		defer close(delivering)
		s.queue.run(ctx)
	}()
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.running.Wait()
	<-delivering
	s.queue.flush(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.client.close()
	}
	return nil
}

// Reload replaces the configuration. Targets with unchanged settings continue undisturbed.
func (s *Scraper) Reload(cfg *Config) {
	s.reloaded.Lock()
	defer s.reloaded.Unlock()
	s.mu.Lock()
	before := s.jobs
	s.jobs = make(map[string]*job, len(cfg.Jobs))
	var ended []*finder
	for _, c := range cfg.Jobs {
		j := &job{Job: c, how: fingerprint(c)}
		old := before[c.Name]
		if old != nil && old.how == j.how {
			j.client = old.client
		} else {
			j.client = s.newClient(c.HTTP, c.FollowRedirects)
		}
		j.finders = s.finders(c)
		for key, f := range j.finders {
			if old != nil && old.finders[key] != nil {
				j.finders[key] = old.finders[key]
				delete(old.finders, key)
			} else {
				s.find(c.Name, f)
			}
		}
		s.jobs[c.Name] = j
		s.sync(j)
	}
	for name, old := range before {
		for _, f := range old.finders {
			if f.stop != nil {
				f.stop()
				ended = append(ended, f)
			}
		}
		now := s.jobs[name]
		if now == nil {
			s.sync(&job{Job: &Job{Name: name}})
		}
		if now == nil || now.client != old.client {
			old.client.close()
		}
	}
	s.mu.Unlock()
	for _, f := range ended {
		<-f.done
	}
}

// find starts a finder. The caller holds the lock.
func (s *Scraper) find(name string, f *finder) {
	if s.ctx == nil || s.ended {
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	f.stop = stop
	s.running.Go(func() {
		f.run(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if j := s.jobs[name]; j != nil && ctx.Err() == nil {
				s.sync(j)
			}
		})
	})
}

// sync starts and stops tasks, so that there is one for each target of a job. The caller holds the lock.
func (s *Scraper) sync(j *job) {
	if s.ctx == nil || s.ended {
		return
	}
	found := sets(j.Static, nil)
	for _, f := range j.finders {
		found = append(found, f.sets()...)
	}
	j.status = JobStatus{Job: j.Name, Tenant: cmp.Or(j.Tenant, s.opt.Tenant), Found: len(found)}
	if j.TargetLimit > 0 && len(found) > j.TargetLimit {
		j.status.Over = len(found) - j.TargetLimit
		found = ordered(found)[:j.TargetLimit]
	}
	wanted := map[string]*target{}
	for _, one := range found {
		for _, p := range j.asked() {
			t, err := j.target(one, p)
			switch {
			case err == errDropped:
				j.status.Dropped++
				continue
			case err != nil:
				j.status.Wrong++
				if j.status.Err == nil {
					j.status.Err = textError(err)
				}
				continue
			}
			t.tenant = cmp.Or(t.tenant, s.opt.Tenant)
			wanted[t.key(j.how)] = t
		}
	}
	for key, t := range s.tasks {
		if t.job == j.Name && wanted[key] == nil {
			t.stop()
			delete(s.tasks, key)
		}
	}
	for key, w := range wanted {
		if s.tasks[key] == nil {
			s.start(key, w, j)
		}
	}
	s.dropGates()
}

// start starts a task. The caller holds the lock.
func (s *Scraper) start(key string, w *target, j *job) {
	t := &task{target: w, s: s, client: j.client, at: w.offset(s.opt.Seed)}
	t.state = ProfileStatus{Kind: w.kind, Health: Unknown, Interval: w.interval, Every: w.interval}
	process := w.process()
	if w.kind != cpuKind {
		process = "host of " + w.url.Host
	}
	t.gate = s.gates[process]
	if t.gate == nil {
		t.gate = &gate{open: make(chan struct{}, 1)}
		s.gates[process] = t.gate
	}
	t.gate.users.Add(1)
	s.tasks[key] = t
	ctx, stop := context.WithCancel(s.ctx)
	t.stop = stop
	s.running.Go(func() {
		defer t.gate.users.Add(-1)
		defer stop()
		t.run(ctx)
	})
}

// A gate allows one request at a time: for CPU profiles per process, for others per host.
type gate struct {
	open  chan struct{}
	users atomic.Int64 // tasks
}

// dropGates removes gates that no task uses, including tasks that are ending. The caller holds the lock.
func (s *Scraper) dropGates() {
	for name, g := range s.gates {
		if g.users.Load() == 0 {
			delete(s.gates, name)
		}
	}
}

// reserve reserves memory, if there is enough.
func (s *Scraper) reserve(n int64) bool {
	if s.memory.Add(n) > s.opt.Memory {
		s.memory.Add(-n)
		return false
	}
	return true
}

func (s *Scraper) release(n int64) { s.memory.Add(-n) }

// fingerprint returns a key of the request settings of a job.
func fingerprint(j *Job) string {
	follow := ""
	if j.FollowRedirects {
		follow = "follow"
	}
	return follow + j.HTTP.fingerprint()
}
