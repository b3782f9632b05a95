package objfile

import (
	"debug/dwarf"
	"errors"
)

// cFuncs names code by DWARF. It is for C: Go code is in the line table.
//
// What it finds is what go tool pprof finds, which takes the first function that covers an address and has a name of
// its own, from the unit of the address on to the end of the file, not only to the end of the unit. That search often
// fails (a C++ method refers to its name elsewhere), so what it walks over is kept, and walked over once.
type cFuncs struct {
	data  *dwarf.Data
	units map[dwarf.Offset]*unitFuncs
}

// unitFuncs are the functions of one unit, in the order of the file.
type unitFuncs struct {
	ranges []funcRange
	broken bool         // by DWARF that cannot be read: the search ends here, with no answer
	next   dwarf.Offset // the unit that follows, 0 if none
}

// A funcRange is a piece of a function that has a name.
type funcRange struct {
	lo, hi uint64
	name   string
}

var errNoLine = errors.New("no line information")

// lookup names the code at addr. The function may stay empty, file and line do not.
func (c *cFuncs) lookup(addr uint64) (Frame, error) {
	unit, err := c.data.Reader().SeekPC(addr)
	if err != nil {
		return Frame{}, err
	}
	lines, err := c.data.LineReader(unit)
	if err != nil {
		return Frame{}, err
	}
	var at dwarf.LineEntry
	if lines == nil {
		return Frame{}, errNoLine
	}
	if err := lines.SeekPC(addr, &at); err != nil {
		return Frame{}, err
	}
	if at.File == nil {
		return Frame{}, errNoLine
	}
	name, err := c.name(unit.Offset, addr)
	return Frame{Func: name, File: at.File.Name, Line: at.Line}, err
}

func (c *cFuncs) name(unit dwarf.Offset, addr uint64) (string, error) {
	for {
		u := c.units[unit]
		if u == nil {
			u = c.read(unit)
			c.units[unit] = u
		}
		for _, r := range u.ranges {
			if r.lo <= addr && addr < r.hi {
				return r.name, nil
			}
		}
		switch {
		case u.broken:
			return "", errNoLine
		case u.next == 0:
			return "", nil
		}
		unit = u.next
	}
}

// read walks over the unit at off.
func (c *cFuncs) read(off dwarf.Offset) *unitFuncs {
	u := &unitFuncs{}
	r := c.data.Reader()
	r.Seek(off)
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			return u
		}
		switch e.Tag {
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
			if e.Offset != off {
				u.next = e.Offset
				return u
			}
		case dwarf.TagSubprogram:
			ranges, err := c.data.Ranges(e)
			if err != nil {
				u.broken = true
				return u
			}
			if name, ok := e.Val(dwarf.AttrName).(string); ok {
				for _, pcs := range ranges {
					u.ranges = append(u.ranges, funcRange{pcs[0], pcs[1], name})
				}
			}
		}
	}
}
