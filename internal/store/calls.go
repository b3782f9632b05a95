package store

import (
	"context"

	"github.com/hone-perf/hone/internal/profile"
)

// A CallStore is a Store whose stacks are trees. It can add up costs without making a profile, for pictures that only show the highest costs: a
// profile of a day has a hundred thousand stacks, a picture of it some thousand frames.
type CallStore interface {
	Store

	// Calls adds up one sample type of the profiles that q selects. It selects and counts like Merge, and returns the same errors, but ignores labels
	// of samples. It returns nil without an error if only Merge can answer. This happens when values have to be subtracted or divided and lie in
	// several trees, because trees are not merged.
	Calls(ctx context.Context, q Query, typ profile.ValueType) ([]CallTree, error)
}

// A CallTree is stacks with their costs. It must not be modified.
type CallTree struct {
	Nodes []CallNode // the first one is the empty stack; callers come before callees
	Costs []CallCost // costs of stacks; a stack may have several

	// Functions appends the function names of a frame, outermost first, including inlined calls, or its address if it has no name.
	Frames    int
	Functions func(frame uint32, names []string) []string
}

// A CallNode is a frame below another one.
type CallNode struct{ Parent, Frame uint32 }

// A CallCost is a cost of the stack that ends in a node.
type CallCost struct {
	Node  uint32
	Value int64
}
