//go:build !unix

package gocmd

import "os/exec"

// InterruptedAll is Interrupted.
func InterruptedAll(cmd *exec.Cmd) { Interrupted(cmd) }
