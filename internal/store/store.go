// Package store keeps the profiles of many processes by service, kind, labels and time, and answers questions about many of
// them at once.
//
// Add takes uploads; when it returns, they are on stable storage, and adding one again changes nothing. A Query selects
// profiles, and Merge, Totals, Entries and the like answer about those. Store is what all backends do: disk keeps columns
// in files, clickhouse in a database, and storetest holds what they must agree on.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// A Store keeps profiles. All its methods can be called at the same time.
type Store interface {
	// Add keeps uploads of one tenant and returns what became of each. When the error is nil, those that were kept are on
	// stable storage. An error is about all of them; those that have been kept are told apart when they are added again.
	Add(ctx context.Context, tenant string, uploads []*Upload) ([]Outcome, error)

	// Series returns the series that have profiles that q selects, ordered by service, kind, labels and sample types.
	Series(ctx context.Context, q Query) ([]Series, error)

	// Names returns the names of labels of what q selects, in order.
	Names(ctx context.Context, q Query) ([]string, error)

	// Values returns the values of a label of what q selects, in order: at most limit that begin with prefix, and whether there are more.
	Values(ctx context.Context, q Query, label, prefix string, limit int) (values []string, more bool, err error)

	// Merge adds up what q selects.
	Merge(ctx context.Context, q Query) (*Merged, error)

	// Totals returns what q selects over time, in steps, a line for each combination of values of the labels by.
	Totals(ctx context.Context, q Query, step time.Duration, by []string) ([]Line, error)

	// Entries lists single profiles that q selects, the newest first, and whether there are more.
	Entries(ctx context.Context, q Query, limit int) (entries []Entry, more bool, err error)

	// Profile returns one of the profiles that q selects, and its bytes as they were received where these are kept. The narrower q
	// is, the faster it is found.
	Profile(ctx context.Context, q Query, id ID) (*Entry, *profile.Profile, []byte, error)

	// Pin keeps what q selects beyond all limits of age and size, until Unpin. The name tells pins apart.
	Pin(ctx context.Context, q Query, pin Pin) error
	Unpin(ctx context.Context, tenant, name string) error
	Pins(ctx context.Context, tenant string) ([]Pin, error)

	// Tenants returns who has profiles here.
	Tenants(ctx context.Context) ([]string, error)

	// Close waits until all is on stable storage.
	Close() error
}

// ServiceLabel is the label that names the service of a profile in selectors and lists of labels.
const ServiceLabel = "service_name"

// BuildLabel is the label of single profiles that tells builds of a program apart. Take gives it to those that say what build they are of.
const BuildLabel = "build_id"

// An Upload is a profile on its way into a store.
type Upload struct {
	Service string
	Kind    string // cpu, heap, goroutine, mutex, block, … or what its sender calls it
	Labels  Labels // of the series: few values each, such as version and region
	Row     Labels // of this profile: any number of values, such as instance and pod
	Start   time.Time
	End     time.Time // equal to Start for a moment

	// Counters is true when what only grows, such as alloc_space, is counted since the process began and not since the
	// profile before.
	Counters bool

	Raw []byte // the profile in a form that profile.Parse knows

	// Parsed is Raw when it has been read; Take reads it where it is nil. Own says that nobody else has a part of it, so that the store may take it apart.
	Parsed *profile.Profile
	Own    bool

	// The next are filled in by Take.
	ID      ID
	Arrived time.Time
	Clock   bool // Start was impossible and is now when it arrived
}

// An Outcome is what became of an upload.
type Outcome struct {
	ID       ID
	Repeated bool  // it was there already
	Err      error // why it was refused; nil when it is kept
}

// An ID tells a profile from all others. It is made from everything that its sender said, so one that is sent again is
// recognized.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads what ID.String wrote.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is not the ID of a profile, which has 32 hexadecimal digits", profile.Shorten(s, 40))
	}
	return ID(b), nil
}

// identify returns the ID of an upload of a tenant.
func (u *Upload) identify(tenant string) ID {
	h := sha256.New()
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	labels := func(l Labels) {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, l := range l {
			text(l.Name)
			text(l.Value)
		}
	}
	text(tenant)
	text(u.Service)
	text(u.Kind)
	labels(u.Labels)
	labels(slices.DeleteFunc(slices.Clone(u.Row), func(l Label) bool { return l.Name == BuildLabel })) // Take may have been here before
	moment := func(t time.Time) {
		if t.IsZero() {
			b = append(b, 0)
			return
		}
		b = binary.AppendVarint(append(b, 1), t.UnixNano())
	}
	moment(u.Start)
	moment(u.End)
	if u.Counters {
		b = append(b, 1)
	}
	h.Write(b)
	h.Write(u.Raw)
	return ID(h.Sum(nil)[:16])
}

// A Label is a name and a value that a profile carries as a whole.
type Label struct{ Name, Value string }

// Labels are ordered by name, each name once, and none has an empty value.
type Labels []Label

