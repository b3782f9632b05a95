package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// recordedSubjects are profiles of real programs, made while the test runs: a program of its own
// and benchmarks of the standard library.
func (l *lab) recordedSubjects(t *testing.T) []*subject {
	t.Helper()
	return append(l.recordProgram(t), l.recordBenchmarks(t)...)
}

// recordProgram runs testdata/oracle/prog twice: built as usual, so that the profile names files
// by where they are, and with -trimpath, so that they are named by module.
func (l *lab) recordProgram(t *testing.T) []*subject {
	t.Helper()
	l.copySources(t, "testdata/oracle/prog", "prog")
	l.put(t, "prog/go.mod", []byte("module example.com/prog\n\ngo 1.26\n"))
	var out []*subject
	for _, build := range []struct {
		name  string
		flags []string
		kinds []string
	}{
		{"prog", nil, []string{"cpu.pb.gz", "heap.pb.gz", "allocs.pb.gz", "block.pb.gz", "mutex.pb.gz", "goroutine.pb.gz", "threadcreate.pb.gz",
			"goroutine.txt", "heap.txt", "mutex.txt", "block.txt", "threadcreate.txt"}},
		{"trimmed", []string{"-trimpath"}, []string{"cpu.pb.gz", "allocs.pb.gz", "block.txt"}},
	} {
		dir := "recorded/" + build.name
		bin := dir + "/prog"
		if runtime.GOOS == "windows" {
			bin += ".exe"
		}
		l.record(t, dir, func(abs string) []*exec.Cmd {
			args := append([]string{"build", "-o", filepath.Join(l.dir, bin)}, build.flags...)
			compile := exec.CommandContext(t.Context(), "go", append(args, ".")...)
			compile.Dir = filepath.Join(l.dir, "prog")
			return []*exec.Cmd{compile, exec.CommandContext(t.Context(), filepath.Join(l.dir, bin), abs)}
		})
		for _, kind := range build.kinds {
			s := &subject{name: build.name + "-" + strings.Replace(kind, ".pb.gz", "", 1), path: dir + "/" + kind, every: 7, tree: "prog", binary: bin}
			switch s.name {
			case "prog-cpu":
				s.every = 1
			case "prog-heap":
				s.every = 2
			}
			out = append(out, s)
		}
	}
	return out
}

// recordBenchmarks records benchmarks of the standard library, in a nightly run.
func (l *lab) recordBenchmarks(t *testing.T) []*subject {
	t.Helper()
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+", on recordings of the standard library", "builds and runs its benchmarks")
		return nil
	}
	var out []*subject
	for _, b := range []struct{ pkg, bench string }{
		{"encoding/json", "CodeDecoder|CodeMarshal"},
		{"sort", "SortString1K|Stable"},
		{"regexp", "OnePass|Compile"},
		{"sync", "MutexWork|RWMutexWrite|Pool$"},
	} {
		name := strings.ReplaceAll(b.pkg, "/", "-")
		dir := "recorded/" + name
		l.record(t, dir, func(abs string) []*exec.Cmd {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-run=^$", "-bench="+b.bench, "-benchtime=50ms", "-o", filepath.Join(abs, name+".test"),
				"-cpuprofile="+filepath.Join(abs, "cpu.pb.gz"), "-memprofile="+filepath.Join(abs, "mem.pb.gz"), "-memprofilerate=4096",
				"-blockprofile="+filepath.Join(abs, "block.pb.gz"), "-mutexprofile="+filepath.Join(abs, "mutex.pb.gz"), b.pkg)
			cmd.Dir = abs // outside of any module of the user's
			return []*exec.Cmd{cmd}
		})
		for _, kind := range []string{"cpu", "mem", "block", "mutex"} {
			out = append(out, &subject{name: name + "-" + kind, path: dir + "/" + kind + ".pb.gz", every: 10})
		}
	}
	return out
}

// record runs commands that leave profiles in dir, or takes what they left there in an earlier
// run from the cache.
func (l *lab) record(t *testing.T, dir string, commands func(abs string) []*exec.Cmd) {
	t.Helper()
	abs := filepath.Join(l.dir, dir)
	if err := os.MkdirAll(abs, 0o777); err != nil {
		t.Fatal(err)
	}
	cmds := commands(abs)
	stored := ""
	if l.cache != "" {
		h := sha256.New()
		fmt.Fprintln(h, l.pprof.hash, runtime.Version(), dir)
		for _, c := range cmds {
			fmt.Fprintln(h, strings.ReplaceAll(strings.Join(c.Args, " "), l.dir, ""))
		}
		for _, file := range []string{"prog/main.go", "prog/shape/shape.go"} {
			b, err := os.ReadFile(filepath.Join(l.dir, file))
			if err != nil {
				t.Fatal(err)
			}
			h.Write(b)
		}
		stored = filepath.Join(l.cache, fmt.Sprintf("recorded-%x", h.Sum(nil)))
		if _, err := os.Stat(stored); err == nil {
			if err := os.CopyFS(filepath.Join(l.dir, dir), os.DirFS(stored)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	for _, c := range cmds {
		c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GO111MODULE=on", "HONE_TEST_EXEC=", "PWD="+c.Dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("recording profiles: %s: %v\n%s", strings.Join(c.Args, " "), err, out)
		}
	}
	if stored != "" {
		if err := os.CopyFS(stored, os.DirFS(abs)); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lab) copySources(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(l.dir, to), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// put writes a file of the lab and returns its path as arguments name it.
func (l *lab) put(t *testing.T, path string, b []byte) string {
	t.Helper()
	writeFile(t, filepath.Join(l.dir, path), b)
	return path
}
