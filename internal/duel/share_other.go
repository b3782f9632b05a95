//go:build !linux

package duel

// canShare says that programs cannot be bound to one processor here.
const canShare = false

// freeShare returns how much of a processor a program that never waits gets now, as far as that is known.
func freeShare() float64 { return 1 }