// NewLabels orders labels. It keeps the slice; of several with one name the last one stays.
func NewLabels(labels ...Label) Labels {
	slices.SortStableFunc(labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	out := labels[:0]
	for i, l := range labels {
		if i+1 < len(labels) && labels[i+1].Name == l.Name || l.Value == "" {
			continue
		}
		out = append(out, l)
	}
	return out
}

// Get returns the value of a label, or "".
func (l Labels) Get(name string) string {
	i, ok := slices.BinarySearchFunc(l, name, func(a Label, name string) int { return strings.Compare(a.Name, name) })
	if !ok {
		return ""
	}
	return l[i].Value
}

// With returns the labels of both; where both have a name, other counts.
func (l Labels) With(other Labels) Labels {
	return NewLabels(append(slices.Clone(l), other...)...)
}

// MarshalJSON writes an object of names and values, in the order of names.
func (l Labels) MarshalJSON() ([]byte, error) {
	all := make(map[string]string, len(l))
	for _, l := range l {
		all[l.Name] = l.Value
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Labels) UnmarshalJSON(text []byte) error {
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	list := make([]Label, 0, len(all))
	for name, value := range all {
		list = append(list, Label{name, value})
	}
	*l = NewLabels(list...)
	return nil
}

func (l Labels) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, l := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%q", l.Name, l.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// A Query selects profiles of one tenant.
type Query struct {
	Tenant   string
	Selector Selector
	Kind     string // "" is any, for those questions that take any
	From, To time.Time
	Fold     Fold

	// Functions says that whoever asks only looks at which functions called each other. A store may then leave lines and columns out of what it merges, and add up the
	// stacks that are the same without them.
	Functions bool
}

// Holds reports whether t is in the time that q asks for.
func (q *Query) Holds(t time.Time) bool { return !t.Before(q.From) && t.Before(q.To) }

// A Fold is how values of profiles become one value.
type Fold int

const (
	// Natural adds what happened, takes counters as how much they grew, and what is held at a moment as its mean over time:
	// an hour of heap profiles says what was allocated in this hour, and how much memory was in use on average.
	Natural Fold = iota
	// Sum adds all values as they are, like merging the files.
	Sum
)

// A Series is the profiles of one kind that share service, labels and sample types.
type Series struct {
	Service  string              `json:"service"`
	Kind     string              `json:"kind"`
	Labels   Labels              `json:"labels"`
	Types    []profile.ValueType `json:"types"`
	First    time.Time           `json:"first"`
	Last     time.Time           `json:"last"`
	Profiles int                 `json:"profiles"`
}

// Merged is many profiles as one.
type Merged struct {
	Profile  *profile.Profile
	Profiles int // that went in
	Streams  int // processes and the like that they are from: sets of labels, those of single profiles included
	First    time.Time
	Last     time.Time
	Damage   []error // what could not be read, and is missing
}

// A Line is totals over time, of profiles that share the labels that were asked for, and sample types.
type Line struct {
	Labels Labels
	Types  []profile.ValueType
	Points []Point
}

// A Point is the totals of one step of time. Steps without profiles have none.
type Point struct {
	Time     time.Time // when the step begins
	Values   []int64   // by sample type
	Profiles int
	Streams  int           // processes that they are from
	Covered  time.Duration // that the profiles say they are of, all together
}

// TypesText returns sample types as one text, to tell them apart and to order them.
func TypesText(types []profile.ValueType) string {
	var b strings.Builder
	for _, t := range types {
		fmt.Fprintf(&b, "%q %q ", t.Type, t.Unit)
	}
	return b.String()
}

// An Entry is one profile in a store.
type Entry struct {
	ID       ID                  `json:"id"`
	Service  string              `json:"service"`
	Kind     string              `json:"kind"`
	Labels   Labels              `json:"labels"` // those of the series and its own
	Start    time.Time           `json:"start"`
	End      time.Time           `json:"end"`
	Types    []profile.ValueType `json:"types"`
	Totals   []int64             `json:"totals"`
	Counters bool                `json:"counters,omitempty"`
	Clock    bool                `json:"clock,omitempty"` // its sender's time was impossible; Start is when it arrived
}

// A Pin keeps profiles.
type Pin struct {
	Name   string    `json:"name"`
	Reason string    `json:"reason"`
	Made   time.Time `json:"made"`
	Query  Query     `json:"query"`
}

// Keeps reports whether a pin keeps an upload of a tenant.
func (p *Pin) Keeps(tenant string, u *Upload) bool {
	q := &p.Query
	return q.Tenant == tenant && (q.Kind == "" || q.Kind == u.Kind) && q.Holds(u.Start) && q.Selector.Match(u.Service, u.Labels, u.Row)
}

// ErrFull says that there is no room for more. What is there can be read.
var ErrFull = errors.New("the store is full")

// ErrNotFound says that there is no such profile or pin, or not any more.
var ErrNotFound = errors.New("no such entry in the store")

// A DamageError says that nothing can be read of what a query selects, though there is something.
type DamageError struct{ Damage []error }

func (e *DamageError) Error() string {
	more := ""
	if n := len(e.Damage) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("none of these profiles can be read: %v%s", e.Damage[0], more)
}

func (e *DamageError) Unwrap() []error { return e.Damage }

// A LimitError says which limit an upload met.
type LimitError struct {
	What       string // such as "samples"
	Got, Limit int64  // the former is 0 where it has no number
}

func (e *LimitError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("the %s of the profile is more than %d", e.What, e.Limit)
	}
	return fmt.Sprintf("the profile has %d %s; the limit is %d", e.Got, e.What, e.Limit)
}
