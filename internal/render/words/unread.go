package words

import (
	"fmt"

	"github.com/hone-perf/hone/internal/heapgraph"
)

// Unread returns a sentence about what could not be read of a heap.
func Unread(n heapgraph.Note) string {
	text := n.Code
	if n.Name != "" {
		text += ": " + n.Name
	}
	if n.Count > 0 {
		text += fmt.Sprintf(" (%d)", n.Count)
	}
	return "could not be read: " + text
}
