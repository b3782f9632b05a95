package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A recorder takes samples of a process.
type recorder struct {
	pid   int
	dir   string // /proc/PID
	opt   Options
	space *space
	req   *request
	out   Outcome

	process int            // handle of the process, which is ready when it has ended; -1 where the kernel has none
	wide    bool           // events are of cores, not of threads
	events  map[int]*event // by number of the core or thread
	missed  map[int]bool   // threads that could not be asked for
	polls   []unix.PollFd
	polled  []int // the thread or core that each of polls is of; -1 for the process
	buf     []byte
	tally   tally
	monitor int64 // samples of the runtime's monitor
	dropped int64 // samples for which a segment had no room
}

// tick is how often buffers are emptied and new threads looked for.
const tick = 25 * time.Millisecond

// maxThreads is how many threads are sampled.
const maxThreads = 1 << 14

// Record samples a process until ctx ends, which is no error, or the process does. What it is not allowed to do it
// says, with what to do about it.
func Record(ctx context.Context, pid int, opt Options) (Outcome, error) {
	opt.Rate = min(cmp.Or(opt.Rate, 99), maxRate)
	opt.Segment = cmp.Or(opt.Segment, time.Second)
	r := &recorder{
		pid: pid, dir: fmt.Sprintf("/proc/%d", pid), opt: opt,
		req: newRequest(opt.Rate), events: make(map[int]*event), missed: make(map[int]bool), process: -1,
	}
	defer r.close()
	if err := r.open(); err != nil {
		return r.out, fmt.Errorf("recording process %d: %w", pid, err)
	}
	err := r.run(ctx)
	r.notes()
	return r.out, err
}

// open takes hold of the process and of the threads that it has.
func (r *recorder) open() error {
	if r.pid <= 0 {
		return ErrGone
	}
	if fd, err := unix.PidfdOpen(r.pid, 0); err == nil {
		r.process = fd
	} else if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	if err := r.isProcess(); err != nil {
		return err
	}
	// Whether it is allowed comes first: who may not sample a process may not look at its memory either, and only
	// this says why.
	if err := r.attach(); err != nil {
		return err
	}
	var err error
	if r.space, err = openSpace(r.dir); errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	} else if errors.Is(err, fs.ErrPermission) {
		return hint.Errorf(hint.Text{r.asRoot()}, "%w: its memory map cannot be read: record it as root", ErrPermission)
	}
	return err
}

// isProcess reports whether there is something to sample: no thread, and no zombie.
func (r *recorder) isProcess() error {
	b, err := os.ReadFile(r.dir + "/status")
	if err != nil {
		return ErrGone
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Tgid":
			if value != strconv.Itoa(r.pid) {
				return fmt.Errorf("%w: %d is a thread of process %s", ErrGone, r.pid, value)
			}
		case "State":
			if strings.HasPrefix(value, "Z") {
				return fmt.Errorf("%w: it has ended already", ErrGone)
			}
		}
	}
	return nil
}

// attach asks for samples: of all that runs on each core where that is allowed, else of each thread.
//
// Samples of a core cost the program nothing when it switches between threads, while those of a thread make the
// kernel set and stop a timer each time, which shows: a server that often waits had 9% in runtime.futex instead of 4%.
// They include threads that are new, and need few files. Those of other processes are dropped unread.
func (r *recorder) attach() error {
	if !r.opt.perThread {
		err := r.attachCores()
		if r.wide = err == nil; r.wide {
			r.req.layout.process = uint32(r.pid)
			return nil
		}
		for cpu := range r.events {
			r.drop(cpu)
		}
	}
	return r.attachThreads()
}

func (r *recorder) attachCores() error {
	cpus, err := cores()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		e, err := r.req.open(everywhere, cpu)
		switch {
		case err == nil:
			r.events[cpu] = e
		case !errors.Is(err, unix.ENODEV): // it was switched off meanwhile
			return err
		}
	}
	if len(r.events) == 0 {
		return unix.ENODEV
	}
	return nil
}

