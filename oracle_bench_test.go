package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/cli"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestBenchOracle holds the promise of hone benchstat and hone benchcmp: what they print is byte for byte what the
// originals print. testdata/originals says which versions of them; they are built here, and run with the same arguments
// in the same folder over files that people have published, where these are at hand, and over generated ones.
func TestBenchOracle(t *testing.T) {
	o := newBenchOracle(t)
	t.Run("generated", o.testGenerated)
	t.Run("published", o.testPublished)
	t.Run("wrapped", o.testWrapped)
	t.Run("mistakes", o.testMistakes)
	t.Run("NaN", o.testNaN)
	for _, id := range sortedNames(benchDifferences) {
		t.Logf("difference %s: used %d times", id, o.used[id])
		if o.used[id] == 0 && !t.Failed() && !partial() {
			t.Errorf("difference %s is never met: it is no difference any more", id)
		}
	}
	t.Logf("%d cases", o.cases)
}

// benchDifferences are the deliberate differences. docs/compat-benchstat.md has them under the same numbers.
var benchDifferences = map[string]string{
	"D1": "files in which benchstat finds nothing are read",
	"D2": "hone says what is left out",
	"D3": "errors set the exit code",
	"D4": "-strict",
	"D5": "NaN values do not hang the comparison",
}

// TestBenchDifferences holds that the differences and the page about them agree.
func TestBenchDifferences(t *testing.T) {
	const page = "docs/compat-benchstat.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^### (D\d+) `).FindAllSubmatch(b, -1) {
		told = append(told, string(m[1]))
	}
	if known := sortedNames(benchDifferences); !slices.Equal(told, known) {
		t.Errorf("%s tells of the differences %q, the test knows %q", page, told, known)
	}
}

func sortedNames(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A benchOracle runs both programs.
type benchOracle struct {
	programs string // folder of the originals
	root     string // folder of what is generated
	cases    int
	failures int
	used     map[string]int // by difference
}

func newBenchOracle(t *testing.T) *benchOracle {
	o := &benchOracle{programs: t.TempDir(), root: t.TempDir(), used: make(map[string]int)}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", o.programs+string(filepath.Separator), "tool")
	cmd.Dir = "testdata/originals"
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		// Not a reason to skip: then nobody would notice that nothing is compared any more.
		t.Fatalf("the originals cannot be built, so there is nothing to compare hone with; their modules come from GOPROXY: %v\n%s", err, out)
	}
	return o
}

// A benchCase is a command line, run in a folder.
type benchCase struct {
	tool  string // benchstat or benchcmp
	dir   string
	twin  string // the folder in which the original runs, when that is another one
	args  []string
	stdin string
}

func (c benchCase) String() string { return fmt.Sprintf("%s %q in %s", c.tool, c.args, c.dir) }

type benchOutcome struct {
	stdout, stderr string
	code           int
}

func (o *benchOracle) original(t *testing.T, c benchCase) benchOutcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	path := filepath.Join(o.programs, c.tool)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = append([]string{c.tool}, c.args...) // it prints how it was called
	cmd.Dir = c.dir
	if c.twin != "" {
		cmd.Dir = c.twin
	}
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", c, err)
	}
	return benchOutcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (o *benchOracle) hone(t *testing.T, c benchCase) benchOutcome {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(c.dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chdir(here); err != nil {
			t.Fatal(err)
		}
	}()
	var stdout, stderr bytes.Buffer
	sys := cli.System{In: strings.NewReader(c.stdin), Out: &stdout, Err: &stderr, Env: os.Getenv, Dir: c.dir, Zone: time.UTC}
	code := cli.Main(t.Context(), sys, append([]string{c.tool}, c.args...))
	return benchOutcome{stdout.String(), stderr.String(), code}
}

