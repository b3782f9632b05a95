// Package profile holds pprof profiles as immutable columns, and reads and writes their encodings.
//
// Parse reads any profile that Go or pprof ever wrote; a Builder makes a profile from scratch. A sample is a stack, a set of labels and one
// value for each sample type, and each of these is a column. Stacks are flat, packed one after the other: Stack unpacks one, and StackAt
// gives access to a part of it.
//
// A Profile never changes after it is built, so many goroutines can read it, and it can be cached. Merge, Diff, Scale, Filter, Rewrite and
// the With methods return new profiles, which share the parts that did not change.
package profile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
)

// A ValueType names what a sample value counts, such as cpu in nanoseconds.
type ValueType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

// A Header is what a profile says about itself as a whole.
type Header struct {
	SampleTypes []ValueType
	DefaultType string // sample type to show first; "" means the last one

	DropFrames string // frames whose whole name matches this are runtime machinery, cut off below user code…
	KeepFrames string // …unless they match this

	TimeNanos     int64 // start, in nanoseconds since 1970; 0 means unknown
	DurationNanos int64
	PeriodType    ValueType
	Period        int64

	Comments []string
	DocURL   string
}

// A Mapping is a piece of a program or library that was mapped into memory.
type Mapping struct {
	ID                   uint64
	Start, Limit, Offset uint64
	File                 string
	BuildID              string

	HasFunctions    bool
	HasFilenames    bool
	HasLineNumbers  bool
	HasInlineFrames bool
}

// Build returns what tells the program or library from other builds, or "" where nothing does. Go programs on Windows put their own name
// and the time they were last changed in place of a build ID.
func (m *Mapping) Build() string {
	if filename.Windows(m.BuildID) {
		return ""
	}
	return m.BuildID
}

// A Function is a function as the profile names it.
type Function struct {
	ID         uint64
	Name       string
	SystemName string // as the linker knows it; equal to Name for Go
	File       string
	StartLine  int64
}

// A Line is a place in a function.
type Line struct {
	Function uint32 // index in Functions
	Line     int64
	Column   int64
}

// NoMapping is the Mapping of a Location that belongs to none.
const NoMapping = -1

// A Location is an address on a stack. Its lines run from the innermost inlined function out to the function
// that was really called; an address nobody named has none.
type Location struct {
	ID      uint64
	Mapping int32 // index in Mappings, or NoMapping
	Folded  bool
	Hidden  bool // a filter took all its lines out of view
	Address uint64
	Lines   []Line
}

// Tables are the things that samples refer to.
type Tables struct {
	Mappings  []Mapping
	Functions []Function
	Locations []Location
}

// A Profile is a set of samples and what they refer to. See the package comment.
type Profile struct {
	Header
	Tables

	// Notes say what was lost or guessed while reading, in words for the user.
	Notes []string

	// Damage is what is wrong with input of which only a part could be used.
	Damage error

	stacks *stackTable

	stack  []uint32   // place of each sample's stack in stacks
	labels []uint32   // label set of each sample; nil when no sample has labels
	values [][]int64  // [sample type][sample]
	sets   []LabelSet // sets[0] is empty
	lines  [][]Line   // the blocks that lines of locations are in, where they were read
	choice *choice    // what Filter knows of where the samples are from; ask chosen

	told map[uint64][]toldFrame // names of addresses in the text that p was read from; see Named
}

// NumSamples returns how many samples p has.
func (p *Profile) NumSamples() int { return len(p.stack) }

// Stack appends the locations on the stack of sample i to buf, from the leaf to the root.
func (p *Profile) Stack(i int, buf []uint32) []uint32 {
	return p.stacks.unpack(buf, p.stack[i])
}

// Size returns about how many bytes of memory p takes, with what it shares with others.
func (p *Profile) Size() int64 {
	const perLocation, perLine, perFunction, perLabel = 64, 24, 96, 64 // with what the garbage collector adds
	n := len(p.stack)*(4+8*len(p.SampleTypes)) + 4*len(p.labels)
	for _, b := range p.stacks.blocks {
		n += cap(b)
	}
	for i := range p.Locations {
		n += perLocation + perLine*len(p.Locations[i].Lines)
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		n += perFunction + len(f.Name) + len(f.File)
	}
	for _, set := range p.sets {
		n += perLabel * len(set)
	}
	return int64(n)
}

// NumStacks returns how many different stacks the samples have.
func (p *Profile) NumStacks() int {
	x := newStackIndex(&stackTable{})
	var packed []byte
	for i := range p.stack {
		stack := p.StackAt(i)
		packed = stack.appendPacked(packed[:0])
		if _, err := x.intern(packed); err != nil {
			return len(p.stack) // cannot happen: all stacks are in one table already
		}
	}
	return x.n
}

