package store

import (
	"context"

	"github.com/hone-perf/hone/internal/profile"
)

// A CallStore is a Store that has stacks as trees. It can add profiles up without making one of them, for those who only look at what costs most: a
// profile of a day has a hundred thousand stacks, and a picture of it some thousand frames.
type CallStore interface {
	Store

	// Calls adds up one sample type of what q selects. It selects and counts as Merge does, and returns the same errors; labels of samples are left out.
	// Without an error it returns nil when only Merge can tell: trees that lie in different parts of the store are not put together, so what has to be
	// subtracted or divided must lie in one of them.
	Calls(ctx context.Context, q Query, typ profile.ValueType) ([]CallTree, error)
}

// A CallTree is stacks and what they cost. Nobody may change it.
type CallTree struct {
	Nodes []CallNode // the first one is the empty stack; callers come before what they call
	Costs []CallCost // of stacks, which may be there several times

	// Functions appends the names of the functions in a frame, of which there are so many, the outermost first, or its address where it has none.
	Frames    int
	Functions func(frame uint32, names []string) []string
}

// A CallNode is a frame below another one.
type CallNode struct{ Parent, Frame uint32 }

// A CallCost is a value of the stack that ends in a node.
type CallCost struct {
	Node  uint32
	Value int64
}