// check runs both programs and compares.
func (o *benchOracle) check(t *testing.T, c benchCase) {
	t.Helper()
	o.cases++
	want, got := o.original(t, c), o.hone(t, c)
	if c.twin != "" && want.stdout != "" {
		o.used["D1"]++
	}
	said := got.stderr
	got.stderr = anyLine("hone: ").ReplaceAllString(got.stderr, "")
	if c.tool == "benchstat" && got.stderr != said {
		o.used["D2"]++
	}
	if c.tool == "benchstat" && want.code == 0 && anyLine("benchstat: ").MatchString(want.stderr) {
		want.code = 1
		o.used["D3"]++
	}
	if usage := regexp.MustCompile("(?m)^  -strict\n.*\n").ReplaceAllString(got.stderr, ""); usage != got.stderr {
		got.stderr = usage
		o.used["D4"]++
	}
	if c.tool == "benchcmp" {
		// The original warns in the order of a map.
		want.stderr, got.stderr = sortedLines(want.stderr), sortedLines(got.stderr)
		if slices.Contains(c.args, "-mag") && sortedLines(want.stdout) == sortedLines(got.stdout) {
			// Runs of one benchmark that changed as much come in any order.
			want.stdout = got.stdout
		}
	}
	if want == got {
		return
	}
	o.failures++
	if o.failures > 5 {
		t.Errorf("%v differs, too", c)
		return
	}
	t.Errorf("%v\nwants exit code %d, has %d\nwants\n%s\nhas\n%s\nwants on stderr\n%s\nhas\n%s",
		c, want.code, got.code, want.stdout, got.stdout, want.stderr, said)
}

// anyLine matches lines that begin so.
func anyLine(begin string) *regexp.Regexp {
	return regexp.MustCompile("(?m)^" + regexp.QuoteMeta(begin) + ".*\n")
}

func sortedLines(s string) string {
	lines := strings.SplitAfter(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// benchstatFlags are run on every set of files.
var benchstatFlags = [][]string{
	{},
	{"-format", "csv"},
	{"-alpha", "0.001"},
	{"-alpha", "1", "-confidence", "0.5"},
	{"-confidence", "0.99", "-format", "csv"},
	{"-confidence", "0"},
	{"-row", ".name"},
	{"-row", ".name", "-format", "csv"},
	{"-row", ".name,/k", "-col", ".file,/gomaxprocs"},
	{"-row", ".fullname@alpha", "-table", ""},
	{"-table", "pkg,goos", "-col", ".file"},
	{"-table", ".config", "-col", "note"},
	{"-table", "", "-col", "note,.file", "-format", "csv"},
	{"-col", "/k@alpha", "-row", ".name", "-ignore", "/size"},
	{"-col", "/size@num", "-row", ".name"},
	{"-ignore", "note,pkg"},
	{"-ignore", ".fullname", "-row", ".name"},
	{"-filter", ".unit:(ns/op OR sec/op)"},
	{"-filter", "-.name:/^A/ AND /k:(1 OR two)"},
	{"-filter", "goos:linux", "-col", ".file@(new.txt old.txt)"},
	{"-filter", "*", "-col", "goos", "-row", ".file,.fullname"},
	{"-filter", ".fullname:/./ -.unit:B/op", "-format", "csv", "-row", ".fullname@alpha"},
}

var benchcmpFlags = [][]string{{}, {"-mag"}, {"-changed"}, {"-best"}, {"-mag", "-changed", "-best"}}

// checkFiles runs all flags on files in dir.
func (o *benchOracle) checkFiles(t *testing.T, dir, twin string, files []string) {
	t.Helper()
	for _, flags := range benchstatFlags {
		o.check(t, benchCase{tool: "benchstat", dir: dir, twin: twin, args: slices.Concat(flags, files)})
	}
	if len(files) != 2 || twin != "" {
		return
	}
	for _, flags := range benchcmpFlags {
		o.check(t, benchCase{tool: "benchcmp", dir: dir, args: slices.Concat(flags, files)})
	}
}

// testPublished runs both on the files of the corpus.
func (o *benchOracle) testPublished(t *testing.T) {
	for _, root := range testrun.CorpusFolders(t, "bench") {
		cases, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.IsDir() {
				o.testFolder(t, root, c.Name())
			}
		}
	}
}

func (o *benchOracle) testFolder(t *testing.T, root, name string) {
	dir := filepath.Join(root, name)
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if name := filepath.Base(f); !strings.HasPrefix(name, "expected.") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Errorf("there are no files in %s", dir)
	}
	slices.Reverse(names) // old.txt before new.txt
	twin := ""
	if name == "52-bad-test2json" {
		twin = filepath.Join(root, "01-xperf-oldnew") // it was made of that
	}
	t.Run(name, func(t *testing.T) { o.checkFiles(t, dir, twin, names) })
}

