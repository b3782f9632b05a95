package profile

import (
	"bufio"
	"bytes"
)

// parseThreads reads the stacks of all threads of a C++ program:
//
//	--- threadz 1 ---
//
//	--- Thread 7ff6e1bd3700 (name: main/14748) stack: ---
//	  PC:  0x43b2ab 0x40a7c9
//	--- Thread 7ff6e1bd3701 (name: worker/14749) stack: ---
//	  [same as previous thread]
//	---- no stack trace for 3 threads
func parseThreads(data []byte) (*Profile, error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	for in.Scan() && blankOrComment(in.Bytes()) {
	}
	line := in.Bytes()
	if !startsThread(line) && !startsThreads(line) {
		return nil, errUnrecognized
	}
	if startsThreads(line) {
		line = bytes.Clone(line)
		for in.Scan() {
			if line = bytes.Clone(in.Bytes()); startsMappings(line) || bytes.HasPrefix(line, []byte("-")) {
				break
			}
		}
	}
	what := ValueType{"thread", "count"}
	b := newLegacyBuilder(Header{
		SampleTypes: []ValueType{what},
		PeriodType:  what,
		Period:      1,
		DropFrames:  signalFrames,
	})
	var stack []uint64
	for !startsMappings(line) && !bytes.HasPrefix(line, []byte("---- no stack trace for")) {
		if !startsThread(line) {
			return nil, errUnrecognized
		}
		var err error
		if stack, line, err = readThread(in, stack[:0]); err != nil {
			return nil, err
		}
		switch n := len(b.stack); {
		case len(stack) > 0:
			b.addInterrupted(stack, 1)
		case n > 0:
			b.values[0][n-1]++ // another thread like the one before
		}
	}
	if err := b.readSections(in); err != nil {
		return nil, err
	}
	return b.profile()
}

// startsThreads reports whether "--- threadz N ---" is in the line.
func startsThreads(line []byte) bool {
	return each(line, "--- threadz ", func(_, after []byte) bool {
		p := pattern{rest: after}
		p.some(digits)
		p.text(" ---")
		return !p.failed
	})
}

// startsThread reports whether "--- Thread ID (name: NAME/N) stack: ---" is in the line.
func startsThread(line []byte) bool {
	return each(line, "--- Thread ", func(_, after []byte) bool {
		p := pattern{rest: after}
		p.some(hexAny)
		p.text(" (name: ")
		return !p.failed && each(p.rest, ") stack: ---", func(name, _ []byte) bool {
			name, id := cutTrailing(name, digits)
			return len(id) > 0 && bytes.HasSuffix(name, []byte("/"))
		})
	})
}

// readThread appends the stack of a thread, if it has one of its own, and returns the first line behind it.
func readThread(in *bufio.Scanner, stack []uint64) (_ []uint64, next []byte, err error) {
	same := false
	for in.Scan() {
		// Whether there is another line is only known when this one is gone from the buffer.
		next = bytes.Clone(bytes.TrimSpace(in.Bytes()))
		if bytes.HasPrefix(next, []byte("---")) {
			break
		}
		if bytes.Contains(next, []byte("same as previous thread")) {
			same = true
			continue
		}
		if stack, err = hexAddresses(stack, next); err != nil {
			return nil, nil, malformedSample(next, err)
		}
	}
	if same {
		stack = stack[:0]
	}
	return stack, next, in.Err()
}
