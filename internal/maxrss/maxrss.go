// Package maxrss returns the peak resident memory of a program that has ended, in bytes. Unix systems report it with the exit status; on
// others, it is 0.
//
// On Linux, the figure includes the memory that the parent had when it started the program. So a figure that is not larger than Own of the
// parent is only an upper bound.
package maxrss

import "os"

// Of returns the most memory that a program had that has ended.
func Of(p *os.ProcessState) int64 { return ended(p) }

// Own returns the most memory that this process had so far.
func Own() int64 { return own() }
