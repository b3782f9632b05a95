package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/testrun"
)

// A layout is a way to put a program together and to build it.
type layout struct {
	name string
	b    Build
	env  []string
	lay  func(files map[string]string)
	gcc  bool
}

const replaced = "module example.com/app\n\ngo 1.26\n\nrequire example.com/hot v1.2.3\n\nreplace example.com/hot => ./hot\n"

var layouts = []layout{
	{name: "module"},
	{name: "vendor", lay: func(files map[string]string) {
		files["go.mod"] = strings.Split(replaced, "\nreplace")[0]
		files["vendor/modules.txt"] = "# example.com/hot v1.2.3\n## explicit; go 1.26\nexample.com/hot\n"
		files["vendor/example.com/hot/hot.go"] = files["hot/hot.go"]
		delete(files, "hot/hot.go")
		delete(files, "hot/go.mod")
	}},
	{name: "workspace", lay: func(files map[string]string) {
		files["go.mod"] = "module example.com/app\n\ngo 1.26\n"
		files["go.work"] = "go 1.26\n\nuse (\n\t.\n\t./hot\n)\n"
	}},
	{name: "cgo", gcc: true},
	{name: "stripped", b: Build{Flags: []string{"-trimpath", "-ldflags=-s -w"}}},
	{name: "test", b: Build{Test: true}},
	{name: "race", gcc: true, b: Build{Flags: []string{"-race"}}, env: []string{"GORACE=atexit_sleep_ms=0"}},
}

// dir lays the program out.
func (l *layout) dir(t *testing.T) string {
	a, err := txtar.ParseFile(filepath.Join("testdata", "matrix.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"go.mod": replaced}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	if l.name != "cgo" {
		delete(files, "c.go")
	}
	if l.lay != nil {
		l.lay(files)
	}
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// However a program is built and however it ends, it leaves a recording, and does what it would have done. These are eighty runs, which
// are for the nightly run. Before it, a test and a program with C end as usual and without warning, and TestRecordEndings
// has ends of a module.
func TestRecordMatrix(t *testing.T) {
	needs(t, "go")
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			if l.gcc {
				needs(t, "gcc")
			}
			built := try{dir: l.dir(t), b: l.b, env: l.env}
			some := []string{"return", "panic"}
			switch {
			case testrun.InNightly():
			case l.name == "test":
				some = []string{"return", "panic", "signal INT"}
			case l.name == "cgo":
				testrun.Live(t, "builds and records a program")
			case l.name == "module":
				testrun.Nightly(t, "TestRecordEndings has it")
			default:
				testrun.Nightly(t, "builds and records a program")
			}
			built.once(t)
			left := 0
			for _, tt := range []try{
				{name: "return"},
				{name: "exit", code: 3},
				{name: "fatal", code: 1, errs: "no more\n"},
				{name: "panic", code: 2, sudden: true, errs: "panic: oh no", cause: "panic: oh no"},
				{name: "nil", code: 2, sudden: true, errs: "nil pointer", cause: "nil pointer"},
				{name: "map", code: 2, sudden: true, errs: "concurrent map", cause: "concurrent map"},
				// With -race the runtime calls it address space collisions.
				{name: "memory", code: 2, sudden: true, errs: "fatal error: ", cause: "fatal error: "},
				{name: "signal INT", code: 130, signal: "SIGINT"},
				{name: "signal TERM", code: 143, signal: "SIGTERM"},
				{name: "signal KILL", code: 137, signal: "SIGKILL", sudden: true, cause: "another process sent it SIGKILL, or the kernel did because memory ran out"},
				{name: "handler", code: 7, out: "cleaned up\n"},
				{name: "ignore", out: "went on\n"},
			} {
				if !testrun.InNightly() && !slices.Contains(some, tt.name) {
					left++
					continue
				}
				if tt.name == "memory" && runtime.GOOS != "linux" {
					continue // other systems do not keep to the limit
				}
				tt.dir, tt.b, tt.env, tt.args = built.dir, built.b, l.env, strings.Fields(tt.name)
				if l.b.Test {
					tt.env, tt.args = []string{"END=" + tt.name}, []string{"-test.run=End"}
					if tt.code == 0 {
						tt.out += "PASS\n"
					}
				}
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					tt.do(t)
				})
			}
			if left > 0 {
				testrun.Left(t, t.Name(), fmt.Sprintf("%d other ways to end", left))
			}
		})
	}
}
