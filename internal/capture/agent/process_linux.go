package agent

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// A Process asks the system about a process and its control group.
type Process struct {
	dir                     string // in /proc
	memory, cpuUse, cpuStat string // files of its control group; "" where there are none
	buf                     []byte
}

// Self returns the process that asks.
func Self() *Process { return Of("self") }

// Of returns the process of a number.
func Of(pid string) *Process {
	p := &Process{dir: "/proc/" + pid + "/", buf: make([]byte, 8<<10)}
	groups, _ := os.ReadFile(p.dir + "cgroup")
	for _, line := range strings.Split(string(groups), "\n") {
		parts := strings.SplitN(line, ":", 3) // 4:memory:/path in version 1, 0::/path in version 2
		if len(parts) != 3 {
			continue
		}
		for _, of := range strings.Split(parts[1], ",") {
			switch of {
			case "":
				p.use(&p.memory, "/sys/fs/cgroup", parts[2], "memory.current")
				p.use(&p.cpuStat, "/sys/fs/cgroup", parts[2], "cpu.stat")
			case "memory":
				p.use(&p.memory, "/sys/fs/cgroup/memory", parts[2], "memory.usage_in_bytes")
			case "cpuacct":
				p.use(&p.cpuUse, "/sys/fs/cgroup/cpuacct", parts[2], "cpuacct.usage")
			}
		}
	}
	return p
}

// use sets file to that of a control group. Inside a container the path is often that of outside, and then the group
// is what is mounted.
func (p *Process) use(file *string, mount, path, name string) {
	for _, dir := range []string{mount + path, mount} {
		if _, err := os.Stat(dir + "/" + name); err == nil && *file == "" {
			*file = dir + "/" + name
		}
	}
}

// read returns the beginning of a file. It stays valid until the next call.
func (p *Process) read(name string) []byte {
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	n, err := f.Read(p.buf)
	if err != nil {
		return nil
	}
	return p.buf[:n]
}

// ticks is the unit of times in /proc/PID/stat: it is the same on all systems that Go runs on.
const ticks = 100

// Append appends what there is to know as members of a JSON object, each with a comma in front.
func (p *Process) Append(b []byte) []byte {
	if words := bytes.Fields(p.read(p.dir + "statm")); len(words) > 1 {
		if pages, err := strconv.ParseInt(string(words[1]), 10, 64); err == nil {
			b = strconv.AppendInt(appendKey(b, "process/rss"), pages*int64(os.Getpagesize()), 10)
		}
	}
	stat := p.read(p.dir + "stat")
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 { // the name before may hold anything
		if words := bytes.Fields(stat[i+1:]); len(words) > 17 {
			user, _ := strconv.ParseInt(string(words[11]), 10, 64)
			kernel, _ := strconv.ParseInt(string(words[12]), 10, 64)
			b = appendFloat(appendKey(b, "process/cpu"), float64(user+kernel)/ticks)
			b = append(appendKey(b, "process/threads"), words[17]...)
		}
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
	return b
}

// Peak returns the most memory that the process had so far, in bytes; 0 when that is not known.
func (p *Process) Peak() int64 {
	_, rest, ok := bytes.Cut(p.read(p.dir+"status"), []byte("\nVmHWM:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kb, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
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
