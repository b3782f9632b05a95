//go:build !linux && !unix && !windows

package agent

// A Process asks the system about a process. On this one it learns nothing.
type Process struct{}

// Self returns the process that asks.
func Self() *Process { return &Process{} }

// Of returns the process of a number.
func Of(string) *Process { return &Process{} }

// Close lets go of the process.
func (*Process) Close() {}

// Append appends what there is to know as members of a JSON object, each with a comma in front.
func (*Process) Append(b []byte) []byte { return b }

// AppendDelay appends how long its threads waited for a core.
func (*Process) AppendDelay(b []byte) []byte { return b }

// Peak returns the most memory that the process had so far, in bytes; 0 when that is not known.
func (*Process) Peak() int64 { return 0 }

// RSS returns how much memory is resident, in bytes; 0 when that is not known.
func (*Process) RSS() int64 { return 0 }

// Threads returns how many threads the process has; 0 when that is not known.
func (*Process) Threads() int { return 0 }

// CPU returns the CPU time that the process took so far, in seconds, and whether that is known.
func (*Process) CPU() (float64, bool) { return 0, false }

// Group returns how much memory the control group uses, and may have.
func (*Process) Group() (used, most int64) { return 0, 0 }

// Memory returns how much memory there is, in bytes; 0 when that is not known.
func (*Process) Memory() int64 { return 0 }

// Cores returns how many cores the control group may use. This system has none.
func (*Process) Cores() float64 { return 0 }

// Throttled returns how often its control group was throttled.
func (*Process) Throttled() (t Throttling, ok bool) { return t, false }

// GroupFiles returns where a file is in the control groups of a process.
func GroupFiles(pid, file2, controller, file1 string) []string { return nil }
