package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hone-perf/hone/internal/mcp"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/testrun"
)

// An agent is a client of hone mcp in a folder.
type agent struct {
	t *testing.T
	c *sdk.ClientSession
}

func startAgent(t *testing.T, dir string, args ...string) agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Interrupts are ignored, as in what a script starts in the background.
	cmd := exec.Command("sh", append([]string{"-c", `trap "" INT; exec "$@"`, "sh", self, "mcp"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "NO_COLOR=1", "PWD="+dir)
	cmd.Stderr = os.Stderr
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return agent{t, c}
}

// asks calls a tool. The answer has to have all of want, as regular expressions.
func (a agent) asks(tool string, in map[string]any, want ...string) mcp.Answer {
	a.t.Helper()
	res, err := a.c.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, in, err)
	}
	var out mcp.Answer
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(out.Text) {
			a.t.Errorf("%s %v does not say %s:\n%s", tool, in, w, out.Text)
		}
	}
	if text := res.Content[0].(*sdk.TextContent).Text; text != out.Text && out.Report == nil {
		a.t.Errorf("%s: the two forms of the answer differ:\n%s\n%s", tool, text, out.Text)
	}
	return out
}

// TestAgent is a whole diagnosis, as an agent does it: each call uses what the one before says.
func TestAgent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("examples", "hi"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "hi"}} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			testrun.Missing(t, "git: %v\n%s", err, out)
		}
	}
	a := startAgent(t, dir)
	type in = map[string]any
	made := a.asks("record", in{"test": "./stage0", "run": "^$", "bench": "Hi$"}, `ns/op`).Recording
	if made != "recorded-1.hone" {
		t.Fatalf("the recording is %q", made)
	}
	a.asks("look", in{"ref": made}, `example.com/hi/stage0`, `\btop \{"ref": "recorded-1.hone", "sort": "cum"\} `) // what to ask next is a call
	a.asks("top", in{"ref": made, "limit": 3}, `raise limit to see more`)
	a.asks("top", in{"ref": made, "limit": -1}, `^note: limit -1 is not possible here; 1000 rows are the most`)
	a.asks("list", in{"ref": made, "match": "handleHey"}, `top \{"ref": "recorded-1.hone"\} lists functions`)
	top := a.asks("top", in{"ref": made, "focus": "handleHi", "sort": "cum", "json": true})
	if !strings.Contains(string(top.Report), "stage0.handleHi") {
		t.Errorf("top: %.500s", top.Report)
	}
	a.asks("list", in{"ref": made, "match": "handleHi$"}, `[\d.]+m?s +23 .*regexp.MatchString`)
	a.asks("flame", in{"ref": made, "metric": "alloc_space"}, `regexp.Compile`)
	a.asks("mem", in{"ref": made}, `objects`)
	a.asks("goroutines", in{"ref": made}, `main`)
	advice := a.asks("advise", in{"ref": made}, `1 .*stage0/hi.go:23 +regexp compiled on every call`, `\+var handleHiRE`)
	source := filepath.Join(dir, "stage0", "hi.go")
	before, _ := os.ReadFile(source)
	applied := func() bool {
		after, _ := os.ReadFile(source)
		return strings.Contains(string(after), "handleHiRE.MatchString")
	}
	apply := func(answer string) {
		git := exec.Command("git", "apply", "--recount", "-")
		git.Dir, git.Stdin = dir, strings.NewReader(patchIn(answer))
		if out, err := git.CombinedOutput(); err != nil || !applied() {
			t.Fatalf("git apply of the patch in the answer: %v\n%s\n%s", err, out, answer)
		}
		if err := os.WriteFile(source, before, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	apply(advice.Text)
	// What is wrong is said with names of inputs, and what helps is a call.
	a.asks("fix", in{"ref": made, "finding": 99}, `no such finding`, `advise \{"ref": "recorded-1.hone"\} lists them`)
	a.asks("advise", in{"ref": made, "finding": 99}, `\{"finding": 99\}: there (are|is) only`) // a slow benchmark has few samples, and small findings are left out
	a.asks("requests", in{"ref": made}, `record \{"trace": true\}`)
	a.asks("look", in{"ref": "stage1"}, `record \{"package": "./stage1"\} records the program`)
	a.asks("why_alloc", in{"where": "stage0/hi.go"}, `why_alloc \{"where": "stage0/hi.go:26"\}`)
	a.asks("compare", in{"base": "trunk"}, `trunk names no commit`)
	a.asks("record", in{"test": "./stage0", "run": "^$", "bench": "None"}, `note: no benchmark matches None`)
	if !testrun.InNightly() {
		testrun.Left(t, t.Name(), "fix, prove and compare, which TestScript has without an agent, measure for long")
		return
	}
	a.asks("fix", in{"package": "./stage0", "bench": "Hi$", "each": "20s", "budget": "2m"}, `fix(es)? proven; nothing written`)
	dry := a.asks("fix", in{"ref": made, "finding": 1, "each": "90s", "budget": "4m"}, `1 fix proven; nothing written`, `nothing was written, because of \{"apply": false\}`)
	if applied() {
		t.Error("a dry run writes")
	}
	apply(dry.Text)
	a.asks("fix", in{"ref": made, "finding": 1, "each": "90s", "budget": "4m", "apply": true}, `1 fix proven`)
	if !applied() {
		t.Error("the fix is not applied")
	}
	a.asks("prove", in{"base": "HEAD", "for": "3s"}, `handleHi`)
	a.asks("compare", in{"base": "HEAD", "package": "./stage0", "bench": "Hi$", "budget": "10s"}, `faster`)
}

// patchIn is the patch in an answer.
func patchIn(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		begins := strings.HasPrefix(line, "--- a/")
		if b.Len() == 0 && !begins {
			continue
		}
		if !begins && strings.Trim(line[:1], "+-@ ") != "" {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestAgentSources holds that a profile that names files outside the folder, or behind a link to there, shows none of them.
func TestAgentSources(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "work")
	inside, outside, linked := filepath.Join(dir, "inside.go"), filepath.Join(root, "outside.go"), filepath.Join(dir, "linked.go")
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}}})
	b.Mappings = []profile.Mapping{{ID: 1, File: "/srv/app", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}}
	for i, file := range []string{inside, outside, linked} {
		name := strings.TrimSuffix(filepath.Base(file), ".go")
		b.Functions = append(b.Functions, profile.Function{Name: "main." + name, File: file, StartLine: 3})
		b.Locations = append(b.Locations, profile.Location{Address: uint64(i + 1), Lines: []profile.Line{{Function: uint32(i), Line: 4}}})
		b.Add([]uint32{uint32(i)}, 0, []int64{10})
	}
	b.Renumber()
	p, err := b.Profile()
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	for _, file := range []string{inside, outside, filepath.Join(root, "linked.go")} {
		if err == nil {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			err = os.WriteFile(file, []byte("package main\n\nfunc "+name+"() {\n\tprintln(\"text of "+name+"\")\n}\n"), 0o600)
		}
	}
	if err == nil {
		err = os.Symlink(filepath.Join(root, "linked.go"), linked)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, dir)
	got := a.asks("list", map[string]any{"ref": "cpu.pprof", "match": "main"}, "text of inside", "outside of the folder")
	for _, hidden := range []string{"text of outside", "text of linked"} {
		if strings.Contains(got.Text, hidden) {
			t.Errorf("it shows the %s:\n%s", hidden, got.Text)
		}
	}
}

