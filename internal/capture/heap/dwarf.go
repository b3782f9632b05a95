package heap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/unit"
)

// A debugInfo is what the debug data of a program says about its types, global variables, constants and functions. The reader of
// debug/dwarf makes several objects for each entry, of which a program has millions; this one reads the few attributes that matter here.
type debugInfo struct {
	sections map[string][]byte
	units    []*debugUnit
	abbrevs  map[uint64][]abbrev // by offset

	structs map[string]uint64 // offsets of the structs that are asked for by name
	consts  map[string]int64  // of the runtime and what is below it
	globals []debugGlobal     // sorted by address
	funcs   []debugFunc       // sorted by address
	rtypes  map[uint64]uint64 // where the runtime has a type → where the debug data has it
}

type debugUnit struct {
	off, end     uint64 // of the unit, and of what follows it
	first        uint64 // entry
	version      int
	addrSize     int
	wide         bool // 64-bit DWARF
	abbrevs      []abbrev
	low          uint64 // base of ranges and location lists
	addrBase     uint64
	rnglistsBase uint64
	loclistsBase uint64
	strBase      uint64
}

type debugGlobal struct {
	addr uint64
	name string
	typ  uint64
}

type debugFunc struct {
	low, high uint64
	off       uint64
	unit      *debugUnit
}

type abbrev struct {
	tag      uint32
	children bool
	fields   []abbrevField
}

type abbrevField struct {
	attr, form uint32
	implicit   int64
}

// The tags, attributes and forms of DWARF that are used here. The attributes from 0x2900 on are Go's own.
const (
	tagArray, tagFormal, tagLexicalBlock, tagMember, tagPointer = 0x01, 0x05, 0x0b, 0x0d, 0x0f
	tagUnit, tagStruct, tagFuncType, tagTypedef, tagInlined     = 0x11, 0x13, 0x15, 0x16, 0x1d
	tagSubrange, tagBase, tagConstant, tagFunc, tagVariable     = 0x21, 0x24, 0x27, 0x2e, 0x34

	attrLocation, attrName, attrByteSize, attrLow, attrHigh      = 0x02, 0x03, 0x0b, 0x11, 0x12
	attrLanguage, attrConst, attrUpperBound, attrOrigin          = 0x13, 0x1c, 0x2f, 0x31
	attrCount, attrMember, attrLine, attrType, attrRanges        = 0x37, 0x38, 0x3b, 0x49, 0x55
	attrStrBase, attrAddrBase, attrRnglistsBase, attrLoclists    = 0x72, 0x73, 0x74, 0x8c
	attrGoKind, attrGoKey, attrGoElem, attrGoRuntime, attrGoFree = 0x2900, 0x2901, 0x2902, 0x2904, 0x2907

	languageGo = 0x16
)

// maxDebug limits the debug data of a program, decompressed.
const maxDebug = 2 << 30

var errDebug = errors.New("the debug data is damaged")

// A debugEntry has the attributes of one entry that are used here.
type debugEntry struct {
	off, next    uint64
	tag          uint32
	children     bool
	name         []byte
	typ          uint64
	size         int64
	konst        int64
	hasConst     bool
	member       int64
	loc          []byte
	list         uint64
	hasList      bool
	low, high    uint64
	hasRanges    bool
	ranges       uint64
	rangesIndex  bool
	origin       uint64
	count        int64
	line         int
	language     uint64
	kind         uint8
	key, elem    uint64
	runtime      uint64
	free         int64 // where a closure has the variable, or -1
	addrBase     uint64
	rnglistsBase uint64
	loclistsBase uint64
	strBase      uint64
}

// readDebug reads the debug data of a program, where wanted says which structs to find by name.
func readDebug(f *elf.File, wanted func(name []byte) bool) (*debugInfo, error) {
	d := &debugInfo{
		sections: map[string][]byte{}, abbrevs: map[uint64][]abbrev{}, structs: map[string]uint64{},
		consts: map[string]int64{}, rtypes: map[uint64]uint64{},
	}
	total := uint64(0)
	for _, name := range []string{"info", "abbrev", "str", "line_str", "addr", "loc", "loclists", "ranges", "rnglists", "str_offsets"} {
		s := f.Section(".debug_" + name)
		if s == nil {
			continue
		}
		if total += s.Size; total > maxDebug {
			return nil, fmt.Errorf("the debug data is larger than %s", unit.Size(maxDebug))
		}
		b, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("reading section %s: %w", s.Name, err)
		}
		d.sections[name] = b
	}
	if len(d.sections["info"]) == 0 {
		return nil, ErrNoDebug
	}
	if err := d.readUnits(); err != nil {
		return nil, err
	}
	for _, u := range d.units {
		if err := d.index(u, wanted); err != nil {
			return nil, err
		}
	}
	order.Stable(d.globals, func(a, b debugGlobal) int { return cmp.Compare(a.addr, b.addr) })
	order.Stable(d.funcs, func(a, b debugFunc) int { return cmp.Compare(a.low, b.low) })
	return d, nil
}

