// Package heapgraph has the objects of a Go heap, what they point to and what keeps them alive. It is pure: internal/capture/heap reads a heap of a
// process into it.
package heapgraph

import "time"

// A Heap is what one look at a process found.
type Heap struct {
	Meta
	Graph
}

// Meta says where a heap is from.
type Meta struct {
	PID       int
	Command   string // as the system shows it
	GoVersion string // as runtime.Version
	BuildID   string
	Time      time.Time
	Pause     time.Duration // how long the process stood still
	Stopped   bool          // it stood still while the heap was read, because the system did not let it fork
	Allocated Sum           // what the runtime counts as in use: objects with and without holders
	Rate      int64         // the runtime's MemProfileRate; 0 if no allocations are sampled
	Notes     []Note        // what could not be read
}

// A Note says that part of the answer is missing, and how much.
type Note struct {
	Code  string `json:"code"` // a fact: internal/render/words has the English
	Name  string `json:"name,omitempty"`
	Count int    `json:"count,omitempty"`
}

// A Graph is in columns. Objects are numbered from 0.
type Graph struct {
	Words []uint32 // size of an object, in words of 8 bytes
	Type  []uint32 // index into Types; 0 is the type that is not known
	First []uint32 // the edges of object i are First[i] to First[i+1]; so it has one more
	To    []uint32 // edge → object
	Step  []uint32 // edge → index into Steps: the field, element, key or captured variable that points
	Roots []Root
	Types []string // "" first. As Go writes them: main.Session, []uint8 is the array behind a slice
	Steps []string // "" first: .buf  []  key  value  captured fb  →
	Made  []Sample // of the objects that the memory profiler sampled
	Sites [][]Frame
}

// A Root keeps one object alive.
type Root struct {
	Object uint32
	Kind   RootKind
	Name   string // main.cache; for a variable of a goroutine, the variable: r
	Step   uint32 // the field within the global or variable
	Type   string // of the global or variable
	File   string // where it is declared, if that is known
	Line   int
	Where  uint32 // of a variable of a goroutine: index into Sites, its stack from the frame that has the variable out; innermost first
	Count  uint32 // goroutines with this very stack
	Stacks uint64 // bytes of their stacks, which are not on the heap
	Waits  string // what the goroutine waits for, as the runtime says: chan receive
	Since  time.Duration
}

// A RootKind says what a root is.
type RootKind uint8

const (
	Global    RootKind = iota // a variable of a package
	Variable                  // a variable of a function that a goroutine is in
	Word                      // a word of a stack or register that no variable is known for
	Finalizer                 // the function and what the object with a finalizer or cleanup holds
	Runtime                   // the runtime's own: timers, defers, goroutines
)

// A Frame is one call.
type Frame struct {
	Func, File string
	Line       int
}

// A Sample says which stack made an object.
type Sample struct {
	Object uint32
	Site   uint32 // index into Sites
	Size   uint64 // bytes that were asked for
}
