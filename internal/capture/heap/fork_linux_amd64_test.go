package heap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestBusy reads the heap of a server again and again, which never rests: it collects garbage all the time, starts processes, and answers
// requests. None of them may fail, and nothing may be left in it.
func TestBusy(t *testing.T) {
	testrun.Nightly(t, "it reads a heap 100 times")
	file := build(t, "busy", "", nil)
	pid, addr := start(t, file)
	client := exec.Command(file, addr, "600")
	client.Stderr = os.Stderr
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	read(t, pid, Options{Stop: true})
	for i := range 100 {
		h := read(t, pid, Options{})
		if err := check(h); err != nil {
			t.Fatal(err)
		}
		var all []uint32
		for _, r := range h.Roots {
			all = append(all, r.Object)
		}
		if sum := reached(h, all...); sum == 0 || sum > h.Allocated.Bytes {
			t.Errorf("heap %d: roots lead to %d bytes of %d", i, sum, h.Allocated.Bytes)
		}
	}
	if err := client.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(out)
	if err := client.Wait(); err != nil {
		t.Fatal(err)
	}
	var good, bad int
	if _, err := fmt.Sscan(string(text), &good, &bad); err != nil || good < 100 || bad > 0 {
		t.Errorf("of %d requests, %d failed: %v", good+bad, bad, err)
	}
	time.Sleep(100 * time.Millisecond) // a child of its own may be about to end
	for range 100 {
		if left := leftChildren(pid); len(left) > 0 {
			t.Fatalf("children %v are left", left)
		}
	}
}

// TestKilled has a fork left in a process, as one is when hone is killed. The next call takes it away.
func TestKilled(t *testing.T) {
	testrun.Live(t, "it kills a process that reads a heap")
	if pid := os.Getenv("HONE_TEST_READ"); pid != "" {
		n, _ := strconv.Atoi(pid)
		for {
			_, _ = Read(context.Background(), n, Options{MaxPause: time.Minute})
		}
	}
	pid, _ := startPlanted(t, build(t, "planted", "", nil))
	read(t, pid, Options{})
	for deadline := time.Now().Add(time.Minute); ; {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "HONE_TEST_READ="+strconv.Itoa(pid))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for !heldFork(pid) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for len(children(pid)) > len(leftChildren(pid)) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond) // it is about to end
		}
		if len(leftChildren(pid)) > 0 {
			break
		}
		if time.Now().After(deadline) {
			testrun.Unable(t, "no fork was left in a minute")
		}
	}
	read(t, pid, Options{})
	checkUndisturbed(t, pid)
}

// TestStoppingCounts has a process that may not stand still for longer than the fork takes: to stop it takes time, too.
func TestStoppingCounts(t *testing.T) {
	testrun.Live(t, "it stops a process")
	pid, _ := startPlanted(t, build(t, "planted", "", nil))
	read(t, pid, Options{}) // where that is not allowed, the test ends here
	exe, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	_, err = forked(t.Context(), exe, 0, pid, PauseError{Expected: time.Hour, Max: time.Hour}, func(int, []thread, func()) error {
		t.Error("it was forked")
		return nil
	})
	if late := new(PauseError); !errors.As(err, &late) || late.Expected <= time.Hour {
		t.Errorf("got %v", err)
	}
	checkUndisturbed(t, pid)
	// Another hone that holds it is told from a debugger.
	_ = onThread(func() error {
		h, err := holdAll(t.Context(), pid, stopLimit)
		if err != nil {
			t.Error(err)
			return err
		}
		defer h.release()
		if err := refused(pid, unix.EPERM); !strings.Contains(err.Error(), "is another hone") {
			t.Errorf("got %v", err)
		}
		return nil
	})
	checkUndisturbed(t, pid)
}

// TestHolderEnds has what holds a process end at each step of a fork, as when hone is killed by force: the process goes on, and the fork does not. Each thread is tried.
func TestHolderEnds(t *testing.T) {
	testrun.Live(t, "it stops a process at each step of a fork")
	pid, _ := startPlanted(t, build(t, "planted", "", nil), "churn")
	read(t, pid, Options{}) // where that is not allowed, the test ends here
	exe, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	code, err := findCode(exe)
	if err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]func(*heldThread) error{
		"at the handler": func(h *heldThread) error { _, err := h.enter(pid); return err },
		"before":         func(h *heldThread) error { return h.aboutToFork(pid, code) },
		"after":          func(h *heldThread) error { _, err := h.fork(pid, code); return err },
	} {
		tried := 0
		for i := 0; ; i++ {
			more, ends := false, true
			// The kernel lets go of what a thread holds when the thread ends, as when it is killed.
			if err := onThread(func() error {
				if ends = unix.Gettid() != os.Getpid(); !ends {
					return nil // the first thread of a Go program never ends, but is not used again
				}
				h, err := holdAll(t.Context(), pid, stopLimit)
				if err != nil || i >= len(h.threads) {
					return err
				}
				more = true
				if th := h.threads[i]; th.disturbance(code) < disturbed && th.takes(borrowedSignal) {
					tried++
					return step(th)
				}
				return nil
			}); err != nil {
				t.Errorf("%s of thread %d: %v", name, i, err)
			}
			if !ends {
				i--
				continue
			}
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				m, err := status(fmt.Sprintf("/proc/%d/", pid))
				if err != nil {
					t.Fatalf("%s of thread %d: the process has ended", name, i)
				}
				if m["TracerPid"] == 0 && len(children(pid)) == len(leftChildren(pid)) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s of thread %d: a fork runs, or the process is held", name, i)
				}
			}
			if !more {
				break
			}
		}
		if tried == 0 {
			t.Errorf("%s: no thread takes a signal", name)
		}
		read(t, pid, Options{}) // which also takes away what is left
		checkUndisturbed(t, pid)
	}
}

// heldFork reports whether a process has a fork that ends with its holder, and so is as it was itself: marking the fork for the kernel is the
// last thing that is done to it.
func heldFork(pid int) bool {
	for _, child := range children(pid) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", child)); err == nil && string(b) == "1000\n" {
			return true
		}
	}
	return false
}

// TestSignals sends a signal while a process is held: it comes after the process has been let go.
func TestSignals(t *testing.T) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP)
	defer signal.Stop(signals)
	for _, handled := range []bool{true, false} {
		parent, cancel := context.WithCancel(t.Context())
		ctx, stop := deferSignals(parent)
		if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		<-signals
		if handled {
			cancel()
		}
		stop()
		if !handled {
			<-signals // once more
		}
		cancel()
		select {
		case s := <-signals:
			t.Errorf("handled %t: %v once more", handled, s)
		default:
		}
	}
}
