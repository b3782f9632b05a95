package heap

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Most that a system call that a thread makes for hone may take. Forking a process of 100 GB takes 3 s.
const callLimit = 10 * time.Second

// forked calls read with a fork of the process, which has its memory and never runs.
//
// A thread of the process makes the system call, inside the handling of a signal. The kernel keeps all that the thread was, on its stack for signals, and the thread
// is at the first instruction of the program's handler. In its place, it gets a system call that is followed by a return: to where each handler returns, so that
// the kernel sets the thread back. This needs hone no more: if hone is killed at any moment, even by force, the thread goes on as it was. The child gets a
// stack on which the return leads to the end of its process, if hone does not hold it any more; besides, the kernel kills it if hone ends. It shares the table of
// open files, so that a file that the program closes is closed, and sends no signal when it ends. The process itself only notices that it stood still.
//
// An earlier way was to set registers for the system call and to set them back after it. If hone was killed within these milliseconds, the process could
// crash, and most often the child went on as a second process of the program.
//
// If hone is killed by force, a dead child may stay, of which the process does not know. The next call takes it away. Signals that can be caught are put off.
func forked(ctx context.Context, exe *os.File, bias uint64, pid int, limit PauseError, read func(target int, threads []thread, released func()) error) (pause time.Duration, err error) {
	code, err := findCode(exe)
	if err != nil {
		return 0, err
	}
	code.call += bias
	code.exit += bias
	code.text += bias
	code.end += bias
	ctx, stop := deferSignals(ctx)
	defer stop()
	err = onThread(func() error {
		h, err := holdAll(ctx, pid, min(stopLimit, limit.Max))
		if err != nil {
			return err
		}
		child := 0
		defer func() {
			h.release()
			if child != 0 {
				err = errors.Join(err, endChild(pid, child, code))
			}
		}()
		threads, err := h.registers()
		if err != nil {
			return err
		}
		t := h.ready(code)
		if t == nil {
			return fmt.Errorf("%w: none of its threads is ready for a signal; try again", ErrNoFork)
		}
		if err := cmp.Or(t.mayCall(code.call, unix.SYS_CLONE, unix.CLONE_FILES), t.mayCall(code.call, unix.SYS_WAIT4, uint64(pid), 0, unix.WALL|unix.WNOHANG)); err != nil {
			return err
		}
		for _, zombie := range leftChildren(pid) {
			_ = t.reap(pid, zombie, code)
		}
		if spent := time.Since(h.since); spent+limit.Expected > limit.Max { // to stop so many threads has taken long
			limit.Expected += spent
			return &limit
		}
		if child, err = t.fork(pid, code); err != nil {
			return err
		}
		pause = h.release()
		released := func() {
			if child != 0 {
				gone := child
				child = 0
				_ = endChild(pid, gone, code) // it is dead in any case, which is what matters to the process
			}
		}
		defer released()
		return read(child, threads, released)
	})
	return pause, err
}

