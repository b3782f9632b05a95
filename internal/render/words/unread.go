package words

import (
	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/unit"
)

// Unread returns a sentence about what could not be read of a heap, or only in part.
func Unread(n heapgraph.Note) string {
	count := func(noun string) string {
		if n.Count == 0 {
			return noun + "s"
		}
		return unit.Counted(n.Count, noun)
	}
	text := ""
	switch n.Code {
	case "object":
		text = "could not be read: " + count("object") + ", because the runtime does not say of which type they are"
	case "span":
		text = "could not be read: " + count("part") + " of the heap that changed at that moment"
	case "arena":
		text = "not read: " + count("arena") + " of package arena; what only they refer to counts as garbage"
	case "stack":
		text = "could not be read: " + count("stack") + " of goroutines"
	case "frames":
		text = "read only in part: " + count("stack") + "; each word of the rest that may be a pointer counts as one"
	case "stacks":
		text = "cut: " + count("stack") + ", of which only the innermost function is known, because there are too many different ones"
	case "goroutines":
		text = "not read: goroutines beyond the first 16,777,216"
	case "tables":
		text = "not read: " + count("table") + " of functions or types, because they are too large; what they tell about objects is missing"
	default:
		text = "could not be read: " + count(n.Code) // of a newer hone
	}
	if n.Name != "" {
		text += ": " + n.Name
	}
	return text
}