// attachThreads asks for the threads that are new, and fails only when there is none at all.
func (r *recorder) attachThreads() error {
	threads, err := threadsOf(r.dir)
	if err != nil {
		return ErrGone
	}
	var why error
	for _, t := range threads {
		if r.events[t] != nil || len(r.events) >= maxThreads {
			continue
		}
		e, err := r.req.openThread(t)
		switch {
		case err == nil:
			r.events[t] = e
			delete(r.missed, t)
		case errors.Is(err, unix.ESRCH): // it ended meanwhile
		default:
			r.missed[t] = true
			why = cmp.Or(why, err)
		}
	}
	if len(r.events) == 0 && why != nil {
		return r.explain(why)
	}
	return nil
}

// run fills segments until the end.
func (r *recorder) run(ctx context.Context) error {
	start := time.Now()
	seg := newSegment(r.space, int64(r.req.attr.Sample), r.opt.Threads)
	from := time.Duration(0)
	for {
		end := from + r.opt.Segment
		wait := min(tick, max(end-time.Since(start), 0))
		r.wait(wait)
		if !r.wide && !r.out.Exited && ctx.Err() == nil {
			r.attachThreads() // what is refused is noted
		}
		r.drain(seg)
		now := time.Since(start)
		last := r.out.Exited || ctx.Err() != nil
		if now < end && !last {
			continue
		}
		p, err := seg.profile(start.Add(from), now-from)
		if err != nil {
			return err
		}
		r.out.Samples += seg.samples
		r.monitor += seg.monitor
		r.dropped += seg.left
		if err := r.opt.Emit(p, from, now); err != nil {
			return err
		}
		if last {
			return nil
		}
		if r.space.becameAnother() {
			old := r.space.exe
			if err := r.space.load(); err == nil {
				r.note("the process became another program after %s: %s instead of %s", unit.Time(now), r.space.exe, old)
			}
		}
		seg = newSegment(r.space, int64(r.req.attr.Sample), r.opt.Threads)
		from = now
	}
}

// wait waits until there is something to do: the process ends, a buffer fills, or d is over.
func (r *recorder) wait(d time.Duration) {
	r.polls, r.polled = r.polls[:0], r.polled[:0]
	if r.process >= 0 {
		r.polls = append(r.polls, unix.PollFd{Fd: int32(r.process), Events: unix.POLLIN})
		r.polled = append(r.polled, -1)
	}
	for t, e := range r.events {
		r.polls = append(r.polls, unix.PollFd{Fd: int32(e.fd), Events: unix.POLLIN})
		r.polled = append(r.polled, t)
	}
	n, err := unix.Poll(r.polls, int((d+time.Millisecond-1)/time.Millisecond))
	if r.process < 0 {
		if _, err := os.Stat(r.dir); err != nil {
			r.out.Exited = true
		}
	}
	if n <= 0 || err != nil {
		return // time is over, or a signal came
	}
	for i := range r.polls {
		switch {
		case r.polls[i].Revents == 0:
		case r.polled[i] < 0:
			r.out.Exited = true
		case r.polls[i].Revents&(unix.POLLHUP|unix.POLLERR) != 0: // the thread has ended, or the core was switched off
			r.drop(r.polled[i])
		}
	}
}

// drop keeps what a thread that has ended has left, and lets go of it.
func (r *recorder) drop(n int) {
	e := r.events[n]
	r.buf = e.take(r.buf)
	e.close()
	delete(r.events, n)
}

// drain counts what there is in the buffers.
func (r *recorder) drain(seg *segment) {
	for _, e := range r.events {
		r.buf = e.take(r.buf)
		r.count(seg)
	}
	r.count(seg)
}

func (r *recorder) count(seg *segment) {
	t := r.req.layout.parse(r.buf, func(s *sample) { seg.add(s, r.req.layout.order) })
	r.buf = r.buf[:0]
	r.tally.lost += t.lost
	r.tally.damaged += t.damaged
	r.tally.throttled += t.throttled
}

