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
	"github.com/hone-perf/hone/internal/unit"
)

// A Store keeps profiles. Its methods are safe for concurrent use.
type Store interface {
	// Add stores uploads of one tenant and returns their outcomes. If the error is nil, the stored ones are on stable storage. After an error, all
	// can be added again: Add recognizes profiles that are already stored.
	Add(ctx context.Context, tenant string, uploads []*Upload) ([]Outcome, error)

	// Series returns the series of the profiles that q selects, ordered by service, kind, labels and sample types.
	Series(ctx context.Context, q Query) ([]Series, error)

	// Names returns the label names of the profiles that q selects, sorted.
	Names(ctx context.Context, q Query) ([]string, error)

	// Values returns the values of a label in the profiles that q selects, sorted: at most limit values with this prefix, and whether there are more.
	Values(ctx context.Context, q Query, label, prefix string, limit int) (values []string, more bool, err error)

	// Merge adds up the profiles that q selects.
	Merge(ctx context.Context, q Query) (*Merged, error)

	// Totals returns the totals of the profiles that q selects, in steps of time, with a line for each combination of values of the labels by.
	Totals(ctx context.Context, q Query, step time.Duration, by []string) ([]Line, error)

	// Entries lists profiles that q selects, newest first, and whether there are more.
	Entries(ctx context.Context, q Query, limit int) (entries []Entry, more bool, err error)

	// Profile returns one of the profiles that q selects, with the original bytes if the store still has them. A narrow q is faster.
	Profile(ctx context.Context, q Query, id ID) (*Entry, *profile.Profile, []byte, error)

	// Pin protects the profiles that q selects from the limits of age and size, until Unpin with the same name.
	Pin(ctx context.Context, q Query, pin Pin) error
	Unpin(ctx context.Context, tenant, name string) error
	Pins(ctx context.Context, tenant string) ([]Pin, error)

	// Tenants returns the tenants with profiles in this store.
	Tenants(ctx context.Context) ([]string, error)

	// Close waits until everything is on stable storage.
	Close() error
}

// ServiceLabel is the label for the service in selectors and lists of labels.
const ServiceLabel = "service_name"

// BuildLabel is the label for the build ID of single profiles. Take sets it if a profile has a build ID.
const BuildLabel = "build_id"

// An Upload is a profile on its way into a store.
type Upload struct {
	Service string
	Kind    string // cpu, heap, goroutine, mutex, block, … or the name that its sender uses
	Labels  Labels // labels of the series, with few values each, such as version and region
	Row     Labels // labels of this profile, with any number of values, such as instance and pod
	Start   time.Time
	End     time.Time // equal to Start for a snapshot

	// Counters is true if values such as alloc_space are counted from the start of the process, instead of the previous profile.
	Counters bool

	Raw []byte // the profile in a format of profile.Parse

	// Parsed is the parsed Raw. Take parses Raw if this is nil. Own means that the store may modify Parsed, because nobody else uses it.
	Parsed *profile.Profile
	Own    bool

	// Take sets the following fields.
	ID      ID
	Arrived time.Time
	Clock   bool // Start was impossible and is now the time of arrival
}

// An Outcome is the result of an upload.
type Outcome struct {
	ID       ID
	Repeated bool  // the store had it already
	Err      error // why it was refused; nil if it is stored
}

// An ID identifies a profile. It is a hash of everything that its sender sent, so a repeated upload has the same ID.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID parses the result of ID.String.
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
	labels(slices.DeleteFunc(slices.Clone(u.Row), func(l Label) bool { return l.Name == BuildLabel })) // Take may have added it
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

// A Label is a name and a value of a whole profile.
type Label struct{ Name, Value string }

// Labels are sorted by name. Names are unique, and no value is empty.
type Labels []Label

// NewLabels sorts labels, reusing the slice. Of labels with the same name it keeps the last.
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

// With returns the union of both. If both have a name, the value is from other.
func (l Labels) With(other Labels) Labels {
	return NewLabels(append(slices.Clone(l), other...)...)
}

