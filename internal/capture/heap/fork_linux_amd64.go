package heap

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
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
// A thread of the process makes the system call: its registers are set so that it is at some instruction for a system call, and are set back
// after it. The child is held by hone from its first moment, and the kernel kills it if hone ends. It shares the table of open files, so
// that a file that the program closes is closed, and sends no signal when it ends. The process itself only notices that it stood still.
//
// If hone is killed by force later, a dead child stays, of which the process does not know. The next call takes it away. If hone is killed by force
// within the milliseconds of the fork, the thread cannot be set back, and the process may crash, and the fork may run; signals that can be caught are put off.
func forked(ctx context.Context, exe *os.File, bias uint64, pid int, read func(target int, threads []thread, released func()) error) (pause time.Duration, err error) {
	gadget, err := callInstruction(exe)
	if err != nil {
		return 0, err
	}
	gadget += bias
	ctx, stop := deferSignals(ctx)
	defer stop()
	err = onThread(func() error {
		h, err := holdAll(ctx, pid)
		if err != nil {
			return err
		}
		child := 0
		defer func() {
			h.release()
			if child != 0 {
				err = errors.Join(err, endChild(pid, child, gadget))
			}
		}()
		threads, err := h.registers()
		if err != nil {
			return err
		}
		if t := h.idle(); t != nil {
			if err := cmp.Or(t.mayCall(gadget, unix.SYS_CLONE, unix.CLONE_FILES), t.mayCall(gadget, unix.SYS_WAIT4, uint64(pid), 0, unix.WALL|unix.WNOHANG)); err != nil {
				return err
			}
		}
		for _, zombie := range leftChildren(pid) {
			_ = h.reap(zombie, gadget)
		}
		if child, err = h.fork(gadget); err != nil {
			return err
		}
		pause = h.release()
		released := func() {
			if child != 0 {
				gone := child
				child = 0
				_ = endChild(pid, gone, gadget) // it is dead in any case, which is what matters to the process
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

// callInstruction returns where the program has an instruction for a system call.
func callInstruction(exe *os.File) (uint64, error) {
	f, err := elf.NewFile(exe)
	if err != nil {
		return 0, err
	}
	s := f.Section(".text")
	if s == nil {
		return 0, errors.New("it has no code")
	}
	buf := make([]byte, 1<<20)
	for off := uint64(0); off < s.Size; off += uint64(len(buf)) - 1 {
		n := min(uint64(len(buf)), s.Size-off)
		if _, err := s.ReadAt(buf[:n], int64(off)); err != nil {
			return 0, err
		}
		if i := bytes.Index(buf[:n], []byte{0x0f, 0x05}); i >= 0 {
			return s.Addr + off + uint64(i), nil
		}
	}
	return 0, fmt.Errorf("%w: it makes no system calls by itself", ErrNoFork)
}

// fork makes the process fork itself and returns the child, which is held.
func (h *hold) fork(gadget uint64) (int, error) {
	t := h.idle()
	if t == nil {
		return 0, fmt.Errorf("%w: all its threads are about to handle signals; try again", ErrNoFork)
	}
	child := 0
	var ret int64
	var err error
	for range 100 {
		// The kernel does not fork a thread that is to handle a signal. That is put off then, and it can be tried again.
		if ret, err = h.call(t, gadget, &child, unix.SYS_CLONE, unix.CLONE_FILES, 0, 0, 0, 0); child != 0 || err != nil || ret != -restartNoIntr {
			break
		}
	}
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

// idle returns a thread that is not about to handle a signal.
func (h *hold) idle() *heldThread {
	for _, t := range h.threads {
		if t.signal == 0 {
			return t
		}
	}
	return nil
}

// call makes a thread do a system call, and sets it back to where it was. The process that the call forks is in child even if there is an error.
func (h *hold) call(t *heldThread, gadget uint64, child *int, number uint64, args ...uint64) (int64, error) {
	var saved unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.id, &saved); err != nil {
		return 0, err
	}
	r := saved
	r.Rip, r.Rax = gadget, number
	r.Orig_rax = ^uint64(0) // so that no system call that it was in is started again meanwhile
	for i, to := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8} {
		if *to = 0; i < len(args) {
			*to = args[i]
		}
	}
	if err := ptrace(unix.PTRACE_SETOPTIONS, t.id, 0, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD); err != nil {
		return 0, err
	}
	t.saved = &saved // release sets it back if nothing else does
	if err := unix.PtraceSetRegs(t.id, &r); err != nil {
		return 0, err
	}
	// It stops before the system call, at the fork, and after it.
	ret := int64(0)
	deadline := time.Now().Add(callLimit)
	// A signal of hone's own must not end the wait: the process has to be as it was first.
	ctx := context.Background()
	entered, left := false, false
	for !left {
		if err := ptrace(unix.PTRACE_SYSCALL, t.id, 0, 0); err != nil {
			return 0, err
		}
		s, err := waitFor(ctx, t.id, deadline)
		if err != nil {
			return 0, err
		}
		if !s.Stopped() {
			return 0, errors.New("a thread of it has ended")
		}
		switch event := int(s) >> 16; {
		case s.StopSignal() == unix.SIGTRAP|0x80:
			if !entered {
				entered = true
				continue
			}
			if err := unix.PtraceGetRegs(t.id, &r); err != nil {
				return 0, err
			}
			ret, left = int64(r.Rax), true
		case event == unix.PTRACE_EVENT_CLONE:
			n, err := unix.PtraceGetEventMsg(t.id)
			if err != nil {
				return 0, err
			}
			*child = int(n)
			// Before anything else: the fork has to end if hone does, and never to run.
			if _, err := waitFor(ctx, *child, deadline); err != nil {
				return 0, err
			}
			if err := ptrace(unix.PTRACE_SETOPTIONS, *child, 0, unix.PTRACE_O_EXITKILL); err != nil {
				return 0, err
			}
		case event == 0:
			t.pending = append(t.pending, s.StopSignal())
		}
	}
	// A system call that it was in before is only started again where signals are handled, so that is where it has to be.
	if err := ptrace(interrupt, t.id, 0, 0); err != nil {
		return 0, err
	}
	for {
		if err := ptrace(unix.PTRACE_CONT, t.id, 0, 0); err != nil {
			return 0, err
		}
		s, err := waitFor(ctx, t.id, deadline)
		if err != nil {
			return 0, err
		}
		if !s.Stopped() {
			return 0, errors.New("a thread of it has ended")
		}
		if int(s)>>16 == eventStop {
			break
		}
		t.pending = append(t.pending, s.StopSignal())
	}
	if err := unix.PtraceSetRegs(t.id, &saved); err != nil {
		return 0, err
	}
	t.saved = nil
	return ret, nil
}

// reap makes the process take away a dead child.
func (h *hold) reap(child int, gadget uint64) error {
	t := h.idle()
	if t == nil {
		return errors.New("all its threads are about to handle signals")
	}
	none, args := 0, []uint64{uint64(child), 0, unix.WALL | unix.WNOHANG, 0}
	if err := t.mayCall(gadget, unix.SYS_WAIT4, args...); err != nil {
		return err
	}
	ret, err := h.call(t, gadget, &none, unix.SYS_WAIT4, args...)
	if err == nil && ret != int64(child) {
		err = fmt.Errorf("waiting for it gave %d", ret)
	}
	return err
}

// endChild ends the fork and has the process take it away.
func endChild(pid, child int, gadget uint64) error {
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
		if h, err = holdOne(pid); err != nil {
			return err
		}
		err = h.reap(child, gadget)
		h.release()
		if err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("taking away the fork: %w", err)
}

// holdOne stops one thread of a process.
func holdOne(pid int) (*hold, error) {
	tids, err := threadsOf(pid)
	if err != nil {
		return nil, err
	}
	for _, tid := range tids {
		if ptrace(seize, tid, 0, 0) != nil {
			continue
		}
		h := &hold{pid: pid, threads: []*heldThread{{id: tid}}, since: time.Now()}
		if err = ptrace(interrupt, tid, 0, 0); err == nil {
			ok := false
			if ok, err = h.threads[0].wait(context.Background(), time.Now().Add(stopLimit)); ok && err == nil {
				return h, nil
			}
		}
		h.release()
	}
	if err == nil {
		err = errors.New("it has no thread that can be stopped")
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