func (r *recorder) close() {
	for _, e := range r.events {
		e.close()
	}
	if r.process >= 0 {
		unix.Close(r.process)
	}
	if r.space != nil {
		r.space.close()
	}
}

func (r *recorder) note(format string, args ...any) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
}

// notes says what is missing.
func (r *recorder) notes() {
	r.out.Lost = r.tally.lost + r.tally.damaged + r.dropped
	r.out.CPU = time.Duration(r.out.Samples+r.out.Lost+r.monitor) * time.Duration(r.req.attr.Sample)
	if !r.wide {
		r.note("threads were sampled one by one, which slows down thread switches: in a program that waits often, the shares of runtime.futex and the scheduler are a few points too large; CAP_PERFMON avoids that")
	}
	if !r.req.kernel {
		r.note("kernel time, such as in system calls, is not in the CPU profile: that needs CAP_PERFMON or kernel.perf_event_paranoid below 2")
	}
	if n := r.monitor; n*100 > r.out.Samples {
		d := time.Duration(n) * time.Duration(r.req.attr.Sample)
		r.note("runtime.sysmon, the runtime's monitor thread, took %s of CPU time, which is not in the CPU profile; runtime/pprof leaves it out too", unit.Time(d))
	}
	if n := r.tally.lost; n > 0 {
		r.note("%d samples were lost because the recorder was too slow to read them", n)
	}
	if n := r.tally.damaged; n > 0 {
		r.note("%d samples could not be read", n)
	}
	if n := r.dropped; n > 0 {
		r.note("%d samples were left out: a segment had more than %d different stacks", n, maxStacks)
	}
	if n := r.tally.throttled; n > 0 {
		r.note("the kernel took fewer samples %d times because it found them too expensive", n)
	}
	if n := len(r.missed); n > 0 {
		r.note("%d threads could not be sampled", n)
	}
	if !r.wide && len(r.events) >= maxThreads {
		r.note("only %d threads were sampled", maxThreads)
	}
}

// explain says why the kernel refuses to sample a thread, and what to do about it.
func (r *recorder) explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: the kernel does not offer perf_event_open (%w): record outside the container or sandbox, or from the address where the program serves net/http/pprof", ErrUnsupported, err)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("the limit on open files is too low to sample its threads (%w): raise it with ulimit -n", err)
	case !refused(err):
		return fmt.Errorf("asking for samples: %w", err)
	}
	level, known := paranoid()
	why := ""
	next := hint.Text{r.asRoot()}
	switch {
	case !r.own():
		why = "it belongs to another user: record it as root"
	case known && level > 2:
		why = fmt.Sprintf("kernel.perf_event_paranoid is %d, which requires CAP_PERFMON", level)
		next = append(next, ", or allow it for all with: sudo sysctl kernel.perf_event_paranoid=2")
	default:
		why = "perf_event_open is refused even for our own process, as in containers"
		next = hint.Text{"start the container with --cap-add=PERFMON or --security-opt seccomp=unconfined, or record from outside: ", r.asRoot()}
	}
	return hint.Errorf(next, "%w (%w): %s", ErrPermission, err, why)
}

// asRoot is what may always record.
func (r *recorder) asRoot() hint.Command {
	return hint.Command{Program: "sudo hone", Verb: "record", Options: []hint.Option{{Name: "pid", Value: strconv.Itoa(r.pid)}}}
}

// own reports whether the process is ours, or we are root.
func (r *recorder) own() bool {
	var st unix.Stat_t
	return unix.Stat(r.dir, &st) == nil && int(st.Uid) == os.Geteuid() || os.Geteuid() == 0
}

// paranoid returns who may sample what: 2 is that all may sample their own processes, outside of the kernel.
func paranoid() (level int, known bool) {
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return 0, false
	}
	level, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return level, err == nil
}
