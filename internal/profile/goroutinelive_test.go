package profile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

type waiter[T any] struct{ c chan T }

//go:noinline
func (w *waiter[T]) wait() { <-w.c }

//go:noinline
func waitTwice[T any](w *waiter[T]) { waitInlined(w) }

func waitInlined[T any](w *waiter[T]) { w.wait() }

// What a dump tells agrees with the profile of the same moment.
func TestGoroutinesOfThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiter[int]{make(chan int)}
		defer close(w.c)
		for range 3 {
			go waitTwice(w)
		}
		go w.wait()
		go func() {
			func() { waitTwice(w) }()
		}()
		synctest.Wait()

		dumps := map[string][]byte{"runtime.Stack": make([]byte, 1<<20)}
		dumps["runtime.Stack"] = dumps["runtime.Stack"][:runtime.Stack(dumps["runtime.Stack"], true)]
		var binary, text bytes.Buffer
		pprof.Lookup("goroutine").WriteTo(&binary, 0)
		pprof.Lookup("goroutine").WriteTo(&text, 2)
		dumps["debug=2"] = text.Bytes()
		want, err := ParseBytes(binary.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for name, dump := range dumps {
			got, err := ParseBytes(dump)
			if err != nil {
				t.Fatal(err)
			}
			// Frames of the wait functions and the closures here, as name and place.
			g, w := placesIn(got, "wait"), placesIn(want, "wait")
			if len(w) == 0 || fmt.Sprint(g) != fmt.Sprint(w) {
				t.Errorf("%s has\n%v\nthe profile has\n%v", name, g, w)
			}
			acceptedByLibrary(t, got)
		}
	})
}

// placesIn counts the samples of p by function and line for functions of this package whose name contains part.
func placesIn(p *Profile, part string) map[string]int64 {
	places := make(map[string]int64)
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		for _, at := range stack {
			for _, l := range p.Locations[at].Lines {
				f := p.Functions[l.Function]
				if strings.Contains(f.File, "goroutinelive_test") && strings.Contains(f.Name, part) {
					// Dumps do not say what a generic function was made for.
					name := strings.ReplaceAll(f.Name, "[go.shape.int]", "[...]")
					places[fmt.Sprintf("%s %s:%d", name, f.File, l.Line)] += p.Values(0)[i]
				}
			}
		}
	}
	return places
}

const crasher = `package main

import (
	"os"
	"runtime"
	"sync"
)

type T struct{}

func (t *T) wait(n int, c chan int) {
	if n > 0 {
		t.wait(n-1, c)
	}
	ready.Done()
	<-c
}

var ready sync.WaitGroup

func main() {
	noCore()
	c := make(chan int)
	ready.Add(4)
	go new(T).wait(0, c)
	for range 2 {
		go new(T).wait(1, c)
	}
	go func() {
		runtime.LockOSThread()
		ready.Done()
		select {}
	}()
	ready.Wait()
	for range 10 {
		runtime.Gosched()
	}
	if os.Args[1] == "nil" {
		var p *int
		*p = 1
	}
	panic(os.Args[1])
}
`

// A program that crashes leaves a dump with each of its goroutines.
func TestGoroutinesOfCrash(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module crasher\n\ngo 1.24\n",
		"main.go":  crasher,
		"unix.go":  "//go:build unix\n\npackage main\n\nimport \"syscall\"\n\nfunc noCore() { syscall.Setrlimit(syscall.RLIMIT_CORE, new(syscall.Rlimit)) }\n",
		"other.go": "//go:build !unix\n\npackage main\n\nfunc noCore() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "crasher.exe")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	const want = `main.(*T).wait "chan receive" 1
main.(*T).wait;main.(*T).wait "chan receive" 2
main.main 1
main.main.func1 thread "select (no cases)" 1
`
	for _, level := range []string{"all", "system", "crash"} {
		for _, how := range []string{"panic", "nil"} {
			cmd := exec.Command(bin, how)
			cmd.Dir = dir
			// With GOMAXPROCS=1 nothing else runs while main panics.
			cmd.Env = append(os.Environ(), "GOTRACEBACK="+level, "GOMAXPROCS=1")
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the program did not crash: %s", out)
			}
			p, err := ParseBytes(out)
			if err != nil {
				t.Errorf("GOTRACEBACK=%s: %v\n%s", level, err, out)
				continue
			}
			if got := crashLines(p); got != want {
				t.Errorf("GOTRACEBACK=%s: got\n%swant\n%sfrom\n%s", level, got, want, out)
			}
			acceptedByLibrary(t, p)
		}
	}
}

// crashLines describes the goroutines that have frames of package main by these and what labels tell about them.
func crashLines(p *Profile) string {
	lines := make(map[string]int64)
	var stack []uint32
	for i := range p.NumSamples() {
		var names []string
		stack = p.Stack(i, stack[:0])
		for _, at := range slices.Backward(stack) {
			for _, l := range slices.Backward(p.Locations[at].Lines) {
				if name := p.Functions[l.Function].Name; strings.HasPrefix(name, "main.") && !strings.Contains(name, "gowrap") {
					names = append(names, name)
				}
			}
		}
		if names == nil {
			continue
		}
		line := strings.Join(names, ";")
		for _, l := range p.LabelSets()[p.Label(i)] {
			if l.Key == "state" && l.Str != "running" {
				line += fmt.Sprintf(" %q", l.Str)
			}
			if l.Key == "locked" {
				line += " " + l.Str
			}
		}
		lines[line] += p.Values(0)[i]
	}
	var out []string
	for line, n := range lines {
		out = append(out, fmt.Sprintf("%s %d\n", line, n))
	}
	slices.Sort(out)
	return strings.Join(out, "")
}
