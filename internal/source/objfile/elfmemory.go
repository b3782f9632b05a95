package objfile

import (
	"debug/elf"
	"slices"
)

// pointersTo returns the addresses that hold the address of Go's line table: one of them is that of the runtime's
// moduledata. Without symbols it has to be looked for. A program that does not depend on its position may have its
// pointers not in place but in the relocations, which tell the loader what to put there.
func (o *elfObject) pointersTo() []uint64 {
	var table uint64
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := o.f.Section(name); s != nil {
			table = s.Addr
		}
	}
	if table == 0 || o.f.Class != elf.ELFCLASS64 {
		return nil
	}
	var out []uint64
	for at, v := range o.relocations() {
		if v == table {
			out = append(out, at)
		}
	}
	slices.Sort(out) // a map has no order, and answers should not depend on it
	left := allow(o.in.size)
	for _, s := range o.f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_WRITE == 0 {
			continue
		}
		if left.take(s.Size) != nil {
			break
		}
		b := o.rest(s.Addr)
		for i := 0; i+8 <= len(b); i += 8 {
			if o.f.ByteOrder.Uint64(b[i:]) == table {
				out = append(out, s.Addr+uint64(i))
			}
		}
	}
	return out
}

// relocations returns what the loader puts where, as far as that is an address in the file itself.
func (o *elfObject) relocations() map[uint64]uint64 {
	if o.moved != nil {
		return o.moved
	}
	o.moved = make(map[uint64]uint64)
	var relative uint32
	switch o.f.Machine {
	case elf.EM_X86_64:
		relative = uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		relative = uint32(elf.R_AARCH64_RELATIVE)
	default:
		return o.moved
	}
	left := allow(o.in.size)
	for _, s := range o.f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, err := o.data(s)
		if err != nil || left.take(s.Size) != nil {
			continue
		}
		const entry = 24
		for ; len(b) >= entry; b = b[entry:] {
			if uint32(o.f.ByteOrder.Uint64(b[8:])) == relative {
				o.moved[o.f.ByteOrder.Uint64(b)] = o.f.ByteOrder.Uint64(b[16:])
			}
		}
	}
	return o.moved
}

func (o *elfObject) word(addr uint64) (uint64, bool) {
	if v, ok := o.relocations()[addr]; ok {
		return v, true
	}
	for _, s := range o.f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && s.Addr <= addr && addr-s.Addr+8 <= s.Size {
			var b [8]byte
			if _, err := s.ReadAt(b[:], int64(addr-s.Addr)); err != nil {
				return 0, false
			}
			return o.f.ByteOrder.Uint64(b[:]), true
		}
	}
	return 0, false
}

func (o *elfObject) rest(addr uint64) []byte {
	for _, s := range o.f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && s.Addr <= addr && addr-s.Addr < s.Size {
			if b, err := o.data(s); err == nil {
				return from(b, addr-s.Addr)
			}
		}
	}
	return nil
}

// addressOf returns the address, as the file says it, of what is at an offset in the file and was mapped as code.
func (o *elfObject) addressOf(offset uint64) (uint64, bool) {
	for _, p := range o.f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off <= offset && offset-p.Off < p.Filesz {
			return p.Vaddr + offset - p.Off, true
		}
	}
	return 0, false
}
