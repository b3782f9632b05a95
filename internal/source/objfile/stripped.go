package objfile

// Stripped tells what the builder of an executable left out of it. The fields that are set name what is missing.
type Stripped struct {
	Symtab    bool   // the symbol table: -ldflags=-s, or the program strip
	DWARF     bool   // debug information: -ldflags=-w, and -s
	Lines     bool   // Go's line table, or the way to it
	TextStart bool   // the only sign of where Go's code starts, after C code: the linker was C's, and Symtab is set
	Trimpath  bool   // folders in the names of files: -trimpath
	GoVersion string // that built the file, or "" if it does not say
}

// Stripped looks at the sections of the file rather than at the flags it was built with: with -trimpath the Go command
// does not record -ldflags, and strip may have come later.
func (f *File) Stripped() Stripped {
	f.mu.Lock()
	defer f.mu.Unlock()
	symtab, dwarf := f.obj.has()
	lines, err := f.lines()
	s := Stripped{
		Symtab: !symtab,
		DWARF:  !dwarf,
		Lines:  lines == nil || err != nil,
	}
	s.TextStart = s.Symtab && !s.Lines && lines.layout >= go118 && f.obj.cLinked()
	if info, err := f.build(); err == nil {
		s.GoVersion = info.GoVersion
		for _, set := range info.Settings {
			s.Trimpath = s.Trimpath || set.Key == "-trimpath" && set.Value == "true"
		}
	}
	return s
}

// Notes says what is missing, why, and what that costs, one sentence each. It returns nil when nothing is missing.
func (s Stripped) Notes() []string {
	var notes []string
	switch {
	case s.Lines && s.GoVersion == "":
		notes = append(notes, "no Go line table: not a Go program, or packed; functions are named by DWARF only")
	case s.Lines:
		notes = append(notes, "built with -ldflags=-s: without symbols the Go line table of this format cannot be found, "+
			"so addresses stay unnamed; profiles of Go programs carry their own names")
	case s.Symtab && s.DWARF:
		notes = append(notes, "built with -ldflags=-s or stripped: function names and lines still resolve (pclntab); "+
			"DWARF is gone, so C functions stay unnamed")
	case s.DWARF:
		notes = append(notes, "built with -ldflags=-w: function names and lines still resolve (pclntab); "+
			"DWARF is gone, so C functions stay unnamed")
	}
	if s.TextStart {
		notes = append(notes, "linked by a C linker and stripped: where Go's code starts is a guess, "+
			"so functions and lines may be off by a little; build without -s to be sure")
	}
	if s.Trimpath {
		notes = append(notes, "built with -trimpath: file names start at modules, not folders;  "+
			"sources are looked for in the checkout and the module cache")
	}
	return notes
}
