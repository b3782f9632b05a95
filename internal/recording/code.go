package recording

import (
	"fmt"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
)

// Code finds machine code.
type Code interface {
	// Object opens the program or library that m is a mapping of. When it is not to be had, the error is a *NoCodeError.
	Object(m *profile.Mapping) (Object, error)
}

// A CodeGap is a reason why there is no machine code.
type CodeGap string

const (
	Unnamed    CodeGap = "unnamed"     // the profile does not name its program
	InNoFile   CodeGap = "in-no-file"  // the system made it, as the vdso of Linux
	NotHere    CodeGap = "not-here"    // the program is not on this machine
	OtherBuild CodeGap = "other-build" // the program on this machine is another build
	Unreadable CodeGap = "unreadable"  // the program on this machine cannot be read
	NotKept    CodeGap = "not-kept"    // the recording keeps the code of other functions, which cost more
)

// A NoCodeError says why the machine code of a program or library is not there.
type NoCodeError struct {
	Gap         CodeGap
	File        string // name in the profile
	Found, Want string // build ids, of an OtherBuild
	Err         error  // why it is Unreadable, or why only the code in the recording is available
}

func (e *NoCodeError) Error() string {
	switch e.Gap {
	case Unnamed:
		return "the profile does not name its program"
	case InNoFile:
		return fmt.Sprintf("no file has the machine code of %s", e.File)
	case NotHere:
		return fmt.Sprintf("%s is not on this machine", e.File)
	case OtherBuild:
		return fmt.Sprintf("%s is another build: it has build id %s, the profile is of %s", filename.Base(e.File), e.Found, e.Want)
	case NotKept:
		return fmt.Sprintf("the recording has the machine code of only the hottest functions of %s; %v", filename.Base(e.File), e.Err)
	default:
		return e.Err.Error()
	}
}

func (e *NoCodeError) Unwrap() error { return e.Err }

// Hint returns the next step, where there is one.
func (e *NoCodeError) Hint() hint.Text {
	if e.Gap == InNoFile || e.Gap == Unreadable {
		return nil
	}
	return hint.Text{"pass the program that was profiled with ", hint.Option{Name: "binary", Value: "FILE"}}
}

// A PartialObject is an Object that lacks functions.
type PartialObject interface {
	Object
	// Lack returns why there are no others, as a *NoCodeError.
	Lack() error
	// Unused returns an *UnusedError if the code is not from the program that the user named, or nil.
	Unused() error
}

// An UnusedError says why the program that the user named is not used: the recording keeps code of the program that ran.
type UnusedError struct {
	File string
	Err  error // a *NoCodeError
}

func (e *UnusedError) Error() string {
	return fmt.Sprintf("%s is not used; the machine code comes from the recording: %v", e.File, e.Err)
}

func (e *UnusedError) Unwrap() error { return e.Err }

// An Object is a program or library. Its addresses are those in its file.
type Object interface {
	// Base is the difference between an address in the profile and the one in the file.
	Base() uint64
	// Functions returns the functions for which keep is true, in the order of their addresses.
	Functions(keep func(*Function) bool) ([]Function, error)
	// Instructions disassembles a function, or only its beginning if it is too long.
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
