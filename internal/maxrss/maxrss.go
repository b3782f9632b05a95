// Package maxrss says how much memory programs had at most, in bytes, as systems of the Unix kind say it without being asked before
// the end. Where that is not known it is 0.
//
// Linux counts with what the parent had when it started the program: a number that is not larger than Own of the parent is only an upper
// bound.
package maxrss

import "os"

// Of returns the most memory that a program had that has ended.
func Of(p *os.ProcessState) int64 { return ended(p) }

// Own returns the most memory that this process had so far.
func Own() int64 { return own() }
