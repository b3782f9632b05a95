package recording

// A DuelCode is how the code of a function differs between two versions.
type DuelCode struct {
	Function string   `json:"function"`       // as profiles of the new version name it, or of the old where it is gone
	Diff     string   `json:"diff,omitempty"` // of its source, unified; "" when that is the same
	Gained   []string `json:"gained,omitempty"`
	Lost     []string `json:"lost,omitempty"` // what the compiler says of inlining and of what goes to the heap
}