// readUnits finds the units of Go. Those of C have other attributes, and no variable of Go.
func (d *debugInfo) readUnits() error {
	info := d.sections["info"]
	for off := uint64(0); off < uint64(len(info)); {
		c := cursor{b: info, at: off}
		u := &debugUnit{off: off}
		n := uint64(c.u32())
		if n == 0xffffffff {
			u.wide, n = true, c.u64()
		}
		if c.bad || n > uint64(len(info))-c.at {
			return errDebug
		}
		u.end = c.at + n
		u.version = int(c.u16())
		kind := uint8(1) // a unit that was compiled
		var abbrevs uint64
		if u.version >= 5 {
			kind = c.u8()
			u.addrSize = int(c.u8())
			abbrevs = c.offset(u.wide)
		} else {
			abbrevs = c.offset(u.wide)
			u.addrSize = int(c.u8())
		}
		off = u.end
		if c.bad {
			return errDebug
		}
		if u.version < 2 || u.version > 5 || kind != 1 || u.addrSize != 8 {
			continue
		}
		u.first = c.at
		var err error
		if u.abbrevs, err = d.readAbbrevs(abbrevs); err != nil {
			return err
		}
		// The bases come first, since other attributes of the same entry are counted from them.
		var e debugEntry
		for range 2 {
			if err := d.entry(u, u.first, &e); err != nil {
				return err
			}
			u.addrBase, u.rnglistsBase, u.loclistsBase, u.strBase = e.addrBase, e.rnglistsBase, e.loclistsBase, e.strBase
		}
		u.low = e.low
		if e.tag == tagUnit && e.language == languageGo {
			d.units = append(d.units, u)
		}
	}
	if len(d.units) == 0 {
		return ErrNoDebug
	}
	return nil
}

func (d *debugInfo) readAbbrevs(off uint64) ([]abbrev, error) {
	if list, ok := d.abbrevs[off]; ok {
		return list, nil
	}
	c := cursor{b: d.sections["abbrev"], at: off}
	var list []abbrev
	for {
		code := c.uleb()
		if code == 0 || c.bad {
			break
		}
		if code > 1<<16 {
			return nil, errDebug
		}
		a := abbrev{tag: uint32(c.uleb()), children: c.u8() != 0}
		for !c.bad {
			f := abbrevField{attr: uint32(c.uleb()), form: uint32(c.uleb())}
			if f.form == formImplicit {
				f.implicit = c.sleb()
			}
			if f.attr == 0 && f.form == 0 {
				break
			}
			a.fields = append(a.fields, f)
		}
		for uint64(len(list)) <= code {
			list = append(list, abbrev{})
		}
		list[code] = a
	}
	if c.bad {
		return nil, errDebug
	}
	d.abbrevs[off] = list
	return list, nil
}

// index notes what stands at the top of a unit. The entries within functions are read when a goroutine is in one.
func (d *debugInfo) index(u *debugUnit, wanted func([]byte) bool) error {
	var e debugEntry
	depth := 0
	for off := u.first; off < u.end; off = e.next {
		if err := d.entry(u, off, &e); err != nil {
			return err
		}
		if e.tag == 0 {
			if depth--; depth <= 0 {
				return nil
			}
			continue
		}
		if depth == 1 {
			d.note(u, &e, wanted)
		}
		if e.children {
			depth++
		}
	}
	return nil
}

func (d *debugInfo) note(u *debugUnit, e *debugEntry, wanted func([]byte) bool) {
	switch e.tag {
	case tagVariable:
		if len(e.loc) == 9 && e.loc[0] == opAddr {
			d.globals = append(d.globals, debugGlobal{binary.LittleEndian.Uint64(e.loc[1:]), string(e.name), e.typ})
		}
	case tagConstant:
		if e.hasConst && (bytes.HasPrefix(e.name, []byte("runtime.")) || bytes.HasPrefix(e.name, []byte("internal/"))) {
			d.consts[string(e.name)] = e.konst
		}
	case tagFunc:
		if e.low != 0 && e.high > e.low {
			d.funcs = append(d.funcs, debugFunc{e.low, e.high, e.off, u})
		}
	case tagStruct:
		if wanted(e.name) {
			// Some generic types of the standard library are there only for the shape of their arguments.
			name, shape := goName(e.name)
			if _, ok := d.structs[name]; !shape || !ok {
				d.structs[name] = e.off
			}
		}
		fallthrough
	default:
		if e.runtime != 0 {
			if _, ok := d.rtypes[e.runtime]; !ok || e.tag == tagTypedef {
				d.rtypes[e.runtime] = e.off
			}
		}
	}
}

