// Package event keeps events of services: a function began to cost more, a version was deployed, a rule was broken, a process was restarted or ran
// out of memory.
//
// A Log is a file of events. Its users add an Event, and add it again with the same ID when more is known.
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

// A Kind is a kind of event.
type Kind string

const (
	Changed   Kind = "change"  // the cost of a function changed
	Deployed  Kind = "deploy"  // a new version or build appeared
	Broken    Kind = "rule"    // a rule of the user was broken
	Restarted Kind = "restart" // a process restarted
	Killed    Kind = "oom"     // a process ran out of memory
	Captured  Kind = "capture" // a detailed recording was taken because of another event
)

// Kinds are all kinds.
var Kinds = []Kind{Changed, Deployed, Broken, Restarted, Killed, Captured}

// KindNames returns the names of all kinds, for messages.
func KindNames() string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// An Event is something that happened to a service. Of the fields from Change on, the one of its Kind is set.
type Event struct {
	ID      string       `json:"id"` // the same for all reports of one event
	Tenant  string       `json:"tenant"`
	Kind    Kind         `json:"kind"`
	Service string       `json:"service"`
	Labels  store.Labels `json:"labels,omitempty"`
	Time    time.Time    `json:"time"`            // when it happened or began
	Noticed time.Time    `json:"noticed"`         // when hone noticed it
	Ended   time.Time    `json:"ended,omitzero"`  // when it ended; zero while it lasts, and for events without a duration
	State   State        `json:"state,omitempty"` // of a rule; the log sets it
	Pin     string       `json:"pin,omitempty"`   // pin of the profiles that show it
	Cause   string       `json:"cause,omitempty"` // ID of the event that caused this one
	Told    []Told       `json:"told,omitempty"`

	Change  *Change  `json:"change,omitempty"`
	Deploy  *Deploy  `json:"deploy,omitempty"`
	Rule    *Rule    `json:"rule,omitempty"`
	Process *Process `json:"process,omitempty"`
	Capture *Capture `json:"capture,omitempty"`
}

// A State says whether the condition of a rule holds now.
type State string

const (
	Firing State = "firing"
	Over   State = "over"
)

// state returns the state of an event of a rule, and "" for other events.
func (e *Event) state() State {
	switch {
	case e.Kind != Broken:
		return ""
	case e.Ended.IsZero():
		return Firing
	}
	return Over
}

// A Change is a change in the cost of a function.
type Change struct {
	Kind     string            `json:"kind"` // kind of the profiles, such as cpu
	Type     profile.ValueType `json:"type"`
	Function string            `json:"function"`
	File     string            `json:"file,omitempty"`
	Package  string            `json:"package,omitempty"`
	Source   Source            `json:"source"`

	// Cost of the function per second: nanoseconds of CPU, bytes or objects, depending on Type. Low and High are 95 % intervals.
	Before Cost    `json:"before"`
	After  Cost    `json:"after"`
	Share  float64 `json:"share"` // change as a share of the service's earlier cost; negative for less

	// Requests is the number of requests per second after the change, if counted, in the function's entry. Before and After divided by it are costs
	// per request.
	Requests float64 `json:"requests,omitempty"`

	Also []Also `json:"also,omitempty"` // other kinds of profiles that show the same change

	Callers []Part   `json:"callers,omitempty"` // callers with their shares of the change, largest first
	With    []string `json:"with,omitempty"`    // functions that changed for the same reason
	Version string   `json:"version,omitempty"` // version that came with the change, if any
	Since   string   `json:"since,omitempty"`   // the previous version
	Later   bool     `json:"later,omitempty"`   // it began some time after that version was deployed, so there may be another reason
}

// An Also is the change in profiles of another kind.
type Also struct {
	Kind     string            `json:"kind"`
	Type     profile.ValueType `json:"type"`
	Function string            `json:"function"`
	Before   Cost              `json:"before"`
	After    Cost              `json:"after"`
	Share    float64           `json:"share"`
}

