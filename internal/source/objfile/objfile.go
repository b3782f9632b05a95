// Package objfile reads executables: it finds the function, file, line and instruction at an address. It reads ELF, Mach-O and PE files of
// any platform on any platform.
//
// Open tells whether a file is an executable at all. A profile has run-time addresses, so the caller subtracts the offset that results from
// LoadAddress and the profile's mapping, and calls SourceLine with the rest. Symbols and Functions list the code, and Instructions
// disassembles it. BuildInfo and BuildID say how the program was built.
//
// The answers are those of go tool pprof, because hone pprof prints them: one frame for an address, without inlined calls. go tool pprof
// also opens Go object archives, Plan 9 and XCOFF files. This package does not: no profile names an archive, and the standard library does
// not read XCOFF.
//
// Files may be damaged or hostile. The debug/* packages are not hardened against that, so limits.go checks a file first, and a panic in
// them becomes an error here.
package objfile

import (
	"cmp"
	"debug/buildinfo"
	"debug/dwarf"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/hone-perf/hone/internal/order"
)

// A Frame is the place in the source that an address was compiled from.
// Func is the linker's name of the function; a C function that DWARF leaves unnamed has none.
type Frame struct {
	Func string
	File string
	Line int
}

// A File is an open executable. Its tables are read when first asked for.
// It may be used by several goroutines at once.
type File struct {
	mu  sync.Mutex // held by every method: tables and their caches are filled in on the way
	in  *input
	obj object

	lines func() (*lineTable, error) // nil without an error when there is no Go line table
	gotab func() *goTable            // nil when there is none
	cover func() []Symbol            // those that have a size
	debug func() (*dwarf.Data, error)
	cfuns func() *cFuncs // nil when there is no usable DWARF
	build func() (*debug.BuildInfo, error)
	code  func() (*code, error)
	calls map[dwarf.Offset]*inlineUnit // what was inlined, by unit
}

// An object is one executable format.
type object interface {
	loadAddress() (uint64, error)
	// lineTable returns the bytes of Go's table of functions and lines, and the address of the section with the code.
	// The table is empty when the file has none; an error means that it could not be read.
	lineTable() (text uint64, table []byte, err error)
	// symbol returns the address of the first symbol called name.
	symbol(name string) (addr uint64, ok bool)
	dwarf() (*dwarf.Data, error)
	// symbols returns the whole symbol table in the order of the file.
	symbols() ([]Symbol, error)
	// text returns the section with the code.
	text() (section, error)
	goarch() string
	// buildID returns what linkers call the build ID, or "" if the file has none.
	buildID() string
}

// Open opens the named executable. The caller closes it.
func Open(name string) (*File, error) {
	// Only a plain file can be an executable, and opening a named pipe would wait for its writer.
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return nil, unrecognized(name)
	}
	in, err := openInput(name)
	if err != nil {
		return nil, err
	}
	obj, err := parse(in)
	if err != nil {
		in.Close()
		if errors.Is(err, errLimit) {
			return nil, fmt.Errorf("open %s: %w", name, err)
		}
		return nil, unrecognized(name)
	}
	f := &File{in: in, obj: obj, calls: map[dwarf.Offset]*inlineUnit{}}
	f.lines = sync.OnceValues(f.loadLines)
	f.gotab = sync.OnceValue(f.loadGo)
	f.cover = sync.OnceValue(f.loadCover)
	f.debug = sync.OnceValues(func() (*dwarf.Data, error) { return safely(obj.dwarf) })
	f.code = sync.OnceValues(f.loadCode)
	f.cfuns = sync.OnceValue(f.loadC)
	f.build = sync.OnceValues(func() (*debug.BuildInfo, error) {
		return safely(func() (*debug.BuildInfo, error) { return buildinfo.Read(in) })
	})
	return f, nil
}

// unrecognized is worded as go tool pprof words it.
func unrecognized(name string) error {
	return fmt.Errorf("open %s: unrecognized object file", name)
}

