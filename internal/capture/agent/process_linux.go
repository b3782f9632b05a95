package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Process asks the system about a process and its control group.
type Process struct {
	pid, dir                string  // in /proc
	looked                  bool    // for its control group, which takes longer than all else
	memory, cpuUse, cpuStat string  // files of its control group; "" where there are none
	groupUse                string  // memory that the control group uses which has the least to give
	groupMost               int64   // what that is; 0 where there is no limit
	cores                   float64 // that the control group may use which has the fewest; 0 where there is no limit
	throttle                string  // the file that counts how often it was throttled for that; "" where there is no limit
	buf                     []byte
}

// Self returns the process that asks.
func Self() *Process { return Of("self") }

// Of returns the process of a number.
func Of(pid string) *Process {
	return &Process{pid: pid, dir: "/proc/" + pid + "/", buf: make([]byte, 8<<10)}
}

// look finds the files of its control group.
func (p *Process) look() {
	if p.looked {
		return
	}
	p.looked = true
	pid := p.pid
	p.memory = innermost(GroupFiles(pid, "memory.current", "memory", "memory.usage_in_bytes"))
	p.cpuUse = innermost(GroupFiles(pid, "", "cpuacct", "cpuacct.usage"))
	p.cpuStat = innermost(GroupFiles(pid, "cpu.stat", "", ""))
	for _, file := range GroupFiles(pid, "memory.max", "memory", "memory.limit_in_bytes") {
		most, err := strconv.ParseInt(strings.TrimSpace(string(p.read(file))), 10, 64) // or max
		if err == nil && most < noLimit && (p.groupMost == 0 || most < p.groupMost) {
			p.groupMost = most
			dir, name := filepath.Split(file)
			p.groupUse = dir + map[string]string{"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}[name]
		}
	}
	p.findQuota(groupsOf(pid), groupMount)
}

// findQuota finds the control group that may use the fewest cores.
func (p *Process) findQuota(groups, mount string) {
	const quota1 = "cpu.cfs_quota_us"
	for _, file := range groupFiles(groups, mount, "cpu.max", "cpu", quota1) {
		words := string(p.read(file)) // 50000 100000, or max 100000; in version 1, 50000 or -1
		dir, name := filepath.Split(file)
		if name == quota1 {
			words += " " + string(p.read(dir+"cpu.cfs_period_us"))
		}
		fields := strings.Fields(words)
		if len(fields) != 2 {
			continue
		}
		quota, errQuota := strconv.ParseInt(fields[0], 10, 64)
		period, errPeriod := strconv.ParseInt(fields[1], 10, 64)
		if errQuota != nil || errPeriod != nil || quota <= 0 || period <= 0 {
			continue
		}
		if cores := float64(quota) / float64(period); p.cores == 0 || cores < p.cores {
			p.cores, p.throttle = cores, dir+"cpu.stat"
		}
	}
}

// Cores returns how many cores the control group may use that may use the fewest; 0 where there is no limit.
func (p *Process) Cores() float64 {
	p.look()
	return p.cores
}

// Throttled returns how often the kernel has throttled the control group of Cores.
func (p *Process) Throttled() (t Throttling, ok bool) {
	p.look()
	text := p.read(p.throttle)
	number := func(name string) int64 {
		n, err := strconv.ParseInt(string(field(text, name)), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	t.Periods, t.Throttled = number("nr_periods "), number("nr_throttled ")
	if us := number("throttled_usec "); us >= 0 {
		t.Seconds = float64(us) / 1e6
	} else if ns := number("throttled_time "); ns >= 0 { // version 1
		t.Seconds = float64(ns) / 1e9
	}
	return t, t.Periods >= 0 && t.Throttled >= 0
}

// Close lets go of the process. Nothing holds on to it.
func (*Process) Close() {}

func innermost(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// GroupFiles returns where a file is in the control groups of a process, from the innermost out: file2 where they are of
// version 2, and file1 of a controller where they are of version 1.
func GroupFiles(pid, file2, controller, file1 string) []string {
	return groupFiles(groupsOf(pid), groupMount, file2, controller, file1)
}

// groupMount is where control groups are.
const groupMount = "/sys/fs/cgroup"

// groupsOf returns the control groups of a process, one a line.
func groupsOf(pid string) string {
	return string(readFile("/proc/"+pid+"/cgroup", make([]byte, 16<<10)))
}

func groupFiles(groups, mount, file2, controller, file1 string) []string {
	var out []string
	for _, line := range strings.Split(groups, "\n") {
		parts := strings.SplitN(line, ":", 3) // 4:memory:/path in version 1, 0::/path in version 2
		if len(parts) != 3 {
			continue
		}
		mount, name := mount, file2
		if parts[1] != "" {
			found := false
			for _, c := range strings.Split(parts[1], ",") {
				found = found || c == controller
			}
			if !found {
				continue
			}
			mount, name = mount+"/"+controller, file1
		}
		// Inside a container the path is often that of outside, and then the group is what is mounted.
		for path := filepath.Clean("/" + parts[2]); name != ""; path = filepath.Dir(path) {
			file := filepath.Join(mount, path, name)
			if _, err := os.Stat(file); err == nil {
				out = append(out, file)
			}
			if path == "/" {
				break
			}
		}
	}
	return out
}

// read returns the beginning of a file. It stays valid until the next call.
func (p *Process) read(name string) []byte {
	if name == "" {
		return nil
	}
	return readFile(name, p.buf)
}

// ticks is the unit of times in /proc/PID/stat: it is the same on all systems that Go runs on.
const ticks = 100

// RSS returns how much memory is resident, in bytes; 0 when that is not known.
func (p *Process) RSS() int64 {
	words := bytes.Fields(p.read(p.dir + "statm"))
	if len(words) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(words[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// stat returns the words of /proc/PID/stat from the third on. The second is the name, in which there may be anything.
func (p *Process) stat() [][]byte {
	text := p.read(p.dir + "stat")
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

// CPU returns the CPU time that the process took so far, in seconds, and whether that is known.
func (p *Process) CPU() (float64, bool) { return cpuOf(p.stat()) }

func cpuOf(stat [][]byte) (float64, bool) {
	const utime, stime = 11, 12
	if len(stat) <= stime {
		return 0, false
	}
	user, errUser := strconv.ParseInt(string(stat[utime]), 10, 64)
	kernel, errKernel := strconv.ParseInt(string(stat[stime]), 10, 64)
	return float64(user+kernel) / ticks, errUser == nil && errKernel == nil
}

// Threads returns how many threads the process has; 0 when that is not known.
func (p *Process) Threads() int { return threadsOf(p.stat()) }

func threadsOf(stat [][]byte) int {
	const threads = 17
	if len(stat) <= threads {
		return 0
	}
	n, _ := strconv.Atoi(string(stat[threads]))
	return n
}

// manyThreads is when it would take too long to ask each.
const manyThreads = 200

// AppendDelay appends how long the threads of the process were ready to run and waited for a core, added
// up over those that there are. It asks each of them, which takes too long to be done for nothing.
func (p *Process) AppendDelay(b []byte) []byte {
	tasks, err := os.ReadDir(p.dir + "task")
	if err != nil || len(tasks) > manyThreads {
		return b
	}
	var seconds float64
	known := false
	for _, t := range tasks {
		// It holds the time on a core, that of waiting for one, and how often.
		words := bytes.Fields(p.read(p.dir + "task/" + t.Name() + "/schedstat"))
		if len(words) < 3 {
			continue // it has ended, or the kernel does not count it
		}
		ns, err := strconv.ParseInt(string(words[1]), 10, 64)
		known = known || err == nil
		seconds += float64(ns) / 1e9
	}
	if !known {
		return b
	}
	return appendFloat(appendKey(b, "process/run-delay"), seconds)
}

// Group returns how much memory the control group uses that has the least to give, and what that is, in bytes; 0 where
// there is no limit.
func (p *Process) Group() (used, most int64) {
	p.look()
	used, _ = strconv.ParseInt(string(bytes.TrimSpace(p.read(p.groupUse))), 10, 64)
	return used, p.groupMost
}

// Memory returns how much memory there is for processes here: what the control group may have, or the machine has.
func (p *Process) Memory() int64 {
	p.look()
	all := kilobytes(p.read("/proc/meminfo"), "MemTotal:")
	if p.groupMost > 0 && (all == 0 || p.groupMost < all) {
		return p.groupMost
	}
	return all
}

// Append appends what there is to know as members of a JSON object, each with a comma in front.
func (p *Process) Append(b []byte) []byte {
	p.look()
	rss := p.RSS()
	if rss > 0 {
		b = strconv.AppendInt(appendKey(b, "process/rss"), rss, 10)
	}
	stat := p.stat()
	if cpu, ok := cpuOf(stat); ok {
		b = appendFloat(appendKey(b, "process/cpu"), cpu)
	}
	if n := threadsOf(stat); n > 0 && rss > 0 { // one that has ended, and was not waited for, has a thread and no memory
		b = strconv.AppendInt(appendKey(b, "process/threads"), int64(n), 10)
	}
	if x := bytes.TrimSpace(p.read(p.memory)); isNumber(x) {
		b = append(appendKey(b, "cgroup/memory"), x...)
	}
	if x := bytes.TrimSpace(p.read(p.cpuUse)); isNumber(x) {
		ns, _ := strconv.ParseInt(string(x), 10, 64)
		b = appendFloat(appendKey(b, "cgroup/cpu"), float64(ns)/1e9)
	} else if rest, ok := bytes.CutPrefix(p.read(p.cpuStat), []byte("usage_usec ")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		us, _ := strconv.ParseInt(string(line), 10, 64)
		b = appendFloat(appendKey(b, "cgroup/cpu"), float64(us)/1e6)
	}
	if p.throttle == "" {
		return b
	}
	if t, ok := p.Throttled(); ok {
		b = strconv.AppendInt(appendKey(b, "cgroup/periods"), t.Periods, 10)
		b = strconv.AppendInt(appendKey(b, "cgroup/throttled-periods"), t.Throttled, 10)
		b = appendFloat(appendKey(b, "cgroup/throttled"), t.Seconds)
	}
	return b
}

// Peak returns the most memory that the process had so far, in bytes; 0 when that is not known.
func (p *Process) Peak() int64 {
	return kilobytes(p.read(p.dir+"status"), "VmHWM:")
}

// field returns the value of a line of text such as "Threads: 4".
func field(text []byte, name string) []byte {
	at := bytes.Index(text, []byte("\n"+name))
	if at < 0 {
		if !bytes.HasPrefix(text, []byte(name)) {
			return nil
		}
		at = -1
	}
	line, _, _ := bytes.Cut(text[at+1+len(name):], []byte("\n"))
	return bytes.TrimSpace(line)
}

// kilobytes returns the value of a line such as "MemTotal: 12 kB", in bytes.
func kilobytes(text []byte, name string) int64 {
	kb, _ := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(field(text, name), []byte("kB")))), 10, 64)
	return kb << 10
}

func isNumber(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
