package objfile

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// program is what the tests build. It imports nothing, so that building it for another system takes seconds.
const program = `package main

type box[T any] struct{ v T }

//go:noinline
func (b *box[T]) get() T { return b.v } // line 6

//go:noinline
func work(n int) int {
	f := func() int { return n * 2 } // line 10
	return call(f)
}

//go:noinline
func call(f func() int) int { return f() } // line 15

var total int
func twice(n int) { total += 2 * n } // line 18

func main() {
	b := box[int]{v: 3}
	twice(b.get())
	println(work(b.get()), total) // line 23
}
`

// A variant is one way to build program.
type variant struct {
	name string
	rare bool // it is left to the nightly run
	env  []string
	args []string
}

var variants = []variant{
	{"plain", false, nil, nil},
	{"stripped", false, nil, []string{"-ldflags=-s -w"}},
	{"no-dwarf", false, nil, []string{"-ldflags=-w"}},
	{"trimmed", false, nil, []string{"-trimpath"}},
	{"trimmed-stripped", false, nil, []string{"-trimpath", "-ldflags=-s -w"}},
	{"pie", false, nil, []string{"-buildmode=pie"}},
	{"darwin", true, []string{"GOOS=darwin", "GOARCH=arm64"}, nil},
	{"darwin-stripped", true, []string{"GOOS=darwin", "GOARCH=arm64"}, []string{"-ldflags=-s"}},
	{"windows", false, []string{"GOOS=windows", "GOARCH=amd64"}, nil},
	{"windows-stripped", false, []string{"GOOS=windows", "GOARCH=amd64"}, []string{"-ldflags=-s"}},
	{"windows-32", true, []string{"GOOS=windows", "GOARCH=386"}, nil},
	{"big-endian-32", true, []string{"GOOS=linux", "GOARCH=mips"}, nil},
}

// A built is program, built in one way for all tests, in a folder that TestMain removes.
type built struct {
	dir string
	err error
}

var (
	builds   = map[string]built{} // by the name of the variant; tests here run one after the other
	buildDir string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// build builds program, for linux/amd64 unless env says otherwise, and returns the file and the folder of its source. Both are shared.
func build(t *testing.T, v variant) (file, dir string) {
	t.Helper()
	if v.rare {
		testrun.Nightly(t, "builds for one more system")
	}
	if v.env != nil {
		testrun.Live(t, "builds for other systems")
	}
	b, ok := builds[v.name]
	if !ok {
		b = v.build()
		builds[v.name] = b
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, "prog.exe"), b.dir
}

func (v variant) build() (b built) {
	if buildDir == "" {
		if buildDir, b.err = os.MkdirTemp("", "hone-objfile"); b.err != nil {
			return b
		}
	}
	b.dir = filepath.Join(buildDir, v.name)
	b.err = errors.Join(os.Mkdir(b.dir, 0o755), os.WriteFile(filepath.Join(b.dir, "go.mod"), []byte("module example.com/prog\n\ngo 1.22\n"), 0o644),
		os.WriteFile(filepath.Join(b.dir, "main.go"), []byte(program), 0o644))
	if b.err != nil {
		return b
	}
	cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", "prog.exe"}, append(v.args, ".")...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GOOS=linux", "GOARCH=amd64")
	cmd.Env = append(cmd.Env, v.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return b
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// reference reads the Go line table of a file through the standard library only.
func reference(t *testing.T, name string) *gosym.Table {
	t.Helper()
	var text uint64
	var data []byte
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		data, _ = f.Section(".gopclntab").Data()
		text = f.Section(".text").Addr
	} else if f, err := macho.Open(name); err == nil {
		defer f.Close()
		data, _ = f.Section("__gopclntab").Data()
		text = f.Section("__text").Addr
	} else if f, err := pe.Open(name); err == nil {
		defer f.Close()
		syms := map[string]*pe.Symbol{}
		for _, s := range f.Symbols {
			syms[s.Name] = s
		}
		switch h := f.OptionalHeader.(type) {
		case *pe.OptionalHeader32:
			text = uint64(h.ImageBase)
		case *pe.OptionalHeader64:
			text = h.ImageBase
		}
		text += uint64(f.Section(".text").VirtualAddress)
		start, end := syms["runtime.pclntab"], syms["runtime.epclntab"]
		data, _ = f.Sections[start.SectionNumber-1].Data()
		data = data[start.Value:end.Value]
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil || len(table.Funcs) < 500 {
		t.Fatalf("%s: debug/gosym finds %d functions, %v", name, len(table.Funcs), err)
	}
	return table
}

// sameLines compares f with a table of debug/gosym at the start, the middle and the end of every function.
func sameLines(t *testing.T, lookup func(uint64) (Frame, bool), table *gosym.Table) {
	t.Helper()
	first, last := table.Funcs[0], table.Funcs[len(table.Funcs)-1]
	addrs := []uint64{0, 1, first.Entry - 1, last.End, last.End + 1, ^uint64(0)}
	for _, fn := range table.Funcs {
		addrs = append(addrs, fn.Entry, (fn.Entry+fn.End)/2, fn.End-1)
	}
	bad := 0
	for _, addr := range addrs {
		var want Frame
		file, line, fn := table.PCToLine(addr)
		if fn != nil {
			want = Frame{fn.Name, file, line}
		}
		got, ok := lookup(addr)
		if got != want || ok != (fn != nil) {
			t.Errorf("%#x is %+v, %t, want %+v", addr, got, ok, want)
			if bad++; bad > 10 {
				t.FailNow()
			}
		}
	}
}

// TestVariants asks the same of every variant, each built once.
func TestVariants(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			name, dir := build(t, v)
			f := open(t, name)
			if v.name != "windows-stripped" { // there go tool pprof, too, finds no lines
				table := reference(t, name)
				sameLines(t, f.SourceLine, table)
				source := filepath.ToSlash(filepath.Join(dir, "main.go"))
				if strings.Contains(v.name, "trimmed") {
					source = "example.com/prog/main.go"
				}
				knownLines(t, f, table, source)
			}
			checkLoadAddress(t, f, name, v)
		})
	}
}

