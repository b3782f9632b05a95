package gotypes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/version"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestMain answers packages.Load in place of the go command where a test asks for that: the go command refuses modules that are written
// for a Go which does not exist yet.
func TestMain(m *testing.M) {
	dir := os.Getenv("GOTYPES_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	file := filepath.Join(dir, "p.go")
	p := &packages.Package{
		ID: "example.com/p", PkgPath: "example.com/p", Name: "p", GoFiles: []string{file}, CompiledGoFiles: []string{file},
	}
	json.NewEncoder(os.Stdout).Encode(packages.DriverResponse{
		Compiler: "gc", Arch: runtime.GOARCH, Roots: []string{p.ID}, Packages: []*packages.Package{p}, GoVersion: 99,
	})
}

// Who interrupts hone does not wait until a large package is read.
func TestLoadEndsWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	atOnce := 20 + runtime.GOMAXPROCS(0) // files that packages.Load reads at once
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.24\n"}
	for i := range 3 * atOnce {
		files[fmt.Sprintf("f%d.go", i)] = fmt.Sprintf("package m\n\nfunc F%d() {}\n", i)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var parsed atomic.Int64
	found, err := Load(&packages.Config{
		Context: ctx, Dir: dir, Mode: packages.LoadSyntax,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			cancel()
			parsed.Add(1)
			return parser.ParseFile(fset, name, src, 0)
		},
	}, ".")
	if len(found) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v, %v; want %v", found, err, context.Canceled)
	}
	if n := int(parsed.Load()); n == 0 || n > atOnce {
		t.Errorf("Load parsed %d files of %d after its context ended", n, 3*atOnce)
	}
}

func loadNewer(t *testing.T, text string) *packages.Package {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found, err := packages.Load(&packages.Config{
		Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule,
		Env: append(os.Environ(), "GOPACKAGESDRIVER="+self, "GOTYPES_TEST_DIR="+dir),
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("Load found %d packages, want 1", len(found))
	}
	p := found[0]
	p.Module = &packages.Module{Path: "example.com/p", Main: true, Dir: dir, GoVersion: "1.99"} // which only the go command tells
	forgive(p)
	return p
}

func TestModuleForNewerGo(t *testing.T) {
	p := loadNewer(t, "package p\n\nfunc Twice(n int) int { return 2 * n }\n")
	if err := Problem(p); err != nil || p.IllTyped {
		t.Errorf("the module uses nothing that is new, and Problem says %v (ill typed: %v)", err, p.IllTyped)
	}
	if f := p.Types.Scope().Lookup("Twice"); f == nil || f.Type().String() != "func(n int) int" {
		t.Errorf("Twice is %v", f)
	}
	if got, want := Version(p), version.Lang(runtime.Version()); got != want {
		t.Errorf("Version = %q, want %q", got, want)
	}
}

func TestNewerGoSyntax(t *testing.T) {
	for name, text := range map[string]string{
		"syntax": "package p\n\nfunc Twice(n int) int { return 2 ** n !! }\n",
		"types":  "package p\n\nfunc Twice(n int) int { return newbuiltin(n) }\n",
	} {
		err := Problem(loadNewer(t, text))
		var newer *NewerError
		if !errors.As(err, &newer) {
			t.Fatalf("%s: Problem = %v, want a NewerError", name, err)
		}
		if newer.Needs != "go1.99" || newer.Built != runtime.Version() || !strings.Contains(newer.First, "p.go:3:") {
			t.Errorf("%s: %+v", name, newer)
		}
		if got, want := newer.Hint(), "build hone with that Go: GOTOOLCHAIN=go1.99.0 go install github.com/hone-perf/hone@latest"; got.String() != want {
			t.Errorf("%s: Hint = %q, want %q", name, got, want)
		}
	}
}

func TestMergeErrors(t *testing.T) {
	compiler := packages.Error{Msg: "# example.com/p\n./p.go:3:9: undefined: missing\n./p.go:4:9: undefined: other", Kind: packages.ListError}
	checker := packages.Error{Pos: "/p/p.go:3:9", Msg: "undefined: missing", Kind: packages.TypeError}
	tests := []struct {
		name string
		in   []packages.Error
		want []string
	}{
		{"both", []packages.Error{compiler, checker}, []string{"/p/p.go:3:9: undefined: missing"}},
		{"the compiler alone", []packages.Error{compiler}, []string{"./p.go:3:9: undefined: missing\n./p.go:4:9: undefined: other"}},
		{"neither", []packages.Error{{Msg: "no required module provides package x"}}, []string{"no required module provides package x"}},
	}
	for _, tt := range tests {
		p := &packages.Package{Errors: tt.in}
		mergeErrors(p)
		var got []string
		for _, e := range p.Errors {
			got = append(got, Text(e))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: mergeErrors keeps %q, want %q", tt.name, got, tt.want)
		}
	}
}
