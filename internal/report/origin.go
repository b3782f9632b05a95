package report

// An Origin is the owner of a frame's code.
type Origin string

// The origins. A frame that stands for several frames may have "".
const (
	OwnCode    Origin = "own"     // the module of the program
	StdLibrary Origin = "std"     // the standard library
	Dependency Origin = "dep"     // other modules
	GoRuntime  Origin = "runtime" // the runtime of Go with its garbage collector
	Foreign    Origin = "other"   // not Go, or unknown
)
