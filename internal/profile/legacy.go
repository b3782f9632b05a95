package profile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/hone-perf/hone/internal/unit"
)

// parseLegacy reads the text and binary forms that came before profile.proto. What they mean is nowhere written down
// but in the pprof library, so all that it makes of them, odd as it may be, is what they mean here, too.
func parseLegacy(data []byte) (*Profile, error) {
	if bytes.HasPrefix(data, []byte(gzipMagic)) {
		return nil, errUnrecognized // packed twice
	}
	// One text can pass for several forms, so the order matters.
	forms := []func([]byte) (*Profile, error){
		parseCPU, parseHeap, parseCounts, parseThreads, parseContention, parseJava,
	}
	long := false
	for _, parse := range forms {
		p, err := parse(data)
		var limit limitError
		switch {
		case err == nil:
			p.told = toldNames(data)
			return p, nil
		case errors.As(err, &limit):
			return p, err
		case err == errLongHead:
			long = true
		case errors.Is(err, bufio.ErrTooLong):
			return nil, errLongLine
		case err != errUnrecognized:
			return nil, &FormatError{Doing: "parsing profile", Err: err}
		}
	}
	if long {
		return nil, errLongHead
	}
	return nil, errUnrecognized
}

// errLongLine says that a line is too long for the forms of text that pprof reads, errLongHead that the first one is, which may be one of folded stacks.
var errLongLine, errLongHead = longLine(), longLine()

func longLine() error {
	return &FormatError{
		Doing: "parsing profile", Err: bufio.ErrTooLong,
		Detail: fmt.Sprintf("a line has more than %s, the limit of text formats other than folded stacks (main;work 12)", unit.Size(bufio.MaxScanTokenSize)),
	}
}

// errMalformed is a line that does not fit the lines before it.
var errMalformed = errors.New("malformed profile format")

// A legacyBuilder builds a profile from a form in which frames are addresses.
type legacyBuilder struct {
	*Builder
	byAddress  hashIndex
	frames     []uint32         // of the stack that is added
	blockSizes map[int64]uint32 // label sets by the size they tell
}

func newLegacyBuilder(h Header) *legacyBuilder {
	return &legacyBuilder{Builder: NewBuilder(h), blockSizes: make(map[int64]uint32)}
}

// locate returns the locations with these addresses. The slice is good until the next call.
func (b *legacyBuilder) locate(addrs []uint64) []uint32 {
	if len(addrs) > maxDepth {
		b.err = limitError{fmt.Sprintf("%d frames in one stack", maxDepth)}
	}
	if b.err != nil {
		return nil
	}
	b.frames = b.frames[:0]
	for _, a := range addrs {
		s := b.byAddress.find(mix(0, a), func(i uint32) bool { return b.Locations[i].Address == a })
		if s.free() {
			if len(b.Locations) >= maxTable {
				b.err = limitError{fmt.Sprintf("%d locations", maxTable)}
				return nil
			}
			s.put(uint32(len(b.Locations)))
			b.Locations = append(b.Locations, Location{Mapping: NoMapping, Address: a})
		}
		b.frames = append(b.frames, s.at())
	}
	return b.frames
}

// addCalls adds a sample whose stack is return addresses, which point behind the calls. It changes addrs.
func (b *legacyBuilder) addCalls(addrs []uint64, labels uint32, values ...int64) {
	for i := range addrs {
		addrs[i]--
	}
	b.Add(b.locate(addrs), labels, values)
}

// addInterrupted adds a sample whose stack is return addresses, but for the leaf, where a thread was stopped. It changes
// addrs.
func (b *legacyBuilder) addInterrupted(addrs []uint64, values ...int64) {
	for i := range addrs {
		if i > 0 {
			addrs[i]--
		}
	}
	stack := b.locate(addrs)
	if len(stack) > 1 && addrs[0] == addrs[1]+1 {
		// The unwinder saw the leaf as well and took it for a return address. Its location stays in the table.
		stack = append(stack[:1], stack[2:]...)
	}
	b.Add(stack, 0, values)
}

// blockSize returns the label set that tells the size of a block of memory.
func (b *legacyBuilder) blockSize(n int64) uint32 {
	set, ok := b.blockSizes[n]
	if !ok {
		set = b.Labels([]Label{{Key: "bytes", Numeric: true, Num: n}})
		b.blockSizes[n] = set
	}
	return set
}

// profile finishes the profile.
func (b *legacyBuilder) profile() (*Profile, error) {
	b.Renumber()
	return b.Builder.Profile()
}
