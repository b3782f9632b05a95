package source

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// Code finds the machine code of the programs that a profile names. They have to be on this machine.
func (o *Options) Code() recording.Code {
	return &programs{known: make(map[string]func() (*objfile.File, error))}
}

// programs are opened when they are asked for, and stay open: one question follows another.
type programs struct {
	mu    sync.Mutex
	known map[string]func() (*objfile.File, error)
}

func (p *programs) Object(m *profile.Mapping) (recording.Object, error) {
	switch {
	case m.File == "":
		return nil, &recording.NoCodeError{Gap: recording.Unnamed}
	case nameless(m.File):
		return nil, &recording.NoCodeError{Gap: recording.InNoFile, File: m.File}
	}
	f, err := p.open(m.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &recording.NoCodeError{Gap: recording.NotHere, File: m.File}
	}
	if err != nil {
		return nil, &recording.NoCodeError{Gap: recording.Unreadable, File: m.File, Err: err}
	}
	// Names can come from another build and still help. Code cannot.
	if id := f.BuildID(); id != "" && m.BuildID != "" && id != m.BuildID {
		return nil, &recording.NoCodeError{Gap: recording.OtherBuild, File: m.File, Found: id, Want: m.BuildID}
	}
	return &object{f, f.Base(m.Start)}, nil
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

// An object is a program as it was mapped.
type object struct {
	*objfile.File
	base uint64
}

func (o *object) Base() uint64 { return o.base }

// maxFunction is how much of a function is taken apart. The longest that people write are shorter.
const maxFunction = 1 << 20

func (o *object) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	return o.File.Instructions(f.Start, min(f.End, f.Start+maxFunction), true)
}
