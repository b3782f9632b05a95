//go:build !linux

package duel

import (
	"math/rand/v2"
	"os/exec"
)

// startTogether starts programs. Here they cannot be bound to one processor.
func startTogether(_ *rand.Rand, cmds ...*exec.Cmd) error { return start(cmds) }

// canShare says that programs cannot be bound to one processor here.
const canShare = false
