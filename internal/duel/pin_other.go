//go:build !linux

package duel

import "os/exec"

// cores returns none: here programs cannot be bound to one.
func cores() []int { return nil }

// startOn starts programs.
func startOn(_ int, cmds ...*exec.Cmd) error { return start(cmds) }

// canShare says that programs cannot be bound to one core here.
const canShare = false
