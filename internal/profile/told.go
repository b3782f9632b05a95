package profile

import (
	"bytes"
	"slices"
	"strconv"
)

// A toldFrame is what a text says about an address. pprof takes it for a comment.
type toldFrame struct {
	name, file string
	line       int64
}

// toldNames reads the names that net/http/pprof writes below each stack with debug=1:
//
//	2 @ 0x43b2ab 0x40a7c9
//	#	0x43b2aa	main.wait+0x2a	/app/main.go:12
//
// An address of inlined calls has a line for each of them, the innermost first. An address whose function is not known has a line without a name.
// Functions of the runtime have none where a stack begins.
func toldNames(data []byte) map[uint64][]toldFrame {
	var told map[uint64][]toldFrame
	last := uint64(0) // address of the line before, which may have more frames
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("#\t0x"))
		if !ok {
			last = 0
			continue
		}
		hex, rest, named := bytes.Cut(bytes.TrimRight(rest, "\r\n"), []byte("\t"))
		addr, err := strconv.ParseUint(string(hex), 16, 64)
		if err != nil || addr == 0 {
			last = 0
			continue
		}
		if told == nil {
			told = make(map[uint64][]toldFrame)
		}
		known := told[addr]
		if !named { // the program itself does not know what is there
			told[addr], last = known, 0
			continue
		}
		what, where, ok := bytes.Cut(bytes.TrimSpace(rest), []byte("\t"))
		plus := bytes.LastIndex(what, []byte("+0x"))
		where = bytes.TrimSpace(where)
		colon := bytes.LastIndexByte(where, ':')
		if !ok || plus <= 0 || colon <= 0 {
			last = 0
			continue
		}
		n, err := strconv.ParseInt(string(where[colon+1:]), 10, 64)
		if err != nil {
			last = 0
			continue
		}
		f := toldFrame{string(what[:plus]), string(where[:colon]), n}
		switch {
		case known == nil || addr == last && !slices.Contains(known, f): // which recursion repeats
			told[addr] = append(known, f)
		default:
			addr = 0
		}
		last = addr
	}
	return told
}

// unnamedRuntime stands for the functions of the runtime that wait or allocate for the program. Texts leave them out.
const unnamedRuntime = "runtime.(unnamed)"

// Named returns p with the names that its text has in comments. Where the program is at hand, it knows more: it names the functions of the
// runtime, too.
func (p *Profile) Named() *Profile {
	if len(p.told) == 0 {
		return p
	}
	t := p.Tables
	t.Locations, t.Functions = slices.Clone(t.Locations), slices.Clone(t.Functions)
	functions := make(map[Function]uint32)
	name := func(l *Location, f toldFrame) {
		fn := Function{Name: f.name, SystemName: f.name, File: f.file}
		at, ok := functions[fn]
		if !ok {
			at = uint32(len(t.Functions))
			functions[fn] = at
			t.Functions = append(t.Functions, fn)
			t.Functions[at].ID = uint64(at) + 1
		}
		l.Lines = append(l.Lines, Line{Function: at, Line: f.line})
	}
	for i := range t.Locations {
		if l := &t.Locations[i]; len(l.Lines) == 0 {
			for _, f := range p.told[l.Address] {
				name(l, f)
			}
		}
	}
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		if !slices.ContainsFunc(stack, func(l uint32) bool { return len(p.told[t.Locations[l].Address]) > 0 }) {
			continue // the text was cut, or has names of other stacks only
		}
		for _, at := range stack {
			l := &t.Locations[at]
			if _, said := p.told[l.Address]; !said && len(l.Lines) == 0 {
				name(l, toldFrame{name: unnamedRuntime})
			}
		}
	}
	return p.WithTables(t)
}
