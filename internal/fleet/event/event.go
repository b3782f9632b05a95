// Package event keeps what happened to services: that a function began to cost more, that a version was deployed, that a rule was
// broken, that a process was restarted or killed for want of memory.
//
// A Log is a file of events. Whoever notices something adds an Event, and adds it again, with the same ID, when more is known.
package event

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/store"
)

// A Kind is what kind of thing happened.
type Kind string

const (
	Changed   Kind = "change"  // the cost of a function
	Deployed  Kind = "deploy"  // a version or a build that was not there before
	Broken    Kind = "rule"    // a rule that the user made
	Restarted Kind = "restart" // a process
	Killed    Kind = "oom"     // a process, because it ran out of memory
	Captured  Kind = "capture" // a deeper look, taken because of another event
)

// Kinds are all there are.
var Kinds = []Kind{Changed, Deployed, Broken, Restarted, Killed, Captured}

// KindNames returns their names, as a user would list them.
func KindNames() string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// An Event is something that happened to a service. Of Change and its neighbors the one of its Kind is set.
type Event struct {
	ID      string       `json:"id"` // the same for all that is said about one thing
	Tenant  string       `json:"tenant"`
	Kind    Kind         `json:"kind"`
	Service string       `json:"service"`
	Labels  store.Labels `json:"labels,omitempty"`
	Time    time.Time    `json:"time"`            // when it happened, or began
	Noticed time.Time    `json:"noticed"`         // when that was known
	Ended   time.Time    `json:"ended,omitzero"`  // when it was over; zero while it is not, and for what has no length
	Pin     string       `json:"pin,omitempty"`   // keeps the profiles that show it
	Cause   string       `json:"cause,omitempty"` // the ID of the event that this one comes from
	Told    []Told       `json:"told,omitempty"`

	Change  *Change  `json:"change,omitempty"`
	Deploy  *Deploy  `json:"deploy,omitempty"`
	Rule    *Rule    `json:"rule,omitempty"`
	Process *Process `json:"process,omitempty"`
	Capture *Capture `json:"capture,omitempty"`
}

// A Change says that a function costs more or less than before.
type Change struct {
	Kind     string            `json:"kind"` // of the profiles, such as cpu
	Type     profile.ValueType `json:"type"`
	Function string            `json:"function"`
	File     string            `json:"file,omitempty"`
	Package  string            `json:"package,omitempty"`
	Source   Source            `json:"source"`

	// What the function costs per second: nanoseconds of CPU, bytes, objects, as Type says. Low and High are 95 % intervals.
	Before Cost    `json:"before"`
	After  Cost    `json:"after"`
	Share  float64 `json:"share"` // that the change is of what the service cost before, 0.01 for one percent; below zero for less

	// Requests is how many requests a second the entry of the function answers after the change, where they are counted. What it costs per
	// request is Before and After divided by it.
	Requests float64 `json:"requests,omitempty"`

	Also []Also `json:"also,omitempty"` // other profiles that show the same change

	Callers []Part   `json:"callers,omitempty"` // who pays for it, the most first
	With    []string `json:"with,omitempty"`    // functions that changed for the same cause
	Version string   `json:"version,omitempty"` // that it came with, where it did
	Since   string   `json:"since,omitempty"`   // the version before that
	Later   bool     `json:"later,omitempty"`   // it began some time after that version was deployed, so another reason is possible
}

// An Also is what profiles of another kind say of a change.
type Also struct {
	Kind     string            `json:"kind"`
	Type     profile.ValueType `json:"type"`
	Function string            `json:"function"`
	Before   Cost              `json:"before"`
	After    Cost              `json:"after"`
	Share    float64           `json:"share"`
}