// deferSignals keeps signals from ending hone until the process is as it was. They end the context, and are sent again after
// that, unless the caller has a handler of its own that ends its context.
func deferSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	ended, done := make(chan struct{}), make(chan unix.Signal, 1)
	go func() {
		var got unix.Signal
		for {
			select {
			case s := <-signals:
				if s, ok := s.(unix.Signal); ok {
					got = s
				}
				cancel(fmt.Errorf("signal: %v", s))
			case <-ended:
				done <- got
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(ended)
		cancel(nil)
		s := <-done
		if s == 0 {
			return
		}
		select {
		case <-parent.Done(): // whoever called has heard it too
		case <-time.After(100 * time.Millisecond):
			_ = unix.Kill(os.Getpid(), s)
		}
	}
}

// borrowed is code of the program that hone uses, by address.
type borrowed struct {
	call      uint64 // a system call, and a return
	exit      uint64 // ends the process
	text, end uint64 // all code
}

var (
	callReturn = []byte{0x0f, 0x05, 0xc3}                               // syscall; ret: in runtime.osyield
	callExit   = []byte{0xb8, unix.SYS_EXIT_GROUP, 0, 0, 0, 0x0f, 0x05} // mov $exit_group, %eax; syscall: in runtime.exit
)

// findCode finds code that each Go program has. It may also be the middle of some instruction, which is as good.
func findCode(exe *os.File) (borrowed, error) {
	f, err := elf.NewFile(exe)
	if err != nil {
		return borrowed{}, err
	}
	s := f.Section(".text")
	if s == nil {
		return borrowed{}, errors.New("it has no code")
	}
	code := borrowed{text: s.Addr, end: s.Addr + s.Size}
	buf := make([]byte, 1<<20)
	for off := uint64(0); off < s.Size && (code.call == 0 || code.exit == 0); off += uint64(len(buf) - len(callExit)) {
		n := min(uint64(len(buf)), s.Size-off)
		if _, err := s.ReadAt(buf[:n], int64(off)); err != nil {
			return borrowed{}, err
		}
		if i := bytes.Index(buf[:n], callReturn); i >= 0 && code.call == 0 {
			code.call = s.Addr + off + uint64(i)
		}
		if i := bytes.Index(buf[:n], callExit); i >= 0 && code.exit == 0 {
			code.exit = s.Addr + off + uint64(i)
		}
	}
	if code.call == 0 || code.exit == 0 {
		return borrowed{}, fmt.Errorf("%w: it makes no system calls by itself", ErrNoFork)
	}
	return code, nil
}

// borrowedSignal is the signal whose handler never runs. If hone is killed just after it was sent, it does: Go's does nothing, and a program that asked for the signal
// looks how large its window is. Preemption has a signal that each thread may get as well, but a thread that has missed one is never preempted again.
const borrowedSignal = unix.SIGWINCH

// ready returns the thread that a signal disturbs least, or nil if none can get one.
func (h *hold) ready(code borrowed) *heldThread {
	var best *heldThread
	least := disturbed
	for _, t := range h.threads {
		if d := t.disturbance(code); d < least && t.takes(borrowedSignal) {
			if best, least = t, d; d == 0 {
				break
			}
		}
	}
	return best
}

// disturbed is for a thread that is about to handle a signal.
const disturbed = 3

// disturbance ranks what a thread is in. 0 is a call of Go's runtime that a signal may end: it looks at what it waits for again. 1 is no call at all. 2 is any call:
// most go on after a signal, but a function in C that sleeps may not.
func (t *heldThread) disturbance(code borrowed) int {
	var r unix.PtraceRegs
	if t.signal != 0 || unix.PtraceGetRegs(t.id, &r) != nil {
		return disturbed
	}
	if r.Rip < code.text || r.Rip >= code.end {
		return 2
	}
	switch int64(r.Orig_rax) {
	case -1:
		return 1
	case unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP, unix.SYS_SCHED_YIELD:
		return 0
	}
	return 2
}

// takes reports whether the program has a handler for a signal that a thread does not block.
func (t *heldThread) takes(s unix.Signal) bool {
	m, err := masks(t.id)
	return err == nil && m["SigCgt"]>>(s-1)&1 != 0 && m["SigBlk"]>>(s-1)&1 == 0
}

// masks returns the masks of signals in /proc/TID/status.
func masks(tid int) (map[string]uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return nil, err
	}
	m := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Sig") {
			if v, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64); err == nil {
				m[name] = v
			}
		}
	}
	return m, nil
}

