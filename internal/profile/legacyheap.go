package profile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// parseHeap reads heap profiles, and what gperftools writes in the same form about growth and fragmentation of the heap:
//
//	heap profile: 3: 4096 [5: 6144] @ heap/1048576
//	3: 4096 [5: 6144] @ 0x43b2ab 0x40a7c9
//
// The numbers are objects and bytes that are in use, and in brackets all that were allocated.
func parseHeap(data []byte) (*Profile, error) {
	in := bufio.NewScanner(bytes.NewReader(data))
	if !in.Scan() {
		if in.Err() != nil {
			return nil, errLongHead
		}
		return nil, errUnrecognized
	}
	f, err := parseHeapHeader(in.Bytes())
	if err != nil {
		return nil, err
	}
	types := []ValueType{{"objects", "count"}, {"space", "bytes"}}
	if f.allocs {
		// What is in use comes last, which makes it what is shown first.
		types = []ValueType{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}}
	}
	b := newLegacyBuilder(Header{
		SampleTypes: types,
		PeriodType:  ValueType{"space", "bytes"},
		Period:      f.period,
		DropFrames:  allocFrames,
		KeepFrames:  allocUserFrames,
	})
	var stack []uint64
	var values []int64
	for in.Scan() {
		line := bytes.TrimSpace(in.Bytes())
		if blankOrComment(line) {
			continue
		}
		if startsMappings(line) {
			break
		}
		s, ok := findHeapSample(line)
		if !ok {
			return nil, errors.New("unexpected number of sample values: got 0, want 6")
		}
		var block int64
		values = values[:0]
		if f.allocs {
			if values, err = f.values(values, &block, line, s.allocs, "allocation"); err != nil {
				return nil, err
			}
		}
		if values, err = f.values(values, &block, line, s.inuse, "inuse"); err != nil {
			return nil, err
		}
		if stack, err = hexAddresses(stack[:0], s.addrs); err != nil {
			return nil, malformedSample(line, err)
		}
		b.addCalls(stack, b.blockSize(block), values...)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if err := b.readSections(in); err != nil {
		return nil, err
	}
	return b.profile()
}

func malformedSample(line []byte, err error) error {
	return fmt.Errorf("malformed sample: %s: %w", line, err)
}

// A heapForm is what the header of a heap profile says.
type heapForm struct {
	period  int64
	allocs  bool // there is more allocated than in use
	sampled bool // numbers are of the samples, not of all that was allocated
}

// A heapAmount is a number of objects and their bytes as they are written.
type heapAmount struct{ objects, bytes []byte }

func parseHeapHeader(line []byte) (f heapForm, err error) {
	var inuse, allocs heapAmount
	var kind, period []byte
	amounts := func(p *pattern) {
		p.any(" ")
		inuse = p.amount()
		p.any(" ")
		p.text("[")
		p.any(" ")
		allocs = p.amount()
		p.any(" ")
		p.text("]")
	}
	found := each(line, "heap profile:", func(_, after []byte) bool {
		p := pattern{rest: after}
		amounts(&p)
		p.any(" ")
		p.text("@")
		p.any(" ")
		from := p.rest
		p.text("heap")
		p.any("_abcdefghijklmnopqrstuvwxyz" + digits)
		kind = p.since(from)
		p.maybe("/")
		period = p.any(digits)
		return !p.failed
	})
	if !found {
		other := each(line, "heap profile:", func(_, after []byte) bool {
			p := pattern{rest: after}
			amounts(&p)
			growth, fragments := p, p
			growth.text(" @ growth")
			fragments.text(" @ fragmentation")
			return !growth.failed || !fragments.failed
		})
		if !other {
			return f, errUnrecognized
		}
		return heapForm{period: 1}, nil
	}
	if len(period) > 0 {
		if f.period, err = strconv.ParseInt(string(period), 10, 64); err != nil {
			return f, errUnrecognized
		}
	}
	more := func(all, some []byte) bool { return !bytes.Equal(all, some) && string(all) != "0" }
	f.allocs = more(allocs.objects, inuse.objects) || more(allocs.bytes, inuse.bytes)
	switch string(kind) {
	case "heapz_v2", "heap_v2":
		f.sampled = true
	case "heapprofile":
		f.period = 1
	case "heap":
		// Go writes twice the period, as the first profilers of this form did.
		f.sampled, f.period = true, f.period/2
	default:
		return f, errUnrecognized
	}
	return f, nil
}

// amount takes objects and bytes with a colon between them.
func (p *pattern) amount() (a heapAmount) {
	a.objects = p.some(digits)
	p.text(":")
	p.any(" ")
	a.bytes = p.some(digits)
	return a
}

// A heapSample is a sample as it is written.
type heapSample struct {
	inuse, allocs heapAmount
	addrs         []byte
}

// findHeapSample finds the first sample in a line.
func findHeapSample(line []byte) (s heapSample, ok bool) {
	ok = each(line, ":", func(before, after []byte) bool {
		before, s.inuse.objects = cutTrailing(before, digits)
		if len(s.inuse.objects) == 0 {
			return false
		}
		if bytes.HasSuffix(before, []byte("-")) {
			s.inuse.objects = line[len(before)-1 : len(before)+len(s.inuse.objects)]
		}
		p := pattern{rest: after}
		p.any(" ")
		from := p.rest
		p.maybe("-")
		p.some(digits)
		s.inuse.bytes = p.since(from)
		p.any(" ")
		p.text("[")
		p.any(" ")
		s.allocs = p.amount()
		p.any(" ")
		p.text("] @")
		s.addrs = p.any("x " + hexLower)
		return !p.failed
	})
	return s, ok
}

// values appends the values that an amount stands for, and sets block to the size of one of the objects, if there are
// any.
func (f *heapForm) values(values []int64, block *int64, line []byte, a heapAmount, what string) ([]int64, error) {
	count, err := strconv.ParseInt(string(a.objects), 10, 64)
	if err != nil {
		return nil, malformedSample(line, err)
	}
	size, err := strconv.ParseInt(string(a.bytes), 10, 64)
	if err != nil {
		return nil, malformedSample(line, err)
	}
	if count == 0 && size != 0 {
		return nil, fmt.Errorf("%s count was 0 but %s bytes was %d", what, what, size)
	}
	if count != 0 {
		*block = size / count
		if f.sampled {
			count, size = unsample(count, size, f.period)
		}
	}
	return append(values, count, size), nil
}

// unsample estimates what was allocated from the samples of it. An allocation of size s becomes a sample with a
// probability of 1-exp(-s/period).
func unsample(count, size, period int64) (int64, int64) {
	switch {
	case count == 0 || size == 0:
		return 0, 0
	case period <= 1:
		return count, size // every allocation is a sample, or nobody knows how many are
	}
	mean := float64(size) / float64(count)
	scale := 1 / (1 - math.Exp(-mean/float64(period)))
	return int64(float64(count) * scale), int64(float64(size) * scale)
}
