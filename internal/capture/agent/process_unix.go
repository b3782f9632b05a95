//go:build unix && !linux

package agent

import (
	"runtime"
	"strconv"
	"syscall"
)

// A Process asks the system about a process. Of itself it learns what getrusage says. Without cgo these systems have no call for
// more, and none for other processes: Ask is for those who can find out otherwise.
type Process struct {
	self bool

	// Ask returns how much memory is resident, in bytes, the CPU time so far, in seconds, and how many threads there are. What is not
	// known is 0.
	Ask func() (rss int64, cpu float64, threads int)
}

// Self returns the process that asks.
func Self() *Process { return &Process{self: true} }

// Of returns the process of a number.
func Of(pid string) *Process { return &Process{self: pid == "self"} }

// Close lets go of the process.
func (*Process) Close() {}

func (p *Process) usage() (u syscall.Rusage, ok bool) {
	return u, p.self && syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil
}

func (p *Process) ask() (rss int64, cpu float64, threads int) {
	if p.Ask == nil {
		return 0, 0, 0
	}
	return p.Ask()
}

// CPU returns the CPU time that the process took so far, in seconds, and whether that is known.
func (p *Process) CPU() (float64, bool) {
	if u, ok := p.usage(); ok {
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, true
	}
	_, cpu, _ := p.ask()
	return cpu, cpu > 0
}

// RSS returns how much memory is resident, in bytes; 0 when that is not known.
func (p *Process) RSS() int64 {
	rss, _, _ := p.ask()
	return rss
}

// Threads returns how many threads the process has; 0 when that is not known.
func (p *Process) Threads() int {
	_, _, threads := p.ask()
	return threads
}

// Peak returns the most memory that the process had so far, in bytes; 0 when that is not known.
func (p *Process) Peak() int64 {
	u, ok := p.usage()
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// Append appends what there is to know as members of a JSON object, each with a comma in front.
func (p *Process) Append(b []byte) []byte {
	rss, cpu, threads := p.ask()
	if u, ok := p.usage(); ok {
		cpu = float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		b = strconv.AppendInt(appendKey(b, "process/max-rss"), p.Peak(), 10)
	}
	if cpu > 0 {
		b = appendFloat(appendKey(b, "process/cpu"), cpu)
	}
	if rss > 0 {
		b = strconv.AppendInt(appendKey(b, "process/rss"), rss, 10)
	}
	if threads > 0 {
		b = strconv.AppendInt(appendKey(b, "process/threads"), int64(threads), 10)
	}
	return b
}

// AppendDelay appends how long its threads waited for a core, which these systems do not say.
func (*Process) AppendDelay(b []byte) []byte { return b }

// Group returns how much memory the control group uses, and may have. These systems have none.
func (*Process) Group() (used, most int64) { return 0, 0 }

// Cores returns how many cores the control group may use. These systems have none.
func (*Process) Cores() float64 { return 0 }

// Throttled returns how often its control group was throttled.
func (*Process) Throttled() (t Throttling, ok bool) { return t, false }

// GroupFiles returns where a file is in the control groups of a process.
func GroupFiles(pid, file2, controller, file1 string) []string { return nil }
