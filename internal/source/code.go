package source

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// Code finds the machine code of the programs in a profile: in programs on this machine, and in the recordings of the profile, which have the code of
// their hottest functions.
func (o *Options) Code(of ...*recording.Recording) recording.Code {
	return &programs{
		binary: o.Binary, of: of,
		known: make(map[string]func() (*objfile.File, error)),
		kept:  make(map[*recording.KeptObject]*objfile.Kept),
	}
}

// opened programs, kept for later questions
type programs struct {
	binary string // the program of a recording, named by the user
	of     []*recording.Recording

	mu    sync.Mutex
	known map[string]func() (*objfile.File, error)
	kept  map[*recording.KeptObject]*objfile.Kept
}

func (p *programs) Object(m *profile.Mapping) (recording.Object, error) {
	here, err := p.here(m)
	if err == nil && m.BuildID != "" && here.BuildID() == m.BuildID {
		return here, nil // the same build, with all of its code
	}
	kept := p.keptOf(m)
	switch {
	case kept == nil && err != nil:
		return nil, err
	case kept == nil:
		return here, nil
	}
	out := &keptObject{Kept: kept, base: kept.Base(m.Start), whole: here}
	if err != nil || here.base != out.base { // it is another program then
		out.whole = nil
		out.lack = &recording.NoCodeError{Gap: recording.NotKept, File: m.File, Err: err}
		if err == nil {
			out.lack.Err = &recording.NoCodeError{Gap: recording.OtherBuild, File: m.File, Found: here.BuildID(), Want: m.BuildID}
		}
		if p.binary != "" && p.isMain(m) {
			out.unused = &recording.UnusedError{File: p.binary, Err: out.lack.Err}
		}
	}
	return out, nil
}

// here opens the program of a mapping on this machine.
func (p *programs) here(m *profile.Mapping) (*object, error) {
	name := m.File
	if p.binary != "" && p.isMain(m) {
		name = p.binary
	}
	switch {
	case name == "":
		return nil, &recording.NoCodeError{Gap: recording.Unnamed}
	case nameless(name):
		return nil, &recording.NoCodeError{Gap: recording.InNoFile, File: name}
	}
	f, err := p.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &recording.NoCodeError{Gap: recording.NotHere, File: name}
	}
	if err != nil {
		return nil, &recording.NoCodeError{Gap: recording.Unreadable, File: name, Err: err}
	}
	// Names from another build may still help, but code must be from the same build.
	if id := f.BuildID(); id != "" && m.BuildID != "" && id != m.BuildID {
		return nil, &recording.NoCodeError{Gap: recording.OtherBuild, File: name, Found: id, Want: m.BuildID}
	}
	return &object{f, f.Base(m.Start)}, nil
}

// isMain reports whether m is the main program of a recording, rather than a library.
func (p *programs) isMain(m *profile.Mapping) bool {
	for _, r := range p.of {
		if r.Profile != nil && len(r.Profile.Mappings) > 0 && r.Profile.Mappings[0].File == m.File {
			return true
		}
	}
	return false
}

func (p *programs) open(name string) (*objfile.File, error) {
	p.mu.Lock()
	open, ok := p.known[name]
	if !ok {
		open = sync.OnceValues(func() (*objfile.File, error) { return objfile.Open(name) })
		p.known[name] = open
	}
	p.mu.Unlock()
	return open()
}

// keptOf returns the code that recordings have of the program of a mapping, or nil.
func (p *programs) keptOf(m *profile.Mapping) *objfile.Kept {
	for _, r := range p.of {
		machine := recording.MachineCode.In(r)
		if machine == nil {
			continue
		}
		for i := range machine.Objects {
			o := &machine.Objects[i]
			if o.File != m.File || o.BuildID != "" && m.BuildID != "" && o.BuildID != m.BuildID {
				continue
			}
			p.mu.Lock()
			k, known := p.kept[o]
			if !known {
				k, _ = objfile.OpenKept(o) // code for an architecture without a disassembler is useless
				p.kept[o] = k
			}
			p.mu.Unlock()
			if k != nil {
				return k
			}
		}
	}
	return nil
}

// An object is a mapped program.
type object struct {
	*objfile.File
	base uint64
}

func (o *object) Base() uint64 { return o.base }

// maxFunction is the maximum size of a function to disassemble. Handwritten functions are shorter.
const maxFunction = 1 << 20

func (o *object) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	return o.File.Instructions(f.Start, min(f.End, f.Start+maxFunction), true)
}

// A keptObject is the code of a mapped program in a recording.
type keptObject struct {
	*objfile.Kept
	base  uint64
	whole *object // the program on this machine, perhaps another build; nil if there is none
	lack  *recording.NoCodeError

	unused *recording.UnusedError
}

func (o *keptObject) Base() uint64 { return o.base }

func (o *keptObject) Functions(keep func(*recording.Function) bool) ([]recording.Function, error) {
	if out := o.Kept.Functions(keep); len(out) > 0 || o.whole == nil {
		return out, nil
	}
	return o.whole.Functions(keep)
}

func (o *keptObject) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	if out, ok := o.Kept.Instructions(f); ok || o.whole == nil {
		return out, nil
	}
	return o.whole.Instructions(f)
}

func (o *keptObject) Lack() error {
	if o.lack == nil {
		return nil
	}
	return o.lack
}

func (o *keptObject) Unused() error {
	if o.unused == nil {
		return nil
	}
	return o.unused
}