// goName returns the name of a type, without what the compiler adds for types that share their code, and whether it added something.
func goName(b []byte) (string, bool) {
	name := string(b[:min(len(b), maxName)])
	short := strings.ReplaceAll(name, "go.shape.", "")
	return short, len(short) < len(name)
}

// unitAt returns the unit of an entry.
func (d *debugInfo) unitAt(off uint64) *debugUnit {
	i, ok := slices.BinarySearchFunc(d.units, off, func(u *debugUnit, off uint64) int { return cmp.Compare(u.off, off) })
	if !ok {
		i--
	}
	if i < 0 || off < d.units[i].first || off >= d.units[i].end {
		return nil
	}
	return d.units[i]
}

// at reads the entry at an offset, of whatever unit.
func (d *debugInfo) at(off uint64) (e debugEntry, u *debugUnit, err error) {
	if u = d.unitAt(off); u == nil {
		return e, nil, errDebug
	}
	err = d.entry(u, off, &e)
	return e, u, err
}

// children calls visit with the entries below one, and those below them. It leaves out what is below an entry of which visit says no.
func (d *debugInfo) children(u *debugUnit, parent *debugEntry, visit func(e *debugEntry, depth int) bool) error {
	if !parent.children {
		return nil
	}
	var e debugEntry
	depth, hidden := 1, 0
	for off := parent.next; off < u.end; off = e.next {
		if err := d.entry(u, off, &e); err != nil {
			return err
		}
		if e.tag == 0 {
			if depth--; depth == 0 {
				return nil
			}
			if depth <= hidden {
				hidden = 0
			}
			continue
		}
		if hidden == 0 && !visit(&e, depth) && e.children {
			hidden = depth
		}
		if e.children {
			depth++
		}
	}
	return nil
}

const (
	formImplicit = 0x21
	opAddr       = 0x03
)

// entry reads the entry at off into e.
func (d *debugInfo) entry(u *debugUnit, off uint64, e *debugEntry) error {
	*e = debugEntry{off: off, free: -1, size: -1, member: -1, count: -1}
	c := cursor{b: d.sections["info"][:u.end], at: off}
	code := c.uleb()
	if code == 0 {
		e.next = c.at
		if c.bad {
			return errDebug
		}
		return nil
	}
	if code >= uint64(len(u.abbrevs)) || u.abbrevs[code].tag == 0 {
		return errDebug
	}
	a := &u.abbrevs[code]
	e.tag, e.children = a.tag, a.children
	highIsSize := false
	for i := range a.fields {
		f := &a.fields[i]
		v := d.value(u, &c, f.form, f.implicit)
		switch f.attr {
		case attrName:
			e.name = v.bytes
		case attrType:
			e.typ = v.n
		case attrByteSize:
			e.size = int64(v.n)
		case attrConst:
			if v.bytes == nil {
				e.konst, e.hasConst = int64(v.n), true
			}
		case attrMember:
			if v.bytes == nil {
				e.member = int64(v.n)
			} else if len(v.bytes) > 0 && v.bytes[0] == opPlusUconst {
				b := cursor{b: v.bytes, at: 1}
				e.member = int64(b.uleb())
			}
		case attrLocation:
			if v.bytes != nil {
				e.loc = v.bytes
			} else {
				e.list, e.hasList = v.n, true
			}
		case attrLow:
			e.low = v.n
		case attrHigh:
			e.high, highIsSize = v.n, f.form != formAddr && !v.indexed
		case attrRanges:
			e.ranges, e.hasRanges, e.rangesIndex = v.n, true, f.form == formRnglistx
		case attrOrigin:
			e.origin = v.n
		case attrLine:
			e.line = int(min(v.n, 1<<30))
		case attrCount:
			e.count = int64(v.n)
		case attrUpperBound:
			if e.count < 0 {
				e.count = int64(v.n) + 1
			}
		case attrLanguage:
			e.language = v.n
		case attrGoKind:
			e.kind = uint8(v.n)
		case attrGoKey:
			e.key = v.n
		case attrGoElem:
			e.elem = v.n
		case attrGoRuntime:
			e.runtime = v.n
		case attrGoFree:
			e.free = int64(v.n)
		case attrAddrBase:
			e.addrBase = v.n
		case attrRnglistsBase:
			e.rnglistsBase = v.n
		case attrLoclists:
			e.loclistsBase = v.n
		case attrStrBase:
			e.strBase = v.n
		}
	}
	if highIsSize {
		e.high += e.low
	}
	e.next = c.at
	if c.bad {
		return errDebug
	}
	return nil
}

