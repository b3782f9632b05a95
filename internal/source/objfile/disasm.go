package objfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/arch/arm/armasm"
	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/loong64/loong64asm"
	"golang.org/x/arch/ppc64/ppc64asm"
	"golang.org/x/arch/riscv64/riscv64asm"
	"golang.org/x/arch/s390x/s390xasm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
)

// maxCode is how much is taken apart at a time: each byte of garbage would become an instruction.
const maxCode = 4 << 20

// A Symbol is an entry of a symbol table.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64 // where the format does not tell, up to the next symbol
}

// A section is a part of the file and where it is in memory.
type section struct {
	start, size uint64
	data        io.ReaderAt
}

// code is what is needed to take code apart.
type code struct {
	text    section
	padding string // what linkers put between functions
	decode  decoder
	syms    []Symbol      // names for addresses in the code
	look    func(*Symbol) // is told of each symbol that an instruction refers to; nil when nobody wants to know
}

// A decoder returns the first instruction in b, which is at pc, and its size.
type decoder func(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int)

// Symbols returns the symbol table, sorted by address as go tool pprof sorts it.
func (f *File) Symbols() ([]Symbol, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.symbols()
}

func (f *File) symbols() ([]Symbol, error) {
	syms, err := safely(f.obj.symbols)
	if err != nil {
		return nil, err
	}
	// The go command sorts by this function, too, so the first of several symbols at an address is the same.
	slices.SortFunc(syms, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return syms, nil
}

// Functions returns the functions for which keep is true, in the order of their addresses. Those of Go are in its own
// table, which no strip removes; the rest comes from the symbols.
func (f *File) Functions(keep func(*recording.Function) bool) ([]recording.Function, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, err := f.lines()
	if err != nil {
		return nil, err
	}
	c, err := f.code()
	if err != nil {
		return nil, err
	}
	var out []recording.Function
	add := func(fn recording.Function) {
		if fn.Start < fn.End && keep(&fn) {
			fn.End = c.unpadded(fn.Start, fn.End)
			out = append(out, fn)
		}
	}
	var from, to uint64 // Go's code
	if lines != nil && lines.count > 0 {
		from, to = lines.start(0), lines.start(lines.count)
		left := allow(f.in.size)
		for i := range lines.count {
			fn := recording.Function{Name: lines.name(i), Start: lines.start(i), End: lines.start(i + 1)}
			if err := left.take(uint64(len(fn.Name))); err != nil {
				return nil, err
			}
			add(fn)
		}
	}
	for i, s := range c.syms {
		end := s.Addr + s.Size
		inText := c.text.start <= s.Addr && end <= c.text.start+c.text.size
		alias := i > 0 && c.syms[i-1].Addr == s.Addr && c.syms[i-1].Size == s.Size
		if inText && !alias && (s.Addr < from || s.Addr >= to) {
			add(recording.Function{Name: s.Name, Start: s.Addr, End: end})
		}
	}
	order.Stable(out, func(a, b recording.Function) int { return cmp.Compare(a.Start, b.Start) })
	return out, nil
}

func (f *File) loadCode() (*code, error) {
	c := &code{}
	var err error
	if c.text, err = safely(f.obj.text); err != nil {
		return nil, err
	}
	if c.text.data == nil {
		return nil, errors.New("the section with the code has no content")
	}
	arch := f.obj.goarch()
	if c.decode = decoders[arch]; c.decode == nil {
		return nil, fmt.Errorf("unsupported architecture %q", arch)
	}
	c.padding = "\x00\x00\x00\x00"
	if arch == "amd64" || arch == "386" {
		c.padding = "\xcc"
	}
	// Without symbols addresses stay numbers.
	syms, _ := f.symbols()
	for _, s := range syms {
		switch s.Name {
		case "runtime.text", "text", "_text", "runtime.etext", "etext", "_etext": // those of the section
		default:
			c.syms = append(c.syms, s)
		}
	}
	return c, nil
}

// unpadded returns where the code from start up to end, which is where the next function begins, really ends.
func (c *code) unpadded(start, end uint64) uint64 {
	const most = 64 // what is more is no padding
	tail := make([]byte, min(end-start, most))
	if start < c.text.start {
		return end
	}
	if n, _ := c.text.data.ReadAt(tail, int64(end-c.text.start)-int64(len(tail))); n < len(tail) {
		return end
	}
	for bytes.HasSuffix(tail, []byte(c.padding)) && len(tail) > len(c.padding) {
		tail = tail[:len(tail)-len(c.padding)]
		end -= uint64(len(c.padding))
	}
	return end
}

// name returns the symbol that addr belongs to, and its address.
func (c *code) name(addr uint64) (string, uint64) {
	i, _ := slices.BinarySearchFunc(c.syms, addr, func(s Symbol, addr uint64) int {
		if s.Addr <= addr {
			return -1
		}
		return 1
	})
	if i == 0 {
		return "", 0
	}
	if s := &c.syms[i-1]; s.Addr != 0 && addr < s.Addr+s.Size {
		if c.look != nil {
			c.look(s)
		}
		return s.Name, s.Addr
	}
	return "", 0
}

// Instructions takes the code from start up to end apart, as far as it lies in the section with the code, but not more
// than maxCode bytes. With inlined, each instruction tells the calls that led to it where DWARF has them; else, just
// its line.
func (f *File) Instructions(start, end uint64, inlined bool) ([]recording.Instruction, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, err := f.lines()
	if err != nil {
		return nil, err
	}
	c, err := f.code()
	if err != nil {
		return nil, err
	}
	start = max(start, c.text.start)
	end = min(end, c.text.start+c.text.size, start+maxCode)
	if start >= end {
		return nil, nil
	}
	// Some decoders look behind the end of what they are given, as far as its capacity goes.
	const longest = 16
	b := make([]byte, min(end-start+longest, c.text.start+c.text.size-start))
	if n, err := c.text.data.ReadAt(b, int64(start-c.text.start)); n < len(b) {
		return nil, fmt.Errorf("reading the code at %#x: %w", start, err)
	}
	b = b[:end-start]
	var calls *inlineTree
	if inlined {
		calls = f.inlined(start, end)
	}
	var out []recording.Instruction
	for pc := start; pc < end; {
		in := recording.Instruction{Address: pc}
		in.Text, in.Size = c.instruction(b[pc-start:], pc)
		if lines != nil {
			if fr, ok := lines.lookup(pc); ok {
				in.Frames = calls.frames(pc, fr)
			}
		}
		if n := len(out); n > 0 && slices.Equal(out[n-1].Frames, in.Frames) {
			in.Frames = out[n-1].Frames // most follow each other, and there may be a million
		}
		out = append(out, in)
		pc += uint64(in.Size)
	}
	return out, nil
}

// instruction returns the instruction that b begins with. Garbage is a question mark.
func (c *code) instruction(b []byte, pc uint64) (text string, size int) {
	defer func() {
		if recover() != nil { // the decoders are made for what compilers write
			text, size = "?", 1
		}
	}()
	return c.decode(b, pc, c.name)
}

// A codeReader reads the code that follows an instruction, where some keep their constants.
type codeReader struct {
	b  []byte
	pc uint64
}

func (r codeReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || uint64(off) < r.pc || uint64(off)-r.pc >= uint64(len(r.b)) {
		return 0, io.EOF
	}
	n := copy(p, r.b[uint64(off)-r.pc:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// decoders are by GOARCH. Each prints the syntax of Go's assembler. What cannot be an instruction has the size of the
// smallest, as in go tool pprof.
var decoders = map[string]decoder{
	"386":     x86(32),
	"amd64":   x86(64),
	"arm":     arm,
	"arm64":   arm64,
	"loong64": loong64,
	"ppc64":   ppc64(binary.BigEndian),
	"ppc64le": ppc64(binary.LittleEndian),
	"riscv64": riscv64,
	"s390x":   s390x,
}

func x86(bits int) decoder {
	return func(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
		inst, err := x86asm.Decode(b, bits)
		if err != nil || inst.Len == 0 || inst.Op == 0 {
			return "?", 1
		}
		return x86asm.GoSyntax(inst, pc, name), inst.Len
	}
}

func arm(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	inst, err := armasm.Decode(b, armasm.ModeARM)
	if err != nil || inst.Len == 0 || inst.Op == 0 {
		return "?", 4
	}
	return armasm.GoSyntax(inst, pc, name, codeReader{b, pc}), inst.Len
}

func arm64(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	inst, err := arm64asm.Decode(b)
	if err != nil || inst.Op == 0 {
		return "?", 4
	}
	return arm64asm.GoSyntax(inst, pc, name, codeReader{b, pc}), 4
}

func loong64(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	inst, err := loong64asm.Decode(b)
	if err != nil || inst.Op == 0 {
		return "?", 4
	}
	return loong64asm.GoSyntax(inst, pc, name), 4
}

func ppc64(order binary.ByteOrder) decoder {
	return func(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
		inst, err := ppc64asm.Decode(b, order)
		if err != nil || inst.Len == 0 {
			return "?", 4
		}
		return ppc64asm.GoSyntax(inst, pc, name), inst.Len
	}
}

func riscv64(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	inst, err := riscv64asm.Decode(b)
	if err != nil || inst.Op == 0 {
		return "?", 2
	}
	return riscv64asm.GoSyntax(inst, pc, name, codeReader{b, pc}), inst.Len
}

func s390x(b []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
	inst, err := s390xasm.Decode(b)
	if err != nil || inst.Len == 0 || inst.Op == 0 {
		return "?", 2
	}
	return s390xasm.GoSyntax(inst, pc, name), inst.Len
}