// MarshalJSON writes an object with sorted names.
func (l Labels) MarshalJSON() ([]byte, error) {
	all := make(map[string]string, len(l))
	for _, l := range l {
		all[l.Name] = l.Value
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads the output of MarshalJSON.
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
	Kind     string // "" means any kind, for questions that allow it
	From, To time.Time
	Fold     Fold

	// Metric is the sample type that the question is about. Merge and Calls leave out profiles without it. If it is zero, they leave out those that cannot
	// be added to the others; see Together.
	Metric profile.ValueType `json:",omitzero"`

	// Means asks Totals for Line.Means, for Natural. The store then reads the profiles shortly before and after the time, too.
	Means bool `json:",omitzero"`

	// Functions means that only the functions of stacks matter. A store may then drop line numbers, and merge stacks that are equal without them.
	Functions bool
}

// Holds reports whether t is in the time range of q.
func (q *Query) Holds(t time.Time) bool { return !t.Before(q.From) && t.Before(q.To) }

// A Fold is the way in which values of several profiles are combined.
type Fold int

const (
	// Natural depends on the sample type. It adds up flows, takes the growth of counters, and takes the mean over time of levels. For an hour of heap
	// profiles, it returns the allocations in this hour and the mean memory in use.
	Natural Fold = iota
	// Sum adds up all values as they are, like merging files.
	Sum
)

// A Series is the profiles of one kind with the same service, labels and sample types.
type Series struct {
	Service  string              `json:"service"`
	Kind     string              `json:"kind"`
	Labels   Labels              `json:"labels"`
	Types    []profile.ValueType `json:"types"`
	First    time.Time           `json:"first"`
	Last     time.Time           `json:"last"`
	Profiles int                 `json:"profiles"`
}

// Merged is the sum of many profiles.
type Merged struct {
	Profile  *profile.Profile
	Profiles int // number of profiles
	Streams  int // number of their streams, which are mostly processes: distinct sets of labels, including those of single profiles
	First    time.Time
	Last     time.Time
	Damage   []error // errors about profiles that could not be read and are missing
	Shared   *Shared // labels that several processes seem to have; nil if there are none, and for Sum
}

// A Line is totals over time, of profiles with the same sample types and the same values of the labels in the question.
type Line struct {
	Labels Labels
	Types  []profile.ValueType
	Points []Point
	Means  []Mean `json:",omitempty"` // for Query.Means
}

// LineOf returns the line of Totals that profiles belong to, without points and means. label returns the value that they have for a label, or "". Profiles
// of one line have the same key.
func LineOf(kind string, types []profile.ValueType, by []string, label func(name string) string) (line Line, key string) {
	var group Labels
	for _, name := range by {
		group = append(group, Label{Name: name, Value: label(name)})
	}
	group = NewLabels(group...)
	return Line{Labels: group, Types: types}, kind + group.String() + TypesText(types)
}

// A Mean is what processes did in the part of a step that is in the time of a question, also between their profiles, which are of a part of the time only.
// Means of lines and of steps add up. Steps in which no process ran have no Mean.
type Mean struct {
	Time   time.Time     // start of the step
	Values []float64     // by sample type, what all processes together did; of levels, what they held, times the seconds for which they did
	Alive  time.Duration // how long processes ran, all together
	Ran    time.Duration // how long at least one ran
	Told   time.Duration // of Ran, the time for which it is known what was done, other than levels
	Any    time.Duration // how long at least one process of any line ran
}

// A Point is the totals of one step. Steps without profiles have no Point.
type Point struct {
	Time     time.Time // start of the step
	Values   []int64   // by sample type
	Profiles int
	Streams  int           // number of streams with profiles
	Covered  time.Duration // sum of the durations of the profiles
	Grown    time.Duration // sum of Stretch.Grown of the profiles, for Natural
}

// TypeNames lists the names of sample types.
func TypeNames(types []profile.ValueType) string {
	var names []string
	for _, t := range types {
		names = append(names, t.Type)
	}
	return strings.Join(names, ", ")
}

// TypesText encodes sample types as text, for comparing and sorting.
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
	Labels   Labels              `json:"labels"` // labels of the series and of the profile
	Start    time.Time           `json:"start"`
	End      time.Time           `json:"end"`
	Types    []profile.ValueType `json:"types"`
	Totals   []int64             `json:"totals"`
	Counters bool                `json:"counters,omitempty"`
	Clock    bool                `json:"clock,omitempty"` // the sender's time was impossible, and Start is the time of arrival
}

// A Pin protects profiles from the limits of age and size.
type Pin struct {
	Name   string    `json:"name"`
	Reason string    `json:"reason"`
	Made   time.Time `json:"made"`
	Query  Query     `json:"query"`
}

// Keeps reports whether a pin protects an upload of a tenant.
func (p *Pin) Keeps(tenant string, u *Upload) bool {
	q := &p.Query
	return q.Tenant == tenant && (q.Kind == "" || q.Kind == u.Kind) && q.Holds(u.Start) && q.Selector.Match(u.Service, u.Labels, u.Row)
}

// ErrFull means that the store has no room for more profiles. Stored ones can still be read.
var ErrFull = errors.New("the store is full")

// ErrNotFound means that there is no such profile or pin, perhaps not anymore.
var ErrNotFound = errors.New("no such entry in the store")

// A DamageError means that none of the selected profiles can be read.
type DamageError struct{ Damage []error }

func (e *DamageError) Error() string {
	more := ""
	if n := len(e.Damage) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("none of these profiles can be read: %v%s", e.Damage[0], more)
}

func (e *DamageError) Unwrap() []error { return e.Damage }

// A MisfitError is about profiles that are left out, because they are of another kind than their sender said.
type MisfitError struct {
	Service, Kind string
	Types         []profile.ValueType
	Profiles      int
}

func (e *MisfitError) Error() string {
	return fmt.Sprintf("%s of %s left out: stored as %s, but the sample types are %s, of kind %s", unit.Counted(e.Profiles, "profile"), e.Service, e.Kind, TypeNames(e.Types), Misfit(e.Kind, e.Types))
}

// An OtherMetricError is about profiles that are left out, because they lack the metrics that the others of their kind have.
type OtherMetricError struct {
	Service  string
	Types    []profile.ValueType
	Profiles int
	Metrics  []profile.ValueType // of those that were added up
}

func (e *OtherMetricError) Error() string {
	return fmt.Sprintf("%s of %s left out: the metrics are %s, and those of the other profiles %s", unit.Counted(e.Profiles, "profile"), e.Service, metricNames(e.Types),
		metricNames(e.Metrics))
}

// metricNames lists sample types with their units.
func metricNames(types []profile.ValueType) string {
	var names []string
	for _, t := range types {
		names = append(names, fmt.Sprintf("%s (%s)", t.Type, t.Unit))
	}
	return strings.Join(names, ", ")
}

// A LimitError is the limit that an upload exceeds.
type LimitError struct {
	What       string // such as "samples"
	Got, Limit int64  // Got is 0 if there is no number
}

func (e *LimitError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("the %s of the profile is more than %d", e.What, e.Limit)
	}
	return fmt.Sprintf("the profile has %d %s; the limit is %d", e.Got, e.What, e.Limit)
}
