package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CodeFile is the machine code that a recording keeps.
const CodeFile = "code.json"

// KeptCode is the machine code of the functions that a recording keeps: those that cost most. The programs that it is from are
// mostly gone by the time somebody looks, or on another machine.
type KeptCode struct {
	Objects []KeptObject `json:"objects"`
}

// A KeptObject is what a recording keeps of a program or library. Its addresses are those in its file.
type KeptObject struct {
	File      string         `json:"file"` // as profiles name it
	BuildID   string         `json:"build_id,omitempty"`
	Arch      string         `json:"arch"`           // GOARCH
	Load      uint64         `json:"load,omitempty"` // where the file wants its code to be mapped
	Texts     []string       `json:"texts"`          // names of functions and files
	Frames    []KeptFrame    `json:"frames"`         // that runs of code refer to
	Symbols   []KeptSymbol   `json:"symbols,omitempty"`
	Functions []KeptFunction `json:"functions"`
}

// A KeptFrame is a place in the source: function, file, line, and the frame that it was inlined into. Function and file are places in
// Texts, the frame is 1 + its place in Frames, which is before this one. 0 is none.
type KeptFrame [4]uint32

// A KeptSymbol is a name that instructions refer to.
type KeptSymbol struct {
	Name string `json:"name"`
	Addr uint64 `json:"addr"`
	Size uint64 `json:"size"`
}

// A KeptFunction is the machine code of a function, or its beginning.
type KeptFunction struct {
	Name  string   `json:"name"`
	Start uint64   `json:"start"`
	End   uint64   `json:"end"`
	Code  []byte   `json:"code"`
	Runs  []uint32 `json:"runs"` // pairs: a number of bytes, and 1 + the place in Frames of where they come from, or 0
}

// Limits of the machine code in a recording. Those for readers are larger than what writers keep, so that these can grow.
const (
	maxMachine   = 32 << 20 // bytes of the file
	maxKeptCode  = 4 << 20  // bytes of code
	maxKeptDepth = 1 << 20  // of all frames together
	maxInlined   = 128      // calls inlined into each other
)

// MachineCode is the machine code that a recording keeps of its hottest functions.
var MachineCode = kindOf(FileKind{
	Doc: "machine code", file: CodeFile, soft: true,
	plain: true, quiet: true, // names of functions and files, as in profiles
}, readCode, func(m *KeptCode) bool { return len(m.Objects) > 0 })

func readCode(r *Recording) (*KeptCode, error) {
	b, err := readFile(r.files, CodeFile, maxMachine)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m *KeptCode
	if err == nil {
		m, err = ParseCode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", CodeFile, err)
	}
	return m, nil
}

// ParseCode reads the machine code that a recording keeps.
func ParseCode(text []byte) (*KeptCode, error) {
	m := &KeptCode{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	code, depth := 0, 0
	for i := range m.Objects {
		if err := m.Objects[i].check(&code, &depth); err != nil {
			return nil, fmt.Errorf("machine code of %s: %w", m.Objects[i].File, err)
		}
	}
	return m, nil
}

// Frame returns a frame, which is 1 + its place, and those that it was inlined into, the innermost first.
func (o *KeptObject) Frame(at uint32) (out []Frame) {
	for at != 0 {
		f := o.Frames[at-1]
		out = append(out, Frame{Func: o.Texts[f[0]], File: o.Texts[f[1]], Line: int(f[2])})
		at = f[3]
	}
	return out
}

// check reports what is wrong with an object. Code and depth are of those before, and this one is added.
func (o *KeptObject) check(code, depth *int) error {
	depths := make([]int, len(o.Frames))
	for i, f := range o.Frames {
		switch {
		case int64(f[0]) >= int64(len(o.Texts)) || int64(f[1]) >= int64(len(o.Texts)):
			return fmt.Errorf("frame %d has a name that is not there", i+1)
		case int64(f[3]) > int64(i):
			return fmt.Errorf("frame %d is inlined into a later one", i+1)
		case f[3] != 0:
			depths[i] = depths[f[3]-1]
		}
		depths[i]++
		if *depth += depths[i]; depths[i] > maxInlined || *depth > maxKeptDepth {
			return errors.New("too much is inlined")
		}
	}
	for i := range o.Functions {
		f := &o.Functions[i]
		if f.Start >= f.End || uint64(len(f.Code)) > f.End-f.Start {
			return fmt.Errorf("%s has more code than addresses", f.Name)
		}
		if *code += len(f.Code); *code > maxKeptCode {
			return fmt.Errorf("there is more of it than %d bytes", maxKeptCode)
		}
		if len(f.Runs)%2 != 0 {
			return fmt.Errorf("%s has half a run", f.Name)
		}
		left := uint64(len(f.Code))
		for j := 0; j < len(f.Runs); j += 2 {
			size := uint64(f.Runs[j])
			switch {
			case size == 0 || size > left:
				return fmt.Errorf("%s has a run that is not of its code", f.Name)
			case int64(f.Runs[j+1]) > int64(len(o.Frames)):
				return fmt.Errorf("%s has a frame that is not there", f.Name)
			}
			left -= size
		}
	}
	return nil
}

// WriteCode writes machine code into the folder of a recording.
func WriteCode(folder string, m *KeptCode) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := ParseCode(text); err != nil {
		return err // what nobody could read takes room for nothing
	}
	return os.WriteFile(filepath.Join(folder, CodeFile), text, 0o644)
}
