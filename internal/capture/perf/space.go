package perf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/source/objfile"
)

// A space is what is mapped where in a process, and what is known of the code there.
type space struct {
	dir    string // of the process, such as /proc/123
	maps   []*mapping
	exe    string                   // the program, as it sees itself
	files  map[string]*objfile.File // by name; nil of those that cannot be read
	places map[uint64]*place
	reread bool // what is mapped may be read once more, when an address is met that is not
}

// A place is what is known of an address of code.
type place struct {
	addr    uint64
	mapping *mapping          // nil when there is no code there
	frames  []objfile.GoFrame // the innermost first, without those that the compiler made up
	all     []objfile.GoFrame // with them
	name    string            // of the function whose code it is; "" when it has none
	golang  bool
	top     bool // nobody called it
	moves   bool // it moves to another stack
	asm     bool
	depth   int // bytes from the stack pointer to the return address, -1 when not known
}

// maxPlaces bounds what is remembered: more than this is met again.
const maxPlaces = 1 << 20

// openSpace looks at a process, which has to be a Go program.
func openSpace(dir string) (*space, error) {
	s := &space{dir: dir}
	if err := s.load(); err != nil {
		return nil, err
	}
	for i := range s.maps {
		if f := s.file(s.maps[i]); f != nil && f.HasGo() {
			return s, nil
		}
	}
	s.close()
	if s.exe == "" {
		return nil, ErrNotGo
	}
	return nil, fmt.Errorf("%w: its program %s has no table of Go functions", ErrNotGo, s.exe)
}

// load forgets what is known and starts over, as when the process becomes another program.
func (s *space) load() error {
	s.close()
	s.exe, _ = os.Readlink(s.dir + "/exe")
	s.exe = strings.TrimSuffix(s.exe, " (deleted)")
	s.maps = nil
	s.files = make(map[string]*objfile.File)
	s.places = make(map[uint64]*place)
	return s.readMaps()
}

// becameAnother reports whether the process runs another program than it did.
func (s *space) becameAnother() bool {
	exe, err := os.Readlink(s.dir + "/exe")
	return err == nil && strings.TrimSuffix(exe, " (deleted)") != s.exe
}

func (s *space) readMaps() error {
	f, err := os.Open(s.dir + "/maps")
	if err != nil {
		return err
	}
	defer f.Close()
	maps, err := parseMaps(f)
	if err != nil {
		return fmt.Errorf("reading %s/maps: %w", s.dir, err)
	}
	if len(maps) == 0 { // the process has ended
		return nil
	}
	old := make(map[mapping]*mapping)
	for _, m := range s.maps {
		old[*m] = m
	}
	s.maps = nil
	for _, m := range maps {
		s.maps = append(s.maps, cmp.Or(old[m], &m)) // places refer to them
	}
	return nil
}

func (s *space) close() {
	for _, f := range s.files {
		if f != nil {
			f.Close()
		}
	}
	s.files = nil
}

// file returns the file that code is in, or nil. The program itself is reached even where it is deleted, or in a
// container; other files, in a container, as the process sees them.
func (s *space) file(m *mapping) *objfile.File {
	if !m.inFile() {
		return nil
	}
	f, ok := s.files[m.file]
	if ok {
		return f
	}
	var names []string
	if m.file == s.exe {
		names = append(names, s.dir+"/exe")
	}
	if !m.deleted {
		names = append(names, s.dir+"/root"+m.file, m.file)
	}
	for _, name := range names {
		var err error
		if f, err = objfile.Open(name); err == nil {
			break
		}
		f = nil
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			break
		}
	}
	s.files[m.file] = f
	return f
}

// main returns a mapping of the program itself, or nil.
func (s *space) main() *mapping {
	for _, m := range s.maps {
		if m.file == s.exe {
			return m
		}
	}
	return nil
}

// mapped returns the mapping that an address is in, or nil.
func (s *space) mapped(addr uint64) *mapping {
	i, ok := slices.BinarySearchFunc(s.maps, addr, func(m *mapping, addr uint64) int {
		if m.start <= addr && addr < m.end {
			return 0
		}
		return cmp.Compare(m.start, addr)
	})
	if !ok {
		return nil
	}
	return s.maps[i]
}

// at says what is known of an address of an instruction.
func (s *space) at(addr uint64) *place {
	p, ok := s.places[addr]
	if ok {
		return p
	}
	if len(s.places) >= maxPlaces {
		clear(s.places)
	}
	p = s.look(addr)
	if p.mapping != nil { // one may come
		s.places[addr] = p
	}
	return p
}

func (s *space) look(addr uint64) *place {
	p := &place{addr: addr, depth: -1, mapping: s.mapped(addr)}
	if p.mapping == nil && s.reread {
		// A library may have been loaded since. Garbage is met more often than libraries, so not each time.
		s.reread = false
		if s.readMaps() == nil {
			p.mapping = s.mapped(addr)
		}
	}
	if p.mapping == nil {
		return p
	}
	f := s.file(p.mapping)
	if f == nil {
		if strings.HasPrefix(p.mapping.file, "[") {
			p.setFrames([]objfile.GoFrame{{Frame: objfile.Frame{Func: p.mapping.file}}})
		}
		return p
	}
	at, ok := f.Address(addr - p.mapping.start + p.mapping.offset)
	if !ok {
		return p
	}
	if c, ok := f.GoCode(at); ok {
		p.golang, p.top, p.moves, p.asm, p.depth = true, c.Top, c.Switches, c.Assembly, c.Depth
		p.setFrames(c.Frames)
	} else if name, ok := f.Symbol(at); ok {
		p.setFrames([]objfile.GoFrame{{Frame: objfile.Frame{Func: name}}})
	}
	return p
}

// setFrames names p. Like the runtime it leaves out type arguments and the functions that the compiler made.
func (p *place) setFrames(frames []objfile.GoFrame) {
	for i := range frames {
		if p.golang {
			frames[i].Func = withoutTypes(frames[i].Func)
		}
	}
	p.all, p.frames = frames, frames
	p.name = frames[len(frames)-1].Func
	made := func(f objfile.GoFrame) bool { return f.Wrapper }
	if slices.ContainsFunc(frames, made) {
		p.frames = slices.DeleteFunc(slices.Clone(frames), made)
	}
}

// withoutTypes returns the name of a generic function as the runtime prints it: without what it is instantiated with.
func withoutTypes(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}
