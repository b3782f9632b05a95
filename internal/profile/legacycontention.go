package profile

import (
	"bufio"
	"bytes"
	"strconv"
)

// parseContention reads what programs waited for: contentionz of gperftools, and block and mutex with debug=1 of Go.
//
//	--- mutex:
//	cycles/second=3000000000
//	sampling period=1
//	9000 2 @ 0x43b2ab 0x40a7c9
//
// The numbers are cycles and times.
func parseContention(data []byte) (*Profile, error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	if !in.Scan() {
		if in.Err() != nil {
			return nil, errLongHead
		}
		return nil, errUnrecognized
	}
	first := in.Bytes()
	if !bytes.HasPrefix(first, []byte("--- contentionz ")) &&
		!bytes.HasPrefix(first, []byte("--- mutex:")) &&
		!bytes.HasPrefix(first, []byte("--- contention:")) {
		return nil, errUnrecognized
	}
	b := newLegacyBuilder(Header{
		SampleTypes: []ValueType{{"contentions", "count"}, {"delay", "nanoseconds"}},
		PeriodType:  ValueType{"contentions", "count"},
		Period:      1,
		DropFrames:  lockFrames,
	})
	cpuHz, err := b.contentionHeader(in)
	if err != nil {
		return nil, err
	}
	var stack []uint64
	for more := true; more; more = in.Scan() {
		line := bytes.TrimSpace(in.Bytes()) // the one that ended the header is the first
		if bytes.HasPrefix(line, []byte("---")) {
			break
		}
		if blankOrComment(line) {
			continue
		}
		first, second, addrs, ok := findContention(line)
		if !ok {
			return nil, errUnrecognized
		}
		delay, err := strconv.ParseInt(string(first), 10, 64)
		if err != nil {
			return nil, malformedSample(line, err)
		}
		count, err := strconv.ParseInt(string(second), 10, 64)
		if err != nil {
			return nil, malformedSample(line, err)
		}
		if b.Period > 0 {
			if cpuHz > 0 {
				cpuGHz := float64(cpuHz) / 1e9
				delay = int64(float64(delay) * float64(b.Period) / cpuGHz)
			}
			count *= b.Period
		}
		if stack, err = hexAddresses(stack[:0], addrs); err != nil {
			return nil, malformedSample(line, err)
		}
		b.addCalls(stack, 0, count, delay)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if err := b.readSections(in); err != nil {
		return nil, err
	}
	return b.profile()
}

// contentionHeader reads lines such as "cycles/second=3000000000". It leaves in at the first that is none.
func (b *legacyBuilder) contentionHeader(in *bufio.Scanner) (cpuHz int64, err error) {
	for in.Scan() {
		line := bytes.TrimSpace(in.Bytes())
		if blankOrComment(line) {
			continue
		}
		key, value, ok := bytes.Cut(line, []byte("="))
		if !ok || bytes.HasPrefix(line, []byte("---")) {
			break
		}
		var to *int64
		switch string(bytes.TrimSpace(key)) {
		case "cycles/second":
			to = &cpuHz
		case "sampling period":
			to = &b.Period
		case "ms since reset":
			to = &b.DurationNanos
		case "discarded samples":
			continue
		default:
			return 0, errUnrecognized // perhaps Java
		}
		if *to, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 0, 64); err != nil {
			return 0, errUnrecognized
		}
		if to == &b.DurationNanos {
			b.DurationNanos *= 1e6
		}
	}
	return cpuHz, in.Err()
}

// findContention finds the first sample in a line. Where there is but one number, its last digit is the second one.
func findContention(line []byte) (first, second, addrs []byte, ok bool) {
	ok = each(line, " @", func(before, after []byte) bool {
		before, second = cutTrailing(before, digits)
		_, first = cutTrailing(bytes.TrimRight(before, " "), digits)
		if n := len(second); len(first) == 0 && n > 0 {
			first, second = second[:n-1], second[n-1:]
		}
		p := pattern{rest: after}
		addrs = p.any("x " + hexLower)
		return len(first) > 0 && len(second) > 0
	})
	return first, second, addrs, ok
}
