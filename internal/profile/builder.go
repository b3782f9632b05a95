package profile

import "fmt"

// A Builder makes a Profile sample by sample. Tables are filled by appending to them directly; samples refer to
// locations by index.
type Builder struct {
	Header
	Tables
	Notes []string

	trie    *trie
	labels  *labelIndex
	context []uint32
	label   []uint32
	values  [][]int64
	stack   []uint32
	err     error
}

// NewBuilder returns a Builder for a profile with header h.
func NewBuilder(h Header) *Builder {
	return &Builder{
		Header: h,
		trie:   newTrie(),
		labels: newLabelIndex(),
		values: make([][]int64, len(h.SampleTypes)),
	}
}

// Labels returns the number of a set of labels, for Add. It may keep the slice.
func (b *Builder) Labels(labels []Label) uint32 { return b.labels.id(newLabelSet(labels)) }

// Add adds a sample: its stack from the leaf to the root, its label set, and a value for each sample type.
// It returns the sample's number.
func (b *Builder) Add(stack []uint32, labels uint32, values []int64) int {
	b.add(b.node(stack), labels, values)
	return len(b.context) - 1
}

// node interns a stack that runs from the leaf to the root.
func (b *Builder) node(stack []uint32) uint32 {
	b.stack = b.stack[:0]
	if len(stack) > maxDepth {
		b.err = limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
		return Root
	}
	for i := len(stack) - 1; i >= 0; i-- {
		b.stack = append(b.stack, stack[i])
	}
	n, err := b.trie.add(b.stack)
	if err != nil {
		b.err = err
	}
	return n
}

func (b *Builder) add(node, labels uint32, values []int64) {
	b.context = append(b.context, node)
	if labels != 0 && b.label == nil {
		b.label = make([]uint32, len(b.context)-1, cap(b.context))
	}
	if b.label != nil {
		b.label = append(b.label, labels)
	}
	for k := range b.values {
		b.values[k] = append(b.values[k], values[k])
	}
}

// Profile finishes the profile. The Builder must not be used afterwards.
func (b *Builder) Profile() (*Profile, error) {
	if b.err != nil {
		return nil, fmt.Errorf("building profile: %w", b.err)
	}
	t, order := b.trie.finish(nil)
	for i, n := range b.context {
		b.context[i] = order[n]
	}
	return &Profile{
		Header:  b.Header,
		Tables:  b.Tables,
		Notes:   b.Notes,
		tree:    t,
		context: b.context,
		labels:  b.label,
		values:  b.values,
		sets:    b.labels.sets,
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
