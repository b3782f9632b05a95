package heap

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A frameVar is a part of a variable of a function that is on the stack, somewhere in the function.
type frameVar struct {
	off   int64 // from the frame's canonical address, which is where the caller's frame begins
	size  int64 // of the part
	name  string
	typ   uint64 // entry of the variable's type
	at    int64  // where in the variable the part is
	deref bool   // the variable is on the heap, and this is the pointer to it
	depth int    // how many inlined calls it is in
	line  int    // where it is declared, in the file of the function
	sure  bool   // it is there at the very instruction
}

// maxVars limits the parts of variables of one function.
const maxVars = 10_000

// function returns the function of the debug data that has the code at pc.
func (d *debugInfo) function(pc uint64) *debugFunc {
	i, ok := slices.BinarySearchFunc(d.funcs, pc, func(f debugFunc, pc uint64) int { return cmp.Compare(f.low, pc) })
	if !ok {
		i--
	}
	if i < 0 || pc >= d.funcs[i].high {
		return nil
	}
	return &d.funcs[i]
}

// variables returns the variables on the stack of the function at pc, which is of the call that the function is in.
func (d *debugInfo) variables(pc uint64) ([]frameVar, error) {
	f := d.function(pc)
	if f == nil {
		return nil, nil
	}
	var e debugEntry
	if err := d.entry(f.unit, f.off, &e); err != nil {
		return nil, err
	}
	var vars []frameVar
	depths := []int{0} // of inlined calls, by depth of entries
	var failed error
	err := d.children(f.unit, &e, func(e *debugEntry, depth int) bool {
		depths = append(depths[:min(depth, len(depths))], depths[min(depth, len(depths))-1])
		switch e.tag {
		case tagLexicalBlock, tagInlined:
			if !d.covers(f.unit, e, pc) {
				return false
			}
			if e.tag == tagInlined {
				depths[len(depths)-1]++
			}
			return true
		case tagFormal, tagVariable:
			if len(vars) < maxVars {
				more, err := d.parts(f.unit, e, pc)
				if err != nil {
					failed = err
				}
				for i := range more {
					more[i].depth = depths[len(depths)-1]
				}
				vars = append(vars, more...)
			}
		}
		return false
	})
	return vars, cmp.Or(err, failed)
}

// covers reports whether an entry has the code at pc.
func (d *debugInfo) covers(u *debugUnit, e *debugEntry, pc uint64) bool {
	if !e.hasRanges {
		return e.low == 0 && e.high == 0 || e.low <= pc && pc < e.high
	}
	found := false
	if u.version < 5 {
		c := cursor{b: d.sections["ranges"], at: e.ranges}
		for base := u.low; !c.bad; {
			low, high := c.u64(), c.u64()
			switch {
			case low == 0 && high == 0:
				return found
			case low == ^uint64(0):
				base = high
			case base+low <= pc && pc < base+high:
				found = true
			}
		}
		return found
	}
	at := e.ranges
	if e.rangesIndex {
		i := cursor{b: d.sections["rnglists"], at: u.rnglistsBase + e.ranges*4}
		at = u.rnglistsBase + uint64(i.u32())
	}
	c := cursor{b: d.sections["rnglists"], at: at}
	d.list(u, &c, true, func(low, high uint64, _ []byte) { found = found || low <= pc && pc < high })
	return found
}

// list reads a list of ranges or of locations as DWARF 5 has them. They differ in what follows each range.
func (d *debugInfo) list(u *debugUnit, c *cursor, ranges bool, visit func(low, high uint64, expr []byte)) {
	base := u.low
	for !c.bad {
		kind := c.u8()
		var low, high uint64
		if ranges && kind >= 5 { // lists of ranges have no default
			kind++
		}
		switch kind {
		case 0:
			return
		case 1:
			base = d.indexedAddr(u, c.uleb())
			continue
		case 2:
			low, high = d.indexedAddr(u, c.uleb()), d.indexedAddr(u, c.uleb())
		case 3:
			low = d.indexedAddr(u, c.uleb())
			high = low + c.uleb()
		case 4:
			low, high = base+c.uleb(), base+c.uleb()
		case 5:
			low, high = 0, ^uint64(0)
		case 6:
			base = c.u64()
			continue
		case 7:
			low, high = c.u64(), c.u64()
		case 8:
			low = c.u64()
			high = low + c.uleb()
		default:
			return
		}
		var expr []byte
		if !ranges {
			expr = c.take(c.uleb())
		}
		visit(low, high, expr)
	}
}