// Depth returns how many locations the stack of sample i has.
func (p *Profile) Depth(i int) int {
	head, _ := headOf(p.stacks.get(p.stack[i]))
	return head.depth
}

// Fetch reads the beginning of the stacks of samples, so that they are in the cache. Whoever goes from stack to stack waits for each
// that is elsewhere in memory. These reads do not depend on each other, so that a processor does many at the same time. What Fetch
// returns only makes sure that the compiler keeps them. It overwrites samples.
func (p *Profile) Fetch(samples []uint32) (read byte) {
	for i, s := range samples {
		samples[i] = p.stack[s]
	}
	for _, at := range samples {
		read ^= p.stacks.get(at)[0]
	}
	return read
}

// StackAt returns the stack of sample i where it is, for those who look at a part of it.
func (p *Profile) StackAt(i int) Stack { return p.stacks.stack(p.stack[i]) }

// ReadStack makes s the stack of sample i.
func (p *Profile) ReadStack(i int, s *Stack) { p.stacks.read(p.stack[i], s) }

// Values returns the values of all samples for sample type k. The slice is shared and must not be written to.
func (p *Profile) Values(k int) []int64 { return p.values[k] }

// Label returns the index of the label set of sample i; 0 is the empty set.
func (p *Profile) Label(i int) uint32 {
	if p.labels == nil {
		return 0
	}
	return p.labels[i]
}

// LabelSets returns every label set that samples use, indexed by Label. The slice is shared.
func (p *Profile) LabelSets() []LabelSet { return p.sets }

// SampleIndex returns the sample type that name asks for: a name, a number, or "" for the default.
func (p *Profile) SampleIndex(name string) (int, error) {
	types := p.SampleTypes
	missing := func() error {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = t.Type
		}
		return &NoMetricError{name, names}
	}
	if name == "" {
		for i, t := range types {
			if p.DefaultType != "" && t.Type == p.DefaultType {
				return i, nil
			}
		}
		return len(types) - 1, nil
	}
	if i, err := strconv.Atoi(name); err == nil {
		if i < 0 || i >= len(types) {
			return 0, missing()
		}
		return i, nil
	}
	// Old heap profiles call their types objects and space.
	short := strings.TrimPrefix(name, "inuse_")
	for i, t := range types {
		if t.Type == name || t.Type == short {
			return i, nil
		}
	}
	return 0, missing()
}

// A NoMetricError says that a profile has no sample type of this name or number.
type NoMetricError struct {
	Name string
	Have []string
}

func (e *NoMetricError) Error() string {
	return fmt.Sprintf("the profile has no metric %s; it has %s", e.Name, strings.Join(e.Have, ", "))
}

// TypeNames returns the names other than its own by which SampleIndex finds sample type k.
func (p *Profile) TypeNames(k int) []string {
	var out []string
	for _, name := range []string{"inuse_" + p.SampleTypes[k].Type, strconv.Itoa(k)} {
		if i, err := p.SampleIndex(name); err == nil && i == k {
			out = append(out, name)
		}
	}
	return out
}

// WithTables returns p with other tables. They must have all locations at their places, since contexts refer to them by index, and may have more
// behind them.
func (p *Profile) WithTables(t Tables) *Profile {
	if len(t.Locations) < len(p.Locations) {
		panic("profile: WithTables with fewer locations")
	}
	q := *p
	q.Tables = t
	return &q
}

// WithHeader returns p with another header, which must name as many sample types.
func (p *Profile) WithHeader(h Header) *Profile {
	if len(h.SampleTypes) != len(p.SampleTypes) {
		panic("profile: WithHeader with another number of sample types")
	}
	q := *p
	q.Header = h
	return &q
}

// WithDamage returns p with what is wrong with the input that it was read from.
func (p *Profile) WithDamage(damage error) *Profile {
	q := *p
	q.Damage = damage
	return &q
}

// WithNote returns p with one more note.
func (p *Profile) WithNote(note string) *Profile {
	q := *p
	q.Notes = append(p.Notes[:len(p.Notes):len(p.Notes)], note)
	return &q
}

// ErrEmpty says that there was nothing to read.
var ErrEmpty = errors.New("empty input file")

// A FormatError says that the input is not a profile in any known form, or a damaged one.
type FormatError struct {
	Doing  string // the step that failed, in the words of pprof: decompressing profile, parsing profile, malformed profile
	Err    error  // what pprof says
	Detail string // what hone knows beyond that, such as the offset; may be empty
}

func (e *FormatError) Error() string { return e.Doing + ": " + e.Err.Error() }

func (e *FormatError) Unwrap() error { return e.Err }
