package profile

import (
	"strings"
	"testing"
)

func TestPackageOf(t *testing.T) {
	tests := []struct{ name, want string }{
		{"main.main", "main"},
		{"main.main.func1", "main"},
		{"main.glob..func1", "main"},
		{"main.init.0", "main"},
		{"main.(*T).M-fm", "main"},
		{"main.run.deferwrap1", "main"},
		{"runtime.memmove", "runtime"},
		{"runtime.rt0_go.abi0", "runtime"},
		{"net/http.(*conn).serve", "net/http"},
		{"net/http.HandlerFunc.ServeHTTP", "net/http"},
		{"vendor/golang.org/x/net/http2/hpack.(*Encoder).WriteField", "vendor/golang.org/x/net/http2/hpack"},
		{"github.com/go-gl/gl/v3.2-core/gl._Cfunc_glowClear", "github.com/go-gl/gl/v3.2-core/gl"},
		{"example.com/a%2eb/c.F", "example.com/a.b/c"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3"},
		{"gopkg.in/yaml%252ev3.Wrap.func1", "gopkg.in/yaml.v3"},
		{"example.com/a%zz/c.F", "example.com/a%zz/c"},
		{"_.goready.func1", ""},
		{"pkg.F[go.shape.struct { a/b.T }]", "pkg"},
		{"a/b.(*Map[go.shape.uint64,go.shape.struct { c/d.v go.shape.*uint8 }]).Load", "a/b"},
		{"a/b.F[...].func1", "a/b"},
		{"internal/sync.(*HashTrieMap[go.shape.interface {},go.shape.interface {}]).Load", "internal/sync"},
		{"type:.eq.a/b.T", "a/b"},
		{"type:.hash.a/b.T", "a/b"},
		{"type..eq.a/b.T", "a/b"},
		{"type:.eq.[2]a/b.T", "a/b"},
		{"type:.eq.a/b.T[go.shape.struct { x/y.z int }]", "a/b"},
		{"type:.eq.struct { a/b.x int }", "runtime"},
		{"type:.eq.[2]interface {}", "runtime"},
		{"type:.eq.[4]string", "runtime"},
		{"type:.eq.func(a/b.T)", "runtime"},
		{"type:.eq.[", "runtime"},
		{"type:", ""},
		{"go.(*struct { sync.Mutex; a/b.c int }).Lock", "runtime"},
		{"go:(*struct { sync.Mutex }).Lock", "runtime"},
		{"go/ast.Walk", "go/ast"},
		{"go.uber.org/zap.New", "go.uber.org/zap"},
		{"memeqbody", ""},
		{"malloc", ""},
		{"memcpy.cold", ""},
		{"parse.constprop.0", ""},
		{"parse.part.12.cold", ""},
		{"cold.part.Of", "cold"},
		{"x/y.part", "x/y"},
		{"std::vector<int>::push_back(int const&)", ""},
		{"core::ptr::drop.in", ""},
		{"operator new(unsigned long)", ""},
		{"Alloc: Vector{Any}", ""},
		{`C:\a.b`, ""},
		{".x", ""},
		{"a/.x", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := PackageOf(tt.name); got != tt.want {
			t.Errorf("PackageOf(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCutPart(t *testing.T) {
	tests := []struct {
		name, outer string
		part        Part
	}{
		{"main.run", "main.run", Declared},
		{"main.run.func1", "main.run", Literal},
		{"main.run.func1.2", "main.run.func1", Literal},
		{"main.glob..func1", "main.glob.", Literal},
		{"main.init.func1", "main.init", Literal},
		{"main.run-range1", "main.run", LoopBody},
		{"main.run-range1-range2", "main.run-range1", LoopBody},
		{"main.run.gowrap2", "main.run", GoCall},
		{"main.run.func1.gowrap1", "main.run.func1", GoCall},
		{"main.run.deferwrap10", "main.run", DeferCall},
		{"main.run.func2.1.deferwrap2", "main.run.func2.1", DeferCall},
		{"main.init.0.gowrap1", "main.init.0", GoCall},
		{"main.gen[go.shape.int].gen[go.shape.int].func2.func3.gowrap1", "main.gen[go.shape.int].gen[go.shape.int].func2.func3", GoCall},
		{"a/b.gen[...].deferwrap1", "a/b.gen[...]", DeferCall},
		{"a/b.(*Map[go.shape.struct { c/d.v int }]).Load.gowrap1", "a/b.(*Map[go.shape.struct { c/d.v int }]).Load", GoCall},
		{"main.(*T).M-fm", "main.(*T).M", MethodValue},
		{"main.init.0", "main.init.0", Declared},
		{"main.map.init.0", "main.map.init.0", Declared},
		{"main.func1", "main.func1", Declared},
		{"a.com/b.gowrap1", "a.com/b.gowrap1", Declared},
		{"main.funcs", "main.funcs", Declared},
		{"main.add2", "main.add2", Declared},
		{"a/on-range1/m.Run", "a/on-range1/m.Run", Declared},
		{"parse.part.12.cold", "parse.part.12.cold", Declared},
		{"12", "12", Declared},
		{"", "", Declared},
	}
	for _, tt := range tests {
		if outer, part := CutPart(tt.name); outer != tt.outer || part != tt.part {
			t.Errorf("CutPart(%q) = %q, %d, want %q, %d", tt.name, outer, part, tt.outer, tt.part)
		}
	}
}

func TestFunctionPackage(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"net/http.Get", "/elsewhere/x.go", "net/http"},
		{"memeqbody", "/usr/local/go/src/internal/bytealg/equal_amd64.s", "internal/bytealg"},
		{"gogo", "/home/u/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64/src/runtime/asm_amd64.s", "runtime"},
		{"memeqbody", `C:\Program Files\Go\src\internal\bytealg\equal_amd64.s`, "internal/bytealg"},
		{"cmpbody", "internal/bytealg/compare_amd64.s", "internal/bytealg"},
		{"body", "/home/u/go/pkg/mod/example.com/m@v1.2.0/a/x_amd64.s", "example.com/m/a"},
		{"body", "example.com/m@v1.2.0/x_amd64.s", "example.com/m"},
		{"body", "/home/u/go/pkg/mod/github.com/!burnt!sushi/m@v1.2.0/x_amd64.s", "github.com/BurntSushi/m"},
		{"_.goready.func1", "/usr/local/go/src/runtime/proc.go", "runtime"},
		{"_.goready.func1", "/tmp/hone-1/record-2/goroot/src/runtime/proc.go", "runtime"},
		{"_.F.func1", "/home/u/go/pkg/mod/example.com/m@v1.2.0/a/x.go", "example.com/m/a"},
		{"_.F.func1", "example.com/app/a/x.go", "example.com/app/a"},
		{"_.F.func1", "/home/u/app/main.go", "_"},
		{"_cgoexp_7301_callback", "_cgo_gotypes.go", ""},
		{"memmove_erms", "../sysdeps/x86_64/multiarch/memmove.S", ""},
		{"malloc", "malloc.c", ""},
		{"body", "/tmp/x.s", ""},
		{"body", `C:\tmp\x.s`, ""},
		{"", "runtime/asm_amd64.s", ""},
	}
	for _, tt := range tests {
		f := Function{Name: tt.name, File: tt.file}
		if got := f.Package(); got != tt.want {
			t.Errorf("package of %q in %s = %q, want %q", tt.name, tt.file, got, tt.want)
		}
	}
}

func TestModuleOf(t *testing.T) {
	tests := []struct{ file, module, inside string }{
		{"/home/u/go/pkg/mod/github.com/!burnt!sushi/toml@v1.2.0/internal/x.go", "github.com/BurntSushi/toml", "internal/x.go"},
		{`C:\Users\u\go\pkg\mod\example.com\m@v0.0.0-20240101-abc\x.go`, "example.com/m", "x.go"},
		{"github.com/dgraph-io/badger/v4@v4.1.0/table/iterator.go", "github.com/dgraph-io/badger/v4", "table/iterator.go"},
		{"/cache/mod/example.com/m@v1.0.0/x.go", "example.com/m", "x.go"},
		{"/home/u/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64/src/fmt/print.go", "", ""},
		{"/home/u/app/main.go", "", ""},
		{"/home/u@vienna/app/main.go", "", ""},
		{"example.com/m@v1.0.0", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		if module, inside := ModuleOf(tt.file); module != tt.module || inside != tt.inside {
			t.Errorf("ModuleOf(%q) = %q, %q, want %q, %q", tt.file, module, inside, tt.module, tt.inside)
		}
	}
}

// FuzzPackageOf holds that a package is a part of the name and no longer than that.
func FuzzPackageOf(f *testing.F) {
	for _, s := range []string{"net/http.(*conn).serve", "type:.eq.[2]a/b.T", "a%2eb/c.F[x/y.z]", "type:.hash.["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		pkg := PackageOf(name)
		if pkg != "runtime" && !strings.ContainsRune(name, '%') && !strings.Contains(name, pkg) {
			t.Errorf("PackageOf(%q) = %q", name, pkg)
		}
		if strings.ContainsAny(pkg, "([{<") && !strings.ContainsRune(name, '%') {
			t.Errorf("PackageOf(%q) = %q", name, pkg)
		}
	})
}
