package objfile

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// askPprof returns what go tool pprof makes of addresses in a file, by symbolizing a profile without names.
func askPprof(t *testing.T, name string, load uint64, addrs []uint64) map[uint64]Frame {
	t.Helper()
	var prof bytes.Buffer
	fmt.Fprintf(&prof, "heap profile: 1: 1 [1: 1] @ heapprofile\n")
	for _, a := range addrs {
		fmt.Fprintf(&prof, "1: 1 [1: 1] @ %#x\n", a+1) // pprof takes addresses of heap profiles as return addresses
	}
	fmt.Fprintf(&prof, "\nMAPPED_LIBRARIES:\n%08x-%08x r-xp 00000000 00:00 0 %s\n", load, load+1<<28, name)
	file := filepath.Join(t.TempDir(), "heap")
	write(t, file, prof.Bytes())
	cmd := exec.Command("go", "tool", "pprof", "-raw", "-symbolize=local", name, file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	row := regexp.MustCompile(`(?m)^ +\d+: 0x([0-9a-f]+) M=1 (.*)$`)
	place := regexp.MustCompile(`^(\S*) (\S*):(-?\d+):0 s=0$`)
	said := map[uint64]Frame{}
	for _, m := range row.FindAllStringSubmatch(string(out), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if p := place.FindStringSubmatch(m[2]); p != nil {
			line, _ := strconv.Atoi(p[3])
			said[addr] = Frame{p[1], p[2], line}
		} else {
			said[addr] = Frame{}
		}
	}
	return said
}

// samePprof compares f with go tool pprof for all addrs and returns how many have names.
func samePprof(t *testing.T, f *File, name string, addrs []uint64) (named int) {
	t.Helper()
	load, err := f.LoadAddress()
	if err != nil {
		t.Fatal(err)
	}
	said := askPprof(t, name, load, addrs)
	for _, addr := range addrs {
		want, asked := said[addr]
		got, _ := f.SourceLine(addr)
		got.Func = strings.ReplaceAll(got.Func, "[...]", "")
		if !asked || got != want {
			t.Fatalf("%#x is %+v, go tool pprof says %+v, %t", addr, got, want, asked)
		}
		if got != (Frame{}) {
			named++
		}
	}
	return named
}

func TestPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("go may have to build its pprof first")
	}
	for _, v := range variants {
		switch v.name {
		case "plain", "stripped", "pie", "darwin", "windows", "windows-stripped":
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
			var addrs []uint64
			for a := load; a < load+0xa0000; a += 997 {
				addrs = append(addrs, a)
			}
			named := samePprof(t, f, name, addrs)
			if want := v.name != "windows-stripped"; (named > 100) != want {
				t.Errorf("%d of %d addresses have names", named, len(addrs))
			}
		})
	}
}

// cProgram has C functions with a name in DWARF and, by inlining, one whose code outside of its caller has none of
// its own but refers to one.
const cProgram = `package main

/*
static inline int twice(int x) { volatile int y = x; return y * 2; }
int (*pointer)(int) = twice;
__attribute__((noinline)) int thrice(int x) {
	volatile int y = x; // line 7
	return y + twice(x);
}
int call(int x) { return pointer(x) + thrice(x); }
*/
import "C"

func main() { println(C.call(3)) }
`

// TestCgo looks up C code by DWARF, and Go code behind it, where only a symbol tells the start of Go's code.
func TestCgo(t *testing.T) {
	testrun.Live(t, "builds programs of C and Go")
	if runtime.GOOS != "linux" {
		t.Skip("what is found is that of Linux")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		testrun.Missing(t, "there is no C compiler: apt-get install gcc libc6-dev")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/prog\n\ngo 1.22\n"))
	write(t, filepath.Join(dir, "main.go"), []byte(cProgram))
	name := filepath.Join(dir, "prog")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", name, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off", "CC=gcc", "CGO_CFLAGS=-O2 -g")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	f := open(t, name)
	ef, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer ef.Close()
	syms, err := ef.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for _, s := range syms {
		switch s.Name {
		case "thrice":
			fr, ok := f.SourceLine(s.Value)
			if !ok || fr.Func != "thrice" || filepath.Base(fr.File) != "main.go" || fr.Line < 6 || fr.Line > 8 {
				t.Errorf("thrice is %+v, %t", fr, ok)
			}
			addrs = append(addrs, s.Value, s.Value+s.Size/2)
		case "twice":
			fr, ok := f.SourceLine(s.Value)
			if want := nameAt(t, ef, s.Value); !ok || fr.Func != want {
				t.Errorf("twice is %+v, %t, want the name %q", fr, ok, want)
			}
			addrs = append(addrs, s.Value)
		case "call", "main.main", "runtime.text", "_start", "crosscall2":
			addrs = append(addrs, s.Value)
		}
	}
	if named := samePprof(t, f, name, addrs); named < 5 {
		t.Errorf("%d of %d addresses have names", named, len(addrs))
	}
}

// nameAt is the search of cmd/pprof without its shortcuts: the first function with a name and the address.
func nameAt(t *testing.T, f *elf.File, addr uint64) string {
	t.Helper()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	r := d.Reader()
	if _, err := r.SeekPC(addr); err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			return ""
		}
		ranges, _ := d.Ranges(e)
		for _, pcs := range ranges {
			name, ok := e.Val(dwarf.AttrName).(string)
			if e.Tag == dwarf.TagSubprogram && ok && pcs[0] <= addr && addr < pcs[1] {
				return name
			}
		}
	}
}
