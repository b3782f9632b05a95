//go:build !unix

package capture

import (
	"os"
	"os/exec"
	"os/signal"

	"github.com/hone-perf/hone/internal/capture/agent"
)

// A catcher keeps an interrupt from ending hone before the program that it runs, which gets it by itself.
type catcher struct{ c chan os.Signal }

func catch(*exec.Cmd) *catcher {
	c := &catcher{make(chan os.Signal, 1)}
	signal.Notify(c.c, os.Interrupt)
	return c
}

func (*catcher) forward(*os.Process) {}

func (c *catcher) release() { signal.Stop(c.c) }

func terminate(p *os.Process) { p.Kill() }

// peakOf returns the most memory that a program had that has ended, of which seen was seen; 0 is not known. Windows keeps the number for as
// long as somebody holds on to the process.
func peakOf(_ *os.ProcessState, p *agent.Process, seen int64) (peak, below int64) {
	return max(seen, p.Peak()), 0
}

func signalName(*os.ProcessState) string { return "" }

func switchesOf(*os.ProcessState) Switches { return Switches{} }