func (o *benchOracle) testGenerated(t *testing.T) {
	turn, every := rotation(t)
	n := 40
	switch {
	case every == 0:
		n = 400
	case testing.Short():
		n = 2
	case !testrun.InNightly():
		n = 6
	}
	for seed := turn * 1000; seed < turn*1000+n; seed++ {
		name := fmt.Sprintf("seed-%02d", seed)
		dir := filepath.Join(o.root, name)
		files := generateBench(uint64(seed))
		var names []string
		for _, f := range files {
			writeFile(t, filepath.Join(dir, f.name), []byte(f.text))
			names = append(names, f.name)
		}
		t.Run(name, func(t *testing.T) { o.checkFiles(t, dir, "", names) })
	}
}

// testWrapped holds that files in which the original finds nothing are read as if they were text.
func (o *benchOracle) testWrapped(t *testing.T) {
	for seed := range uint64(testrun.Size(4, 1)) {
		plain, wrapped := t.TempDir(), t.TempDir()
		var names []string
		for i, f := range generateCleanBench(100 + seed) {
			writeFile(t, filepath.Join(plain, f.name), []byte(f.text))
			wrap := []func(string) []byte{asEvents, asUTF16, asEvents}[(int(seed)+i)%3]
			writeFile(t, filepath.Join(wrapped, f.name), wrap(f.text))
			names = append(names, f.name)
		}
		o.checkFiles(t, wrapped, plain, names)
	}
}

func (o *benchOracle) testMistakes(t *testing.T) {
	dir := t.TempDir()
	long := "BenchmarkA 1 1 ns/op\nBenchmarkB 1 " + strings.Repeat("x", 70000) + "\nBenchmarkC 1 1 ns/op\n"
	for name, text := range map[string]string{
		"a": "BenchmarkA 1 5 ns/op 3 B/op 0 allocs/op 7.5 MB/s\nBenchmarkB 1 7 ns/op\n",
		"b": "BenchmarkA 1 6 ns/op 4 B/op 1 allocs/op 8 MB/s\nBenchmarkB 1 6 ns/op\n",
		"c": "BenchmarkC 1 6 ns/op\n", "empty": "", "long": long, "folder/file": "",
	} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
	}
	const in = "BenchmarkA 1 1 ns/op\n"
	for _, args := range []string{
		"", "-h", "-help", "-nope", "-alpha", "-alpha x a", "-alpha 2 a", "-alpha -1 a", "-confidence 1.1 a b", "-confidence -1 a", "-format xml a",
		"-filter bad( a", "-filter nope a", "-row nope, a", "-row .unit a", "-table (( a", "-col .file@nope a", "-ignore .nope a", "-table .unit a",
		"missing", "a missing", "folder", "a folder", "empty", "a empty", "long", "a long", "a", "a b", "a c", "a a", "a a b", "x=a x=b", "x=a b", "=a b",
		"x=", "-", "- -", "x=- a", "a -", "-- a b", "-format csv a c", "-format=csv -alpha=.1 a b",
	} {
		o.check(t, benchCase{tool: "benchstat", dir: dir, args: strings.Fields(args), stdin: in})
	}
	for _, args := range []string{
		"", "-h", "-nope", "a", "a b c", "a b", "-mag a b", "a c", "a missing", "missing a", "a folder", "a empty", "empty empty", "a long", "long a", "-best -mag a a",
	} {
		o.check(t, benchCase{tool: "benchcmp", dir: dir, args: strings.Fields(args), stdin: in})
	}
}

// testNaN holds that a comparison with NaN ends. That of the original takes memory until there is none left, so it is not
// run.
func (o *benchOracle) testNaN(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old.txt", "new.txt"} {
		writeFile(t, filepath.Join(dir, name), []byte("BenchmarkA 1 NaN x\nBenchmarkA 1 7 x\n"))
	}
	got := o.hone(t, benchCase{tool: "benchstat", dir: dir, args: []string{"old.txt", "new.txt"}})
	if got.code != 0 || !strings.Contains(got.stdout, "NaN cannot be compared") {
		t.Errorf("benchstat prints, with exit code %d,\n%s%s", got.code, got.stdout, got.stderr)
	}
	o.used["D5"]++
}