// A Cost is a cost per second, with a 95 % interval, and how many profiles it is known from.
type Cost struct {
	Value    float64 `json:"value"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Profiles int     `json:"profiles"`
}

// A Part is what a caller has of a change, as a share of it.
type Part struct {
	Function string  `json:"function"`
	Share    float64 `json:"share"`
}

// A Source is where a change comes from.
type Source string

const (
	Code    Source = "code"    // the function itself, or what it is asked to do
	Traffic Source = "traffic" // all of the service does more or less
	Mix     Source = "mix"     // other requests than before, or other proportions of them
	Growth  Source = "growth"  // what a process holds grows for hours, without more work or a new version: Before and After are of one process
)

// A Deploy is a version that appeared.
type Deploy struct {
	Version string `json:"version,omitempty"`
	Build   string `json:"build,omitempty"`
	Before  string `json:"before,omitempty"` // the version, or the build where there are no versions
}

// A Rule says that a rule was broken.
type Rule struct {
	Name     string  `json:"name"`
	Metric   string  `json:"metric"` // one of report.RuleShare and its neighbors
	Function string  `json:"function,omitempty"`
	Value    float64 `json:"value"`
	Limit    float64 `json:"limit"`
	Unit     string  `json:"unit"`            // share, cores, bytes, goroutines
	Grown    bool    `json:"grown,omitempty"` // Value and Limit are how many times as large as usual
}

// A Told is what became of telling somebody about an event.
type Told struct {
	To     string    `json:"to"`               // the name of the receiver
	Sent   time.Time `json:"sent,omitzero"`    // when it was taken
	Failed string    `json:"failed,omitempty"` // why it was not
}

// A Process is one that was restarted or killed.
type Process struct {
	Instance string `json:"instance"`
	Memory   int64  `json:"memory,omitempty"` // that it used at last
	Limit    int64  `json:"limit,omitempty"`
	Times    int    `json:"times,omitempty"` // that it happened until Ended, when more than once
}

// A Capture is a recording that was taken.
type Capture struct {
	Recording string `json:"recording,omitempty"` // its ID on the shelf
	Failed    string `json:"failed,omitempty"`
}

// Limits of a log.
const (
	mostEvents = 50_000
	mostBytes  = 64 << 20
	mostLine   = 64 << 10
)

// A Log is a file of events. It can be used by many at the same time.
type Log struct {
	name string

	mu     sync.Mutex
	file   *os.File
	events map[string]*Event // by tenant and ID; nobody changes one
	bytes  int64             // of the file
	live   int64             // bytes of the file that are what is known now
	sizes  map[string]int64

	followers []func(was, is *Event)
}

// Open reads a log, which need not be there yet. What of it cannot be read is left out: an error that has no Log is about all of it.
func Open(name string) (*Log, error) {
	l := &Log{name: name, events: map[string]*Event{}, sizes: map[string]int64{}}
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, mostLine+1)
	for in.Scan() {
		e := new(Event)
		if json.Unmarshal(in.Bytes(), e) == nil && e.ID != "" { // the last line of one that was killed may be half there
			l.keep(e, int64(len(in.Bytes()))+1)
		}
	}
	return l, l.rewrite()
}

func key(tenant, id string) string { return tenant + "\x00" + id }

func (l *Log) keep(e *Event, size int64) {
	k := key(e.Tenant, e.ID)
	l.live += size - l.sizes[k]
	l.events[k], l.sizes[k] = e, size
}

// rewrite writes the file anew, with what is known now, without the oldest events where there are too many.
func (l *Log) rewrite() error {
	all := l.sorted()
	for len(all) > mostEvents*9/10 || l.live > mostBytes/2 {
		oldest := all[len(all)-1]
		all = all[:len(all)-1]
		k := key(oldest.Tenant, oldest.ID)
		l.live -= l.sizes[k]
		delete(l.events, k)
		delete(l.sizes, k)
	}
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	slices.Reverse(all)
	err := safefile.Write(l.name, func(w io.Writer) error {
		for _, e := range all {
			b, err := json.Marshal(e)
			if err == nil {
				_, err = w.Write(append(b, '\n'))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	if l.file, err = os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	l.bytes = l.live
	return nil
}

// sorted returns all events, the newest first.
func (l *Log) sorted() []*Event {
	all := make([]*Event, 0, len(l.events))
	for _, e := range l.events {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Event) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Add keeps an event, in place of what was known of the same ID; who does not know of a pin, or of who was told, leaves these as they are.
// When it returns, the event is on stable storage.
func (l *Log) Add(e Event) error {
	if e.ID == "" || e.Tenant == "" {
		return errors.New("an event needs an ID and a tenant")
	}
	return l.put(e.Tenant, e.ID, func(was *Event) *Event {
		if was != nil {
			if e.Pin == "" {
				e.Pin = was.Pin
			}
			if len(e.Told) == 0 {
				e.Told = was.Told
			}
		}
		return &e
	})
}

// Update changes an event, if it is there.
func (l *Log) Update(tenant, id string, change func(*Event)) error {
	return l.put(tenant, id, func(was *Event) *Event {
		if was == nil {
			return nil
		}
		e := *was
		change(&e)
		return &e
	})
}

// Follow has f called with each event that is added or changed, and what was known of it before, or nil. It is called in the order of
// the log and must return soon, without calling it.
func (l *Log) Follow(f func(was, is *Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, f)
}

// put keeps what becomes of an event; nil is that nothing does.
func (l *Log) put(tenant, id string, become func(was *Event) *Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.events[key(tenant, id)]
	e := become(was)
	if e == nil {
		return nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(b) > mostLine {
		return fmt.Errorf("the event %s has %d bytes; the limit is %d", profile.Shorten(id, 60), len(b), mostLine)
	}
	b = append(b, '\n')
	if l.file == nil {
		return errors.New("the log of events is closed")
	}
	if _, err := l.file.Write(b); err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	l.bytes += int64(len(b))
	l.keep(e, int64(len(b)))
	for _, f := range l.followers {
		f(was, e)
	}
	if len(l.events) > mostEvents || l.bytes > mostBytes || l.bytes > 1<<20 && l.bytes > 3*l.live {
		return l.rewrite()
	}
	return nil
}

// Get returns an event, or nil.
func (l *Log) Get(tenant, id string) *Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[key(tenant, id)]
}

// A Filter selects events. What is zero selects all.
type Filter struct {
	Tenant   string // which has to be set
	Service  string
	Kinds    []Kind
	From, To time.Time
	Limit    int
}

// List returns events, the newest first, and whether there are more than the limit.
func (l *Log) List(f Filter) ([]Event, bool) {
	l.mu.Lock()
	all := l.sorted()
	l.mu.Unlock()
	var out []Event
	for _, e := range all {
		switch {
		case e.Tenant != f.Tenant,
			f.Service != "" && e.Service != f.Service,
			len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind),
			!f.From.IsZero() && e.Time.Before(f.From) && (e.Ended.IsZero() || e.Ended.Before(f.From)),
			!f.To.IsZero() && !e.Time.Before(f.To):
			continue
		}
		if f.Limit > 0 && len(out) == f.Limit {
			return out, true
		}
		out = append(out, *e)
	}
	return out, false
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
