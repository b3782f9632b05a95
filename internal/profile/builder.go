package profile

import (
	"fmt"
	"math"

	"github.com/hone-perf/hone/internal/pages"
)

// A Builder makes a Profile sample by sample. Tables are filled by appending to them directly; samples refer to
// locations by index.
type Builder struct {
	Header
	Tables
	Notes []string

	stacks *stackTable
	labels *labelIndex
	stack  []uint32
	label  []uint32
	values [][]int64
	packed []byte
	err    error

	share       func() float64 // of the input that has been read, when that is known
	lastShare   float64        // when room was made the last time
	lastSamples int
}

// NewBuilder returns a Builder for a profile with header h.
func NewBuilder(h Header) *Builder {
	return &Builder{
		Header: h,
		stacks: &stackTable{},
		labels: newLabelIndex(),
		values: make([][]int64, len(h.SampleTypes)),
	}
}

// Labels returns the number of a set of labels, for Add. It may keep the slice.
func (b *Builder) Labels(labels []Label) uint32 { return b.labels.id(newLabelSet(labels)) }

// Add adds a sample: its stack from the leaf to the root, its label set, and a value for each sample type.
// It returns the sample's number.
func (b *Builder) Add(stack []uint32, labels uint32, values []int64) int {
	b.packed = packStack(b.packed, stack, 1)
	at, err := b.stacks.add(b.packed)
	if err != nil {
		b.err = err
	}
	b.add(at, labels, values)
	return len(b.stack) - 1
}

// sampleSlot returns the slot for the sample with this stack and these labels in an index of samples.
func (b *Builder) sampleSlot(x *hashIndex, at, labels uint32) *hashSlot {
	return x.find(mix(0, uint64(at)<<32|uint64(labels)), func(i uint32) bool {
		return b.stack[i] == at && b.hasLabels(i, labels)
	})
}

// hasLabels reports whether sample i has that set of labels.
func (b *Builder) hasLabels(i, set uint32) bool {
	if b.label == nil {
		return set == 0
	}
	return b.label[i] == set
}

// add adds a sample whose stack is in the table.
func (b *Builder) add(at, labels uint32, values []int64) {
	if len(b.stack) == cap(b.stack) {
		b.reserve(len(b.stack) + b.more())
	}
	b.stack = append(b.stack, at)
	if labels != 0 && b.label == nil {
		b.label = make([]uint32, len(b.stack)-1, cap(b.stack))
	}
	if b.label != nil {
		b.label = append(b.label, labels)
	}
	for k := range b.values {
		b.values[k] = append(b.values[k], values[k])
	}
}

// reserve makes room for n samples in all, of which there are not as many yet.
func (b *Builder) reserve(n int) {
	b.stack = grownFrom(&spareNumbers, b.stack, n)
	if b.label != nil {
		b.label = grown(b.label, n)
	}
	for k := range b.values {
		b.values[k] = grownFrom(&spareValues, b.values[k], n)
	}
}

// grownFrom does what grown does, but takes one that nobody needs any more in place of an empty column.
func grownFrom[T any](s *spare[T], col []T, n int) []T {
	if len(col) == 0 {
		if more := s.get(n); more != nil {
			return more
		}
	}
	return grown(col, n)
}

// more returns for how many more samples to make room: for all that are to come, as far as that can be told, or for
// as many again. Columns that are too short are copied, which takes time and leaves garbage as large as they are; of
// those that are too long, what is not used takes no memory.
func (b *Builder) more() int {
	n := len(b.stack)
	const enough = 1 << 12 // to tell from
	if b.share != nil && n >= enough {
		s, was, from := b.share(), b.lastShare, b.lastSamples
		b.lastShare, b.lastSamples = s, n
		if 0 < was && was < s && s <= 1 {
			// As many in the rest as in the part since the last time, and then more than twice that: further on, there are fewer
			// entries of tables between samples, and less of a stack is new. Input is read some way ahead of the sample that is being added.
			rest := min(2.2*float64(n-from)*(1-s)/(s-was), math.MaxInt32)
			const much = 64 << 20 // bytes, to ask for on the word of a few samples
			return min(int(rest)+n/8+1024, max(3*n, much/(8*len(b.values)+8)))
		}
	}
	return max(n, 256)
}

// grown returns a column with room for n. slices.Grow clears the room, which takes its pages from the kernel before there is
// something to put there; and since the collector can't stop a goroutine that clears memory, it asks it to over and over.
func grown[T any](col []T, n int) []T {
	more := pages.Make[T](len(col), n)
	copy(more, col)
	return more
}

// Profile finishes the profile. The Builder must not be used afterwards.
func (b *Builder) Profile() (*Profile, error) {
	if b.err != nil {
		return nil, fmt.Errorf("building profile: %w", b.err)
	}
	return &Profile{
		Header: b.Header,
		Tables: b.Tables,
		Notes:  b.Notes,
		stacks: b.stacks,
		stack:  b.stack,
		labels: b.label,
		values: b.values,
		sets:   b.labels.sets,
	}, nil
}

// Renumber gives tables built by hand the ids 1, 2, 3, … in order.
func (t *Tables) Renumber() {
	for i := range t.Mappings {
		t.Mappings[i].ID = uint64(i + 1)
	}
	for i := range t.Functions {
		t.Functions[i].ID = uint64(i + 1)
	}
	for i := range t.Locations {
		t.Locations[i].ID = uint64(i + 1)
	}
}
