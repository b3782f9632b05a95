package capture

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/capture/perf"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/gosrc"
	"github.com/hone-perf/hone/internal/source/objfile"
	"github.com/hone-perf/hone/internal/unit"
)

// process is the recording of a process that was running already.
type process struct {
	watcher
	pid     int
	start   time.Time            // of the recording
	before  recording.Usage      // what it had taken by then
	now     recording.Usage      // what it has taken, as of the last segment
	samples int64                // times it was seen working
	build   *buildinfo.BuildInfo // how it was built; nil when it does not say
	oom     *OOM
}

// Watch records a process that is running, from outside: until it ends, or opt.For is over, or ctx ends. Nothing is asked
// of the program, and it does not notice. Times in the recording count from when it began.
func Watch(ctx context.Context, opt Options, pid int) (*Recorded, error) {
	p := &process{watcher: watcher{session: opt.session()}, pid: pid}
	p.lookout.lookFor(&p.Options)
	dir := fmt.Sprintf("/proc/%d", pid)
	m := p.manifest
	m.How, m.Target = recording.Watched, fmt.Sprintf("process %d", pid)
	m.Command = cutNULs(dir + "/cmdline")
	m.Dir, _ = os.Readlink(dir + "/cwd")
	name := strconv.Itoa(pid)
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		name = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	p.say(fmt.Sprintf("watching process %d", pid))
	if err := p.begin(name); err != nil {
		return nil, err
	}
	p.Program.Env = cutNULs(dir + "/environ")
	m.Machine = machine(strconv.Itoa(pid))
	// The program may end, and its file may have been replaced: this is the one that runs.
	m.Program = p.program(dir+"/exe", nil)
	p.build, _ = buildinfo.ReadFile(dir + "/exe")
	if err := p.writeManifest(); err != nil {
		p.discard()
		return nil, fmt.Errorf("writing %s: %w", p.folder, err)
	}
	if p.For > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.For)
		defer stop()
	}
	p.start = time.Now()
	p.oom = oomOf(strconv.Itoa(pid))
	p.before = usageOf(dir)
	p.now = p.before
	out, err := p.watch(ctx)
	if len(p.parts()) == 0 && err != nil {
		p.discard()
		return nil, err
	}
	p.end(out, err)
	recorded, packErr := p.pack()
	recorded.Name = name
	if err == nil {
		err = packErr
	}
	return recorded, err
}

// watch writes what the system says about the process, and samples it.
func (p *process) watch(ctx context.Context) (perf.Outcome, error) {
	measuring, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.measure(measuring, p.pid, p.start)
	}()
	defer func() {
		stop()
		<-done
	}()
	offset := time.Since(p.start)
	return perf.Record(ctx, p.pid, perf.Options{Emit: func(prof *profile.Profile, from, to time.Duration) error {
		if u := usageOf(fmt.Sprintf("/proc/%d", p.pid)); u.User+u.System > 0 {
			p.now = u
		}
		for _, v := range prof.Values(0) {
			p.samples += v
		}
		if len(prof.Mappings) > 0 && p.manifest.Program != nil {
			p.manifest.Program.BuildID = prof.Mappings[0].BuildID
		}
		return p.took(from+offset, to+offset, prof)
	}})
}

// parts lists the CPU profiles that were written.
func (p *process) parts() []os.DirEntry {
	entries, _ := os.ReadDir(filepath.Join(p.folder, recording.CPU))
	return entries
}

// end adds what can only be known now.
func (p *process) end(out perf.Outcome, err error) {
	m := p.manifest
	m.Ended = p.Now()
	m.Usage = &recording.Usage{
		User: p.now.User - p.before.User, System: p.now.System - p.before.System,
		Real: time.Since(p.start), MaxRSS: p.now.MaxRSS,
	}
	m.Notes = append(m.Notes, out.Notes...)
	p.finishLookout(&p.lookout)
	switch {
	case err != nil:
		p.note("the recording ended early: %v", err)
	case out.Exited:
		p.note("the process ended after %s of recording", unit.Time(m.Usage.Real))
		// Its exit code is only told to who started it.
		if why := killedByKernel(p.pid); why != "" {
			m.Exit = &recording.Exit{Code: 128 + int(syscall.SIGKILL), Signal: "SIGKILL", Cause: why}
		} else if why = p.oom.evidence(); why != "" {
			p.note("by the time it ended, something in its control group was killed: %s", why)
		}
	}
	if p.samples == 0 {
		p.note("the process was idle during the recording: put it under load, or record for longer")
	}
	p.note("the process was watched from outside, so there is no heap profile; if it serves /debug/pprof, record its URL to get more")
	p.say("reading what was recorded")
	rec, err := recording.Open(p.folder)
	if err != nil {
		p.wrote(0, err)
		return
	}
	defer rec.Close()
	opt := gosrc.Options{Dir: p.Options.Dir, Git: true}
	if p.build != nil {
		opt = opt.Recorded(p.build)
	}
	p.wrote(0, keepSources(rec, p.folder, opt))
	p.keepCode(rec, codeOpener{open: p.openCode})
}

// openCode opens a program or library as the process sees it: it may be in a container, and the file of a process that still runs may be
// deleted or replaced.
func (p *process) openCode(name string) (*objfile.File, error) {
	dir := fmt.Sprintf("/proc/%d", p.pid)
	if exe, err := os.Readlink(dir + "/exe"); err == nil && strings.TrimSuffix(exe, " (deleted)") == name {
		if f, err := objfile.Open(dir + "/exe"); err == nil {
			return f, nil
		}
	}
	if f, err := objfile.Open(dir + "/root" + name); err == nil {
		return f, nil
	}
	return objfile.Open(name)
}

// usageOf returns what a process has taken so far; nothing when that cannot be known.
func usageOf(dir string) (u recording.Usage) {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return u
	}
	// The second field is its name, in which there may be anything.
	rest := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const state, utime, stime = 2, 13, 14
	if len(rest) <= stime-state {
		return u
	}
	const tick = time.Second / 100 // USER_HZ, on all that Go runs on
	user, _ := strconv.ParseInt(rest[utime-state], 10, 64)
	system, _ := strconv.ParseInt(rest[stime-state], 10, 64)
	u.User, u.System = time.Duration(user)*tick, time.Duration(system)*tick
	if kb, _, ok := strings.Cut(field(dir+"/status", "VmHWM"), " "); ok {
		n, _ := strconv.ParseInt(kb, 10, 64)
		u.MaxRSS = n << 10
	}
	return u
}

// cutNULs reads a file of texts that each end with a zero byte.
func cutNULs(file string) []string {
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00") // the last text may be empty
}
