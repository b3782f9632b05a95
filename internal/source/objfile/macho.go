package objfile

import (
	"debug/dwarf"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

type machoObject struct {
	in *input
	f  *macho.File
}

func openMacho(in *input) (object, error) {
	if err := checkMacho(in); err != nil {
		return nil, err
	}
	f, err := macho.NewFile(in)
	if err != nil {
		return nil, err
	}
	return &machoObject{in, f}, nil
}

func (o *machoObject) loadAddress() (uint64, error) {
	if seg := o.f.Segment("__TEXT"); seg != nil {
		return seg.Addr, nil
	}
	return 0, errors.New("unknown load address")
}

func (o *machoObject) lineTable() (text uint64, table []byte, err error) {
	if s := o.f.Section("__text"); s != nil {
		text = s.Addr
	}
	if s := o.f.Section("__gopclntab"); s != nil {
		table, err = s.Data()
	}
	return text, table, err
}

// stab is set in the type of symbols that are for debuggers.
const stab = 0xe0

func (o *machoObject) symbol(name string) (uint64, bool) {
	if o.f.Symtab == nil {
		return 0, false
	}
	for _, s := range o.f.Symtab.Syms {
		if s.Name == name && s.Type&stab == 0 {
			return s.Value, true
		}
	}
	return 0, false
}

func (o *machoObject) dwarf() (*dwarf.Data, error) {
	left := allowDebug(o.in)
	for _, s := range o.f.Sections {
		if strings.HasPrefix(s.Name, "__debug_") || strings.HasPrefix(s.Name, "__zdebug_") {
			if err := left.section(uint64(s.Offset), s.Size); err != nil {
				return nil, err
			}
		}
	}
	return o.f.DWARF()
}

// checkMacho refuses what would make debug/macho.NewFile copy symbol names or relocations without end.
func checkMacho(in *input) error {
	h, err := in.bytes(0, min(32, uint64(in.size)))
	if err != nil || len(h) < 28 {
		return errShort
	}
	var bo binary.ByteOrder = binary.LittleEndian
	if h[0] == 0xfe {
		bo = binary.BigEndian
	}
	magic := bo.Uint32(h)
	if magic&^1 != 0xfeedface {
		return errors.New("not Mach-O")
	}
	wide := magic&1 != 0
	start, symSize := uint64(28), uint64(12)
	if wide {
		start, symSize = 32, 16
	}
	size := bo.Uint32(h[20:])
	if size > 4<<20 {
		return fmt.Errorf("%w: %d bytes of load commands", errLimit, size)
	}
	cmds, err := in.bytes(start, uint64(size))
	if err != nil {
		return err
	}
	const (
		segment, symtab, dysymtab, segment64 = 0x1, 0x2, 0xb, 0x19
	)
	left := allow(in.size)
	seen := map[uint32]bool{}
	for n := bo.Uint32(h[16:]); n > 0 && len(cmds) >= 8; n-- {
		kind, size := bo.Uint32(cmds), bo.Uint32(cmds[4:])
		if size < 8 || uint64(size) > uint64(len(cmds)) {
			return errShort
		}
		cmd := cmds[:size]
		cmds = cmds[size:]
		switch kind {
		case symtab, dysymtab:
			if seen[kind] {
				return fmt.Errorf("%w: two symbol tables", errLimit)
			}
			seen[kind] = true
			if kind == symtab {
				err = machoNames(in, bo, cmd, symSize, &left)
			}
		case segment:
			err = machoRelocs(bo, cmd, 56, 68, 52, &left)
		case segment64:
			err = machoRelocs(bo, cmd, 72, 80, 60, &left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func machoNames(in *input, bo binary.ByteOrder, cmd []byte, symSize uint64, left *allowance) error {
	if len(cmd) < 24 {
		return errShort
	}
	symOff, symCount := uint64(bo.Uint32(cmd[8:])), uint64(bo.Uint32(cmd[12:]))
	syms, err := in.bytes(symOff, symCount*symSize)
	if err != nil {
		return err
	}
	names, err := in.bytes(uint64(bo.Uint32(cmd[16:])), uint64(bo.Uint32(cmd[20:])))
	if err != nil {
		return err
	}
	for ; len(syms) > 0; syms = syms[symSize:] {
		if err := left.name(names, uint64(bo.Uint32(syms))); err != nil {
			return err
		}
	}
	return nil
}

// machoRelocs takes the relocations of the sections of a segment command. Headers of sections are size bytes each and
// start at first; the number of relocations is at count in a header.
func machoRelocs(bo binary.ByteOrder, cmd []byte, first, size, count int, left *allowance) error {
	for at := first; at+size <= len(cmd); at += size {
		if err := left.take(8 * uint64(bo.Uint32(cmd[at+count:]))); err != nil {
			return err
		}
	}
	return nil
}
