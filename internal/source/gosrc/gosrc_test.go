package gosrc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/scratch"
	"golang.org/x/mod/module"
)

// files are written below a temporary folder, which the tests call by $.
var files = map[string]string{
	"app/go.mod": `module example.com/Up/app

go 1.22

replace github.com/Acme/forked => ../fork

replace github.com/Acme/moved v1.0.0 => github.com/Acme/target v1.5.0
`,
	"app/main.go":                          code("main", "func main() {", "	run()", "}", "func run() {", "}"),
	"app/internal/x/x.go":                  code("x", "type T[P any] struct{ p P }", "func (t *T[P]) Get() P {", "	return t.p", "}", "var V = func() int {", "	return 1", "}"),
	"app/internal/x/x.s":                   "#include \"textflag.h\"\n\nTEXT ·add(SB), NOSPLIT, $0-24\n\tRET\n\nTEXT ·sub(SB), NOSPLIT, $0\n\tRET\n\nTEXT body<>(SB), NOSPLIT, $0\n\tRET\n",
	"app/internal/x/x.c":                   "int f(void) {\n\treturn 1;\n}\n",
	"app/internal/x/init.go":               code("x", "func init() {", "	println(1)", "}"),
	"app/a/same.go":                        code("a", "func F() {", "}"),
	"app/b/same.go":                        code("b", "func F() {", "}"),
	"app/a/dup/dup.go":                     code("dup", "func F() {", "}"),
	"app/b/dup/dup.go":                     code("dup", "func F() {", "}"),
	"app/cmd/one/main.go":                  code("main", "func main() {", "	one()", "}", "func one() {", "}"),
	"app/node_modules/m/n.go":              code("main", "func hidden() {", "}"),
	"app/vendor/modules.txt":               "# github.com/Acme/vend v1.0.0\n## explicit\ngithub.com/Acme/vend\n",
	"app/vendor/github.com/Acme/vend/v.go": code("vend", "func V() {", "}"),
	"app/web/server.mjs":                   "export function handle(request) {\n\treturn request;\n}\n",
	"app/broken/broken.go":                 "package broken\n\nfunc F( {\n",
	"app/tools/go.mod":                     "module example.com/tools\n",
	"app/tools/gen/gen.go":                 code("gen", "func Gen() {", "}"),

	"fork/go.mod":  "module github.com/Acme/forked\n",
	"fork/fork.go": code("forked", "func Fork() {", "}"),

	"cache/github.com/!acme/lib@v1.2.0/lib.go":                                code("lib", "func Old() {", "}", "func Lib(f func()) {", "	f()", "}"),
	"cache/github.com/!acme/lib@v1.3.0/lib.go":                                code("lib", "func Lib(f func()) {", "	f()", "}"),
	"cache/github.com/!acme/target@v1.5.0/moved.go":                           code("moved", "func Moved() {", "}"),
	"cache/github.com/!acme/moved@v1.0.0/moved.go":                            code("moved", "func Original() {", "}"),
	"cache/golang.org/toolchain@v0.0.1-go1.21.5.linux-amd64/VERSION":          "go1.21.5\ntime 2023-11-29T21:21:46Z\n",
	"cache/golang.org/toolchain@v0.0.1-go1.21.5.linux-amd64/src/sort/sort.go": code("sort", "// of 1.21", "func Sort() {", "}"),

	"goroot/VERSION":                "go1.22.3\ntime 2024-05-01T19:49:47Z\n",
	"goroot/src/go.mod":             "module std\n",
	"goroot/src/sort/sort.go":       code("sort", "func Sort() {", "	print()", "}", "func Stable() {", "}"),
	"goroot/src/runtime/preempt.s":  "#include \"textflag.h\"\n\nTEXT ·asyncPreempt(SB),NOSPLIT|NOFRAME,$0-0\n\tPUSHQ BP\n\tRET\n",
	"goroot/src/runtime/body.s":     "TEXT runtime·memequal<ABIInternal>(SB),NOSPLIT,$0\n\tJMP memeqbody<>(SB)\n\nTEXT memeqbody<>(SB),NOSPLIT,$0\n\tRET\n",
	"goroot/src/new/new.go":         code("new", "func New() {", "}"),
	"sdk/go1.20.1/VERSION":          "go1.20.1",
	"sdk/go1.20.1/src/sort/sort.go": code("sort", "// of 1.20", "", "func Sort() {", "}"),

	"other/go.mod":               "module example.com/other\n",
	"other/main.go":              code("main", "func main() {", "	println()", "}"),
	"loose/main.go":              code("main", "func main() {", "	println()", "}"),
	"loose/note.go":              strings.Repeat("x", 10),
	"search/home/ci/gone/far.go": code("far", "func Far() {", "}"),
	"search/rel/far.go":          code("far", "func Far() {", "}"),
}

