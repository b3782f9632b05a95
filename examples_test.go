package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// exampleModules returns the folders of the practice programs. Each is a module of its own.
func exampleModules(t *testing.T) []string {
	t.Helper()
	mods, err := filepath.Glob("examples/*/go.mod")
	if err != nil || len(mods) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for i := range mods {
		mods[i] = filepath.Dir(mods[i])
	}
	return mods
}

// TestExamples vets and tests the practice programs, and runs each of their benchmarks once, but for the longest.
func TestExamples(t *testing.T) {
	t.Parallel()
	testrun.Live(t, "tests all practice programs")
	for _, dir := range exampleModules(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			if name := filepath.Base(dir); name != "hi" && name != "leftpad" {
				testrun.Nightly(t, "vets and tests the program, and runs its benchmarks once")
			}
			goCommand(t, "-C", dir, "mod", "tidy", "-diff")
			goCommand(t, "-C", dir, "vet", "./...") // with the flags of TestVet, for which the standard library is vetted already
			goCommand(t, "-C", dir, "test", "-vet=off", "-ldflags=-w", "-bench=.", "-benchtime=1x", "-skip=/loops=76000", "./...")
		})
	}
}

// TestExamplesStaticcheck holds the practice programs to what holds for hone.
func TestExamplesStaticcheck(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "checks all practice programs")
	tool := strings.TrimSpace(goCommand(t, "tool", "-n", "-modfile=tools/lint/go.mod", "staticcheck"))
	for _, dir := range exampleModules(t) {
		cmd := exec.Command(tool, "./...")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("staticcheck in %s: %v\n%s", dir, err, out)
		}
	}
}

// TestExampleFacts holds what examples/README.md says: later steps have the slips of the write-ups, and no others.
func TestExampleFacts(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "builds and runs all practice programs")
	t.Run("hi", testHi)
	t.Run("hi race", testHiRace)
	t.Run("havlak", testHavlak)
	t.Run("leftpad", testLeftpad)
	t.Run("metrics", testMetrics)
	t.Run("others", testOtherExamples)
	t.Run("stripped", testStripped)
}

func testHi(t *testing.T) {
	t.Parallel()
	bin := buildExample(t, "hi")
	tests, err := os.ReadFile("examples/hi/stage0/hi_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for stage := range 9 {
		name := fmt.Sprintf("stage%d", stage)
		if b, err := os.ReadFile("examples/hi/" + name + "/hi_test.go"); err != nil || !bytes.Equal(b, tests) {
			t.Errorf("%s is not measured as stage0 is: %v", name, err)
		}
		refused := map[string]bool{"no!": true, "a b": true}
		switch {
		case stage >= 8:
			refused = nil // the regexp lost its anchor
		case stage >= 3:
			refused["red"] = true // and is about digits
		}
		at := serveExample(t, filepath.Join(bin, name))
		number := 0
		for _, color := range []string{"", "red", "007", "no!", "a b", "red", ""} {
			res := ask(t, "GET", at+"/?color="+url.QueryEscape(color), "")
			want := answer{400, "text/plain; charset=utf-8", "color has to be a word\n"}
			if !refused[color] {
				number++
				want = answer{200, "text/html; charset=utf-8", fmt.Sprintf(
					"<h1 style='color: %s'>Welcome!</h1>You are visitor number %d!", color, number)}
			}
			if res != want {
				t.Errorf("%s: color=%s gives %+v; want %+v", name, color, res, want)
			}
		}
	}
}

// testHiRace holds that the race of the first stage shows in the parallel test, and in no other.
func testHiRace(t *testing.T) {
	t.Parallel()
	if strings.TrimSpace(goCommand(t, "env", "CGO_ENABLED")) != "1" {
		testrun.Missing(t, "the race detector needs cgo")
	}
	bin := filepath.Join(t.TempDir(), "stage0.test")
	goCommand(t, "-C", "examples/hi", "test", "-race", "-c", "-o", bin, "./stage0")
	if out, err := exec.Command(bin, "-test.run=^(TestHi|TestHiServer)$").CombinedOutput(); err != nil {
		t.Errorf("the serial tests: %v\n%s", err, out)
	}
	out, err := exec.Command(bin, "-test.run=^TestHiServerParallel$", "-test.count=5", "-test.cpu=4").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("DATA RACE")) {
		t.Errorf("the parallel test shows no race: %v\n%s", err, out)
	}
}

func testHavlak(t *testing.T) {
	t.Parallel()
	bin := buildExample(t, "havlak")
	for _, stage := range []int{1, 2, 4, 5, 6} {
		out := runExample(t, filepath.Join(bin, fmt.Sprintf("stage%d", stage)), "-n", "0")
		if want := "277012 blocks, 76000 loops, nested 4 deep\n0 loops found in 0 repetitions\n"; out != want {
			t.Errorf("stage%d prints %q; want %q", stage, out, want)
		}
	}
}

