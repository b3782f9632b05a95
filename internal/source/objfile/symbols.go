package objfile

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

var (
	errNoSymbols = errors.New("no symbol section")
	errNoText    = errors.New("text section not found")
)

// BuildID returns what the linker put into the file to tell it from others, in hexadecimal, or "".
// Only ELF files have one that profiles know.
func (f *File) BuildID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, err := safely(func() (string, error) { return f.obj.buildID(), nil })
	if err != nil {
		return ""
	}
	return id
}

func (o *elfObject) symbols() ([]Symbol, error) { return o.symbolTable(elf.SHT_SYMTAB) }

// exported returns what a library says it offers. That is all there is when it was stripped.
func (o *elfObject) exported() ([]Symbol, error) { return o.symbolTable(elf.SHT_DYNSYM) }

// symbolTable reads the table itself, see symbol. Names are parts of one string.
func (o *elfObject) symbolTable(kind elf.SectionType) ([]Symbol, error) {
	s := o.f.SectionByType(kind)
	if s == nil || s.Link == 0 || int(s.Link) >= len(o.f.Sections) {
		return nil, errNoSymbols
	}
	entry := elf.Sym32Size
	if o.f.Class == elf.ELFCLASS64 {
		entry = elf.Sym64Size
	}
	syms, err := o.data(s)
	if err != nil {
		return nil, err
	}
	if len(syms) == 0 || len(syms)%entry != 0 {
		return nil, errNoSymbols
	}
	table, err := o.data(o.f.Sections[s.Link])
	if err != nil {
		return nil, err
	}
	names := string(table)
	left := allow(o.in.size)
	bo := o.f.ByteOrder
	out := make([]Symbol, 0, len(syms)/entry)
	for sym := range slices.Chunk(syms[entry:], entry) {
		var x Symbol
		if off := uint64(bo.Uint32(sym)); off < uint64(len(names)) {
			x.Name, _, _ = strings.Cut(names[off:], "\x00")
			if err := left.take(uint64(len(x.Name)) + 1); err != nil {
				return nil, err
			}
		}
		if o.f.Class == elf.ELFCLASS64 {
			x.Addr, x.Size = bo.Uint64(sym[8:]), bo.Uint64(sym[16:])
		} else {
			x.Addr, x.Size = uint64(bo.Uint32(sym[4:])), uint64(bo.Uint32(sym[8:]))
		}
		out = append(out, x)
	}
	return out, nil
}

func (o *elfObject) text() (section, error) {
	s := o.f.Section(".text")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return section{}, errNoText
	}
	return section{s.Addr, s.FileSize, s.ReaderAt}, nil
}

func (o *elfObject) goarch() string {
	little := o.f.Data == elf.ELFDATA2LSB
	switch o.f.Machine {
	case elf.EM_386:
		return "386"
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_LOONGARCH:
		return "loong64"
	case elf.EM_PPC64:
		if little {
			return "ppc64le"
		}
		return "ppc64"
	case elf.EM_RISCV:
		if o.f.Class == elf.ELFCLASS64 {
			return "riscv64"
		}
	case elf.EM_S390:
		return "s390x"
	}
	return ""
}

// buildID returns what the note says that also runtime/pprof reads: a name of four bytes, GNU, and type 3.
func (o *elfObject) buildID() string {
	for _, s := range o.f.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > 1<<16 {
			continue
		}
		note, err := o.data(s)
		if err != nil {
			continue
		}
		for len(note) >= 12 {
			nameSize, size, kind := o.f.ByteOrder.Uint32(note), o.f.ByteOrder.Uint32(note[4:]), o.f.ByteOrder.Uint32(note[8:])
			name, desc := from(note, 12), from(note, 12+(uint64(nameSize)+3)&^3)
			if uint64(size) > uint64(len(desc)) {
				break
			}
			if kind == 3 && nameSize == 4 && string(name[:4]) == "GNU\x00" {
				return hex.EncodeToString(desc[:size])
			}
			note = from(desc, (uint64(size)+3)&^3)
		}
	}
	return ""
}

func (o *machoObject) symbols() ([]Symbol, error) {
	if o.f.Symtab == nil {
		return nil, nil
	}
	var out []Symbol
	for _, s := range o.f.Symtab.Syms {
		if s.Type&stab == 0 {
			out = append(out, Symbol{Name: s.Name, Addr: s.Value})
		}
	}
	sizeByNext(out)
	return out, nil
}

// sizeByNext gives symbols the size that their format does not tell: up to the next one. The last has none.
func sizeByNext(syms []Symbol) {
	addrs := make([]uint64, len(syms))
	for i, s := range syms {
		addrs[i] = s.Addr
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	for i := range syms {
		if at, _ := slices.BinarySearch(addrs, syms[i].Addr); at+1 < len(addrs) {
			syms[i].Size = addrs[at+1] - syms[i].Addr
		}
	}
}

func (o *machoObject) text() (section, error) {
	s := o.f.Section("__text")
	if s == nil {
		return section{}, errNoText
	}
	return section{s.Addr, s.Size, s.ReaderAt}, nil
}

func (o *machoObject) goarch() string {
	switch o.f.Cpu {
	case macho.Cpu386:
		return "386"
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm:
		return "arm"
	case macho.CpuArm64:
		return "arm64"
	case macho.CpuPpc64:
		return "ppc64"
	}
	return ""
}

func (o *machoObject) buildID() string { return "" }

func (o *peObject) symbols() ([]Symbol, error) {
	base, _ := o.loadAddress() // an object file has none
	var out []Symbol
	for _, s := range o.f.Symbols {
		x := Symbol{Name: s.Name, Addr: uint64(s.Value)}
		switch n := int(s.SectionNumber); {
		case n > len(o.f.Sections) || n < -2:
			return nil, errors.New("invalid section number in symbol table")
		case n > 0:
			x.Addr += base + uint64(o.f.Sections[n-1].VirtualAddress)
		}
		out = append(out, x)
	}
	sizeByNext(out)
	return out, nil
}

func (o *peObject) text() (section, error) {
	base, err := o.loadAddress()
	if err != nil {
		return section{}, err
	}
	s := o.f.Section(".text")
	if s == nil {
		return section{}, errNoText
	}
	return section{base + uint64(s.VirtualAddress), uint64(s.Size), s.ReaderAt}, nil
}

func (o *peObject) goarch() string {
	switch o.f.Machine {
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386"
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64"
	}
	return ""
}

func (o *peObject) buildID() string { return "" }
