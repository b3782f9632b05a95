package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// The files of the standard library have the names that go build gives them, also where hone has to build with a link to the toolchain: in a module
// cache, where the go command keeps those that it downloads. The second build has a part of the first, from the cache of the go command.
func TestStandardLibraryIsNamedAsItIs(t *testing.T) {
	testrun.Live(t, "builds a program")
	if runtime.GOOS == "windows" {
		testrun.Unable(t, "there is no shell to call the linker from")
	}
	about, err := gocmd.Command{}.About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goroot, err := filepath.EvalSymlinks(about.GOROOT)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/named\n\ngo 1.23\n",
		"main.go": "package main\n\nimport (\n\t_ \"net/http\"\n\t\"runtime\"\n)\n\nfunc main() { println(runtime.GOROOT()) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GOTOOLCHAIN=local", "GOROOT="+goroot, "GOMODCACHE="+filepath.Dir(goroot), "GOFLAGS=")
	for range 2 {
		work := t.TempDir()
		b := Build{Targets: []string{"."}, Dir: dir, Env: env, Tool: filepath.Join(goroot, "bin", "go"), Trace: true}
		of, err := b.build(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(work, "goroot")); err != nil {
			t.Fatal("no link was needed to build it:", err)
		}
		text, err := os.ReadFile(of.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"runtime/proc.go", "runtime/pprof/pprof.go", "net/http/server.go", agentFile("agent.go")} {
			if want := filepath.Join(goroot, "src", name); !bytes.Contains(text, []byte(want+"\x00")) {
				t.Errorf("the program does not name %s", want)
			}
		}
		if bytes.Contains(text, []byte(filepath.Join(work, "goroot"))) || bytes.Contains(text, []byte("goroot/src/")) {
			t.Errorf("the program names files of %s", filepath.Join(work, "goroot"))
		}
	}
}
