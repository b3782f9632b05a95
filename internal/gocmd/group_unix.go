//go:build unix

package gocmd

import (
	"os/exec"
	"syscall"
)

// InterruptedAll is Interrupted for a command and all that it runs: go test waits for its test program, which nobody else would interrupt.
func InterruptedAll(cmd *exec.Cmd) {
	Interrupted(cmd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