// parts returns the parts of a variable that are on the stack.
func (d *debugInfo) parts(u *debugUnit, e *debugEntry, pc uint64) ([]frameVar, error) {
	name, typ, line := e.name, e.typ, e.line
	if e.origin != 0 {
		origin, _, err := d.at(e.origin)
		if err != nil {
			return nil, err
		}
		name, typ, line = origin.name, origin.typ, origin.line
	}
	if len(name) == 0 || typ == 0 {
		return nil, nil
	}
	size := int64(8)
	if t, ok := d.sizeOf(typ); ok {
		size = t
	}
	var vars []frameVar
	add := func(low, high uint64, expr []byte) {
		for _, p := range pieces(expr, size) {
			p.name, p.typ, p.line, p.sure = string(name), typ, line, low <= pc && pc < high
			if len(vars) < maxVars {
				vars = append(vars, p)
			}
		}
	}
	switch {
	case !e.hasList:
		add(0, ^uint64(0), e.loc)
	case u.version >= 5:
		c := cursor{b: d.sections["loclists"], at: e.list}
		d.list(u, &c, false, add)
	default:
		c := cursor{b: d.sections["loc"], at: e.list}
		for base := u.low; !c.bad; {
			low, high := c.u64(), c.u64()
			if low == 0 && high == 0 {
				break
			}
			if low == ^uint64(0) {
				base = high
				continue
			}
			add(base+low, base+high, c.take(uint64(c.u16())))
		}
	}
	return vars, nil
}

// sizeOf returns the size of a type.
func (d *debugInfo) sizeOf(off uint64) (int64, bool) {
	for range maxTypedefs {
		e, _, err := d.at(off)
		if err != nil {
			return 0, false
		}
		switch {
		case e.size >= 0:
			return e.size, true
		case e.tag == tagPointer || e.tag == tagFuncType:
			return 8, true
		case e.tag != tagTypedef || e.typ == 0:
			return 0, false
		}
		off = e.typ
	}
	return 0, false
}

// pieces returns the parts of a variable that a location expression has on the stack.
func pieces(expr []byte, size int64) []frameVar {
	var list []frameVar
	c := cursor{b: expr}
	at := int64(0) // in the variable
	var stack []int64
	deref, memory := false, false
	push := func(n int64, m bool) {
		if stack = append(stack, n); m {
			memory = true
		}
	}
	put := func(n int64) {
		if memory && len(stack) > 0 {
			p := frameVar{off: stack[len(stack)-1], size: n, at: at, deref: deref}
			if deref {
				p.size = 8
			}
			list = append(list, p)
		}
		at, stack, deref, memory = at+n, nil, false, false
	}
	any := false
	for c.at < uint64(len(expr)) && !c.bad && len(list) < maxVars {
		switch op := c.u8(); {
		case op == 0x9c: // DW_OP_call_frame_cfa
			push(0, true)
		case op == 0x91: // DW_OP_fbreg
			push(c.sleb(), true)
		case op == 0x11: // DW_OP_consts
			push(c.sleb(), false)
		case op == 0x10: // DW_OP_constu
			push(int64(c.uleb()), false)
		case op == 0x22: // DW_OP_plus
			if n := len(stack); n >= 2 {
				stack = append(stack[:n-2], stack[n-2]+stack[n-1])
			}
		case op == opPlusUconst:
			if n := len(stack); n > 0 {
				stack[n-1] += int64(c.uleb())
			} else {
				return list
			}
		case op == 0x06: // DW_OP_deref
			deref = true
		case 0x50 <= op && op < 0x70: // DW_OP_reg
			memory = false
		case op == 0x93: // DW_OP_piece
			any = true
			put(int64(min(c.uleb(), 1<<40)))
		case op == opAddr:
			return list
		default:
			return list
		}
	}
	if !any {
		put(size)
	}
	return list
}

// capturedVar is a variable of a closure.
type capturedVar struct {
	name string
	off  uint64
	typ  uint64
}

// captured returns the variables that closures of the function at pc have captured, and the name of the function.
func (d *debugInfo) captured(pc uint64) (string, []capturedVar, error) {
	f := d.function(pc)
	if f == nil || f.low != pc {
		return "", nil, nil
	}
	var e debugEntry
	if err := d.entry(f.unit, f.off, &e); err != nil {
		return "", nil, err
	}
	name, origin := e.name, e.origin
	if len(name) == 0 && origin != 0 {
		o, _, err := d.at(origin)
		if err != nil {
			return "", nil, err
		}
		name = o.name
	}
	var list []capturedVar
	err := d.children(f.unit, &e, func(e *debugEntry, _ int) bool {
		if (e.tag == tagVariable || e.tag == tagFormal) && len(list) < maxVars {
			v := *e
			if v.origin != 0 {
				if o, _, err := d.at(v.origin); err == nil {
					v.name, v.typ = o.name, o.typ
					v.free = max(v.free, o.free)
				}
			}
			if v.free >= 0 && v.typ != 0 {
				list = append(list, capturedVar{string(v.name), uint64(v.free), v.typ})
			}
		}
		return e.tag == tagLexicalBlock
	})
	return string(name), list, err
}

func word(b []byte, off uint64) uint64 {
	if off+8 > uint64(len(b)) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[off:])
}