const (
	formAddr     = 0x01
	formRnglistx = 0x23
	opPlusUconst = 0x23
)

type formValue struct {
	n       uint64
	bytes   []byte // of strings and blocks; never nil for them
	indexed bool
}

// value reads an attribute, or skips it.
func (d *debugInfo) value(u *debugUnit, c *cursor, form uint32, implicit int64) (v formValue) {
	switch form {
	case formAddr:
		v.n = c.u64()
	case 0x03: // block2
		v.bytes = c.take(uint64(c.u16()))
	case 0x04: // block4
		v.bytes = c.take(uint64(c.u32()))
	case 0x05, 0x12: // data2, ref2
		v.n = uint64(c.u16())
	case 0x06, 0x13, 0x1c: // data4, ref4, ref_sup4
		v.n = uint64(c.u32())
	case 0x07, 0x14, 0x20, 0x24: // data8, ref8, ref_sig8, ref_sup8
		v.n = c.u64()
	case 0x08: // string
		v.bytes = c.text()
	case 0x09, 0x18: // block, exprloc
		v.bytes = c.take(c.uleb())
	case 0x0a: // block1
		v.bytes = c.take(uint64(c.u8()))
	case 0x0b, 0x0c, 0x11: // data1, flag, ref1
		v.n = uint64(c.u8())
	case 0x0d: // sdata
		v.n = uint64(c.sleb())
	case 0x0e, 0x1f: // strp, line_strp
		name := "str"
		if form == 0x1f {
			name = "line_str"
		}
		s := cursor{b: d.sections[name], at: c.offset(u.wide)}
		v.bytes = s.text()
	case 0x0f, 0x15, 0x22, 0x23: // udata, ref_udata, loclistx, rnglistx
		v.n = c.uleb()
	case 0x10: // ref_addr
		v.n = c.offset(u.wide)
	case 0x17, 0x1d: // sec_offset, strp_sup
		v.n = c.offset(u.wide)
	case 0x19: // flag_present
		v.n = 1
	case 0x1a: // strx
		v.bytes = d.indexedString(u, c.uleb())
	case 0x25, 0x26, 0x27, 0x28: // strx1 to strx4
		v.bytes = d.indexedString(u, c.uint(int(form-0x25)+1))
	case 0x1b: // addrx
		v.n, v.indexed = d.indexedAddr(u, c.uleb()), true
	case 0x29, 0x2a, 0x2b, 0x2c: // addrx1 to addrx4
		v.n, v.indexed = d.indexedAddr(u, c.uint(int(form-0x29)+1)), true
	case 0x1e: // data16
		v.bytes = c.take(16)
	case formImplicit:
		v.n = uint64(implicit)
	default:
		c.bad = true
	}
	switch form {
	case 0x11, 0x12, 0x13, 0x14, 0x15: // references count from the unit
		v.n += u.off
	}
	return v
}

func (d *debugInfo) indexedAddr(u *debugUnit, i uint64) uint64 {
	c := cursor{b: d.sections["addr"], at: u.addrBase + i*8}
	if i > 1<<32 {
		return 0
	}
	return c.u64()
}

func (d *debugInfo) indexedString(u *debugUnit, i uint64) []byte {
	width := uint64(4)
	if u.wide {
		width = 8
	}
	if i > 1<<32 {
		return []byte{}
	}
	c := cursor{b: d.sections["str_offsets"], at: u.strBase + i*width}
	s := cursor{b: d.sections["str"], at: c.offset(u.wide)}
	return s.text()
}

// A cursor reads bytes that may be damaged: past the end, everything is zero and bad is set.
type cursor struct {
	b   []byte
	at  uint64
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if c.at > uint64(len(c.b)) || n > uint64(len(c.b))-c.at {
		c.bad = true
		return []byte{}
	}
	b := c.b[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

func (c *cursor) uint(n int) (v uint64) {
	for i, b := range c.take(uint64(n)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) u8() uint8 {
	if c.at >= uint64(len(c.b)) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

func (c *cursor) offset(wide bool) uint64 {
	if wide {
		return c.u64()
	}
	return uint64(c.u32())
}

func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (c *cursor) text() []byte {
	if c.at > uint64(len(c.b)) {
		c.bad = true
		return []byte{}
	}
	i := bytes.IndexByte(c.b[c.at:], 0)
	if i < 0 {
		c.bad = true
		return []byte{}
	}
	b := c.b[c.at : c.at+uint64(i)]
	c.at += uint64(i) + 1
	return b
}
