//go:build amd64 || arm64

package heap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A hold keeps the threads of a process from running. All that it does must be done by one thread of the system.
type hold struct {
	pid     int
	threads []*heldThread
	since   time.Time
}

type heldThread struct {
	id      int
	signal  int           // that it was about to get
	pending []unix.Signal // that came while it did something for hone
}

const (
	seize     = 0x4206 // PTRACE_SEIZE
	interrupt = 0x4207 // PTRACE_INTERRUPT
	eventStop = 128    // PTRACE_EVENT_STOP

	stopLimit = 2 * time.Second // to stop all threads; one that waits for a disk cannot be stopped
)

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// onThread calls f on a thread of the system of its own. Whatever happens, the system lets go of all that the thread has held when it ends.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		done <- f()
	}()
	return <-done
}

// holdAll stops all threads of a process, and gives up after a time.
func holdAll(ctx context.Context, pid int, limit time.Duration) (h *hold, err error) {
	h = &hold{pid: pid, since: time.Now()}
	defer func() {
		if err != nil {
			h.release()
		}
	}()
	known := map[int]bool{}
	deadline := h.since.Add(limit)
	for {
		tids, err := threadsOf(pid)
		if err != nil {
			return h, err
		}
		fresh := len(h.threads)
		for _, tid := range tids {
			if known[tid] {
				continue
			}
			known[tid] = true
			if len(known) > maxThreads {
				return h, fmt.Errorf("it has more than %d threads", maxThreads)
			}
			if err := ptrace(seize, tid, 0, 0); err == unix.ESRCH {
				continue // it has ended
			} else if err != nil {
				return h, refused(pid, err)
			}
			h.threads = append(h.threads, &heldThread{id: tid})
			if err := ptrace(interrupt, tid, 0, 0); err != nil && err != unix.ESRCH {
				return h, err
			}
		}
		if fresh == len(h.threads) {
			if len(h.threads) == 0 {
				return h, errors.New("it has ended")
			}
			return h, nil
		}
		alive := h.threads[:fresh]
		for _, t := range h.threads[fresh:] {
			ok, err := t.wait(ctx, deadline)
			if err != nil {
				return h, err
			}
			if ok {
				alive = append(alive, t)
			}
		}
		h.threads = alive
	}
}

func refused(pid int, err error) error {
	if err != unix.EPERM {
		return fmt.Errorf("stopping it: %w", err)
	}
	if m, err := status(fmt.Sprintf("/proc/%d/", pid)); err == nil && m["TracerPid"] != 0 {
		ours, errOurs := os.Stat("/proc/self/exe")
		theirs, errTheirs := os.Stat(fmt.Sprintf("/proc/%d/exe", m["TracerPid"]))
		if errOurs == nil && errTheirs == nil && os.SameFile(ours, theirs) {
			return fmt.Errorf("process %d is another hone, which reads it: try again when that has ended", m["TracerPid"])
		}
		return fmt.Errorf("process %d traces it already (a debugger or strace): end that first", m["TracerPid"])
	}
	return errPermission(pid)
}

func threadsOf(pid int) ([]int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("it has ended")
	}
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range list {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, n)
		}
	}
	return tids, nil
}

// wait waits until a thread stands still. It returns false if the thread has ended.
func (t *heldThread) wait(ctx context.Context, deadline time.Time) (bool, error) {
	s, err := waitFor(ctx, t.id, deadline)
	if err != nil || !s.Stopped() {
		return false, err
	}
	if event := int(s) >> 16; event == 0 {
		t.signal = int(s.StopSignal())
	}
	return true, nil
}

var errStuck = errors.New("a thread of it did not stop in time; one that waits for a disk cannot")

// waitFor waits for a thread to stop or end, but not for long: the kernel may not be able to stop it.
func waitFor(ctx context.Context, tid int, deadline time.Time) (unix.WaitStatus, error) {
	var s unix.WaitStatus
	for n := 0; ; n++ {
		got, err := unix.Wait4(tid, &s, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return s, fmt.Errorf("waiting for a thread of it: %w", err)
		case got == tid:
			return s, nil
		}
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if time.Now().After(deadline) {
			return s, errStuck
		}
		if n > 20 {
			time.Sleep(50 * time.Microsecond)
		} else {
			runtime.Gosched()
		}
	}
}

// release lets all threads go on as they were. It does so whatever happened before.
func (h *hold) release() time.Duration {
	for _, t := range h.threads {
		if ptrace(unix.PTRACE_DETACH, t.id, 0, uintptr(t.signal)) == unix.ESRCH {
			// It does not stand still yet, or has ended. Letting go needs it to stand still.
			if ptrace(interrupt, t.id, 0, 0) == nil {
				if ok, err := t.wait(context.Background(), time.Now().Add(stopLimit)); ok && err == nil {
					_ = ptrace(unix.PTRACE_DETACH, t.id, 0, uintptr(t.signal))
				}
			}
		}
		for _, s := range t.pending {
			_ = unix.Tgkill(h.pid, t.id, s)
		}
	}
	h.threads = nil
	return time.Since(h.since)
}

// registers returns where each thread is.
func (h *hold) registers() ([]thread, error) {
	var list []thread
	for _, t := range h.threads {
		var r unix.PtraceRegs
		if err := unix.PtraceGetRegs(t.id, &r); err == unix.ESRCH {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("reading registers: %w", err)
		}
		list = append(list, threadOf(t.id, &r))
	}
	return list, nil
}

// stopped calls read while the process stands still.
func stopped(ctx context.Context, pid int, read func(target int, threads []thread, released func()) error) (pause time.Duration, err error) {
	err = onThread(func() error {
		h, err := holdAll(ctx, pid, stopLimit)
		if err != nil {
			return err
		}
		released := func() {
			if h.threads != nil {
				pause = h.release()
			}
		}
		defer released()
		threads, err := h.registers()
		if err != nil {
			return err
		}
		return read(pid, threads, released)
	})
	return pause, err
}
