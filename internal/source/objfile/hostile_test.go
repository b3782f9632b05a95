package objfile

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		testrun.Missing(t, "go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// pack writes values one after the other: numbers as they are, strings as their bytes.
func pack(values ...any) []byte {
	var b []byte
	for _, v := range values {
		if s, ok := v.(string); ok {
			b = append(b, s...)
			continue
		}
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// elfFile makes an ELF file of count sections whose names are at nameOff in a table of names of the given size.
func elfFile(count int, names string, nameOff uint32) []byte {
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Phentsize: 56,
		Shentsize: 64, Shoff: 64, Shnum: uint16(count)}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	h.Shstrndx = 0
	if count > 1 {
		h.Shstrndx = 1
	}
	b := pack(h)
	for i := range count {
		s := elf.Section64{Name: nameOff}
		if i == 1 {
			s.Type, s.Off, s.Size = uint32(elf.SHT_STRTAB), uint64(64+64*count), uint64(len(names))
		}
		b = append(b, pack(s)...)
	}
	return append(b, names...)
}

// machoFile makes a Mach-O file of count symbols that share one name.
func machoFile(count int, name string) []byte {
	const head = 32 + 24
	b := pack(macho.FileHeader{Magic: macho.Magic64, Cpu: macho.CpuAmd64, Type: macho.TypeExec, Ncmd: 1, Cmdsz: 24}, uint32(0),
		macho.SymtabCmd{Cmd: macho.LoadCmdSymtab, Len: 24, Symoff: head, Nsyms: uint32(count),
			Stroff: uint32(head + 16*count), Strsize: uint32(len(name))})
	return append(append(b, make([]byte, 16*count)...), name...)
}

// machoRelocFile makes a Mach-O file of count sections that share relocs relocations.
func machoRelocFile(count, relocs int) []byte {
	size := 72 + 80*count
	b := pack(macho.FileHeader{Magic: macho.Magic64, Cpu: macho.CpuAmd64, Type: macho.TypeExec, Ncmd: 1, Cmdsz: uint32(size)}, uint32(0),
		macho.Segment64{Cmd: macho.LoadCmdSegment64, Len: uint32(size), Nsect: uint32(count)})
	for range count {
		b = append(b, pack(macho.Section64{Reloff: uint32(32 + size), Nreloc: uint32(relocs)})...)
	}
	return append(b, make([]byte, 8*relocs)...)
}

// peFile makes a PE file of sections that share relocs relocations, and of symbols that share one name.
func peFile(sections, relocs, symbols int, name string) []byte {
	dos := make([]byte, 96)
	copy(dos, "MZ")
	dos[0x3c] = 92
	copy(dos[92:], "PE\x00\x00")
	symOff := 96 + 20 + 40*sections
	b := pack(string(dos), pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: uint16(sections),
		PointerToSymbolTable: uint32(symOff), NumberOfSymbols: uint32(symbols)})
	for range sections {
		b = append(b, pack(pe.SectionHeader32{PointerToRelocations: 96, NumberOfRelocations: uint16(relocs)})...)
	}
	for range symbols {
		b = append(b, pack(uint32(0), uint32(4), make([]byte, 10))...)
	}
	return append(b, pack(uint32(4+len(name)), name, make([]byte, 10*relocs))...)
}

// TestBombs opens small files that would take gigabytes: a check that came late could not be survived.
func TestBombs(t *testing.T) {
	long := strings.Repeat("x", 1<<20) + "\x00"
	tests := map[string][]byte{
		"ELF section names":      elfFile(20000, long, 0),
		"Mach-O symbol names":    machoFile(50000, long),
		"Mach-O relocations":     machoRelocFile(10000, 100000),
		"PE symbol names":        peFile(1, 0, 50000, long),
		"PE relocations":         peFile(60000, 65535, 0, ""),
		"Mach-O load commands":   pack(macho.FileHeader{Magic: macho.Magic64, Cmdsz: 1 << 30}, make([]byte, 100)),
		"ELF number of sections": elfFile(0, "", 0),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			if len(data) > 8<<20 {
				t.Fatalf("%d bytes is not a small file", len(data))
			}
			file := filepath.Join(t.TempDir(), "bomb")
			write(t, file, data)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := Open(file)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, errLimit) || !strings.HasPrefix(err.Error(), "open "+file+": damaged object file: ") {
				t.Errorf("error %v, want one about the limit", err)
			}
			if err == nil {
				f.Close()
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("refusing it took %d bytes", used)
			}
		})
	}
}

