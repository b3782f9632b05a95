package capture

import (
	"bufio"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// self is the number of this process, as /proc has it. What it runs is in the same control group.
const self = "self"

// machine describes where a process runs, with the limits of its control group.
func machine(pid string) *recording.Machine {
	m := &recording.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Kernel: kernel()}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kb, _, ok := strings.Cut(field("/proc/meminfo", "MemTotal"), " "); ok {
		n, _ := strconv.ParseInt(kb, 10, 64)
		m.Memory = n << 10
	}
	if m.Memory == 0 {
		m.Memory = agent.Self().Memory()
	}
	if _, limit := agent.Of(pid).Group(); m.Memory == 0 || limit < m.Memory {
		m.MemLimit = limit
	}
	if cores := agent.Of(pid).Cores(); cores > 0 {
		m.CPULimit = strconv.FormatFloat(cores, 'f', -1, 64)
	}
	for _, sign := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(sign); err == nil {
			m.Container = true
		}
	}
	return m
}

// field returns the first value of a name in a file of lines such as "model name : Xeon".
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// An OOM counts how often the kernel killed something in the control group of a process, or in those around it,
// since there was no memory left.
type OOM struct {
	files  []string
	before []int
	limit  int64 // of the group; 0 is none
}

// NewOOM counts in the control group of this process, in which what it runs is.
func NewOOM() *OOM { return oomOf(self) }

func oomOf(pid string) *OOM {
	c := &OOM{files: agent.GroupFiles(pid, "memory.events", "memory", "memory.oom_control")}
	for _, f := range c.files {
		c.before = append(c.before, oomKills(f))
	}
	_, c.limit = agent.Of(pid).Group()
	return c
}

// Killed says in words that the kernel killed a program since there was no memory left; it is "" where that is not known. The program began
// after c was made.
func (c *OOM) Killed(state *os.ProcessState) string {
	if state == nil || codeOf(state) != killed {
		return ""
	}
	return cmp.Or(c.evidence(), killedByKernel(state.Pid()))
}

// killed is the exit code of a program that was killed, also what a shell says of a program that it ran.
const killed = 128 + int(syscall.SIGKILL)

// evidence says in words that there was such a kill since c was made, or "". The innermost group may be gone by now.
func (c *OOM) evidence() string {
	for i, f := range c.files {
		if n := oomKills(f); n > c.before[i] {
			limit := ""
			if c.limit > 0 {
				limit = fmt.Sprintf(", %s", unit.Size(c.limit))
			}
			return fmt.Sprintf("out of memory: the kernel killed it at the memory limit of its control group%s (oom_kill of the group went from %d to %d)", limit, c.before[i], n)
		}
	}
	return ""
}

// oomKills reads the count in a file of a control group; -1 is that there is none.
func oomKills(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if kills, err := strconv.Atoi(strings.TrimSpace(n)); err == nil {
				return kills
			}
		}
	}
	return -1
}

// cause says in words why a program ended, where that is known.
func (s *session) cause(end *ending, said []byte, oom *OOM) string {
	crash, _ := os.ReadFile(filepath.Join(s.folder, recording.CrashFile))
	if len(crash) > 0 {
		// The first line of a fatal error is not always among what the runtime says twice.
		for line := range strings.Lines(string(crash) + string(said)) {
			if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG") {
				return strings.TrimSpace(line)
			}
		}
		return "it crashed"
	}
	if end.asked && signalName(end.state) == "SIGTERM" {
		return "hone stopped it after the load"
	}
	if codeOf(end.state) != killed {
		return ""
	}
	if why := oom.Killed(end.state); why != "" {
		return why
	}
	switch {
	case signalName(end.state) != "SIGKILL":
		return "one of its child processes was probably killed"
	case end.stopped.Load(), end.asked:
		return "hone killed it because it did not exit when told to"
	}
	return "another process sent it SIGKILL, or the kernel did because memory ran out"
}

// program says what is known about a program: from itself, and from the folder that it was built in.
func (s *session) program(file string, of *built) *recording.Program {
	p := &recording.Program{Env: map[string]string{}}
	env := s.Program.Env
	if env == nil {
		env = os.Environ()
	}
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS"}, k) {
			p.Env[k] = v
		}
	}
	path, err := exec.LookPath(file)
	if err != nil {
		return p
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		s.note("%s does not look like a Go program", filepath.Base(file))
		return p
	}
	p.Path, p.Module, p.Version, p.Go = info.Path, info.Main.Path, info.Main.Version, info.GoVersion
	p.Settings = map[string]string{}
	for _, set := range info.Settings {
		p.Settings[set.Key] = set.Value
	}
	if of == nil {
		return p
	}
	p.Path = cmp.Or(of.path, p.Path)
	// The go command leaves the revision out of tests, and where it was told to.
	if flags := p.Settings["-ldflags"]; flags != "" {
		p.Settings["-ldflags"] = strings.TrimSpace(strings.TrimSuffix(flags, "-checklinkname=0"))
		if p.Settings["-ldflags"] == "" {
			delete(p.Settings, "-ldflags")
		}
	}
	if t := of.tree; t != nil && p.Settings["vcs.revision"] == "" {
		p.Settings["vcs"] = "git"
		p.Settings["vcs.revision"] = t.revision
		p.Settings["vcs.modified"] = strconv.FormatBool(t.changes.Files > 0)
	}
	return p
}
