package perf

import "encoding/binary"

// A sample is where a thread was when it had used up its share of CPU time.
type sample struct {
	thread uint32
	chain  []uint64 // the instruction in the program, and then the addresses to which the functions return
	sp, lr uint64   // registers; lr only where calls leave the return address in one
	stack  []byte   // what is on the stack, from sp on; nil when it is not known
}

// A tally counts what is in a buffer besides samples.
type tally struct {
	lost      int64 // samples for which the kernel had no room
	damaged   int64 // records that make no sense
	throttled int64 // times at which the kernel thought it was too much
}

// Kinds of records, see perf_event_open(2).
const (
	recordLost     = 2
	recordThrottle = 5
	recordSample   = 9
)

// In a chain, numbers from here on are no addresses but say what kind of addresses follow.
const (
	chainMarks = ^uint64(4095) + 1 // -4095
	chainUser  = ^uint64(512) + 1  // -512
)

// maxChain is more than the kernel walks: perf_event_max_stack is 127 by default.
const maxChain = 4096

// A layout says what samples consist of, which is what the kernel was asked for.
type layout struct {
	process   uint32 // of which samples are wanted; 0 is of all
	registers int    // 0; 1: sp; 2: lr and sp
	order     binary.ByteOrder
}

// parse reads the records in b and calls see with each sample, which is only valid until see returns. Whatever is in b,
// it reads nothing else and keeps nothing.
func (l layout) parse(b []byte, see func(*sample)) (t tally) {
	var s sample
	for len(b) >= 8 {
		kind, size := l.order.Uint32(b), int(l.order.Uint16(b[6:]))
		if size < 8 || size > len(b) {
			t.damaged++
			return t // nobody knows where the next one begins
		}
		body := reader{b: b[8:size], order: l.order}
		b = b[size:]
		switch kind {
		case recordSample:
			switch ids := body.take(8); {
			case !body.short && l.process != 0 && l.process != l.order.Uint32(ids):
			case body.short || !l.sample(l.order.Uint32(ids[4:]), &body, &s):
				t.damaged++
			case len(s.chain) > 0:
				see(&s)
			}
		case recordLost:
			body.word() // which event
			if n := body.word(); !body.short {
				t.lost += int64(min(n, 1<<32)) // more is no truth
			}
		case recordThrottle:
			t.throttled++
		}
	}
	if len(b) > 0 {
		t.damaged++
	}
	return t
}

// sample reads what follows the numbers of process and thread: chain, registers, stack.
func (l layout) sample(thread uint32, r *reader, s *sample) bool {
	*s = sample{thread: thread, chain: s.chain[:0]}
	n := r.word()
	if r.short || n > maxChain || n*8 > uint64(len(r.b)) {
		return false
	}
	user := true
	for range n {
		switch a := r.word(); {
		case a >= chainMarks:
			user = a == chainUser
		case user:
			s.chain = append(s.chain, a)
		}
	}
	if l.registers == 0 {
		return !r.short
	}
	// A thread that is about to end has no registers and no stack any more.
	if abi := r.word(); abi != 0 {
		if l.registers == 2 {
			s.lr = r.word()
		}
		s.sp = r.word()
	}
	size := r.word()
	if size > uint64(len(r.b)) {
		return false
	}
	if size > 0 {
		stack := r.take(int(size))
		used := r.word()
		s.stack = stack[:min(used, size)]
	}
	return !r.short
}

// A reader reads words until there are no more.
type reader struct {
	b     []byte
	order binary.ByteOrder
	short bool // there were none left
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.short, r.b = true, nil
		return 0
	}
	v := r.order.Uint64(r.b)
	r.b = r.b[8:]
	return v
}
