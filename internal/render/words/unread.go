package words

import (
	"fmt"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// Unread returns a sentence about what could not be read of a heap.
func Unread(n heapgraph.Note) string {
	what := n.Code
	switch n.Code {
	case "object":
		what = "objects"
	case "span", "arena":
		what = n.Code + "s of the heap"
	case "stack", "stacks":
		what = "stacks"
	}
	if n.Name != "" {
		what += ": " + n.Name
	}
	if n.Count > 0 {
		return fmt.Sprintf("could not be read: %d %s", n.Count, what)
	}
	return "could not be read: " + what
}