// A Cost is a cost per second, with a 95 % interval and the number of profiles behind it.
type Cost struct {
	Value    float64 `json:"value"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Profiles int     `json:"profiles"`
}

// A Part is a caller's share of a change.
type Part struct {
	Function string  `json:"function"`
	Share    float64 `json:"share"`
}

// A Source is the reason for a change.
type Source string

const (
	Code    Source = "code"    // the code of the function, or its input
	Traffic Source = "traffic" // the whole service does more or less work
	Mix     Source = "mix"     // a different mix of requests
	Growth  Source = "growth"  // a process has accumulated something for hours, without more work or a new version: Before and After are of one process
)

// A Deploy is a new version.
type Deploy struct {
	Version string `json:"version,omitempty"`
	Build   string `json:"build,omitempty"`
	Before  string `json:"before,omitempty"` // the previous version, or build if there are no versions
}

// A Rule is a broken rule.
type Rule struct {
	Name     string  `json:"name"`
	Metric   string  `json:"metric"` // report.RuleShare or another of these
	Function string  `json:"function,omitempty"`
	Value    float64 `json:"value"`          // when it began
	Most     float64 `json:"most,omitempty"` // the largest value, if it is over and it became larger
	Limit    float64 `json:"limit"`
	Unit     string  `json:"unit"`            // share, cores, bytes, goroutines
	Grown    bool    `json:"grown,omitempty"` // Value and Limit are growth factors
	Gone     bool    `json:"gone,omitempty"`  // it ended because the version, process or service sent no more profiles
}

// A Told is the outcome of a notification.
type Told struct {
	To     string    `json:"to"`               // name of the receiver
	Sent   time.Time `json:"sent,omitzero"`    // when the receiver accepted it
	Failed string    `json:"failed,omitempty"` // why it failed
}

// A Process is a process that was restarted or killed.
type Process struct {
	Instance string `json:"instance"`
	Memory   int64  `json:"memory,omitempty"` // last known memory
	Limit    int64  `json:"limit,omitempty"`
	Times    int    `json:"times,omitempty"`  // number of times until Ended, if more than one
	Likely   bool   `json:"likely,omitempty"` // that it ran out of memory is likely, but nobody has said so
	Shared   bool   `json:"shared,omitempty"` // several processes seem to send with the same labels, so this is no restart
}

// A Capture is a detailed recording.
type Capture struct {
	Recording string `json:"recording,omitempty"` // ID on the shelf
	Failed    string `json:"failed,omitempty"`
}

// Limits of a log.
const (
	mostEvents = 50_000
	mostBytes  = 64 << 20
	mostLine   = 64 << 10
)

// A Log is a file of events. It is safe for concurrent use.
type Log struct {
	name string

	mu     sync.Mutex
	file   *os.File
	events map[string]*Event // by tenant and ID; events are immutable
	bytes  int64             // size of the file
	live   int64             // bytes of current events in the file
	sizes  map[string]int64

	followers []func(was, is *Event)
}

// Open reads a log, which may not exist yet. It skips damaged parts and returns an error about them; without a Log, the error concerns the whole
// file.
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
		if json.Unmarshal(in.Bytes(), e) == nil && e.ID != "" { // the last line may be incomplete after a crash
			l.keep(e, int64(len(in.Bytes()))+1)
		}
	}
	return l, l.rewrite()
}

func key(tenant, id string) string { return tenant + "\x00" + id }

func (l *Log) keep(e *Event, size int64) {
	e.State = e.state() // logs of earlier versions do not have it
	k := key(e.Tenant, e.ID)
	l.live += size - l.sizes[k]
	l.events[k], l.sizes[k] = e, size
}

// rewrite rewrites the file with the current events, without the oldest ones if there are too many.
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

// sorted returns all events, newest first.
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

// Add stores an event. It replaces the event with the same ID, but keeps its Pin and notifications if e has none. The event is then on stable
// storage.
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

// Update changes an event, if it exists.
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

// Follow calls f with each event that is added or changed, and its earlier value or nil, in the order of the log. f must return soon, and must not
// call the log.
func (l *Log) Follow(f func(was, is *Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, f)
}

// put stores the new value of an event. nil means no change.
func (l *Log) put(tenant, id string, become func(was *Event) *Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.events[key(tenant, id)]
	e := become(was)
	if e == nil {
		return nil
	}
	e.State = e.state()
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

// A Filter selects events. Zero fields select all.
type Filter struct {
	Tenant   string // required
	Service  string
	Kinds    []Kind
	From, To time.Time
	Limit    int
}

// List returns events, newest first, and whether there are more than the limit.
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