// TestDebugBomb has a section that says it unpacks to far more than the file could hold.
func TestDebugBomb(t *testing.T) {
	names := "\x00.debug_info\x00"
	b := elfFile(3, names, 1)
	section := func(i int) []byte { return b[64+64*i:] }
	copy(section(1), pack(uint32(0)))
	binary.LittleEndian.PutUint32(section(2)[4:], uint32(elf.SHT_PROGBITS))
	binary.LittleEndian.PutUint64(section(2)[24:], uint64(len(b)))
	binary.LittleEndian.PutUint64(section(2)[32:], 100)
	b = append(b, "ZLIB"...)
	b = binary.BigEndian.AppendUint64(b, 1<<40)
	b = append(b, make([]byte, 100)...)
	file := filepath.Join(t.TempDir(), "bomb")
	write(t, file, b)
	f := open(t, file)
	if _, err := f.obj.dwarf(); !errors.Is(err, errLimit) {
		t.Errorf("error %v, want one about the limit", err)
	}
	if fr, ok := f.SourceLine(0x1000); ok {
		t.Errorf("found %+v", fr)
	}
}

// use asks everything of a file that may be damaged.
func use(f *File) {
	load, _ := f.LoadAddress()
	for _, addr := range []uint64{0, load, load + 0x1000, 0x401000, 0x1000, ^uint64(0)} {
		f.SourceLine(addr)
	}
	f.BuildInfo()
	f.BuildID()
	f.Symbols()
	fns, _ := f.Functions(func(*recording.Function) bool { return true })
	for _, fn := range fns[:min(len(fns), 3)] {
		f.Instructions(fn.Start, fn.End, true)
	}
	if c, err := f.code(); err == nil {
		f.Instructions(c.text.start, c.text.start+100, true)
	}
	f.Instructions(^uint64(0)-5, ^uint64(0), true)
}

// TestTruncated cuts real files at every kind of place.
func TestTruncated(t *testing.T) {
	for _, v := range []variant{variants[0], variants[6], variants[8]} {
		t.Run(v.name, func(t *testing.T) {
			name, _ := build(t, v)
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "cut")
			cuts := []int{len(data) - 1}
			for n := 1; n < len(data); n = n*5/4 + 1 {
				cuts = append(cuts, n, len(data)-n)
			}
			opened := 0
			for _, n := range cuts {
				write(t, file, data[:n])
				f, err := Open(file)
				if err != nil {
					continue
				}
				opened++
				use(f)
				f.Close()
			}
			if opened == len(cuts) {
				t.Error("all parts of the file are executables")
			}
		})
	}
}

// FuzzOpen holds that Open takes the files that the standard library takes, apart from bombs, and that nothing in them
// makes a method panic.
func FuzzOpen(f *testing.F) {
	f.Add(elfFile(3, "\x00.text\x00", 1))
	f.Add(elfFile(0, "", 0))
	f.Add(machoFile(2, "_main.main\x00"))
	f.Add(machoRelocFile(2, 1))
	f.Add(peFile(1, 1, 2, "runtime.text\x00"))
	f.Add(make([]byte, 200))
	root := goroot(f)
	for _, name := range []string{"elf/testdata/gcc-386-freebsd-exec", "elf/testdata/compressed-64.obj", "dwarf/testdata/cycle.elf",
		"elf/testdata/go-relocation-test-gcc492-mips64.obj", "pe/testdata/gcc-386-mingw-obj", "dwarf/testdata/line-gcc-win.bin",
		"macho/testdata/gcc-amd64-darwin-exec-debug.base64", "macho/testdata/gcc-386-darwin-exec.base64"} {
		data, err := os.ReadFile(filepath.Join(root, "src/debug", name))
		if strings.HasSuffix(name, ".base64") {
			data, _ = base64.StdEncoding.DecodeString(string(data))
		}
		if err == nil && len(data) < 64<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "file")
		write(t, name, data)
		file, err := Open(name)
		if errors.Is(err, errLimit) {
			return
		}
		known := false
		for _, try := range []func() error{
			func() error { _, err := elf.NewFile(bytes.NewReader(data)); return err },
			func() error { _, err := macho.NewFile(bytes.NewReader(data)); return err },
			func() error { _, err := pe.NewFile(bytes.NewReader(data)); return err },
		} {
			_, err := safely(func() (bool, error) { return true, try() })
			known = known || err == nil
		}
		if known != (err == nil) {
			t.Fatalf("Open gives %v, but the standard library knows the file: %t", err, known)
		}
		if err == nil {
			use(file)
			file.Close()
		}
	})
}