// TestLineTableBySymbol has a file whose line table is in no section of that name, as some linkers leave it.
func TestLineTableBySymbol(t *testing.T) {
	name, dir := build(t, variants[0])
	table := reference(t, name)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	write(t, other, bytes.Replace(data, []byte("\x00.gopclntab\x00"), []byte("\x00.unknown12\x00"), 1))
	sameLines(t, open(t, other).SourceLine, table)
}

// knownLines compares with the numbers that the comments in program have.
func knownLines(t *testing.T, f *File, table *gosym.Table, source string) {
	t.Helper()
	for fn, line := range map[string]int{"main.(*box[go.shape.int]).get": 6, "main.work.func1": 10, "main.call": 15} {
		sym := table.LookupFunc(fn)
		if sym == nil {
			t.Fatalf("no function %s", fn)
		}
		want := Frame{fn, source, line}
		if got, ok := f.SourceLine(sym.Entry); !ok || got != want {
			t.Errorf("%s starts at %+v, %t, want %+v", fn, got, ok, want)
		}
	}
}

func checkLoadAddress(t *testing.T, f *File, name string, v variant) {
	t.Helper()
	got, err := f.LoadAddress()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{"darwin": 0x1_0000_0000, "windows": 0x1_4000_0000, "windows-32": 0x40_0000}[strings.TrimSuffix(v.name, "-stripped")]
	if ef, err := elf.Open(name); err == nil {
		defer ef.Close()
		i := slices.IndexFunc(ef.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 })
		want = ef.Progs[i].Vaddr &^ (ef.Progs[i].Align - 1)
	}
	if got != want {
		t.Errorf("load address %#x, want %#x", got, want)
	}
}

// TestGoTools compares with what the Go distribution's own tools say of a file.
func TestGoTools(t *testing.T) {
	if out, err := exec.Command("go", "tool", "addr2line", "-h").CombinedOutput(); !bytes.Contains(out, []byte("usage")) {
		testrun.Missing(t, "go tool addr2line: %v\n%s", err, out)
	}
	name, _ := build(t, variants[0])
	f := open(t, name)
	nm, err := exec.Command("go", "tool", "nm", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for line := range strings.Lines(string(nm)) {
		var addr uint64
		var kind, sym string
		if n, _ := fmt.Sscanf(line, "%x %s %s", &addr, &kind, &sym); n == 3 && strings.EqualFold(kind, "t") {
			addrs = append(addrs, addr+1)
		}
	}
	if len(addrs) < 500 {
		t.Fatalf("go tool nm lists %d functions", len(addrs))
	}
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("go", "tool", "addr2line", name)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for i, addr := range addrs {
		got := "?\n?:0"
		if fr, ok := f.SourceLine(addr); ok {
			got = fmt.Sprintf("%s\n%s:%d", fr.Func, fr.File, fr.Line)
		}
		if want := lines[2*i] + "\n" + lines[2*i+1]; got != want {
			t.Fatalf("%#x is %q, go tool addr2line says %q", addr, got, want)
		}
	}
}

func TestBuildInfo(t *testing.T) {
	name, _ := build(t, variants[3])
	f := open(t, name)
	info, err := f.BuildInfo()
	if err != nil {
		t.Fatal(err)
	}
	if info.Path != "example.com/prog" || info.GoVersion != runtime.Version() {
		t.Errorf("built %s with %s, want example.com/prog with %s", info.Path, info.GoVersion, runtime.Version())
	}
}

// TestNotExecutable holds the errors that go tool pprof gives, too.
func TestNotExecutable(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"empty":   "",
		"text":    strings.Repeat("not a binary\n", 100),
		"gzip":    "\x1f\x8b\x08\x00" + strings.Repeat("x", 200),
		"archive": "!<arch>\n" + strings.Repeat(" ", 200),
		"fat":     "\xca\xfe\xba\xbe\x00\x00\x00\x01" + strings.Repeat("\x00", 200),
		"elf":     "\x7fELF" + strings.Repeat("\x00", 200),
		"pe":      "MZ" + strings.Repeat("\x00", 200),
	} {
		t.Run(name, func(t *testing.T) {
			name := filepath.Join(dir, name)
			write(t, name, []byte(data))
			f, err := Open(name)
			if err == nil {
				f.Close()
			}
			if want := "open " + name + ": unrecognized object file"; fmt.Sprint(err) != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
	if _, err := Open(dir); fmt.Sprint(err) != "open "+dir+": unrecognized object file" {
		t.Errorf("a folder: %v", err)
	}
	missing := filepath.Join(dir, "missing")
	if _, err := Open(missing); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "open "+missing+": ") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestLegacyProfile: a profile of gperftools is a Windows file to debug/pe, and so to go tool pprof.
func TestLegacyProfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cpu.prof")
	head := make([]byte, 200)
	head[8], head[24] = 3, 100
	write(t, name, head)
	if _, err := open(t, name).LoadAddress(); err == nil {
		t.Error("it has a load address")
	}
}

func BenchmarkOpen(b *testing.B) {
	name, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(name)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkFirstLine is what the first answer costs: reading the symbols and the line table.
func BenchmarkFirstLine(b *testing.B) {
	name, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(name)
		if err != nil {
			b.Fatal(err)
		}
		f.SourceLine(0x500000)
		f.Close()
	}
}
