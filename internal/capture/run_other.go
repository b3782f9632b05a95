//go:build !unix

package capture

import (
	"os"
	"os/exec"
	"os/signal"
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

func peakOf(_ *os.ProcessState, seen int64) int64 { return seen }

func signalName(*os.ProcessState) string { return "" }

func switchesOf(*os.ProcessState) Switches { return Switches{} }
