package scrape

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/store"
)

// Status is the state of scraping.
type Status struct {
	Jobs     []JobStatus    `json:"jobs"`
	Targets  []TargetStatus `json:"targets"`
	Delivery *Delivery      `json:"delivery,omitempty"` // of all tenants together; nil in the status of one tenant
}

// Of returns the part of the status that a tenant may see.
func (st *Status) Of(tenant string) Status {
	own := Status{Jobs: []JobStatus{}, Targets: []TargetStatus{}}
	for _, j := range st.Jobs {
		if j.Tenant == tenant {
			own.Jobs = append(own.Jobs, j)
		}
	}
	for _, t := range st.Targets {
		if t.Tenant == tenant {
			own.Targets = append(own.Targets, t)
		}
	}
	return own
}

// A JobStatus is the state of a job.
type JobStatus struct {
	Job     string   `json:"job"`
	Tenant  string   `json:"tenant"`
	Found   int      `json:"found"`             // targets
	Dropped int      `json:"dropped,omitempty"` // profiles of targets that relabeling drops
	Wrong   int      `json:"wrong,omitempty"`   // profiles of targets that cannot be scraped
	Over    int      `json:"over,omitempty"`    // targets beyond the limit, which are not scraped
	Err     *Error   `json:"error,omitempty"`   // first error
	Sources []Source `json:"sources,omitempty"`
}

// A Source is a place where targets are discovered.
type Source struct {
	Kind    string    `json:"kind"` // as in the configuration
	What    string    `json:"what"`
	Targets int       `json:"targets"`
	Looked  time.Time `json:"looked,omitzero"` // last time
	Err     *Error    `json:"error,omitempty"`
}

// A TargetStatus is the state of a process.
type TargetStatus struct {
	Job      string          `json:"job"`
	Tenant   string          `json:"tenant"`
	Service  string          `json:"service"`
	Address  string          `json:"address"`
	Labels   store.Labels    `json:"labels"` // of its series and its own
	Profiles []ProfileStatus `json:"profiles"`
}

// Health is the outcome of the last scrape.
type Health string

// The healths.
const (
	Unknown Health = "unknown"
	Up      Health = "up"
	Down    Health = "down"
)

// A ProfileStatus is the state of one kind of profile of a process.
type ProfileStatus struct {
	Kind     string        `json:"kind"`
	Health   Health        `json:"health"`
	Running  bool          `json:"running,omitempty"`
	Last     time.Time     `json:"last,omitzero"`  // attempt
	Took     time.Duration `json:"took"`           // of it
	Bytes    int64         `json:"bytes"`          // of the last profile
	Good     time.Time     `json:"good,omitzero"`  // when the last profile was asked for
	Since    time.Time     `json:"since,omitzero"` // of the first of the attempts that failed, one after the other
	Next     time.Time     `json:"next,omitzero"`
	Interval time.Duration `json:"interval"`
	Every    time.Duration `json:"every"` // longer than Interval for targets that are slow or fail
	Err      *Error        `json:"error,omitempty"`
	Refused  *Error        `json:"refused,omitempty"` // why the store refused the last profile, or nil

	Profiles int `json:"profiles"`         // that the target gave
	Failures int `json:"failures"`         // attempts without a profile, except Busy
	Busy     int `json:"busy,omitempty"`   // attempts while another client took a CPU profile
	Missed   int `json:"missed,omitempty"` // intervals without a scrape because other requests or the store took too long
}

// busyFails is for how many intervals another client must take CPU profiles whenever hone asks, until that is a failure.
const busyFails = 3

// fails reports whether attempts fail. That another client is taking a CPU profile is a failure only if it does not end.
func (p *ProfileStatus) fails() bool {
	switch {
	case p.Health != Down || p.Err == nil:
		return false
	case p.Err.Cause == CauseBusy:
		return !p.Since.IsZero() && p.Last.Sub(p.Since) >= busyFails*p.Interval
	}
	return true
}

// why returns the reason of a failure.
func (p *ProfileStatus) why() string {
	if p.Err.Cause == CauseBusy {
		return "another client takes a CPU profile whenever hone asks: " + p.Err.Error()
	}
	return p.Err.Error()
}

// Delivery counts the profiles handed to the store.
type Delivery struct {
	Waiting      int    `json:"waiting"`       // profiles that the store has not taken yet
	WaitingBytes int64  `json:"waiting_bytes"` // memory of waiting and arriving profiles
	Delivered    int    `json:"delivered"`
	Refused      int    `json:"refused,omitempty"` // that the store refused, such as too large ones
	Lost         int    `json:"lost,omitempty"`    // that waited for the store for too long
	Retries      int    `json:"retries,omitempty"`
	Err          *Error `json:"error,omitempty"` // of the last attempt
}

// Status returns the current state.
func (s *Scraper) Status() Status {
	s.mu.Lock()
	st := Status{Jobs: []JobStatus{}, Targets: []TargetStatus{}}
	for _, j := range s.jobs {
		js := j.status
		js.Sources = nil
		for _, f := range j.finders {
			js.Sources = append(js.Sources, f.state())
		}
		order.Stable(js.Sources, func(a, b Source) int { return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.What, b.What)) })
		st.Jobs = append(st.Jobs, js)
	}
	tasks := make([]*task, 0, len(s.tasks))
	for _, t := range s.tasks {
		tasks = append(tasks, t)
	}
	s.mu.Unlock()
	order.Stable(st.Jobs, func(a, b JobStatus) int { return strings.Compare(a.Job, b.Job) })
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(strings.Compare(a.job, b.job), strings.Compare(a.base, b.base), strings.Compare(a.service, b.service), strings.Compare(a.labels.String(), b.labels.String()),
			strings.Compare(a.row.String(), b.row.String()), strings.Compare(a.kind, b.kind))
	})
	for _, t := range tasks {
		n := len(st.Targets) - 1
		labels := t.labels.With(t.row)
		if n < 0 || st.Targets[n].Job != t.job || st.Targets[n].Address != t.base || st.Targets[n].Service != t.service || !slices.Equal(st.Targets[n].Labels, labels) {
			st.Targets = append(st.Targets, TargetStatus{Job: t.job, Tenant: t.tenant, Service: t.service, Address: t.base, Labels: labels})
			n++
		}
		t.mu.Lock()
		st.Targets[n].Profiles = append(st.Targets[n].Profiles, t.state)
		t.mu.Unlock()
	}
	delivery := s.queue.state()
	st.Delivery = &delivery
	return st
}