// parse tries the formats in the order go tool pprof does. The order matters: debug/pe accepts nearly anything that
// starts with two zero bytes.
func parse(in *input) (object, error) {
	var err error
	for _, try := range []func(*input) (object, error){openELF, openMacho, openPE} {
		var obj object
		obj, err = safely(func() (object, error) { return try(in) })
		if err == nil || errors.Is(err, errLimit) {
			return obj, err
		}
	}
	return nil, err
}

// safely runs f, which calls into debug/*, and returns a panic of it as an error.
func safely[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged file: %v", p)
		}
	}()
	return f()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.in.Close()
}

// LoadAddress returns the address at which the file expects its code to be mapped. A position-independent executable
// runs elsewhere: subtract (start of the mapping - LoadAddress) from an address seen at run time.
func (f *File) LoadAddress() (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.obj.loadAddress()
}

// Base returns what to take off an address at run time when the file was mapped at start: an executable that does not
// depend on its position runs elsewhere than where the file says. A start of 0 is one that is not known.
func (f *File) Base(start uint64) uint64 {
	if load, err := f.LoadAddress(); err == nil && start != 0 {
		return start - load
	}
	return 0
}

// Address returns the address, as the file says it, of the code at an offset in the file. Only of ELF files is it known.
func (f *File) Address(offset uint64) (uint64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.obj.(*elfObject)
	if !ok {
		return 0, false
	}
	return e.addressOf(offset)
}

// SourceLine names the code at addr, an address of the file. It reports false where the file does not tell.
// Go code is looked up in Go's own line table, which every Go executable carries, and the rest, such as C, in DWARF.
func (f *File) SourceLine(addr uint64) (Frame, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, err := f.lines()
	if err != nil {
		return Frame{}, false // no DWARF either: go tool pprof stops here too
	}
	if lines != nil {
		if fr, ok := lines.lookup(addr); ok {
			return fr, true
		}
	}
	c := f.cfuns()
	if c == nil {
		return Frame{}, false
	}
	fr, err := safely(func() (Frame, error) { return c.lookup(addr) })
	return fr, err == nil
}

// Symbol returns the name of the symbol that covers addr, among those that a library offers where it has no others.
func (f *File) Symbol(addr uint64) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	syms := f.cover()
	i, _ := slices.BinarySearchFunc(syms, addr, func(s Symbol, addr uint64) int {
		if s.Addr <= addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr-syms[i-1].Addr >= syms[i-1].Size {
		return "", false
	}
	return syms[i-1].Name, true
}

// loadCover returns the symbols that have a size, in the order of their addresses.
func (f *File) loadCover() []Symbol {
	syms, err := f.symbols()
	if e, ok := f.obj.(*elfObject); ok && err != nil {
		syms, err = safely(e.exported)
	}
	if err != nil {
		return nil
	}
	syms = slices.DeleteFunc(syms, func(s Symbol) bool { return s.Addr == 0 || s.Size == 0 || s.Name == "" })
	order.Stable(syms, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return syms
}

// BuildInfo returns what the Go command recorded in the file: versions of Go and of modules, and build settings.
func (f *File) BuildInfo() (*debug.BuildInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.build()
}

func (f *File) loadLines() (*lineTable, error) {
	var text uint64
	table, err := safely(func() (table []byte, err error) {
		text, table, err = f.obj.lineTable()
		return table, err
	})
	if err != nil {
		return nil, err
	}
	// With cgo, C code comes first in the section, and only the symbol tells where Go's begins.
	if addr, ok := f.obj.symbol("runtime.text"); ok {
		text = addr
	}
	return newLineTable(table, text), nil
}

func (f *File) loadC() *cFuncs {
	d, err := f.debug()
	if err != nil {
		return nil
	}
	return &cFuncs{data: d, units: map[dwarf.Offset]*unitFuncs{}}
}
