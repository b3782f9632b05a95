package profile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strconv"
)

// javaCPU reads the samples of a Java program, and what is at the addresses.
func (b *legacyBuilder) javaCPU(w words) (*Profile, error) {
	rest, err := w.samples(func(count int64, stack []uint64) {
		b.Add(b.locate(stack), 0, []int64{count, count * b.Period})
	})
	if err != nil {
		return nil, err
	}
	return b.javaProfile(rest)
}

// parseJava reads heap and contention profiles of Java programs:
//
//	--- heapz 1 ---
//	format = java
//	resolution = bytes
//	4096  3 @ 0x43b2ab 0x40a7c9
//	0x43b2ab com.example.Main.run (Main.java:12)
//	0x40a7c9 com.example.Main.main (Main.java:3)
func parseJava(data []byte) (*Profile, error) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	var heap bool
	switch string(bytes.TrimSpace(first)) {
	case "--- heapz 1 ---":
		heap = true
	case "--- contentionz 1 ---":
	default:
		ok = false
	}
	if !ok {
		return nil, errUnrecognized
	}
	h, rest, err := parseJavaHeader(heap, rest)
	if err != nil {
		return nil, err
	}
	b := newLegacyBuilder(h)
	if rest, err = b.javaSamples(heap, rest); err != nil {
		return nil, err
	}
	return b.javaProfile(rest)
}

// eachLine calls take with each line of text that has an end, without the white space around it, as long as it returns
// true. It returns the rest, from the line on for which take did not.
func eachLine(text []byte, take func(line []byte) bool) (rest []byte) {
	for {
		line, after, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return text
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && !take(line) {
			return text
		}
		text = after
	}
}

// parseJavaHeader reads the lines that are attributes.
func parseJavaHeader(heap bool, text []byte) (h Header, rest []byte, err error) {
	h.DropFrames = signalFrames
	rest = eachLine(text, func(line []byte) bool {
		key, value, ok := findAttribute(line)
		if !ok {
			return false
		}
		number := func() (n int64) {
			if n, err = strconv.ParseInt(value, 0, 64); err != nil {
				err = fmt.Errorf("failed to parse attribute %s: %w", line, err)
			}
			return n
		}
		switch {
		case key == "format" && value == "java":
		case key == "resolution" && heap:
			h.SampleTypes = []ValueType{{"inuse_objects", "count"}, {"inuse_space", value}}
			h.DropFrames, h.KeepFrames = allocFrames, allocUserFrames
		case key == "resolution":
			h.SampleTypes = []ValueType{{"contentions", "count"}, {"delay", value}}
			h.DropFrames = lockFrames
		case key == "sampling period" && !heap:
			h.PeriodType = ValueType{"contentions", "count"}
			h.Period = number()
		case key == "ms since reset" && !heap:
			h.DurationNanos = number() * 1e6
		default:
			err = errUnrecognized
		}
		return err == nil
	})
	return h, rest, err
}

// findAttribute finds the first key and value with an equals sign between them.
func findAttribute(line []byte) (key, value string, ok bool) {
	const word = "_ ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + digits
	ok = each(line, "=", func(before, after []byte) bool {
		_, k := cutTrailing(before, word)
		p := pattern{rest: after}
		v := p.some(word)
		key, value = string(bytes.TrimSpace(k)), string(bytes.TrimSpace(v))
		return len(k) > 0 && !p.failed
	})
	return key, value, ok
}

// javaSamples reads the lines that are samples.
func (b *legacyBuilder) javaSamples(heap bool, text []byte) (rest []byte, err error) {
	var stack []uint64
	rest = eachLine(text, func(line []byte) bool {
		first, second, addrs, ok := findJavaSample(line)
		if !ok {
			return false
		}
		if stack, err = hexAddresses(stack[:0], addrs); err != nil {
			err = malformedSample(line, err)
			return false
		}
		var count, size int64
		if count, err = strconv.ParseInt(string(second), 0, 64); err == nil {
			size, err = strconv.ParseInt(string(first), 0, 64)
		}
		switch {
		case err != nil:
			err = fmt.Errorf("parsing sample %s: %w", line, err)
			return false
		case heap && count == 0:
			err = fmt.Errorf("parsing sample %s: second value must be non-zero", line)
			return false
		}
		var labels uint32
		if heap {
			const period = 512 << 10
			labels = b.blockSize(size / count)
			count, size = unsample(count, size, period)
		} else if b.Period != 0 {
			count, size = count*b.Period, size*b.Period
		}
		b.Add(b.locate(stack), labels, []int64{count, size})
		return true
	})
	return rest, err
}

