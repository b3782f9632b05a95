package agent

import (
	"strconv"
	"syscall"
	"unsafe"
)

// Package syscall has no names for these.
var (
	kernel               = syscall.NewLazyDLL("kernel32.dll")
	getProcessMemoryInfo = kernel.NewProc("K32GetProcessMemoryInfo")
	globalMemoryStatus   = kernel.NewProc("GlobalMemoryStatusEx")
)

const (
	queryLimitedInformation = 0x1000 // PROCESS_QUERY_LIMITED_INFORMATION
	vmRead                  = 0x10   // PROCESS_VM_READ
)

// A Process asks the system about a process.
type Process struct {
	handle syscall.Handle // 0 when it could not be opened
	pid    uint32
}

// Self returns the process that asks.
func Self() *Process {
	h, _ := syscall.GetCurrentProcess() // which needs no closing
	return &Process{h, uint32(syscall.Getpid())}
}

// Of returns the process of a number. It holds on to it, so that it can be asked when it has ended, too.
func Of(pid string) *Process {
	n, err := strconv.ParseUint(pid, 10, 32)
	if err != nil {
		return Self()
	}
	p := &Process{pid: uint32(n)}
	for _, access := range []uint32{queryLimitedInformation | vmRead, queryLimitedInformation, syscall.PROCESS_QUERY_INFORMATION | vmRead} {
		if p.handle, err = syscall.OpenProcess(access, false, p.pid); err == nil {
			break
		}
		p.handle = 0
	}
	return p
}

// Close lets go of the process.
func (p *Process) Close() {
	if own, _ := syscall.GetCurrentProcess(); p.handle != 0 && p.handle != own {
		syscall.CloseHandle(p.handle)
	}
	p.handle = 0
}

// memoryCounters is PROCESS_MEMORY_COUNTERS.
type memoryCounters struct {
	size           uint32
	faults         uint32
	peakWorkingSet uintptr
	workingSet     uintptr
	_              [4]uintptr // quotas
	pageFile       uintptr
	peakPageFile   uintptr
}

func (p *Process) counters() (c memoryCounters) {
	if p.handle == 0 || getProcessMemoryInfo.Find() != nil {
		return c
	}
	c.size = uint32(unsafe.Sizeof(c))
	if ok, _, _ := getProcessMemoryInfo.Call(uintptr(p.handle), uintptr(unsafe.Pointer(&c)), uintptr(c.size)); ok == 0 {
		return memoryCounters{}
	}
	return c
}

// RSS returns how much memory is resident, in bytes; 0 when that is not known.
func (p *Process) RSS() int64 { return int64(p.counters().workingSet) }

// Peak returns the most memory that the process had so far, in bytes; 0 when that is not known.
func (p *Process) Peak() int64 { return int64(p.counters().peakWorkingSet) }

// CPU returns the CPU time that the process took so far, in seconds, and whether that is known.
func (p *Process) CPU() (float64, bool) {
	var created, ended, kernel, user syscall.Filetime
	if p.handle == 0 || syscall.GetProcessTimes(p.handle, &created, &ended, &kernel, &user) != nil {
		return 0, false
	}
	hundreds := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) } // of nanoseconds
	return float64(hundreds(kernel)+hundreds(user)) / 1e7, true
}

// Threads returns how many threads the process has; 0 when that is not known.
func (p *Process) Threads() int {
	all, err := syscall.CreateToolhelp32Snapshot(syscall.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return 0
	}
	defer syscall.CloseHandle(all)
	var e syscall.ProcessEntry32
	e.Size = uint32(unsafe.Sizeof(e))
	for err = syscall.Process32First(all, &e); err == nil; err = syscall.Process32Next(all, &e) {
		if e.ProcessID == p.pid {
			return int(e.Threads)
		}
	}
	return 0
}

// Append appends what there is to know as members of a JSON object, each with a comma in front.
func (p *Process) Append(b []byte) []byte {
	if rss := p.RSS(); rss > 0 {
		b = strconv.AppendInt(appendKey(b, "process/rss"), rss, 10)
	}
	if cpu, ok := p.CPU(); ok {
		b = appendFloat(appendKey(b, "process/cpu"), cpu)
	}
	if n := p.Threads(); n > 0 {
		b = strconv.AppendInt(appendKey(b, "process/threads"), int64(n), 10)
	}
	return b
}

// AppendDelay appends how long its threads waited for a core, which Windows does not say.
func (*Process) AppendDelay(b []byte) []byte { return b }

// Group returns how much memory the control group uses, and may have. Windows has none.
func (*Process) Group() (used, most int64) { return 0, 0 }

// Memory returns how much memory there is, in bytes; 0 when that is not known.
func (*Process) Memory() int64 {
	var status struct { // MEMORYSTATUSEX
		size, load      uint32
		total           uint64
		free            uint64
		pageFile        [2]uint64
		virtual         [2]uint64
		extendedVirtual uint64
	}
	status.size = uint32(unsafe.Sizeof(status))
	if globalMemoryStatus.Find() != nil {
		return 0
	}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.total)
}

// Cores returns how many cores the control group may use. Windows has none.
func (*Process) Cores() float64 { return 0 }

// Throttled returns how often its control group was throttled.
func (*Process) Throttled() (t Throttling, ok bool) { return t, false }

// GroupFiles returns where a file is in the control groups of a process.
func GroupFiles(pid, file2, controller, file1 string) []string { return nil }