// enter has a thread enter its handler of a signal, and returns its registers there.
func (t *heldThread) enter(pid int) (*unix.PtraceRegs, error) {
	if err := unix.Tgkill(pid, t.id, borrowedSignal); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(callLimit)
	for {
		if err := ptrace(unix.PTRACE_CONT, t.id, 0, 0); err != nil {
			return nil, err
		}
		s, err := t.next(deadline)
		if err != nil {
			return nil, err
		}
		if int(s)>>16 != 0 {
			continue
		}
		if s.StopSignal() == borrowedSignal {
			break
		}
		t.pending = append(t.pending, s.StopSignal())
	}
	if err := ptrace(unix.PTRACE_SINGLESTEP, t.id, 0, uintptr(borrowedSignal)); err != nil {
		return nil, err
	}
	s, err := t.next(deadline)
	if err != nil {
		return nil, err
	}
	r := &unix.PtraceRegs{}
	if err := unix.PtraceGetRegs(t.id, r); err != nil {
		return nil, err
	}
	if s.StopSignal() != unix.SIGTRAP || r.Rdi != uint64(borrowedSignal) {
		return nil, fmt.Errorf("%w: a thread of it did not handle a signal", ErrNoFork)
	}
	return r, nil
}

// next waits until a thread stops again. A signal of hone's own must not end the wait: the process has to be as it was first.
func (t *heldThread) next(deadline time.Time) (unix.WaitStatus, error) {
	s, err := waitFor(context.Background(), t.id, deadline)
	if err == nil && !s.Stopped() {
		err = errors.New("a thread of it has ended")
	}
	return s, err
}

// aboutToFork has a thread be about to fork its process. If nobody holds the fork, it ends.
func (t *heldThread) aboutToFork(pid int, code borrowed) error {
	r, err := t.enter(pid)
	if err != nil {
		return err
	}
	stack := (r.Rsp - 1024) &^ 15 // what is below belongs to nobody
	if _, err := unix.PtracePokeData(t.id, uintptr(stack), binary.LittleEndian.AppendUint64(nil, code.exit)); err != nil {
		return fmt.Errorf("%w: its stack for signals is full: %w", ErrNoFork, err)
	}
	return t.replace(r, code, unix.SYS_CLONE, unix.CLONE_FILES, stack)
}

// fork makes the process fork itself and returns the child, which is held.
func (t *heldThread) fork(pid int, code borrowed) (int, error) {
	if err := t.aboutToFork(pid, code); err != nil {
		return 0, err
	}
	child := 0
	ret, err := t.call(&child)
	if child == 0 {
		if err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: %w", ErrNoFork, unix.Errno(-ret))
	}
	if err != nil {
		return child, fmt.Errorf("holding the fork: %w", err)
	}
	// If memory runs out, the kernel is to take the fork and not the program.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", child), []byte("1000"), 0)
	return child, nil
}

const restartNoIntr = 513 // ERESTARTNOINTR

// replace has a thread that is at its handler be about to do a system call in place of it, and then to return from the handler.
func (t *heldThread) replace(handler *unix.PtraceRegs, code borrowed, number uint64, args ...uint64) error {
	r := *handler
	r.Rip, r.Rax = code.call, number
	r.Orig_rax = ^uint64(0) // it is in no system call yet
	for i, to := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8} {
		if *to = 0; i < len(args) {
			*to = args[i]
		}
	}
	return unix.PtraceSetRegs(t.id, &r)
}

