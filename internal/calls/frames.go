package calls

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/pages"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/report"
)

// A Detail says how finely frames are told apart.
type Detail struct {
	Function, file, Line, column, Address bool
	Object                                bool // programs and libraries too
	noInlines                             bool
	groups                                bool // frames stand for many functions, so none of them is inlined
	pprof                                 bool // see query.Query
}

// DetailOf returns what a query groups by. Columns are kept as recorded for addresses with inlining, since nothing
// is grouped then.
func DetailOf(q query.Query) (Detail, error) {
	d := Detail{noInlines: q.NoInlines, groups: IsCoarse(q.By) && !q.PProf, pprof: q.PProf}
	switch by, _, _ := strings.Cut(q.By, ":"); by {
	case "", "function", "package", "module", "label": // of the latter there is one function each, see groupBy
		d.Function = true
	case "filefunction":
		d.Function, d.file = true, true
	case "file":
		d.file = true
	case "line":
		d.Function, d.file, d.Line, d.column = true, true, true, q.Columns
	case "address":
		d.Function, d.file, d.Line, d.Address = true, true, true, true
		d.column = q.Columns || !q.NoInlines
	default:
		return d, fmt.Errorf("cannot group by %q", q.By)
	}
	return d, nil
}

// A FrameTable numbers the distinct frames of a profile. Two lines of two locations are the same frame when they
// agree in all that the detail looks at.
type FrameTable struct {
	Frames    []report.Frame
	Inlinable []bool // whether the frame is anywhere inlined into another

	// Most locations have just one frame, only[l]. Where that is negative, the frames, outermost first, are those
	// in at from start[^only[l]] to the start after that.
	only  []int32
	start []uint32
	at    []int32
	gaps  bool // some locations have no frames

	groups bool // see Detail

	rest int32 // the frame of all functions that do not matter, or -1
}

// Inlines reports whether frame i of those of a location, from the outermost, is shown as one that was inlined.
func (t *FrameTable) Inlines(i int) bool { return i > 0 && !t.groups }

// Rests reports whether a frame is that of all functions that do not matter.
func (t *FrameTable) Rests(f int) bool { return int(t.rest) == f }

// frameKey is a report.Frame with its texts as numbers.
type frameKey struct {
	name, file, object      int32
	address                 uint64
	startLine, line, column int64
}

// functionTexts are what lines of one function have in common.
type functionTexts struct{ name, file int32 }

// names numbers strings.
type names struct {
	ids  map[string]int32
	text []string
}

func (n *names) id(s string) int32 {
	id, ok := n.ids[s]
	if !ok {
		id = int32(len(n.text))
		n.ids[s] = id
		n.text = append(n.text, s)
	}
	return id
}

// NewFrameTable numbers the frames of p. shorten is applied to file names first.
func NewFrameTable(p *profile.Profile, d Detail, shorten func(string) string) *FrameTable {
	return NewFrameTableOf(p, d, shorten, nil)
}

