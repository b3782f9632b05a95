package profile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
)

// parseCPU reads CPU profiles of gperftools, of old Go and of Java: words of 32 or 64 bits in the byte order of
// the machine, and text behind them. The words are
//
//	0, 3, 0 or 1 for Java, microseconds between samples, 0      the header
//	count, number of frames, address, address, …                each sample
//	0, 1, 0                                                     the end
func parseCPU(data []byte) (*Profile, error) {
	w, kind, period := cpuHeader(data)
	if w.short {
		return nil, errUnrecognized
	}
	b := newLegacyBuilder(Header{
		Period:      int64(period) * 1000,
		PeriodType:  ValueType{"cpu", "nanoseconds"},
		SampleTypes: []ValueType{{"samples", "count"}, {"cpu", "nanoseconds"}},
		DropFrames:  signalFrames,
	})
	if kind == 1 {
		return b.javaCPU(w)
	}
	return b.nativeCPU(w)
}

// isCPU reports whether data begins like what parseCPU reads.
func isCPU(data []byte) bool {
	w, _, _ := cpuHeader(data)
	return !w.short
}

// cpuHeader reads the header and returns the words behind it; they are short when there is no header.
func cpuHeader(data []byte) (w words, kind, period uint64) {
	for _, w := range []words{
		{size: 4, order: binary.LittleEndian},
		{size: 4, order: binary.BigEndian},
		{size: 8, order: binary.LittleEndian},
		{size: 8, order: binary.BigEndian},
	} {
		w.rest = data
		zero, version, kind, period, pad := w.next(), w.next(), w.next(), w.next(), w.next()
		if !w.short && zero == 0 && version == 3 && kind <= 1 && period != 0 && pad == 0 {
			return w, kind, period
		}
	}
	return words{short: true}, 0, 0
}

// words are numbers of one size, taken off the front of rest.
type words struct {
	rest  []byte
	size  int // bytes of each
	order binary.ByteOrder
	short bool // there were fewer than asked for
}

// next returns the next word, or 0 behind the end.
func (w *words) next() (v uint64) {
	switch {
	case len(w.rest) < w.size:
		w.rest, w.short = nil, true
		return 0
	case w.size == 4:
		v = uint64(w.order.Uint32(w.rest))
	default:
		v = w.order.Uint64(w.rest)
	}
	w.rest = w.rest[w.size:]
	return v
}

// samples calls add for each sample and returns what follows the last one. The stack is good for the call only.
func (w words) samples(add func(count int64, stack []uint64)) (rest []byte, err error) {
	var stack []uint64
	for len(w.rest) > 0 {
		count, depth := w.next(), w.next()
		// Words of 64 bits that are missing at the end of the last stack are 0.
		if w.short || depth > uint64(len(w.rest)/4) {
			return nil, errUnrecognized
		}
		if depth > maxDepth {
			return nil, limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
		}
		stack = stack[:0]
		for range depth {
			stack = append(stack, w.next())
		}
		if count == 0 && depth == 1 && stack[0] == 0 {
			break
		}
		add(int64(count), stack)
	}
	return w.rest, nil
}

// nativeCPU reads the samples of a program that is machine code, and where it was in memory.
func (b *legacyBuilder) nativeCPU(w words) (*Profile, error) {
	// A handler of signals leaves a frame or two between the leaf, which is where the signal says, and the rest.
	var handler []uint64
	for range 2 {
		frame, ok, err := commonCaller(w, handler)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		handler = append(handler, frame)
	}
	rest, err := w.samples(func(count int64, stack []uint64) {
		b.addInterrupted(withoutHandler(stack, handler), count, count*b.Period)
	})
	if err != nil {
		return nil, err
	}
	if err := b.readMappings(bufio.NewScanner(bytes.NewReader(rest))); err != nil {
		return nil, err
	}
	return b.profile()
}

// withoutHandler drops the frames of a signal handler from a stack, in place.
func withoutHandler(stack, handler []uint64) []uint64 {
	for _, frame := range handler {
		if len(stack) > 1 && stack[1] == frame {
			stack = append(stack[:1], stack[2:]...)
		}
	}
	return stack
}

// commonCaller returns the frame that is right above the leaf in nearly all samples, once handler is gone. One sample
// in 32 may be different.
func commonCaller(w words, handler []uint64) (frame uint64, ok bool, err error) {
	// What more than half of them have is left over when each two that differ are taken away (Boyer and Moore), so that
	// no caller has to be counted but that one.
	all, left := 0, 0
	_, err = w.samples(func(_ int64, stack []uint64) {
		all++
		stack = withoutHandler(stack, handler)
		switch {
		case len(stack) < 2:
		case left == 0:
			frame, left = stack[1], 1
		case stack[1] == frame:
			left++
		default:
			left--
		}
	})
	if err != nil || left == 0 {
		return 0, false, err
	}
	same := 0
	_, err = w.samples(func(_ int64, stack []uint64) {
		if stack = withoutHandler(stack, handler); len(stack) > 1 && stack[1] == frame {
			same++
		}
	})
	return frame, same >= all-all/32, err
}
