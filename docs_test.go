package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestDocs runs the commands in the documentation: in a block marked console, every line that begins with "$ ". What
// follows a command is what it prints, on both outputs; where nothing follows, it has to succeed. UPDATE=1 rewrites
// what is printed.
//
// What is printed differs from run to run where something is recorded. Output that has a … is an example: the numbers in it
// are of one run, and … stands for any text, or on a line of its own for any lines.
//
// A block marked "console live" is run with -tags live alone, and one marked "console nightly" with -tags nightly alone. So is a command that
// makes a recording, where testdata/docs has one of its name for the page: without -tags nightly the commands that follow are shown that
// one. With UPDATE=1, a nightly run replaces it. A live run makes those of one page, see recordedLive.
//
// In a block marked agent, lines are calls of tools of hone mcp, as TOOL {INPUT}; see TestAgent. One marked "agent nightly" is for -tags nightly.
//
// The commands of a page run one after the other in a folder with the profiles and benchmarks of testdata/tour, shown as /src/shop; a
// server that offers one of them, and has a page /search, stands in for localhost:6060. hone serve & runs until the end of the page. The practice programs are in examples/, and cd goes there;
// cd hone goes to the sources of hone.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var commands atomic.Int64
	t.Cleanup(func() {
		if commands.Load() == 0 {
			t.Error("no page has a command")
		}
	})
	for _, page := range pages {
		t.Run(filepath.ToSlash(page), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && filepath.Dir(page) == filepath.Join("docs", "guide") && filepath.Base(page) != "look.md" {
				t.Skip("runs the go command, or waits")
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			tour := newTour(t)
			tour.records = testrun.InNightly() || testrun.InLive() && filepath.Base(page) == recordedLive
			tour.kept = filepath.Join("testdata", "docs", strings.TrimSuffix(filepath.Base(page), ".md"))
			got, n := runPage(t, string(text), tour.run)
			commands.Add(int64(n))
			if tour.left > 0 {
				testrun.Left(t, t.Name(), fmt.Sprintf("%d of its commands record or measure for long", tour.left))
			}
			if os.Getenv("UPDATE") != "" && got != string(text) {
				if err := os.WriteFile(page, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// recordedLive is the page whose recordings each live run makes.
const recordedLive = "metrics.md"

// runPage runs the commands of a page. It returns the page with what they print now, and how many there are.
func runPage(t *testing.T, text string, run func(t *testing.T, command, block string) (said string, ran bool)) (string, int) {
	var out strings.Builder
	commands := 0
	lines := strings.SplitAfter(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); {
		out.WriteString(lines[i])
		i++
		block, ok := strings.CutPrefix(strings.TrimSuffix(lines[i-1], "\n"), "```")
		if !ok || !slices.Contains([]string{"console", "console live", "console nightly", "agent", "agent nightly"}, block) {
			continue
		}
		for i < len(lines) && lines[i] != "```\n" {
			command, ok := strings.CutPrefix(lines[i], "$ ")
			if !ok {
				t.Fatalf("line %d is not a command: %s", i+1, lines[i])
			}
			out.WriteString(lines[i])
			at := i + 1
			var want strings.Builder
			for i++; i < len(lines) && lines[i] != "```\n" && !strings.HasPrefix(lines[i], "$ "); i++ {
				want.WriteString(lines[i])
			}
			commands++
			got, ran := run(t, strings.TrimSuffix(command, "\n"), block)
			switch {
			case !ran:
				out.WriteString(want.String())
				continue
			case want.Len() == 0:
				continue
			case strings.Contains(want.String(), "…"):
				if err := like(want.String(), got); err != nil {
					t.Errorf("line %d: %s%v\nit prints\n%s", at, command, err, got)
				}
				out.WriteString(want.String())
				continue
			case got != want.String() && os.Getenv("UPDATE") == "":
				t.Errorf("line %d: %sprints\n%s\nthe page says\n%s", at, command, got, want.String())
			}
			out.WriteString(got)
		}
	}
	return out.String(), commands
}

var (
	anyNumber = regexp.MustCompile(`-?[0-9]+([.:][0-9]+)*`)
	anyUnit   = regexp.MustCompile(`\b0(ns|us|ms|s|mins|hrs|B|kB|MB|GB)\b`)
	anySpace  = regexp.MustCompile(`[ \t]+`)
)

// like reports whether output looks like an example: line by line in order, but for numbers and what … stands for.
func like(example, output string) error {
	blur := func(line string) string {
		line = anyUnit.ReplaceAllString(anyNumber.ReplaceAllString(line, "0"), "0")
		return strings.TrimSpace(anySpace.ReplaceAllString(line, " "))
	}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	skip := false
	for _, want := range strings.Split(strings.TrimSuffix(example, "\n"), "\n") {
		if strings.TrimSpace(want) == "…" {
			skip = true
			continue
		}
		parts := strings.Split(blur(want), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		rx := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		for len(lines) > 0 && skip && !rx.MatchString(blur(lines[0])) {
			lines = lines[1:]
		}
		if len(lines) == 0 || !rx.MatchString(blur(lines[0])) {
			return fmt.Errorf("no line like %q where the page has it", want)
		}
		lines, skip = lines[1:], false
	}
	if len(lines) > 0 && !skip {
		return fmt.Errorf("there is more: %q", lines[0])
	}
	return nil
}

// A tour is the place where the commands of a page run.
type tour struct {
	dir    string
	at     string // folder; "" is dir
	self   string
	server string
	store  string // address of hone serve, when that runs
	agent  *agent // that calls tools, when the page has some
	kept   string // folder of recordings that commands of the page made before

	records bool // rather than taking those
	left    int  // commands that were left to the nightly run
}

func newTour(t *testing.T) *tour {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as programs in it see it
	if err != nil {
		t.Fatal(err)
	}
	tr := &tour{dir: dir, self: self}
	cpu, next := tourProfile(t, "testdata/tour/old.txt"), tourProfile(t, "testdata/tour/new.txt")
	shop, err := os.ReadFile("testdata/tour/shop.go")
	if err != nil {
		t.Fatal(err)
	}
	benchOld, errOld := os.ReadFile("testdata/tour/bench-old.txt")
	benchNew, errNew := os.ReadFile("testdata/tour/bench-new.txt")
	trace, errTrace := os.ReadFile("testdata/trace/shop.trace")
	shared, errShared := os.ReadFile("testdata/docs/havlak/havlak.hone")
	if err := errors.Join(errOld, errNew, errTrace, errShared); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"old.txt": benchOld, "new.txt": benchNew, "shop.trace": trace, "slow.hone": shared,
		"cpu.pprof": cpu, "old.pprof": cpu, "new.pprof": next,
		"profiles/monday.pprof": cpu, "profiles/tuesday.pprof": next,
		"shop.go": shop, "go.mod": []byte("module example.com/shop\n\ngo 1.26\n"),
	} {
		path := filepath.Join(tr.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(tr.dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) { w.Write(cpu) })
	mux.HandleFunc("/debug/pprof/heap", func(w http.ResponseWriter, _ *http.Request) { w.Write(cpu) })
	mux.HandleFunc("/search", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a lamp, a chair") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tr.server = strings.TrimPrefix(server.URL, "http://")
	return tr
}

// run runs a command line and returns what it prints, unless it is for a run of another kind.
func (tr *tour) run(t *testing.T, line, block string) (said string, ran bool) {
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	line, beside := strings.CutSuffix(line, " &")
	line = strings.ReplaceAll(line, "localhost:6060", tr.server)
	if tr.store != "" {
		line = strings.ReplaceAll(line, source.UsualStore, tr.store)
	}
	if tool, in, ok := strings.Cut(line, " {"); ok && strings.HasPrefix(block, "agent") {
		return tr.ask(t, tool, "{"+in, block)
	}
	words, err := shellWords(line)
	if err != nil {
		t.Fatal(err)
	}
	if words[0] == "cd" && len(words) == 2 {
		tr.at = filepath.Join(tr.dir, filepath.FromSlash(words[1]))
		if words[1] == "hone" {
			tr.at = checkout
		}
		return "", true
	}
	made, kept := tr.recording(words)
	switch {
	case kept != "" && (!tr.records || words[1] == "holders"): // there is no such process
		tr.left++
		data, err := os.ReadFile(kept)
		if err := errors.Join(err, os.WriteFile(made, data, 0o666)); err != nil {
			t.Fatal(err)
		}
		return "", false
	case block == "console nightly" && !testrun.InNightly():
		tr.left++
		return "", false
	case block == "console live" && !testrun.InLive():
		return "", false
	}
	if len(words) > 1 && words[1] == "race" {
		if _, err := exec.LookPath("gcc"); err != nil {
			testrun.Missing(t, "the race detector needs a C compiler, and there is no gcc: apt-get install gcc libc6-dev")
		}
	}
	if words[0] != "hone" {
		t.Fatalf("%s: only hone can be run in a console block", line)
	}
	if beside {
		words = append(words, "--listen", "127.0.0.1:0")
	}
	cmd := exec.Command(tr.self, words[1:]...)
	cmd.Dir = cmp.Or(tr.at, tr.dir)
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1",
		"PPROF_TMPDIR="+filepath.Join(tr.dir, "pprof"), "HONE_STORE="+tr.store)
	if beside {
		tr.store = startBeside(t, cmd)
		return source.UsualStore + "\n", true
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	found := words[1] == "race" && errors.As(err, &exit) && exit.ExitCode() == 3 // which is what the page shows
	if err != nil && !found {
		t.Errorf("%s: %v\n%s", line, err, out.Bytes())
	}
	if kept != "" && os.Getenv("UPDATE") != "" {
		if err := keep(made, kept); err != nil {
			t.Fatal(err)
		}
	}
	said = progress().ReplaceAllString(out.String(), "")
	pairs := []string{tr.server, "localhost:6060", tr.dir, "/src/shop", checkout, "/src/hone"}
	if tr.store != "" {
		pairs = append(pairs, tr.store, source.UsualStore)
	}
	return strings.NewReplacer(pairs...).Replace(said), true
}

// ask calls a tool of hone mcp, in the folder where commands run now.
func (tr *tour) ask(t *testing.T, tool, in, block string) (said string, ran bool) {
	if block == "agent nightly" && !testrun.InNightly() { // it measures; TestAgent calls such tools in each live run
		tr.left++
		return "", false
	}
	if tr.agent == nil {
		a := startAgent(t, cmp.Or(tr.at, tr.dir))
		tr.agent = &a
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(in), &values); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	text := progress().ReplaceAllString(tr.agent.asks(tool, values).Text, "")
	return strings.TrimSuffix(strings.ReplaceAll(text, tr.dir, "/src/shop"), "\n") + "\n", true
}

// startBeside starts a server, which is ended with the test, and returns the first line that it prints.
func startBeside(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return strings.TrimSpace(line)
}

// recording returns where a command writes a recording, and where one like it is kept, when one is.
func (tr *tour) recording(words []string) (made, kept string) {
	at := slices.Index(words, "-o")
	if at < 0 || at+1 == len(words) || filepath.Ext(words[at+1]) != ".hone" {
		return "", ""
	}
	kept = filepath.Join(tr.kept, words[at+1])
	if _, err := os.Stat(kept); err != nil {
		return "", ""
	}
	return filepath.Join(cmp.Or(tr.at, tr.dir), words[at+1]), kept
}

// keep writes a recording without the sources of Go itself, which are most of it.
func keep(made, kept string) error {
	z, err := zip.OpenReader(made)
	if err != nil {
		return err
	}
	defer z.Close()
	const index = recording.SourcesDir + "/index.json"
	text, err := fs.ReadFile(z, index)
	if err != nil {
		return err
	}
	var list []map[string]string
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src") + string(filepath.Separator)
	left := make(map[string]bool)
	list = slices.DeleteFunc(list, func(s map[string]string) bool {
		ours := strings.HasPrefix(s["from"], std)
		if ours {
			left[recording.SourcesDir+"/"+s["at"]] = true
		}
		return ours
	})
	if text, err = json.Marshal(list); err != nil {
		return err
	}
	out, err := os.Create(kept)
	if err != nil {
		return err
	}
	w := zip.NewWriter(out)
	for _, f := range z.File {
		if f.Name == index {
			var part io.Writer
			if part, err = w.Create(index); err == nil {
				_, err = part.Write(text)
			}
		} else if !left[f.Name] {
			err = w.Copy(f)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, w.Close(), out.Close())
}

// progress matches what hone says every ten seconds that it is still at work with.
var progress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^hone: .*… \(\d.*s\)\n`) })

// shellWords splits a command line into words, at spaces outside single quotes.
func shellWords(line string) ([]string, error) {
	var words []string
	quoted := false
	word := ""
	for i, part := range strings.Split(line, "'") {
		if quoted = i%2 == 1; quoted {
			word += part
			continue
		}
		if strings.ContainsAny(part, "|<>&;$\"\\*?") {
			return nil, fmt.Errorf("%s: the test knows no shell but words and single quotes", line)
		}
		for j, s := range strings.Split(part, " ") {
			if j > 0 && word != "" {
				words = append(words, word)
				word = ""
			}
			word += s
		}
	}
	if quoted {
		return nil, fmt.Errorf("%s: a quote is not closed", line)
	}
	if word != "" {
		words = append(words, word)
	}
	if len(words) == 0 {
		return nil, errors.New("a command line without a command")
	}
	return words, nil
}

// tourProfile makes a CPU profile of ten seconds from text, see profileOf.
func tourProfile(t *testing.T, path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profileOf(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	p.Mapping[0].File = "/srv/shop"
	p.TimeNanos = time.Date(2026, 1, 15, 9, 30, 0, 0, time.UTC).UnixNano()
	p.DurationNanos = int64(10 * time.Second)
	p.Period = int64(10 * time.Millisecond)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