func testLeftpad(t *testing.T) {
	t.Parallel()
	bin := buildExample(t, "leftpad")
	v1 := serveExample(t, filepath.Join(bin, "v1")) + "/pad"
	v2 := serveExample(t, filepath.Join(bin, "leftpad")) + "/pad"
	for _, body := range []string{
		`{"str": "7", "len": 3, "chr": "0"}`, `{"str": "größer", "len": 20, "chr": ".-"}`, `{"str": "x", "len": -1}`,
		`{"len": 1000000, "chr": "x"}`, `{"len": "x"}`, `{`, ``,
	} {
		if a, b := ask(t, "POST", v1, body), ask(t, "POST", v2, body); a != b {
			t.Errorf("%s: v1 answers %+v, v2 %+v", body, a, b)
		}
	}
	const multibyte = `{"str": "7", "len": 5, "chr": "é"}`
	if a, b := ask(t, "POST", v1, multibyte).body, ask(t, "POST", v2, multibyte).body; a != `{"str":"éé7"}` || b != `{"str":"éééé7"}` {
		t.Errorf("%s: v1 answers %s, v2 %s", multibyte, a, b)
	}
	if res := ask(t, "GET", strings.TrimSuffix(v1, "/pad")+"/debug/pprof/goroutine?debug=1", ""); res.status != 200 {
		t.Errorf("there are no profiles: status %d", res.status)
	}
}

func testMetrics(t *testing.T) {
	t.Parallel()
	bin := buildExample(t, "metrics")
	v1 := serveExample(t, filepath.Join(bin, "v1")) + "/metrics"
	v2 := serveExample(t, filepath.Join(bin, "metrics")) + "/metrics"
	want := ask(t, "GET", v1, "") // the client asks for gzip, and undoes it
	if want.status != 200 || strings.Count(want.body, "\n") != 100 {
		t.Errorf("v1 answers %+v; want 100 lines", want)
	}
	for range 3 {
		if got := ask(t, "GET", v2, ""); got != want {
			t.Errorf("v2 answers %+v; want %+v", got, want)
		}
	}
}

func testOtherExamples(t *testing.T) {
	t.Parallel()
	loadgen := buildExample(t, "loadgen")
	leaky := buildExample(t, "leaky")
	contended := buildExample(t, "contended")
	tests := []struct{ dir, command, want string }{
		{loadgen, "v1 -n 100", "100 good and 0 bad answers, 500 bytes\n"},
		{loadgen, "loadgen -n 100", "100 good and 0 bad answers, 500 bytes\n"},
		{leaky, "leaky -for 300ms -sessions 10", "58 goroutines, 10 sessions\n"}, // main, 7 workers and 50
		{leaky, "leaky -for 300ms -sessions 0 -lookups 3 -workers 0", "4 goroutines, 0 sessions\n"},
		{contended, "contended -for 30s -n 1000 -workers 4 -mode mutex", "mutex: 4000 steps\n"},
		{contended, "contended -for 30s -n 1000 -workers 4 -mode rwmutex", "rwmutex: 4000 steps\n"},
		{contended, "contended -for 30s -n 1000 -workers 4 -mode channel", "channel: 1000 steps\n"},
		{contended, "contended -for 30s -n 1000 -workers 4 -mode sharing", "sharing: 4000 steps\n"},
	}
	for _, tt := range tests {
		words := strings.Fields(tt.command)
		if out := runExample(t, filepath.Join(tt.dir, words[0]), words[1:]...); out != tt.want {
			t.Errorf("%s prints %q; want %q", tt.command, out, tt.want)
		}
	}
}

func testStripped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "stripped"+exeSuffix)
	goCommand(t, "-C", "examples/stripped", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	profile := filepath.Join(dir, "cpu.pprof")
	runExample(t, bin, "-for", "100ms", "-cpuprofile", profile)
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("no profile is written: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil || f.Section(".gopclntab") == nil {
		t.Error("the binary is not stripped as it should be")
	}
}

// exeSuffix ends the name of a program.
var exeSuffix = map[string]string{"windows": ".exe"}[runtime.GOOS]

// buildExample builds all programs of an example and returns the folder that they are in. The go command takes the
// folder v2 of a module for its second version, and calls what is built from it as the module is called.
func buildExample(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	goCommand(t, "-C", "examples/"+name, "build", "-ldflags=-w", "-o", dir+string(filepath.Separator), "./...")
	return dir
}

// runExample runs a program to its end and returns what it prints.
func runExample(t *testing.T, path string, args ...string) string {
	t.Helper()
	cmd := exec.Command(strings.TrimSuffix(path, exeSuffix)+exeSuffix, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, &stderr)
	}
	return string(out)
}

// serveExample starts a server, which lives as long as the test, and returns its URL. It also holds that -for ends it.
func serveExample(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.Command(path+exeSuffix, "-addr", "127.0.0.1:0", "-for", "2m")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	_, at, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("%s says %q, %v; want where it listens", path, line, err)
	}
	go io.Copy(io.Discard, lines) // ends with the program
	if out, err := exec.Command(path+exeSuffix, "-addr", "127.0.0.1:0", "-for", "1ms").CombinedOutput(); err != nil {
		t.Errorf("%s does not end by itself: %v\n%s", path, err, out)
	}
	return at
}

// An answer is what a server says to a request.
type answer struct {
	status      int
	contentType string
	body        string
}

// ask sends a request.
func ask(t *testing.T, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Content-Type"), string(b)}
}
