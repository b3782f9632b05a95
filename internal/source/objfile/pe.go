package objfile

import (
	"debug/dwarf"
	"debug/pe"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
)

type peObject struct {
	in *input
	f  *pe.File
}

func openPE(in *input) (object, error) {
	if err := checkPE(in); err != nil {
		return nil, err
	}
	f, err := pe.NewFile(in)
	if err != nil {
		return nil, err
	}
	return &peObject{in, f}, nil
}

func (o *peObject) loadAddress() (uint64, error) {
	switch h := o.f.OptionalHeader.(type) {
	case *pe.OptionalHeader32:
		return uint64(h.ImageBase), nil
	case *pe.OptionalHeader64:
		return h.ImageBase, nil
	}
	return 0, errors.New("pe file format not recognized")
}

// lineTable finds the table through symbols: it is a part of .rdata. Names of before Go 1.4 come second.
func (o *peObject) lineTable() (text uint64, table []byte, err error) {
	base, err := o.loadAddress()
	if err != nil {
		return 0, nil, err
	}
	if s := o.f.Section(".text"); s != nil {
		text = base + uint64(s.VirtualAddress)
	}
	for _, prefix := range []string{"runtime.", ""} {
		start, end := o.find(prefix+"pclntab"), o.find(prefix+"epclntab")
		if start == nil || end == nil || start.SectionNumber != end.SectionNumber {
			continue
		}
		data, err := o.f.Sections[start.SectionNumber-1].Data()
		if err != nil {
			return 0, nil, err
		}
		if start.Value > end.Value || uint64(end.Value) > uint64(len(data)) {
			return 0, nil, errShort
		}
		return text, data[start.Value:end.Value], nil
	}
	return 0, nil, errors.New("no runtime.pclntab symbol found")
}

// find returns the first symbol called name if it lies in a section.
func (o *peObject) find(name string) *pe.Symbol {
	i := slices.IndexFunc(o.f.Symbols, func(s *pe.Symbol) bool { return s.Name == name })
	if i < 0 || o.f.Symbols[i].SectionNumber <= 0 || int(o.f.Symbols[i].SectionNumber) > len(o.f.Sections) {
		return nil
	}
	return o.f.Symbols[i]
}

func (o *peObject) symbol(name string) (uint64, bool) {
	s := o.find(name)
	if s == nil {
		return 0, false
	}
	base, err := o.loadAddress()
	if err != nil {
		return 0, false
	}
	return base + uint64(o.f.Sections[s.SectionNumber-1].VirtualAddress) + uint64(s.Value), true
}

func (o *peObject) dwarf() (*dwarf.Data, error) {
	left := allowDebug(o.in)
	for _, s := range o.f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			if err := left.section(uint64(s.Offset), uint64(s.Size)); err != nil {
				return nil, err
			}
		}
	}
	return o.f.DWARF()
}

// checkPE refuses what would make debug/pe.NewFile copy names or relocations without end.
func checkPE(in *input) error {
	dos, err := in.bytes(0, 96)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	base := uint64(0)
	if string(dos[:2]) == "MZ" {
		base = uint64(le.Uint32(dos[0x3c:])) + 4
	}
	h, err := in.bytes(base, 20)
	if err != nil {
		return err
	}
	sections := uint64(le.Uint16(h[2:]))
	heads, err := in.bytes(base+20+uint64(le.Uint16(h[16:])), sections*40)
	if err != nil {
		return err
	}
	syms, names, err := peSymbols(in, le.Uint32(h[8:]), le.Uint32(h[12:]))
	if err != nil {
		return err
	}
	left := allow(in.size)
	for h := range slices.Chunk(heads, 40) {
		err := left.take(10 * uint64(le.Uint16(h[32:]))) // relocations
		if at, isNum := strings.CutPrefix(strings.TrimRight(string(h[:8]), "\x00"), "/"); isNum && err == nil {
			off, _ := strconv.ParseUint(at, 10, 32)
			err = left.name(names, off)
		}
		if err != nil {
			return err
		}
	}
	for aux := 0; len(syms) > 0; syms = syms[18:] {
		if aux > 0 {
			aux--
			continue
		}
		aux = int(syms[17])
		if le.Uint32(syms) != 0 {
			continue // a short name stands in the symbol
		}
		if err := left.name(names, uint64(le.Uint32(syms[4:]))); err != nil {
			return err
		}
	}
	return nil
}

// peSymbols returns the symbol table, which has entries of 18 bytes, and the string table behind it, to the start of
// which offsets of names refer.
func peSymbols(in *input, off, count uint32) (syms, names []byte, err error) {
	if off == 0 {
		return nil, nil, nil
	}
	if syms, err = in.bytes(uint64(off), 18*uint64(count)); err != nil {
		return nil, nil, err
	}
	// 32 bits that may wrap around, as in debug/pe: it has to be the string table that will be used there.
	at := uint64(off + 18*count)
	n, err := in.bytes(at, 4)
	if err != nil {
		return nil, nil, err
	}
	names, err = in.bytes(at, uint64(binary.LittleEndian.Uint32(n)))
	return syms, names, err
}