// NewFrameTableOf numbers the frames of some functions of p, and those of all others as one, the rest. Telling lines apart of which
// nothing is shown would take longer than adding up those that are.
func NewFrameTableOf(p *profile.Profile, d Detail, shorten func(string) string, some []bool) *FrameTable {
	t := &FrameTable{
		rest:   -1,
		groups: d.groups,
		only:   pages.Make[int32](0, len(p.Locations)),
		start:  make([]uint32, 1, 64),
	}
	text := names{ids: make(map[string]int32, len(p.Functions)), text: make([]string, 0, len(p.Functions))}
	text.id("")
	objects := make([]int32, len(p.Mappings))
	for i, m := range p.Mappings {
		objects[i] = text.id(m.File)
	}
	functions := make([]functionTexts, len(p.Functions))
	whole := make([]int32, len(p.Functions)) // 1 + frame, when nothing finer is asked for
	files := make(map[string]int32)
	for i := range p.Functions {
		f := &p.Functions[i]
		k := &functions[i]
		if d.Function {
			k.name = text.id(f.Name)
		}
		if d.file {
			id, ok := files[f.File]
			if !ok {
				name := f.File
				if shorten != nil {
					name = shorten(name)
				}
				id = text.id(CleanFile(name, d.pprof))
				files[f.File] = id
			}
			k.file = id
		}
	}
	size := len(p.Functions) // about; finer details have more
	t.Frames, t.Inlinable = pages.Make[report.Frame](0, size), make([]bool, 0, size)
	coarse := !d.Line && !d.Address && !d.Object
	// When names are all that tells frames apart, a list does, in two thirds of the time.
	index := make(map[frameKey]int32)
	var byName []int32 // 1 + frame
	if coarse && !d.file {
		byName = make([]int32, len(text.text))
	}
	add := func(k frameKey) int32 {
		plain := byName != nil && k.name != 0
		n, ok := int32(0), false
		if plain {
			n, ok = byName[k.name]-1, byName[k.name] != 0
		} else {
			n, ok = index[k]
		}
		if !ok {
			n = int32(len(t.Frames))
			if plain {
				byName[k.name] = n + 1
			} else {
				index[k] = n
			}
			t.Frames = append(t.Frames, report.Frame{
				Name: text.text[k.name], File: text.text[k.file], Object: text.text[k.object],
				Address: k.address, StartLine: k.startLine, Line: k.line, Column: k.column,
				PProf: d.pprof,
			})
			t.Inlinable = append(t.Inlinable, false)
		}
		return n
	}
	for i := range p.Locations {
		l := &p.Locations[i]
		var object int32
		if l.Mapping != profile.NoMapping {
			object = objects[l.Mapping]
		}
		var address uint64
		if d.Address {
			address = l.Address
		}
		lines := l.Lines
		if d.noInlines && len(lines) > 1 {
			lines = lines[len(lines)-1:]
		}
		switch {
		case l.Hidden:
		case len(lines) == 0:
			t.at = append(t.at, add(frameKey{address: address, object: object}))
		}
		for j := len(lines) - 1; j >= 0 && !l.Hidden; j-- {
			ln := lines[j]
			if some != nil && !some[ln.Function] {
				if t.rest < 0 {
					t.rest = int32(len(t.Frames))
					t.Frames, t.Inlinable = append(t.Frames, report.Frame{PProf: d.pprof}), append(t.Inlinable, false)
				}
				t.at = append(t.at, t.rest)
				continue
			}
			if n := whole[ln.Function] - 1; n >= 0 {
				t.at = append(t.at, n)
				t.Inlinable[n] = t.Inlinable[n] || t.Inlines(len(lines)-1-j)
				continue
			}
			texts := functions[ln.Function]
			// pprof looks for the name of a function even where files were asked for, and shows a file once for each line at which a
			// function of it begins.
			named := texts.name != 0 || !d.Function && texts.file != 0 && !d.pprof
			k := frameKey{name: texts.name, file: texts.file, address: address}
			if d.Object || !named && d.pprof {
				k.startLine = p.Functions[ln.Function].StartLine
			}
			if d.Line {
				k.line = ln.Line
			}
			if d.column {
				k.column = ln.Column
			}
			if d.Object || !named {
				k.object = object
			}
			n := add(k)
			if coarse && named {
				whole[ln.Function] = n + 1
			}
			t.at = append(t.at, n)
			t.Inlinable[n] = t.Inlinable[n] || t.Inlines(len(lines)-1-j)
		}
		many := len(t.start) - 1
		switch first := int(t.start[many]); len(t.at) - first {
		case 1:
			t.only = append(t.only, t.at[first])
			t.at = t.at[:first]
		case 0:
			t.gaps = true
			fallthrough
		default:
			t.only = append(t.only, ^int32(many))
			t.start = append(t.start, uint32(len(t.at)))
		}
	}
	return t
}

// Of returns the frames of location l, outermost first.
func (t *FrameTable) Of(l uint32) []int32 {
	many := t.only[l]
	if many >= 0 {
		return t.only[l : l+1]
	}
	return t.at[t.start[^many]:t.start[^many+1]]
}

// CleanFile returns a recorded file name as frames have it.
func CleanFile(name string, pprof bool) string {
	if pprof && name != "" {
		return filepath.Clean(name)
	}
	return filename.Clean(name)
}

// TrimPath shortens a recorded file name as pprof does: see pathTrimmer.
func TrimPath(name, trim, search string) string {
	return PathTrimmer(query.Query{TrimPath: trim, SourcePath: search, PProf: true})(name)
}

// PathTrimmer returns a function that shortens recorded file names: it cuts the prefixes in TrimPath or, when there are
// none, all up to a directory named like one of those in SourcePath.
func PathTrimmer(q query.Query) func(string) string {
	slashed, list := filename.Slashed, filename.SplitList(q.TrimPath, runtime.GOOS)
	if q.PProf {
		slashed, list = filepath.ToSlash, filepath.SplitList(q.TrimPath)
	}
	var dirs, prefixes []string
	if q.TrimPath == "" {
		for _, dir := range filepath.SplitList(q.SourcePath) { // of this machine
			dirs = append(dirs, "/"+filepath.Base(dir)+"/")
		}
	}
	for _, p := range append(list, "/proc/self/cwd/./", "/proc/self/cwd/") {
		if p = slashed(p); !strings.HasSuffix(p, "/") {
			p += "/"
		}
		prefixes = append(prefixes, p)
	}
	return func(name string) string {
		slashed := slashed(name)
		for _, dir := range dirs {
			if i := strings.Index(slashed, dir); i >= 0 {
				return name[i+len(dir):]
			}
		}
		for _, p := range prefixes {
			if strings.HasPrefix(slashed, p) {
				return name[len(p):]
			}
		}
		return name
	}
}

// CallAt returns the frame that a way of names from the root leads to on a stack, and whether that is all of the stack. It
// is -1 where the stack goes elsewhere.
func (t *FrameTable) CallAt(stack []uint32, way string) (frame int32, leaf bool) {
	frame = -1
	for _, l := range slices.Backward(stack) {
		for _, f := range t.Of(l) {
			if way == "" && frame >= 0 {
				return frame, false
			}
			rest, ok := strings.CutPrefix(way, t.Frames[f].Name)
			if !ok || t.Frames[f].Name == "" {
				return -1, false
			}
			if rest != "" {
				if rest, ok = strings.CutPrefix(rest, ";"); !ok || rest == "" {
					return -1, false
				}
			}
			way, frame = rest, f
		}
	}
	if way != "" {
		return -1, false
	}
	return frame, true
}