// code is a Go file with the body from line 3 on.
func code(pkg string, body ...string) string {
	return "package " + pkg + "\n\n" + strings.Join(body, "\n") + "\n"
}

// lay writes files below a temporary folder.
func lay(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func options(root string) Options {
	return Options{
		Dir:        filepath.Join(root, "app"),
		GOROOT:     filepath.Join(root, "goroot"),
		GOMODCACHE: filepath.Join(root, "cache"),
		SDK:        filepath.Join(root, "sdk"),
		GoVersion:  "go1.22.3",
		MainModule: "example.com/Up/app",
	}
}

func TestFind(t *testing.T) {
	const app = "example.com/Up/app"
	tests := []struct {
		name  string
		frame Frame
		opt   func(*Options)
		path  string // below $, or "" for an error
		how   string
		note  string // part of the only note, "" for no note
		err   string // part of the error
	}{
		// As recorded.
		{name: "recorded", frame: Frame{"main.run", "$/app/main.go", 6}, path: "app/main.go", how: "as recorded"},
		{name: "recorded, no line", frame: Frame{"main.run", "$/app/main.go", 0},
			path: "app/main.go", how: "as recorded"},
		{name: "recorded, no function", frame: Frame{"", "$/app/main.go", 6},
			path: "app/main.go", how: "as recorded", note: "the profile names no Go function"},
		{name: "recorded, other function", frame: Frame{"main.other", "$/app/main.go", 6},
			err: "main.go:6) was not found: that file does not declare main.other; unique suffix: "},
		{name: "recorded, other line", frame: Frame{"main.run", "$/app/main.go", 4},
			path: "app/main.go", how: "as recorded", note: "has main.run in lines 6 to 7, not at 4"},
		{name: "recorded, line beyond the end", frame: Frame{"main.run", "$/app/main.go", 99}, err: "has only 7 lines"},
		{name: "recorded, other module", frame: Frame{"main.main", "$/other/main.go", 4},
			err: "is of module example.com/other, and the program is of example.com/Up/app"},
		{name: "recorded, main module unknown", frame: Frame{"main.main", "$/other/main.go", 4},
			opt:  func(o *Options) { o.MainModule = "" },
			path: "other/main.go", how: "as recorded"},
		{name: "recorded, no module", frame: Frame{"main.main", "$/loose/main.go", 4},
			path: "loose/main.go", how: "as recorded"},
		{name: "recorded, other package", frame: Frame{app + "/a.F", "$/app/b/same.go", 3},
			path: "app/a/same.go", how: "main module"},
		{name: "recorded, package main only", frame: Frame{"main.F", "$/app/a/same.go", 3},
			err: "does not declare main.F"},
		{name: "recorded, not Go", frame: Frame{app + "/internal/x._Cfunc_f", "$/app/internal/x/x.c", 2},
			path: "app/internal/x/x.c", how: "as recorded", note: "it is not a Go file"},
		{name: "recorded, assembly", frame: Frame{app + "/internal/x.add", "$/app/internal/x/x.s", 4},
			path: "app/internal/x/x.s", how: "as recorded"},
		{name: "recorded, assembly, other line", frame: Frame{app + "/internal/x.sub", "$/app/internal/x/x.s", 4},
			path: "app/internal/x/x.s", how: "as recorded", note: "has " + app + "/internal/x.sub in lines 6 to 8, not at 4"},
		{name: "recorded, assembly, function of a macro", frame: Frame{app + "/internal/x.mul", "$/app/internal/x/x.s", 4},
			path: "app/internal/x/x.s", how: "as recorded", note: "it is not a Go file"},
		{name: "recorded, does not parse", frame: Frame{app + "/broken.F", "$/app/broken/broken.go", 3},
			err: "that file is not Go: "},
		{name: "recorded, in the cache", frame: Frame{"github.com/Acme/lib.Lib", "$/cache/github.com/!acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "as recorded"},
		{name: "recorded, in the cache, inlined", frame: Frame{"main.main", "$/cache/github.com/!acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "as recorded", note: "does not declare main.main"},
		{name: "recorded, in a vendor folder", frame: Frame{"github.com/Acme/vend.V", "$/app/vendor/github.com/Acme/vend/v.go", 3},
			path: "app/vendor/github.com/Acme/vend/v.go", how: "as recorded"},
		{name: "recorded, replacing", frame: Frame{"github.com/Acme/forked.Fork", "$/fork/fork.go", 3},
			path: "fork/fork.go", how: "as recorded"},

		// Names of functions.
		{name: "method", frame: Frame{app + "/internal/x.(*T[...]).Get", "$/app/internal/x/x.go", 5},
			path: "app/internal/x/x.go", how: "as recorded"},
		{name: "method value", frame: Frame{app + "/internal/x.(*T[go.shape.int]).Get-fm", "$/app/internal/x/x.go", 5},
			path: "app/internal/x/x.go", how: "as recorded"},
		{name: "closure", frame: Frame{"main.run.func1.2", "$/app/main.go", 6}, path: "app/main.go", how: "as recorded"},
		{name: "loop body", frame: Frame{"main.run-range1", "$/app/main.go", 6},
			path: "app/main.go", how: "as recorded"},
		{name: "closure of a variable", frame: Frame{app + "/internal/x.glob..func1", "$/app/internal/x/x.go", 8},
			path: "app/internal/x/x.go", how: "as recorded"},
		{name: "closure of a variable since Go 1.21", frame: Frame{app + "/internal/x.init.func1", "$/app/internal/x/x.go", 8},
			path: "app/internal/x/x.go", how: "as recorded"},
		{name: "initialization of a variable", frame: Frame{app + "/internal/x.init", "$/app/internal/x/x.go", 4},
			err: "x.go:4) was not found: that file does not declare"},
		{name: "init function", frame: Frame{app + "/internal/x.init.0", "$/app/internal/x/init.go", 4},
			path: "app/internal/x/init.go", how: "as recorded"},
		{name: "inlined closure", frame: Frame{"main.main.Lib.func1", "$/cache/github.com/!acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "as recorded"},

		// Search path.
		{name: "search path", frame: Frame{"far.Far", "/home/ci/gone/far.go", 3},
			opt:  func(o *Options) { o.SearchPath = []string{"$/none", "$/search"} },
			path: "search/home/ci/gone/far.go", how: "search path"},
		{name: "trimmed", frame: Frame{"far.Far", "/build/far.go", 3},
			opt:  func(o *Options) { o.SearchPath, o.TrimPath = []string{"$/search/rel"}, []string{"/bu", "/build"} },
			path: "search/rel/far.go", how: "search path"},
		{name: "trimmed, in the current folder", frame: Frame{"main.run", "/build/main.go", 6},
			opt:  func(o *Options) { o.TrimPath = []string{"/build/"} },
			path: "app/main.go", how: "search path"},

		// Modules.
		{name: "module", frame: Frame{"github.com/Acme/lib.Lib", "github.com/Acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "module cache"},
		{name: "module, other cache", frame: Frame{"github.com/Acme/lib.Lib", "/ci/.cache/go1.22/github.com/!acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "module cache"},
		{name: "module, cache of Windows", frame: Frame{"github.com/Acme/lib.Lib", `C:\Users\ci\go\pkg\mod\github.com\!acme\lib@v1.2.0\lib.go`, 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "module cache"},
		{name: "module, cache of a user with a dot", frame: Frame{"github.com/Acme/lib.Lib", "/Users/first.last/go/pkg/mod/github.com/!acme/lib@v1.2.0/lib.go", 6},
			path: "cache/github.com/!acme/lib@v1.2.0/lib.go", how: "module cache"},
		{name: "module, other version", frame: Frame{"github.com/Acme/lib.Lib", "github.com/Acme/lib@v1.1.0/lib.go", 6},
			err: "go mod download github.com/Acme/lib@v1.1.0 brings it"},
		{name: "module, other function", frame: Frame{"github.com/Acme/lib.New", "github.com/Acme/lib@v1.2.0/lib.go", 6},
			err: "does not declare github.com/Acme/lib.New"},
		{name: "module, climbing out", frame: Frame{"github.com/Acme/lib.Lib", "github.com/Acme/lib@v1.2.0/../../../../app/main.go", 6},
			err: "main.go:6) was not found: there is no main.go below $/app; run hone in"},
		{name: "replaced by a folder", frame: Frame{"github.com/Acme/forked.Fork", "github.com/Acme/forked@v1.0.0/fork.go", 3},
			path: "fork/fork.go", how: "replaced module", note: "go.mod replaces"},
		{name: "replaced by a module", frame: Frame{"github.com/Acme/moved.Moved", "github.com/Acme/moved@v1.0.0/moved.go", 3},
			path: "cache/github.com/!acme/target@v1.5.0/moved.go", how: "replaced module", note: "go.mod replaces"},
		{name: "replaced later", frame: Frame{"github.com/Acme/moved.Original", "github.com/Acme/moved@v1.0.0/moved.go", 3},
			path: "cache/github.com/!acme/moved@v1.0.0/moved.go", how: "module cache"},
		{name: "not replaced at the build", frame: Frame{"github.com/Acme/moved.Original", "github.com/Acme/moved@v1.0.0/moved.go", 3},
			opt:  func(o *Options) { o.Replaced = map[module.Version]module.Version{} },
			path: "cache/github.com/!acme/moved@v1.0.0/moved.go", how: "module cache"},
		{name: "replaced at the build", frame: Frame{"github.com/Acme/lib.Moved", "github.com/Acme/lib@v9.0.0/moved.go", 3},
			opt: func(o *Options) {
				o.Replaced = map[module.Version]module.Version{{Path: "github.com/Acme/lib", Version: "v9.0.0"}: {Path: "github.com/Acme/target", Version: "v1.5.0"}}
			}, path: "cache/github.com/!acme/target@v1.5.0/moved.go", how: "module cache"},
		{name: "replaced by a folder at the build", frame: Frame{"github.com/Acme/forked.Fork", "github.com/Acme/forked@v9.0.0/fork.go", 3},
			opt: func(o *Options) {
				o.Replaced = map[module.Version]module.Version{{Path: "github.com/Acme/forked", Version: "v9.0.0"}: {Path: "../fork"}}
			}, path: "fork/fork.go", how: "replaced module"},
		{name: "vendor", frame: Frame{"github.com/Acme/vend.V", "github.com/Acme/vend@v1.0.0/v.go", 3},
			path: "app/vendor/github.com/Acme/vend/v.go", how: "vendor"},
		{name: "vendor, other version", frame: Frame{"github.com/Acme/vend.V", "github.com/Acme/vend@v1.1.0/v.go", 3},
			path: "app/vendor/github.com/Acme/vend/v.go", how: "vendor",
			note: "vendor has github.com/Acme/vend v1.0.0, the program was built with v1.1.0"},
		{name: "vendor, other version and line", frame: Frame{"github.com/Acme/vend.V", "github.com/Acme/vend@v1.1.0/v.go", 1},
			err: "has github.com/Acme/vend.V in lines 3 to 4, not at 1"},

		// Main module.
		{name: "main module", frame: Frame{"main.run", app + "/main.go", 6}, path: "app/main.go", how: "main module"},
		{name: "main module, test", frame: Frame{app + "/a_test.F", app + "/a/same.go", 3},
			path: "app/a/same.go", how: "main module"},
		{name: "main module, by package", frame: Frame{app + "/internal/x.init.0", "/ci/build/internal/x/init.go", 4},
			path: "app/internal/x/init.go", how: "main module"},
		{name: "main module, by package, inlined", frame: Frame{app + "/internal/x.Other.Get.func1", "/ci/build/internal/x/x.go", 5},
			err: "main module: $/app/internal/x/x.go does not declare"},
		{name: "main module, changed", frame: Frame{app + "/internal/x.init.0", "/ci/build/internal/x/init.go", 1},
			path: "app/internal/x/init.go", how: "main module", note: "init.go was changed after the program was built"},
		{name: "main module, another", frame: Frame{"main.main", "example.org/srv/cmd/srv.go", 3},
			opt: func(o *Options) { o.MainModule = "example.org/srv" },
			err: "main module: there is no go.mod of example.org/srv above"},
		{name: "nested module", frame: Frame{"example.com/tools/gen.Gen", "example.com/tools/gen/gen.go", 3},
			path: "app/tools/gen/gen.go", how: "nested module"},

		// Go itself.
		{name: "standard library", frame: Frame{"sort.Sort", "sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, elsewhere", frame: Frame{"sort.Sort", "/usr/local/go/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, by package", frame: Frame{"sort.Sort", "/nix/store/abc/share/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, closure of no package", frame: Frame{"_.Sort.func1", "/opt/1.22.3/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, closure of no package at another line", frame: Frame{"_.Sort.func1", "/opt/1.22.3/src/sort/sort.go", 1},
			err: "not at 1"},
		{name: "standard library, closure of no package in another file", frame: Frame{"_.Gone.func1", "/opt/1.22.3/src/sort/sort.go", 4},
			err: "does not declare _.Gone.func1"},
		{name: "standard library, linked to for a recording", frame: Frame{"memeqbody", "/tmp/hone-1/record-2/goroot/src/runtime/body.s", 5},
			path: "goroot/src/runtime/body.s", how: "GOROOT"},
		{name: "standard library, no function", frame: Frame{"", "/usr/local/go/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT", note: "names no Go function"},
		{name: "standard library, inlined", frame: Frame{"main.main", "/usr/local/go/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "GOROOT", note: "does not declare main.main"},
		{name: "standard library, of a toolchain", frame: Frame{"sort.Sort", "sort/sort.go", 4},
			opt:  func(o *Options) { o.GoVersion = "go1.21.5 X:rangefunc" },
			path: "cache/golang.org/toolchain@v0.0.1-go1.21.5.linux-amd64/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, version in the name", frame: Frame{"sort.Sort", "/root/sdk/go1.20.1/src/sort/sort.go", 5},
			opt:  func(o *Options) { o.GoVersion = "" },
			path: "sdk/go1.20.1/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, toolchain in the name", frame: Frame{"sort.Sort", "/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.21.5.darwin-arm64/src/sort/sort.go", 4},
			opt:  func(o *Options) { o.GoVersion = "" },
			path: "cache/golang.org/toolchain@v0.0.1-go1.21.5.linux-amd64/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, as recorded", frame: Frame{"sort.Sort", "$/goroot/src/sort/sort.go", 4},
			path: "goroot/src/sort/sort.go", how: "as recorded"},
		{name: "standard library, recorded with another version", frame: Frame{"sort.Sort", "$/goroot/src/sort/sort.go", 5},
			opt:  func(o *Options) { o.GoVersion = "go1.20.1" },
			path: "sdk/go1.20.1/src/sort/sort.go", how: "GOROOT"},
		{name: "standard library, other version", frame: Frame{"sort.Stable", "sort/sort.go", 6},
			opt:  func(o *Options) { o.GoVersion = "go1.19.1" },
			path: "goroot/src/sort/sort.go", how: "GOROOT",
			note: "the program was built with go1.19.1; this file is of go1.22.3"},
		{name: "standard library, other version and line", frame: Frame{"sort.Stable", "sort/sort.go", 4},
			opt: func(o *Options) { o.GoVersion = "go1.19.1" },
			err: "GOTOOLCHAIN=go1.19.1 go version brings its files"},
		{name: "standard library, unknown version", frame: Frame{"sort.Sort", "sort/sort.go", 4},
			opt:  func(o *Options) { o.GoVersion = "" },
			path: "goroot/src/sort/sort.go", how: "GOROOT", note: "does not name the Go version"},
		{name: "standard library, recorded, unknown version", frame: Frame{"sort.Sort", "$/goroot/src/sort/sort.go", 4},
			opt:  func(o *Options) { o.GoVersion = "devel go1.23-abc" },
			path: "goroot/src/sort/sort.go", how: "as recorded", note: "does not name the Go version"},
		{name: "standard library, assembly, unknown version", frame: Frame{"runtime.asyncPreempt", "runtime/preempt.s", 3},
			opt:  func(o *Options) { o.GoVersion = "" },
			path: "goroot/src/runtime/preempt.s", how: "GOROOT", note: "does not name the Go version"},
		{name: "standard library, assembly, other version", frame: Frame{"runtime.asyncPreempt", "/opt/go/1.19.1/src/runtime/preempt.s", 4},
			opt:  func(o *Options) { o.GoVersion = "go1.19.1" },
			path: "goroot/src/runtime/preempt.s", how: "GOROOT",
			note: "the program was built with go1.19.1; this file is of go1.22.3"},
		{name: "standard library, assembly, other version and line", frame: Frame{"runtime.asyncPreempt", "runtime/preempt.s", 1},
			opt: func(o *Options) { o.GoVersion = "go1.19.1" },
			err: "has runtime.asyncPreempt in lines 3 to 5, not at 1"},
		{name: "standard library, assembly of no package, other version", frame: Frame{"memeqbody", "runtime/body.s", 5},
			opt:  func(o *Options) { o.GoVersion = "go1.19.1" },
			path: "goroot/src/runtime/body.s", how: "GOROOT",
			note: "the program was built with go1.19.1; this file is of go1.22.3"},
		{name: "standard library, not there", frame: Frame{"sort.Gone", "sort/gone.go", 4},
			err: "GOROOT: $/goroot/src/sort/gone.go does not exist"},

		// Suffixes.
		{name: "suffix", frame: Frame{"main.one", "/ci/build/cmd/one/main.go", 6},
			path: "app/cmd/one/main.go", how: "unique suffix", note: "recorded as /ci/build/cmd/one/main.go"},
		{name: "suffix of Windows", frame: Frame{"main.one", `D:\ci\cmd\one\main.go`, 6},
			path: "app/cmd/one/main.go", how: "unique suffix", note: `recorded as D:\ci\cmd\one\main.go`},
		{name: "suffix, two", frame: Frame{"far.F", "/ci/dup/dup.go", 3},
			opt: func(o *Options) { o.Dir = "$/two" },
			err: "2 files end in dup.go: a/dup/dup.go, b/dup/dup.go"},
		{name: "suffix, two, one of the package", frame: Frame{app + "/a/dup.F", "/ci/dup/dup.go", 3},
			path: "app/a/dup/dup.go", how: "main module"},
		{name: "suffix, other function", frame: Frame{"main.two", "/ci/build/cmd/one/main.go", 6},
			err: "does not declare main.two"},
		{name: "suffix, other line", frame: Frame{"main.one", "/ci/build/cmd/one/main.go", 4},
			err: "has main.one in lines 6 to 7, not at 4"},
		{name: "suffix, no function", frame: Frame{"", "/ci/build/cmd/one/main.go", 6},
			err: "the profile names no Go function"},
		{name: "suffix, other module", frame: Frame{"example.org/m/a/dup.F", "/ci/m/a/dup/dup.go", 3},
			err: "is of package example.com/Up/app/a/dup, and the function is of example.org/m/a/dup"},
		{name: "suffix, not Go", frame: Frame{app + "/internal/x._Cfunc_f", "/ci/x/far/x.c", 2},
			path: "app/internal/x/x.c", how: "main module", note: "it is not a Go file"},
		{name: "suffix, skipped folder", frame: Frame{"main.hidden", "/ci/node_modules/m/n.go", 3},
			err: "there is no n.go below $/app"},
		{name: "suffix, no such file", frame: Frame{"main.f", "/ci/nothing.go", 3},
			err: "that file does not exist on this machine; there is no nothing.go below $/app; run hone in the checkout"},

		// What has no source.
		{name: "autogenerated", frame: Frame{"main.(*T).F", "<autogenerated>", 1}, err: "the compiler generated it"},
		{name: "no file", frame: Frame{"main.f", "", 1}, err: "names no file"},
		{name: "another runtime", frame: Frame{"handle", "$/app/web/server.mjs", 2},
			path: "app/web/server.mjs", how: "as recorded", note: "is not checked"},
		{name: "no source file", frame: Frame{"", "/etc/passwd", 1}, err: "no name of a source file"},
	}
	all := map[string]string{}
	for name, text := range files {
		all[name] = text
	}
	for _, name := range []string{"a/dup/dup.go", "b/dup/dup.go"} {
		all["two/"+name] = files["app/"+name]
	}
	root := lay(t, all)
	slash := filepath.ToSlash(root)
	fill := func(list []string) {
		for i := range list {
			list[i] = strings.Replace(list[i], "$", root, 1)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opt := options(root)
			if test.opt != nil {
				test.opt(&opt)
			}
			opt.Dir = strings.Replace(opt.Dir, "$", root, 1)
			fill(opt.SearchPath)
			test.frame.File = strings.Replace(test.frame.File, "$", slash, 1)
			got, err := New(opt).Find(t.Context(), test.frame)
			if test.path == "" {
				var missing *NotFoundError
				text := strings.ReplaceAll(filepath.ToSlash(fmt.Sprint(err)), slash, "$")
				if !errors.As(err, &missing) || !strings.Contains(text, test.err) {
					t.Fatalf("found %s (%s), error %s, want an error with %q", got.Path, got.How, text, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, filepath.FromSlash(test.path))
			if got.Path != path || got.How != test.how {
				t.Errorf("found %s (%s), want %s (%s)", got.Path, got.How, path, test.how)
			}
			text, err := os.ReadFile(path)
			if err != nil || strings.Join(got.Lines, "\n")+"\n" != string(text) {
				t.Errorf("lines %q, want the file, %v", got.Lines, err)
			}
			if len(got.Notes) > 1 || !strings.Contains(strings.Join(got.Notes, ""), test.note) || (test.note == "") != (len(got.Notes) == 0) {
				t.Errorf("notes %q, want one with %q", got.Notes, test.note)
			}
		})
	}
}

// TestFindMany asks one Finder for all frames, from several goroutines: what it remembers must not change answers.
func TestFindMany(t *testing.T) {
	root := lay(t, files)
	f := New(options(root))
	frames := map[Frame]string{
		{"main.run", "/ci/main.go", 6}:                                      "",
		{"main.one", "/ci/cmd/one/main.go", 6}:                              "app/cmd/one/main.go",
		{"sort.Sort", "sort/sort.go", 4}:                                    "goroot/src/sort/sort.go",
		{"main.run", "example.com/Up/app/main.go", 6}:                       "app/main.go",
		{"github.com/Acme/lib.Lib", "github.com/Acme/lib@v1.2.0/lib.go", 6}: "cache/github.com/!acme/lib@v1.2.0/lib.go",
	}
	errs := make(chan error)
	for range 4 {
		go func() {
			var bad error
			for range 3 {
				for fr, want := range frames {
					got, err := f.Find(context.Background(), fr)
					if want != "" && got.Path != filepath.Join(root, filepath.FromSlash(want)) || (want == "") != (err != nil) {
						bad = fmt.Errorf("%+v is in %q, %v, want %q", fr, got.Path, err, want)
					}
				}
			}
			errs <- bad
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestWorkspace(t *testing.T) {
	root := lay(t, map[string]string{
		"go.work":    "go 1.22\n\nuse (\n\t./app\n\t./lib\n)\n",
		"app/go.mod": "module example.com/app\n",
		"lib/go.mod": "module example.com/lib\n",
		"lib/l/l.go": code("l", "func L() {", "}"),
	})
	f := New(Options{Dir: filepath.Join(root, "app"), GOROOT: root, GOMODCACHE: root, SDK: root})
	for _, file := range []string{"example.com/lib/l/l.go", "/ci/lib/l/l.go"} {
		got, err := f.Find(t.Context(), Frame{"example.com/lib/l.L", file, 3})
		if err != nil || got.How != "main module" || got.Path != filepath.Join(root, "lib", "l", "l.go") {
			t.Errorf("%s: found %s (%s), %v", file, got.Path, got.How, err)
		}
	}
}

func TestWalkLimit(t *testing.T) {
	root := lay(t, files)
	all := walk(root, nil, maxWalk)
	if !all.whole || !slices.Contains(all.files, "app/a/same.go") || slices.Contains(all.files, "app/node_modules/m/n.go") {
		t.Errorf("walked over %q, whole %t", all.files, all.whole)
	}
	if got := walk(root, []string{filepath.Join(root, "cache")}, maxWalk); len(got.files) >= len(all.files) || len(got.files) == 0 {
		t.Errorf("%d files without the cache, %d with it", len(got.files), len(all.files))
	}
	if got := walk(root, nil, 5); got.whole || len(got.files) > 5 {
		t.Errorf("%d files, whole %t, after 5 entries", len(got.files), got.whole)
	}
	// One who has not seen all files cannot know that one is unique.
	f := New(options(root))
	f.tree = walk(f.root(), nil, 5)
	_, err := f.Find(t.Context(), Frame{"main.one", "/ci/build/cmd/one/main.go", 6})
	if err == nil || !strings.Contains(err.Error(), "more files than hone searched") {
		t.Errorf("error %v", err)
	}
}

func TestReadFile(t *testing.T) {
	root := lay(t, map[string]string{"big.go": strings.Repeat("x", maxFile+1), "most.go": strings.Repeat("x", maxFile)})
	if _, err := readFile(filepath.Join(root, "big.go")); !errors.Is(err, errTooLarge) {
		t.Errorf("error %v", err)
	}
	if text, err := readFile(filepath.Join(root, "most.go")); err != nil || len(text) != maxFile {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := readFile(root); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("a folder: %v", err)
	}
}

// Beside the folder that files have to be in, a process may read what it made: copies of what is there.
func TestWithin(t *testing.T) {
	t.Setenv(scratch.Variable, t.TempDir())
	t.Cleanup(scratch.Clean)
	outside, within := t.TempDir(), t.TempDir()
	made, err := scratch.Files("copy")
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Within: within}
	for dir, may := range map[string]bool{within: true, made: true, outside: false, filepath.Dir(filepath.Dir(made)): false} {
		name := filepath.Join(dir, "a.go")
		if err := os.WriteFile(name, []byte("package a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.mayRead(name); (err == nil) != may {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecorded(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.22.3",
		Main:      debug.Module{Path: "example.com/app"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0"},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}
	got := Options{Dir: "d", Git: true}.Recorded(info)
	if got.Dir != "d" || !got.Git || got.GoVersion != "go1.22.3" || got.MainModule != "example.com/app" ||
		got.Revision != "0123456789abcdef" || !got.Modified {
		t.Errorf("%+v", got)
	}
	want := module.Version{Path: "example.com/c", Version: "v2.0.0"}
	if r := got.Replaced[module.Version{Path: "example.com/b", Version: "v1.0.0"}]; len(got.Replaced) != 1 || r != want {
		t.Errorf("replaced %v", got.Replaced)
	}
}

func TestResolve(t *testing.T) {
	root := lay(t, map[string]string{"env": "GOMODCACHE=" + filepath.FromSlash("/from/file") + "\nGOPATH=/unused\n"})
	t.Setenv("GOENV", filepath.Join(root, "env"))
	t.Setenv("GOMODCACHE", "")
	t.Setenv("GOROOT", root)
	got := Options{}.resolve()
	if !filepath.IsAbs(got.Dir) || got.GOROOT != root || got.GOMODCACHE != absolute(filepath.FromSlash("/from/file")) {
		t.Errorf("%+v", got)
	}
	t.Setenv("GOENV", "off")
	t.Setenv("GOPATH", root)
	if got := (Options{}).resolve(); got.GOMODCACHE != filepath.Join(root, "pkg", "mod") {
		t.Errorf("module cache %s in GOPATH %s", got.GOMODCACHE, root)
	}
}

// TestOwn holds that advice is about the checkout where hone runs, though the one where the program was built is still there.
func TestOwn(t *testing.T) {
	const mod = "module example.com/app\n"
	root := lay(t, map[string]string{
		"here/go.mod": mod, "here/cmd/main.go": code("main", "func main() {", "}"),
		"there/go.mod": mod, "there/cmd/main.go": code("main", "func main() {", "}"),
	})
	here, there := filepath.Join(root, "here", "cmd", "main.go"), filepath.Join(root, "there", "cmd", "main.go")
	for own, want := range map[bool]string{true: here, false: there} {
		f := New(Options{Dir: filepath.Join(root, "here"), Own: own, GOROOT: root + "/go", GOMODCACHE: root + "/mod", SDK: root + "/sdk", MainModule: "example.com/app"})
		got, err := f.Find(t.Context(), Frame{"main.main", there, 3})
		if err != nil || got.Path != want {
			t.Errorf("own %v: %q, %v, want %s", own, got.Path, err, want)
		}
	}
}
