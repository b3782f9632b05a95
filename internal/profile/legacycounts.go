package profile

import (
	"bufio"
	"bytes"
	"strconv"
)

// parseCounts reads the profiles of Go that count stacks, such as goroutine and threadcreate with debug=1:
//
//	goroutine profile: total 3
//	2 @ 0x43b2ab 0x40a7c9
func parseCounts(data []byte) (*Profile, error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	for in.Scan() && blankOrComment(in.Bytes()) {
	}
	if in.Err() != nil {
		return nil, errLongHead
	}
	head := pattern{rest: in.Bytes()}
	what := ValueType{string(head.word()), "count"}
	head.text(" profile: total ")
	head.some(digits)
	if head.failed || len(head.rest) > 0 {
		return nil, errUnrecognized
	}
	b := newLegacyBuilder(Header{
		SampleTypes: []ValueType{what},
		PeriodType:  what,
		Period:      1,
		DropFrames:  signalFrames,
	})
	var stack []uint64
	for in.Scan() {
		if blankOrComment(in.Bytes()) {
			continue
		}
		if bytes.HasPrefix(in.Bytes(), []byte("---")) {
			break
		}
		line := pattern{rest: in.Bytes()}
		count := line.some(digits)
		line.text(" @")
		addrs := line.rest
		for more := true; more; more = !line.failed && len(line.rest) > 0 {
			line.text(" 0x")
			line.some(hexLower)
		}
		n, err := strconv.ParseInt(string(count), 0, 64)
		if line.failed || err != nil {
			return nil, errMalformed
		}
		if stack, err = hexAddresses(stack[:0], addrs); err != nil {
			return nil, errMalformed
		}
		b.addCalls(stack, 0, n)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if err := b.readSections(in); err != nil {
		return nil, err
	}
	return b.profile()
}
