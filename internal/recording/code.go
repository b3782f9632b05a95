package recording

import "github.com/hone-perf/hone/internal/profile"

// Code finds machine code.
type Code interface {
	// Object opens the program or library that m is a mapping of.
	Object(m *profile.Mapping) (Object, error)
}

// An Object is a program or library. Its addresses are those in its file.
type Object interface {
	// Base is what to take off an address in the profile to get the one in the file.
	Base() uint64
	// Functions returns the functions for which keep is true, in the order of their addresses.
	Functions(keep func(*Function) bool) ([]Function, error)
	// Instructions takes a function apart. Of one that is too long for that only the beginning comes back.
	Instructions(f *Function) ([]Instruction, error)
}

// A Function is a piece of machine code that has a name.
type Function struct {
	Name       string
	Start, End uint64 // End is behind the last byte
}

// An Instruction is a machine instruction.
type Instruction struct {
	Address uint64
	Size    int
	Text    string
	Frames  []Frame // where it comes from: the innermost inlined function first, the one whose code it is in last
}

// A Frame is a place in the source. What is not known of it is empty.
type Frame struct {
	Func string
	File string
	Line int
}
