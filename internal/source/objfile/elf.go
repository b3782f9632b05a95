package objfile

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

type elfObject struct {
	in *input
	f  *elf.File

	moved map[uint64]uint64 // relocations, once they have been read
}

func openELF(in *input) (object, error) {
	if err := checkELF(in); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(in)
	if err != nil {
		return nil, err
	}
	return &elfObject{in: in, f: f}, nil
}

func (o *elfObject) loadAddress() (uint64, error) {
	for _, p := range o.f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			// A mapping starts on a page, wherever in the page the segment does.
			return p.Vaddr - p.Vaddr%max(p.Align, 1), nil
		}
	}
	return 0, errors.New("unknown load address")
}

func (o *elfObject) lineTable() (text uint64, table []byte, err error) {
	if s := o.f.Section(".text"); s != nil {
		text = s.Addr
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} { // the second in older PIE files
		if s := o.f.Section(name); s != nil {
			table, err = o.data(s)
			return text, table, err
		}
	}
	return text, o.between("runtime.pclntab", "runtime.epclntab"), nil
}

// data returns the bytes of a section that no linker compresses.
func (o *elfObject) data(s *elf.Section) ([]byte, error) {
	if s.Size > uint64(o.in.size) {
		return nil, errShort
	}
	return s.Data()
}

// between returns the bytes from one symbol to another, or nil.
func (o *elfObject) between(start, end string) []byte {
	from, ok := o.symbol(start)
	to, ok2 := o.symbol(end)
	if !ok || !ok2 || from == 0 || to <= from || to-from > uint64(o.in.size) {
		return nil
	}
	for _, p := range o.f.Progs {
		if from < p.Vaddr || to-p.Vaddr > p.Filesz {
			continue
		}
		b := make([]byte, to-from)
		if _, err := p.ReadAt(b, int64(from-p.Vaddr)); err == nil {
			return b
		}
		return nil
	}
	return nil
}

// symbol searches the table in place: elf.File.Symbols makes a string of every name, which costs more than all the
// rest, and has no bound in a hostile file.
func (o *elfObject) symbol(name string) (uint64, bool) {
	s := o.f.SectionByType(elf.SHT_SYMTAB)
	if s == nil || s.Link == 0 || int(s.Link) >= len(o.f.Sections) {
		return 0, false
	}
	entry, value := elf.Sym32Size, 4
	if o.f.Class == elf.ELFCLASS64 {
		entry, value = elf.Sym64Size, 8
	}
	syms, err := o.data(s)
	if err != nil || len(syms) == 0 || len(syms)%entry != 0 {
		return 0, false
	}
	names, err := o.data(o.f.Sections[s.Link])
	if err != nil {
		return 0, false
	}
	want := []byte(name + "\x00")
	for sym := range slices.Chunk(syms[entry:], entry) { // the first is all zeros
		off := o.f.ByteOrder.Uint32(sym)
		if uint64(off) >= uint64(len(names)) || !bytes.HasPrefix(names[off:], want) {
			continue
		}
		if o.f.Class == elf.ELFCLASS64 {
			return o.f.ByteOrder.Uint64(sym[value:]), true
		}
		return uint64(o.f.ByteOrder.Uint32(sym[value:])), true
	}
	return 0, false
}

func (o *elfObject) dwarf() (*dwarf.Data, error) {
	left := allowDebug(o.in)
	debug := map[uint32]bool{}
	for i, s := range o.f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			debug[uint32(i)] = true
			if err := left.section(s.Offset, s.Size); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range o.f.Sections {
		if (s.Type == elf.SHT_REL || s.Type == elf.SHT_RELA) && debug[s.Info] {
			return nil, errors.New("DWARF is not linked") // an object file; relocating needs every symbol by name
		}
	}
	return o.f.DWARF()
}

// checkELF refuses what would make debug/elf.NewFile copy section names without end. Symbols are no danger: elf.go
// reads them itself.
func checkELF(in *input) error {
	h, err := in.bytes(0, min(64, uint64(in.size)))
	if err != nil || len(h) < 52 || string(h[:4]) != "\x7fELF" {
		return errors.New("not ELF")
	}
	var bo binary.ByteOrder = binary.LittleEndian
	if h[5] == 2 {
		bo = binary.BigEndian
	}
	var table, entry, count, names uint64 // of sections, and which of them holds their names
	wide := h[4] == 2
	switch {
	case !wide:
		table, entry = uint64(bo.Uint32(h[32:])), uint64(bo.Uint16(h[46:]))
		count, names = uint64(bo.Uint16(h[48:])), uint64(bo.Uint16(h[50:]))
	case len(h) == 64:
		table, entry = bo.Uint64(h[40:]), uint64(bo.Uint16(h[58:]))
		count, names = uint64(bo.Uint16(h[60:])), uint64(bo.Uint16(h[62:]))
	default:
		return errShort
	}
	switch {
	case table == 0 && count == 0, names == 0 && count > 0:
		return nil
	case count == 0:
		return fmt.Errorf("%w: more sections than fit in 16 bits", errLimit) // then the count stands elsewhere
	}
	headSize, sizeAt := uint64(40), 20
	if wide {
		headSize, sizeAt = 64, 32
	}
	head, err := in.bytes(table+names*entry, headSize)
	if err != nil {
		return err
	}
	flags, size := uint64(bo.Uint32(head[8:])), uint64(bo.Uint32(head[sizeAt:]))
	if wide {
		flags, size = bo.Uint64(head[8:]), bo.Uint64(head[sizeAt:])
	}
	const compressed = 0x800
	if flags&compressed != 0 || size > uint64(in.size) || size*count > 64<<20 {
		return fmt.Errorf("%w: %d sections share a name table of %d bytes", errLimit, count, size)
	}
	return nil
}