// findJavaSample finds the first sample in a line.
func findJavaSample(line []byte) (first, second, addrs []byte, ok bool) {
	ok = each(line, "@", func(before, after []byte) bool {
		before, blank := cutTrailing(before, " ")
		before, second = cutTrailing(before, digits)
		before, between := cutTrailing(before, " ")
		_, first = cutTrailing(before, digits)
		p := pattern{rest: after}
		p.some(" ")
		addrs = p.any("x " + hexLower)
		return !p.failed && len(blank) > 0 && len(second) > 0 && len(between) > 0 && len(first) > 0
	})
	return first, second, addrs, ok
}

// javaProfile reads what is at the addresses and finishes the profile. Addresses in memory that was given to compiled
// code while the program ran say nothing to anybody, so they go.
func (b *legacyBuilder) javaProfile(text []byte) (*Profile, error) {
	var err error
	names := javaNames{
		locations: make(map[uint64]uint32, len(b.Locations)),
		functions: make(map[string]uint32),
	}
	for i, l := range b.Locations {
		names.locations[l.Address] = uint32(i)
	}
	describe := func(line []byte) bool {
		err = b.javaLocation(line, names)
		return err == nil
	}
	rest := eachLine(text, describe)
	if line := bytes.TrimSpace(rest); err == nil && len(line) > 0 {
		describe(line)
	}
	if err != nil {
		return nil, err
	}
	if len(b.SampleTypes) == 0 && len(b.stack) > 0 {
		return nil, errors.New("missing sample type information")
	}
	b.numberFunctions()
	for i := range b.Locations {
		if l := &b.Locations[i]; len(l.Lines) > 0 {
			l.Address = 0
		}
	}
	if err := b.assignMappings(); err != nil {
		return nil, err
	}
	for i := range b.Locations {
		b.Locations[i].Address = 0
	}
	return b.profile()
}

// javaNames find what a line about an address is about.
type javaNames struct {
	locations map[uint64]uint32 // by address
	functions map[string]uint32 // by name
}

// javaLocation takes a line that says what is at an address, such as
//
//	0x43b2ab com.example.Main.run (Main.java:12)
//	0x40a7c9 malloc (/lib/libc.so)
//	0x10 GC
//
// Other lines are none of a profile.
func (b *legacyBuilder) javaLocation(line []byte, names javaNames) error {
	p := pattern{rest: line}
	p.text("0x")
	hex := p.some(hexAny)
	p.some(white)
	if p.failed {
		return nil
	}
	addr, err := strconv.ParseUint(string(hex), 16, 64)
	if err != nil {
		return fmt.Errorf("parsing sample %s: %w", line, err)
	}
	at, ok := names.locations[addr]
	if !ok {
		return nil
	}
	name, file, n := javaFrame(p.rest)
	f, ok := names.functions[name]
	if !ok {
		f = uint32(len(b.Functions))
		names.functions[name] = f
		b.Functions = append(b.Functions, Function{Name: name, SystemName: name, File: file})
	}
	b.Locations[at].Lines = []Line{{Function: f, Line: n}}
	return nil
}

// javaFrame takes a frame apart.
func javaFrame(text []byte) (name, file string, line int64) {
	if inside, ok := bytes.CutSuffix(text, []byte(")")); ok {
		// The name ends at the last bracket that leaves something to be a file.
		before, number := cutTrailing(inside, digits)
		before = bytes.TrimSuffix(before, []byte("-"))
		if before, ok := bytes.CutSuffix(before, []byte(":")); ok && len(number) > 0 {
			if name, file, ok := cutFile(before, 1); ok {
				if n, err := strconv.ParseInt(string(inside[len(before)+1:]), 10, 64); err == nil && n > 0 {
					line = n
				}
				return name, file, line
			}
		}
		if name, file, ok := cutFile(inside, 0); ok {
			return name, path.Base(file), 0 // of a library
		}
	}
	if bytes.Contains(text, []byte("generated stub/JIT")) {
		return "STUB", "", 0
	}
	return string(text), "", 0 // a state of the machine, such as GC
}

// cutFile cuts text at the last bracket that has white space before it and at least size bytes behind it.
func cutFile(text []byte, size int) (name, file string, ok bool) {
	for end := len(text) - size; ; {
		i := bytes.LastIndexByte(text[:max(end, 0)], '(')
		if i <= 0 {
			return "", "", false
		}
		if bytes.IndexByte([]byte(white), text[i-1]) >= 0 {
			return string(text[:i-1]), string(text[i+1:]), true
		}
		end = i
	}
}

// numberFunctions puts functions in the order in which locations name them. Those that none names any more go.
func (b *legacyBuilder) numberFunctions() {
	now := make(map[uint32]uint32)
	var functions []Function
	for i := range b.Locations {
		for k := range b.Locations[i].Lines {
			l := &b.Locations[i].Lines[k]
			f, ok := now[l.Function]
			if !ok {
				f = uint32(len(functions))
				now[l.Function] = f
				functions = append(functions, b.Functions[l.Function])
			}
			l.Function = f
		}
	}
	b.Functions = functions
}
