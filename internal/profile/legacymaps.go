package profile

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/unit"
)

const (
	maxMappings   = 1 << 16 // about as many as Linux lets a process have
	maxLookups    = 1 << 31 // mappings looked at for all addresses, which takes seconds
	maxAttributes = 1 << 10
	maxAttribute  = 1 << 18 // bytes of all attributes
	maxExpanded   = 1 << 26 // bytes of all lines that attributes were put into
)

// startsMappings reports whether the lines after this one are about mappings.
func startsMappings(line []byte) bool {
	return bytes.Contains(line, []byte("--- Memory map: ---")) || bytes.Contains(line, []byte("MAPPED_LIBRARIES:"))
}

// readSections reads what follows the samples: mappings, perhaps after something else.
func (b *legacyBuilder) readSections(in *bufio.Scanner) error {
	for !startsMappings(in.Bytes()) && in.Scan() {
	}
	if err := in.Err(); err != nil {
		return err
	}
	return b.readMappings(in)
}

// readMappings reads lines about mappings and finds the mapping of each location.
//
// Lines are those of /proc/PID/maps, shorter ones in the same spirit, or attributes such as "build=/home/me", which
// stand for $build in the lines to come. Lines of a log have a place in front. Others are passed over.
func (b *legacyBuilder) readMappings(in *bufio.Scanner) error {
	var attrs attributes
	for in.Scan() {
		line, err := attrs.expand(withoutLogPlace(in.Bytes()))
		if err != nil {
			return err
		}
		fields, ok := findMapping(line)
		if ok && len(fields.perm) > 0 && bytes.IndexByte(fields.perm, 'x') < 0 {
			continue // no code
		}
		m, valid := fields.mapping()
		if !ok || !valid {
			attrs.define(line)
			continue
		}
		if n := len(b.Mappings); n > 0 && continues(&b.Mappings[n-1], &m) {
			last := &b.Mappings[n-1]
			last.Limit = m.Limit
			if m.File != "" {
				last.File = m.File
			}
			if m.BuildID != "" {
				last.BuildID = m.BuildID
			}
			continue
		}
		if len(b.Mappings) >= maxMappings {
			return limitError{fmt.Sprintf("%d mappings", maxMappings)}
		}
		b.Mappings = append(b.Mappings, m)
	}
	if err := in.Err(); err != nil {
		return err
	}
	b.programFirst()
	return b.assignMappings()
}

// withoutLogPlace cuts "main.cc:12] " off a line.
func withoutLogPlace(line []byte) []byte {
	i := bytes.IndexAny(line, "[]")
	if i < 0 || line[i] != ']' || i+1 == len(line) || bytes.IndexByte([]byte(white), line[i+1]) < 0 {
		return line
	}
	file, number := cutTrailing(line[:i], digits)
	if len(number) == 0 || len(file) < 2 || file[len(file)-1] != ':' {
		return line
	}
	return line[i+2:]
}

// attributes are texts that lines name as $key. The first one that fits a place is meant.
type attributes struct {
	pairs    []string // $key, value, …
	size     int      // of all pairs
	longest  int      // value
	replacer *strings.Replacer
	expanded int // bytes
}

// define takes a line that may be an attribute.
func (a *attributes) define(line []byte) {
	if len(a.pairs) > 2*maxAttributes || a.size > maxAttribute {
		return // more than expand will have
	}
	key, value, ok := strings.Cut(string(line), "=")
	if !ok {
		return
	}
	key, value = "$"+strings.TrimSpace(key), strings.TrimSpace(value)
	a.pairs = append(a.pairs, key, value)
	a.size += len(key) + len(value)
	a.longest = max(a.longest, len(value))
	a.replacer = nil
}

