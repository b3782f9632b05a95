package objfile

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
)

// pprofDisasm returns the instructions that go tool pprof shows of the functions of main.
func pprofDisasm(t *testing.T, name string, load uint64, addrs []uint64) []string {
	t.Helper()
	var prof bytes.Buffer
	fmt.Fprintf(&prof, "heap profile: 1: 1 [1: 1] @ heapprofile\n")
	for _, a := range addrs {
		fmt.Fprintf(&prof, "1: 1 [1: 1] @ %#x\n", a+1)
	}
	fmt.Fprintf(&prof, "\nMAPPED_LIBRARIES:\n%08x-%08x r-xp 00000000 00:00 0 %s\n", load, load+1<<28, name)
	file := filepath.Join(t.TempDir(), "heap")
	write(t, file, prof.Bytes())
	cmd := exec.Command("go", "tool", "pprof", "-disasm=main\\.", name, file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, &stderr)
	}
	var out []string
	for line := range strings.Lines(stdout.String()) {
		if len(line) > 34 && line[32] == ':' {
			text, _, _ := strings.Cut(strings.TrimSpace(line[22:]), ";")
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out
}

// TestDisasmPprof compares what is made of the code with go tool pprof, on the platforms that it knows.
func TestDisasmPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("go may have to build its pprof first")
	}
	for _, v := range variants {
		switch v.name {
		case "plain", "no-dwarf", "pie", "darwin", "windows", "windows-32":
		default:
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			name, _ := build(t, v)
			f := open(t, name)
			load, err := f.LoadAddress()
			if err != nil {
				t.Fatal(err)
			}
			syms, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			var addrs []uint64
			var fns []Symbol
			for _, s := range syms {
				if strings.HasPrefix(s.Name, "main.") && strings.Contains(s.Name, "(") || s.Name == "main.main" || s.Name == "main.work" {
					fns = append(fns, s)
					addrs = append(addrs, s.Addr)
				}
			}
			slices.SortFunc(fns, func(a, b Symbol) int { return strings.Compare(a.Name, b.Name) })
			var got []string
			for _, s := range fns {
				code, err := f.Instructions(s.Addr, s.Addr+s.Size-1, false) // to pprof the last byte is not in it
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range code {
					got = append(got, fmt.Sprintf("%x: %s", in.Address, in.Text))
				}
			}
			want := pprofDisasm(t, name, load, addrs)
			if len(want) < 20 || !slices.Equal(got, want) {
				t.Errorf("%d instructions:\n%s\ngo tool pprof has %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
			}
		})
	}
}

// TestInstructions checks functions, instructions and what was inlined, against what is known of program.
func TestInstructions(t *testing.T) {
	for _, v := range variants {
		if v.name == "windows-stripped" || v.name == "big-endian-32" {
			continue // of the first nothing can be found, and the other cannot be taken apart
		}
		t.Run(v.name, func(t *testing.T) {
			name, _ := build(t, v)
			f := open(t, name)
			fns, err := f.Functions(func(fn *recording.Function) bool { return strings.HasPrefix(fn.Name, "main.") })
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, fn := range fns {
				names = append(names, fn.Name)
			}
			for _, want := range []string{"main.work", "main.work.func1", "main.call", "main.main", "main.(*box[go.shape.int]).get"} {
				if !slices.Contains(names, want) {
					t.Errorf("no %s among %q", want, names)
				}
			}
			for _, fn := range fns {
				checkFunction(t, f, fn, v)
			}
			checkKept(t, f, fns)
		})
	}
}

func checkFunction(t *testing.T, f *File, fn recording.Function, v variant) {
	t.Helper()
	code, err := f.Instructions(fn.Start, fn.End, true)
	if err != nil || len(code) == 0 {
		t.Fatalf("%s has %d instructions, %v", fn.Name, len(code), err)
	}
	next, inlined := fn.Start, false
	for _, in := range code {
		if in.Address != next || in.Size <= 0 {
			t.Fatalf("%s: an instruction of %d bytes at %#x, want one at %#x", fn.Name, in.Size, in.Address, next)
		}
		next += uint64(in.Size)
		if in.Text == "?" {
			t.Errorf("%s: garbage at %#x", fn.Name, in.Address)
		}
		last := len(in.Frames) - 1
		if last < 0 || in.Frames[last].Func != fn.Name {
			t.Errorf("%s: frames of %#x are %+v", fn.Name, in.Address, in.Frames)
			continue
		}
		want, ok := f.SourceLine(in.Address)
		if first := in.Frames[0]; !ok || first.File != want.File || first.Line != want.Line {
			t.Errorf("%s: %#x is from %+v, want %+v", fn.Name, in.Address, first, want)
		}
		if last > 0 && fn.Name == "main.main" && in.Frames[0].Func == "main.twice" {
			inlined = true
			if in.Frames[0].Line != 18 || in.Frames[last].Line != 22 || in.Frames[last].File != want.File {
				t.Errorf("twice is inlined as %+v", in.Frames)
			}
		}
	}
	if next != fn.End {
		t.Errorf("%s ends at %#x, want %#x", fn.Name, next, fn.End)
	}
	dwarf := v.name != "no-dwarf" && !strings.Contains(v.name, "stripped")
	if fn.Name == "main.main" && inlined != dwarf {
		t.Errorf("twice is inlined: %t, there is DWARF: %t", inlined, dwarf)
	}
}

func TestBuildID(t *testing.T) {
	name, _ := build(t, variants[0])
	out, err := exec.Command("go", "tool", "buildid", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatalf("%v; the build id of Go is %s", err, out)
	}
	if got, want := open(t, name).BuildID(), fmt.Sprintf("%x", note[16:]); got != want || len(got) != 40 {
		t.Errorf("build id %q, want %q", got, want)
	}
	trash := elfFile(2, "\x00.note\x00", 1)
	file := filepath.Join(t.TempDir(), "none")
	write(t, file, trash)
	if got := open(t, file).BuildID(); got != "" {
		t.Errorf("build id %q of a file without one", got)
	}
}

// TestSymbolBomb has fifty thousand symbols that share a name of a megabyte.
func TestSymbolBomb(t *testing.T) {
	const count = 50000
	name := strings.Repeat("x", 1<<20) + "\x00"
	b := elfFile(3, name, 0)
	section := b[64+64*2:]
	copy(section[4:], pack(uint32(elf.SHT_SYMTAB)))
	copy(section[24:], pack(uint64(len(b)), uint64(count*elf.Sym64Size), uint32(1))) // offset, size, names
	file := filepath.Join(t.TempDir(), "bomb")
	write(t, file, append(b, make([]byte, count*elf.Sym64Size)...))
	f := open(t, file)
	if syms, err := f.Symbols(); !errors.Is(err, errLimit) {
		t.Errorf("%d symbols, error %v, want one about the limit", len(syms), err)
	}
}

// TestGarbage takes apart what is no code, of all architectures.
func TestGarbage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	for arch, decode := range decoders {
		c := &code{decode: decode}
		for at := 0; at < len(b); {
			text, size := c.instruction(b[at:], uint64(at))
			if text == "" || size <= 0 || size > 16 {
				t.Fatalf("%s: %q of %d bytes at %d", arch, text, size, at)
			}
			at += size
		}
	}
}