// call does the system call that a thread is about to do. The process that it forks is in child even if there is an error.
func (t *heldThread) call(child *int) (int64, error) {
	if err := ptrace(unix.PTRACE_SETOPTIONS, t.id, 0, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return 0, err
	}
	// It stops before the system call, at the fork, and after it.
	deadline := time.Now().Add(callLimit)
	entered := false
	for retries := 0; ; {
		if err := ptrace(unix.PTRACE_SYSCALL, t.id, 0, 0); err != nil {
			return 0, err
		}
		s, err := t.next(deadline)
		if err != nil {
			return 0, err
		}
		switch event := int(s) >> 16; {
		case s.StopSignal() == unix.SIGTRAP|0x80:
			if entered = !entered; entered {
				continue
			}
			var r unix.PtraceRegs
			if err := unix.PtraceGetRegs(t.id, &r); err != nil {
				return 0, err
			}
			// The kernel does not fork a thread that is to stop for another reason first, and does it after that.
			if ret := int64(r.Rax); ret != -restartNoIntr {
				return ret, nil
			}
			if retries++; retries > 100 {
				return 0, unix.EAGAIN
			}
		case event == unix.PTRACE_EVENT_CLONE:
			n, err := unix.PtraceGetEventMsg(t.id)
			if err != nil {
				return 0, err
			}
			*child = int(n)
			// Before anything else: the fork has to end if hone does.
			if _, err := waitFor(context.Background(), *child, deadline); err != nil {
				return 0, err
			}
			if err := ptrace(unix.PTRACE_SETOPTIONS, *child, 0, unix.PTRACE_O_EXITKILL); err != nil {
				return 0, err
			}
		case event == 0:
			t.pending = append(t.pending, s.StopSignal())
		}
	}
}

// reap makes the process take away a dead child.
func (t *heldThread) reap(pid, child int, code borrowed) error {
	args := []uint64{uint64(child), 0, unix.WALL | unix.WNOHANG, 0}
	if err := t.mayCall(code.call, unix.SYS_WAIT4, args...); err != nil {
		return err
	}
	r, err := t.enter(pid)
	if err != nil {
		return err
	}
	if err := t.replace(r, code, unix.SYS_WAIT4, args...); err != nil {
		return err
	}
	none := 0
	ret, err := t.call(&none)
	if err == nil && ret != int64(child) {
		err = fmt.Errorf("waiting for it gave %d", ret)
	}
	return err
}

// endChild ends the fork and has the process take it away.
func endChild(pid, child int, code borrowed) error {
	if err := unix.Kill(child, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("ending the fork: %w", err)
	}
	for deadline := time.Now().Add(callLimit); ; {
		s, err := waitFor(context.Background(), child, deadline)
		if err != nil {
			return fmt.Errorf("ending the fork: %w", err)
		}
		if s.Exited() || s.Signaled() {
			break
		}
	}
	var err error
	for range 20 {
		var h *hold
		if h, err = holdOne(pid, code); err != nil {
			return err
		}
		err = h.threads[0].reap(pid, child, code)
		h.release()
		if err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("taking away the fork: %w", err)
}

// holdOne stops one thread of a process, which a signal does not disturb if there is such a one.
func holdOne(pid int, code borrowed) (*hold, error) {
	tids, err := threadsOf(pid)
	if err != nil {
		return nil, err
	}
	for most := range disturbed {
		for _, tid := range tids {
			if ptrace(seize, tid, 0, 0) != nil {
				continue
			}
			h := &hold{pid: pid, threads: []*heldThread{{id: tid}}, since: time.Now()}
			if err = ptrace(interrupt, tid, 0, 0); err == nil {
				t, ok := h.threads[0], false
				if ok, err = t.wait(context.Background(), time.Now().Add(stopLimit)); ok && err == nil && t.disturbance(code) <= most && t.takes(borrowedSignal) {
					return h, nil
				}
			}
			h.release()
		}
	}
	if err == nil {
		err = errors.New("it has no thread that is ready for a signal")
	}
	return nil, err
}

// leftChildren returns dead children of the process that an earlier call has left there: they send no signal, which no other child does.
func leftChildren(pid int) []int {
	var list []int
	for _, child := range children(pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue
		}
		if i := bytes.LastIndex(stat, []byte(") ")); i >= 0 { // the name before it may be anything
			if f := bytes.Fields(stat[i+2:]); len(f) > 35 && string(f[0]) == "Z" && string(f[35]) == "0" {
				list = append(list, child)
			}
		}
	}
	return list
}

func children(pid int) []int {
	tids, err := threadsOf(pid)
	if err != nil {
		return nil
	}
	var list []int
	for _, tid := range tids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid)) // some kernels do not have it
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}