// expand puts the attributes into a line.
func (a *attributes) expand(line []byte) ([]byte, error) {
	n := bytes.Count(line, []byte("$"))
	if n == 0 || len(a.pairs) == 0 {
		return line, nil
	}
	// A line of attributes that name each other can be made to stand for any amount of text.
	a.expanded += len(line) + n*a.longest
	switch {
	case len(a.pairs) > 2*maxAttributes:
		return nil, limitError{fmt.Sprintf("%d attributes of mappings", maxAttributes)}
	case a.size > maxAttribute:
		return nil, limitError{fmt.Sprintf("%s of attributes of mappings", unit.Size(maxAttribute))}
	case a.expanded > maxExpanded:
		return nil, limitError{fmt.Sprintf("%s of mappings with attributes", unit.Size(maxExpanded))}
	}
	if a.replacer == nil {
		a.replacer = strings.NewReplacer(a.pairs...)
	}
	return []byte(a.replacer.Replace(string(line))), nil
}

// findMapping reads a line about a mapping. That of /proc/PID/maps is
//
//	00400000-00500000 r-xp 00000000 08:01 1234 /bin/server
//
// and the short form, of which all but the addresses may be missing,
//
//	0x400000-0x500000: r-xp /bin/server (@ff00) abc123
func findMapping(line []byte) (f mappingFields, ok bool) {
	ranges := addressRanges(line)
	for _, r := range ranges {
		if f, ok = r.procFields(); ok {
			return f, true
		}
	}
	if len(ranges) == 0 {
		return f, false
	}
	return ranges[0].shortFields(), true
}

// mappingFields are the parts of a line about a mapping as they are written.
type mappingFields struct{ start, limit, perm, offset, file, buildID []byte }

// mapping returns the mapping they stand for, or false if a number is too large.
func (f *mappingFields) mapping() (m Mapping, ok bool) {
	ok = true
	number := func(text []byte) uint64 {
		n, err := strconv.ParseUint(string(text), 16, 64)
		ok = ok && err == nil
		return n
	}
	m = Mapping{Start: number(f.start), Limit: number(f.limit), File: string(f.file), BuildID: string(f.buildID)}
	if len(f.offset) > 0 {
		m.Offset = number(f.offset)
	}
	return m, ok
}

// An addressRange is the start of a line about a mapping, and what follows.
type addressRange struct {
	start, limit []byte
	rest         pattern
}

// addressRanges returns the ways to read the start of a line, best first. Nothing has to stand between the two
// addresses, so one long number can also be two, of which the second has but one digit.
func addressRanges(line []byte) []addressRange {
	p := pattern{rest: line}
	p.any(white)
	start := p.hexNumber()
	if p.failed {
		return nil
	}
	var ways []addressRange
	add := func(start []byte, p pattern) {
		limit := p.hexNumber()
		p.maybe(":")
		if !p.failed {
			ways = append(ways, addressRange{start, limit, p})
		}
	}
	apart := p
	apart.maybe("-")
	apart.any(white)
	add(start, apart)
	if n := len(start) - 1; n > 0 {
		p.rest = line[len(line)-len(p.rest)-1:]
		add(start[:n], p)
	}
	return ways
}

// hexNumber takes a number that may have 0x in front.
func (p *pattern) hexNumber() []byte {
	prefixed := *p
	prefixed.text("0x")
	if n := prefixed.some(hexAny); !prefixed.failed {
		*p = prefixed
		return n
	}
	return p.some(hexAny)
}

// field takes white space and a run of characters of a set, or nothing.
func (p *pattern) field(set string) []byte {
	q := *p
	q.some(white)
	run := q.some(set)
	if q.failed {
		return nil
	}
	*p = q
	return run
}

const permissions = "-rwxp"

// procFields takes what follows the addresses in /proc/PID/maps.
func (r addressRange) procFields() (f mappingFields, ok bool) {
	p := r.rest
	f.start, f.limit = r.start, r.limit
	f.perm = p.field(permissions)
	offset := p
	if f.offset = offset.field(hexAny); !bytes.HasPrefix(offset.rest, []byte(":")) {
		p = offset // else it is the device
	} else {
		f.offset = nil
	}
	p.some(white)
	p.some(hexAny)
	p.text(":")
	p.some(hexAny)
	p.some(white)
	p.some(digits) // the inode
	if p.failed {
		return f, false
	}
	f.file = p.fieldWord()
	return f, true
}

// fieldWord takes white space and a word, or nothing.
func (p *pattern) fieldWord() []byte {
	q := *p
	q.some(white)
	word := q.word()
	if q.failed {
		return nil
	}
	*p = q
	return word
}

