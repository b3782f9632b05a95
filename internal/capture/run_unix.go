//go:build unix

package capture

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/maxrss"
)

// meant are the signals that are meant for the program when hone gets them.
var meant = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// typed are those that a terminal sends to all programs in the foreground.
var typed = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}

// A catcher gets the signals that are sent to hone while a program runs.
type catcher struct {
	c       chan os.Signal
	done    chan struct{}
	skip    []os.Signal // the program gets them by itself
	ignored []os.Signal // since whoever started hone ignores them
}

// catch begins to catch signals, and prepares cmd for getting them. Those that are ignored stay so until the program runs, since it
// begins with the same ones ignored.
func catch(cmd *exec.Cmd) *catcher {
	c := &catcher{c: make(chan os.Signal, 16), done: make(chan struct{})}
	// A shell without job control starts what it runs in the background with SIGINT ignored, in its own group, which may be in the foreground.
	background := signal.Ignored(syscall.SIGINT)
	if inForeground() && !background {
		c.skip = typed
	} else {
		// Whoever sends a signal to our group would send it to the program twice.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	for _, s := range meant {
		if signal.Ignored(s) {
			c.ignored = append(c.ignored, s)
		} else {
			signal.Notify(c.c, s)
		}
	}
	return c
}

// forward sends signals to the program from now on. A signal that was ignored when hone started is for the program if that has asked for it
// since, as it is without hone: signal.Notify does so in a script's background job, and under nohup.
func (c *catcher) forward(p *os.Process) {
	for _, s := range c.ignored {
		if knowsHandlers {
			signal.Notify(c.c, s)
		}
	}
	go forwardTo(c.c, c.done, func(s os.Signal) {
		if !slices.Contains(c.skip, s) && (!slices.Contains(c.ignored, s) || handles(p.Pid, s)) {
			p.Signal(s)
		}
	})
}

// forwardTo sends signals on until it is done. Two of a kind at once are one.
func forwardTo(c <-chan os.Signal, done <-chan struct{}, send func(os.Signal)) {
	sent := make(map[os.Signal]time.Time)
	for {
		select {
		case s := <-c:
			if now := time.Now(); now.Sub(sent[s]) >= Pair {
				sent[s] = now
				send(s)
			}
		case <-done:
			return
		}
	}
}

func (c *catcher) release() {
	signal.Stop(c.c)
	close(c.done)
}

// inForeground reports whether there is a terminal whose keys send signals to us and to the programs that we run.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

// peakOf returns the most memory that a program had that has ended, of which seen was seen; 0 is not known. Linux starts to count with what
// we had when we started it: a number that is not larger than ours only says that the program had less. That is below where nothing was
// seen.
func peakOf(state *os.ProcessState, _ *agent.Process, seen int64) (peak, below int64) {
	said := maxrss.Of(state)
	switch {
	case runtime.GOOS != "linux" || said > maxrss.Own():
		return said, 0
	case seen == 0:
		return 0, said
	}
	return seen, 0
}

// signalName returns what a signal is called, or "" when none ended the program.
func signalName(state *os.ProcessState) string {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return unix.SignalName(s.Signal())
	}
	return ""
}

func switchesOf(state *os.ProcessState) Switches {
	use, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return Switches{}
	}
	return Switches{int64(use.Nvcsw), int64(use.Nivcsw), int64(use.Majflt), int64(use.Minflt)}
}