// TestHostileAgent holds what an agent cannot do that reads its orders in a file of a stranger.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs")
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"work/go.mod":          "module example.com/work\n\ngo 1.26\n",
		"work/endless/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tfor {\n\t\tos.Stdout.WriteString(\"again and again\\n\")\n\t\tos.Stderr.WriteString(\"and again\\n\")\n\t}\n}\n",
		"work/waits/main.go":   "package main\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"time\"\n)\n\nfunc main() {\n\tos.WriteFile(\"pid.new\", []byte(strconv.Itoa(os.Getpid())), 0o600)\n\tos.Rename(\"pid.new\", \"pid\")\n\ttime.Sleep(time.Hour)\n}\n",
		"outside/go.mod":       "module example.com/outside\n\ngo 1.26\n",
		"outside/main.go":      "package main\n\nimport \"os\"\n\nfunc main() { os.WriteFile(\"ran\", nil, 0o600) }\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "work")
	a := startAgent(t, dir)
	type in = map[string]any
	for _, test := range []struct {
		tool string
		in   in
		want string
	}{
		{"record", in{"package": "../outside"}, "want packages of this folder"},
		{"record", in{"package": "./../outside"}, "outside the folder"},
		{"record", in{"package": filepath.Join(root, "outside")}, "want packages of this folder"},
		{"record", in{"package": "./waits", "output": "../outside/main.hone"}, "outside the folder"},
		{"record", in{"package": "./waits", "for": "1s\n--output=x"}, "control characters"},
		{"record", in{"package": "./waits", "for": "--output=../x.hone"}, `invalid argument|want`},
		{"advise", in{"package": "./...", "bench": "x", "exec": "sh"}, `there is no input "exec"`},
		{"top", in{"ref": "../outside/main.go"}, "outside the folder"},
		{"top", in{"ref": "https://example.com/cpu.pprof"}, "another machine"},
		{"compare", in{"base": "../outside"}, "want a revision of git"},
		{"prove", in{"base": strings.Repeat("a", 1<<19)}, "the limit is 4096"},
	} {
		if got := a.asks(test.tool, test.in, test.want); got.Outcome != "wrong input" {
			t.Errorf("%s %v: %s", test.tool, test.in, got.Outcome)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a program from outside the folder ran")
	}
	if runtime.GOOS == "windows" {
		return // programs there are not told to exit
	}
	got := a.asks("record", in{"package": "./endless", "for": "1s"}, `bytes were left out here`)
	if got.Recording == "" || got.Pages > 100 || len(got.Text) > 20_000 {
		t.Errorf("endless output: %s %q, %d pages, %d bytes", got.Outcome, got.Recording, got.Pages, len(got.Text))
	}

	// Who calls can stop what it called for, and hone goes on.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := a.c.CallTool(ctx, &sdk.CallToolParams{Name: "record", Arguments: in{"package": "./waits", "for": "1h"}})
		ended <- err
	}()
	var pid int
	for pid == 0 {
		time.Sleep(50 * time.Millisecond)
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(string(text))
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("the call was not canceled")
	}
	a.asks("race", in{"package": "../x"}, "want packages of this folder")
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for p.Signal(syscall.Signal(0)) == nil {
		time.Sleep(50 * time.Millisecond) // until go test gives up
	}
}
