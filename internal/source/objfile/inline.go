package objfile

import (
	"debug/dwarf"
	"fmt"

	"github.com/hone-perf/hone/internal/recording"
)

// An inlineTree tells which calls the compiler replaced by the body of the called function, for the code of one
// function. It is from DWARF. Go has such a tree of its own, see GoCode.
type inlineTree struct {
	start   uint64
	deepest []uint32 // for each byte of code the innermost call, 1 + its place in calls; 0 is none
	calls   []inlineCall
}

// An inlineCall is a call that was replaced.
type inlineCall struct {
	name   string // what was called
	file   string // of the call
	line   int
	parent uint32 // the call it is part of, 1 + its place in calls; 0 is the function whose code this is
	depth  int
}

// An inlineUnit is a unit of DWARF: a package, or a file of C.
type inlineUnit struct {
	files []*dwarf.LineFile
	funcs []unitFunc
}

// A unitFunc is code of a function, and where DWARF has it.
type unitFunc struct {
	lo, hi uint64
	at     dwarf.Offset
}

// Limits on what damaged DWARF may make of itself.
const (
	maxInline  = 100       // calls inlined into each other
	maxPainted = 64 << 20  // bytes of code that the inlined calls of a function have together
	maxStrings = 256 << 20 // bytes of names that are read on a walk
)

// frames returns where the code at pc comes from, which has the line and the function of fr.
func (t *inlineTree) frames(pc uint64, fr Frame) []recording.Frame {
	last := recording.Frame(fr)
	if t == nil {
		return []recording.Frame{last}
	}
	var out []recording.Frame
	for i := t.deepest[pc-t.start]; i != 0; {
		c := &t.calls[i-1]
		out = append(out, recording.Frame{Func: c.name, File: last.File, Line: last.Line})
		last.File, last.Line, i = c.file, c.line, c.parent
	}
	return append(out, last)
}

// inlined returns the calls inlined into the function at start, or nil when DWARF does not tell.
func (f *File) inlined(start, end uint64) *inlineTree {
	d, err := f.debug()
	if err != nil {
		return nil
	}
	t, err := safely(func() (*inlineTree, error) { return f.readInlined(d, start, end) })
	if err != nil {
		return nil
	}
	return t
}

func (f *File) readInlined(d *dwarf.Data, start, end uint64) (*inlineTree, error) {
	e, err := d.Reader().SeekPC(start)
	if err != nil {
		return nil, err
	}
	u := f.calls[e.Offset]
	if u == nil {
		if u, err = readUnit(d, e); err != nil {
			return nil, err
		}
		f.calls[e.Offset] = u
	}
	for _, fn := range u.funcs {
		if fn.lo <= start && start < fn.hi {
			return u.tree(d, fn.at, start, end)
		}
	}
	return nil, errNoLine
}

// readUnit finds the functions of the unit that e begins.
func readUnit(d *dwarf.Data, e *dwarf.Entry) (*inlineUnit, error) {
	u := &inlineUnit{}
	if lines, err := d.LineReader(e); err == nil && lines != nil {
		u.files = lines.Files()
	}
	err := walk(d, e.Offset, func(e *dwarf.Entry, _ int) error {
		if e.Tag != dwarf.TagSubprogram {
			return nil
		}
		ranges, err := d.Ranges(e)
		for _, pcs := range ranges {
			u.funcs = append(u.funcs, unitFunc{pcs[0], pcs[1], e.Offset})
		}
		return err
	})
	return u, err
}

// tree reads the calls inlined into the function at off, which has its code from start up to end.
func (u *inlineUnit) tree(d *dwarf.Data, off dwarf.Offset, start, end uint64) (*inlineTree, error) {
	t := &inlineTree{start: start, deepest: make([]uint32, end-start)}
	names := make(map[dwarf.Offset]string)
	type open struct {
		level int
		call  uint32
	}
	stack := []open{{-1, 0}}
	painted := uint64(0)
	err := walk(d, off, func(e *dwarf.Entry, level int) error {
		if e.Tag != dwarf.TagInlinedSubroutine {
			return nil
		}
		for level <= stack[len(stack)-1].level {
			stack = stack[:len(stack)-1]
		}
		c := inlineCall{name: nameOf(d, e, names), parent: stack[len(stack)-1].call}
		if c.parent != 0 {
			c.depth = t.calls[c.parent-1].depth + 1
		}
		if c.depth == maxInline {
			return nil
		}
		if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok && n >= 0 && n < int64(len(u.files)) && u.files[n] != nil {
			c.file = u.files[n].Name
		}
		if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok {
			c.line = int(n)
		}
		t.calls = append(t.calls, c)
		id := uint32(len(t.calls))
		stack = append(stack, open{level, id})
		ranges, err := d.Ranges(e)
		for _, pcs := range ranges {
			lo, hi := max(pcs[0], start), min(pcs[1], end)
			if lo >= hi {
				continue
			}
			if painted += hi - lo; painted > maxPainted {
				return fmt.Errorf("%w: too much is inlined", errLimit)
			}
			for pc := lo; pc < hi; pc++ {
				t.deepest[pc-start] = id
			}
		}
		return err
	})
	return t, err
}

// nameOf returns the name of the function that e is an instance of.
func nameOf(d *dwarf.Data, e *dwarf.Entry, known map[dwarf.Offset]string) string {
	origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if !ok {
		return ""
	}
	name, ok := known[origin]
	if !ok {
		r := d.Reader()
		r.Seek(origin)
		if e, err := r.Next(); err == nil && e != nil {
			name, _ = e.Val(dwarf.AttrName).(string)
		}
		if len(name) > maxName {
			name = ""
		}
		known[origin] = name
	}
	return name
}

// walk calls visit for all that is below the entry at off, with how far below, from 0.
func walk(d *dwarf.Data, off dwarf.Offset, visit func(e *dwarf.Entry, level int) error) error {
	r := d.Reader()
	r.Seek(off)
	level, read := -1, 0
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		for _, f := range e.Field {
			if s, ok := f.Val.(string); ok {
				read += len(s)
			}
		}
		if read > maxStrings {
			return fmt.Errorf("%w: its DWARF names more bytes than it has", errLimit)
		}
		if e.Tag == 0 {
			level--
		} else if level >= 0 {
			if err := visit(e, level); err != nil {
				return err
			}
		}
		if e.Children {
			level++
		}
		if level < 0 {
			return nil
		}
	}
}