// shortFields takes what follows the addresses in the short form.
func (r addressRange) shortFields() (f mappingFields) {
	p := r.rest
	f.start, f.limit = r.start, r.limit
	f.perm = p.field(permissions)
	f.file = p.fieldWord()
	q := p
	q.some(white)
	q.text("(@")
	offset := q.some(hexAny)
	q.text(")")
	if !q.failed {
		f.offset, p = offset, q
	}
	f.buildID = p.field(hexAny)
	return f
}

// continues reports whether b is the rest of a, which the system had split.
func continues(a, b *Mapping) bool {
	switch {
	case a.File != "" && b.File != "" && a.File != b.File:
		return false
	case a.BuildID != "" && b.BuildID != "" && a.BuildID != b.BuildID:
		return false
	case a.Limit != b.Start:
		return false
	}
	return a.Offset == 0 || b.Offset == 0 || b.Offset == a.Offset+(a.Limit-a.Start)
}

// programFirst swaps what is most likely the program with the first mapping.
func (b *legacyBuilder) programFirst() {
	i := slices.IndexFunc(b.Mappings, func(m Mapping) bool {
		file := strings.TrimSpace(strings.ReplaceAll(m.File, "(deleted)", ""))
		return file != "" && !isLibrary(file) && file[0] != '['
	})
	if i > 0 {
		b.Mappings[0], b.Mappings[i] = b.Mappings[i], b.Mappings[0]
	}
}

// isLibrary reports whether file is called x.so or x.so.1.
func isLibrary(file string) bool {
	for {
		_, after, ok := strings.Cut(file, ".so")
		if !ok {
			return false
		}
		if after == "" || len(after) > 1 && (after[0] == '.' || after[0] == '_') && strings.Contains(digits, after[1:2]) {
			return true
		}
		file = after
	}
}

// assignMappings finds the mapping of each location.
func (b *legacyBuilder) assignMappings() error {
	if ms := b.Mappings; len(ms) > 1 && strings.HasPrefix(ms[0].File, "/anon_hugepage") && ms[0].Limit == ms[1].Start {
		b.Mappings = ms[1:] // the program, as it was before it was moved to large pages
	}
	// The first mapping of a program is often told as if its file began where the code does.
	const programStart = 0x400000
	if len(b.Mappings) > 0 {
		if m := &b.Mappings[0]; m.Start-m.Offset == programStart {
			m.Start, m.Offset = programStart, 0
		}
	}
	unknown := int32(NoMapping) // for all addresses that are in no other
	looked := int64(0)          // which a number of 32 bits cannot hold
	for i := range b.Locations {
		l := &b.Locations[i]
		if l.Address == 0 {
			continue
		}
		if l.Mapping = mappingOf(b.Mappings, l.Address); l.Mapping != NoMapping {
			looked += int64(l.Mapping)
		} else {
			looked += int64(len(b.Mappings))
		}
		if looked > maxLookups {
			return limitError{fmt.Sprintf("%d pairs of an address and a mapping", int64(maxLookups))}
		}
		if l.Mapping == NoMapping && unknown == NoMapping {
			l.Mapping = extendMapping(b.Mappings, l.Address)
		}
		if l.Mapping == NoMapping {
			if unknown == NoMapping {
				unknown = int32(len(b.Mappings))
				b.Mappings = append(b.Mappings, Mapping{Limit: ^uint64(0)})
			}
			l.Mapping = unknown
		}
	}
	return nil
}

// mappingOf returns the first mapping that has the address in it.
func mappingOf(ms []Mapping, addr uint64) int32 {
	for i := range ms {
		if ms[i].Start <= addr && addr < ms[i].Limit {
			return int32(i)
		}
	}
	return NoMapping
}

// extendMapping returns the first mapping that has the address in it once the part of the file is added that comes
// before and is not told, and adds that.
func extendMapping(ms []Mapping, addr uint64) int32 {
	for i := range ms {
		if m := &ms[i]; m.Offset != 0 && m.Start-m.Offset <= addr && addr < m.Start {
			m.Start -= m.Offset
			m.Offset = 0
			return int32(i)
		}
	}
	return NoMapping
}
