//go:build !linux

package duel

import "os/exec"

// processors returns none: here programs cannot be bound to one.
func processors() []int { return nil }

// startOn starts programs.
func startOn(_ int, cmds ...*exec.Cmd) error { return start(cmds) }

// canShare says that programs cannot be bound to one processor here.
const canShare = false
