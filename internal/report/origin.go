package report

// An Origin says whose code a frame is.
type Origin string

// The origins there are. "" is that of a frame that stands for several of them.
const (
	OwnCode    Origin = "own"     // the module that the program is of
	StdLibrary Origin = "std"     // the standard library
	Dependency Origin = "dep"     // other modules
	GoRuntime  Origin = "runtime" // the runtime of Go with its garbage collector
	Foreign    Origin = "other"   // no Go, or not known
)
