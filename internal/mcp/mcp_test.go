package mcp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/testrun"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A ran is a hone that says what it is asked to do.
type ran struct {
	args []string
	out  string
	said string
	code int
	wait bool // until it is told to stop
}

func (r *ran) run(ctx context.Context, args []string, out, said io.Writer) (int, error) {
	r.args = args
	io.WriteString(out, r.out)
	io.WriteString(said, r.said)
	if r.wait {
		<-ctx.Done()
		return 130, nil
	}
	return r.code, nil
}

// connect returns a client of a server in a folder. A test ends when its calls have ended.
func connect(t *testing.T, o Options, co *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectWith(t, o, co, nil)
}

// connectWith is connect with a choice of the version of the protocol.
func connectWith(t *testing.T, o Options, co *sdk.ClientOptions, so *sdk.ClientSessionOptions) *sdk.ClientSession {
	t.Helper()
	in, inw := io.Pipe()
	outr, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), o, in, out) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, co).Connect(context.Background(), &sdk.IOTransport{Reader: outr, Writer: inw}, so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return c
}

// ask calls a tool and returns its text, what it says for programs, and whether it failed.
func ask(t *testing.T, c *sdk.ClientSession, name string, in map[string]any) (string, Answer, bool) {
	t.Helper()
	res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s %v: %v", name, in, err)
	}
	var a Answer
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*sdk.TextContent).Text, a, res.IsError
}

// folder returns a folder to serve, beside one that is not.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"work/cpu.pprof", "work/a.hone", "work/codec/codec.go", "outside/secret.pprof", "outside/p/p.go"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "work")
}

func TestCommandLines(t *testing.T) {
	var r ran
	c := connect(t, Options{Folder: folder(t), Run: r.run}, nil)
	type in = map[string]any
	for _, test := range []struct {
		tool string
		in   in
		want string
	}{
		{"look", in{"ref": "cpu.pprof"}, "cpu.pprof"},
		{"top", in{"ref": []string{"cpu.pprof", "a.hone"}, "limit": 5, "focus": []string{"^main", "x=y"}, "json": true}, "top --focus=^main --focus=x=y --limit=5 --json cpu.pprof a.hone"},
		{"top", in{"ref": "a.hone@3s..9s", "json": false}, "top --limit=30 a.hone@3s..9s"},
		{"top", in{"ref": "store:api{version=\"v2\"}@-1h"}, `top --limit=30 store:api{version="v2"}@-1h`},
		{"top", in{"ref": "localhost:6060", "focus": "--output=/etc/passwd"}, "top --focus=--output=/etc/passwd --limit=30 localhost:6060"},
		{"list", in{"match": "Parse", "ref": "cpu.pprof"}, "list Parse cpu.pprof"},
		{"peek", in{"match": "cpu.pprof", "ref": "cpu.pprof"}, "peek cpu.pprof cpu.pprof"},
		{"diff", in{"base": "a.hone", "ref": "cpu.pprof"}, "diff --base=a.hone --limit=30 cpu.pprof"},
		{"request", in{"what": "slowest", "ref": "a.hone"}, "request slowest a.hone"},
		{"record", in{"package": "./codec", "args": []string{"-v", "--output=x"}, "output": "new.hone"}, "record --for=30s --output=new.hone ./codec -- -v --output=x"},
		{"record", in{"test": "./codec", "bench": "Parse", "run": "^$"}, "record -bench=Parse -run=^$ --test --output=recorded-1.hone ./codec"},
		{"record", in{"server": "127.0.0.1:6060", "for": "5s", "trace": true}, "record --for=5s --trace --output=recorded-1.hone 127.0.0.1:6060"},
		{"holders", in{"pid": 4711, "output": "held.hone"}, "holders --output=held.hone 4711"},
		{"holders", in{"ref": "a.hone", "base": "a.hone", "focus": "Session", "limit": 5}, "holders --base=a.hone --focus=Session --limit=5 a.hone"},
		{"advise", in{"package": "./..."}, "advise ./..."},
		{"why_alloc", in{"where": "codec/codec.go:12", "ref": "a.hone"}, "why-alloc --no-code codec/codec.go:12 a.hone"},
		{"why_alloc", in{"where": "(*Server).serve"}, "why-alloc --no-code (*Server).serve"},
		{"fix", in{"ref": "a.hone", "finding": 2}, "fix --dry-run a.hone 2"},
		{"fix", in{"package": "./codec", "apply": true, "budget": "5m"}, "fix --budget=5m ./codec"},
		{"prove", in{"base": "v1.2.0..HEAD"}, "prove v1.2.0..HEAD"},
		{"compare", in{"base": "main~3", "package": "./codec", "bench": "."}, "compare -bench=. main~3 ./codec"},
		{"race", in{"package": []string{"./..."}, "for": "1m"}, "race --for=1m ./..."},
		{"services", nil, "services"},
		{"services", in{"last": "24h"}, "services --last=24h"},
		{"events", in{}, "events"},
		{"events", in{"service": "api", "last": "7d", "kind": []string{"change", "oom"}, "limit": 5}, "events --last=7d --kind=change --kind=oom --limit=5 api"},
	} {
		text, _, failed := ask(t, c, test.tool, test.in)
		if got := strings.Join(r.args, " "); failed || got != test.want {
			t.Errorf("%s %v: %q %v\nwant %q", test.tool, test.in, got, text, test.want)
		}
	}
}

// A caller that was told to do harm gets an answer that says why not, and nothing runs.
func TestHostileCallers(t *testing.T) {
	work := folder(t)
	if err := os.Symlink(filepath.Join(work, "..", "outside"), filepath.Join(work, "link")); err != nil {
		t.Skip(err) // as on Windows, where not everybody may
	}
	if err := os.Symlink(filepath.Join(work, "..", "outside", "new.hone"), filepath.Join(work, "new.hone")); err != nil {
		t.Fatal(err)
	}
	// A folder with the name of an address makes a path of what looks like one.
	if err := os.MkdirAll(filepath.Join(work, "localhost:6060"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(work, "..", "outside", "secret.pprof"), filepath.Join(work, "localhost:6060", "profile")); err != nil {
		t.Fatal(err)
	}
	c := connect(t, Options{Folder: work, Run: func(context.Context, []string, io.Writer, io.Writer) (int, error) {
		t.Error("something ran")
		return 0, nil
	}}, nil)
	type in = map[string]any
	outside, _ := filepath.Abs(filepath.Join(work, "..", "outside"))
	for _, test := range []struct {
		tool string
		in   in
		want string
	}{
		{"top", in{"ref": "../outside/secret.pprof"}, "outside the folder"},
		{"top", in{"ref": filepath.Join(outside, "secret.pprof")}, "outside the folder"},
		{"top", in{"ref": "link/secret.pprof"}, "outside the folder"},
		{"top", in{"ref": "codec/../../outside/secret.pprof"}, "outside the folder"},
		{"top", in{"ref": "localhost:6060/../../outside/secret.pprof"}, "outside the folder"},
		{"top", in{"ref": "localhost:6060/profile"}, "outside the folder"},
		{"top", in{"ref": []string{}}, "it needs ref"},
		{"advise", in{"ref": "a.hone", "package": "./codec"}, "it needs one of ref, package"},
		{"top", in{"ref": "file:///etc/passwd"}, "no URL that hone reads"},
		{"top", in{"ref": "--output=/tmp/x"}, "does not begin with -"},
		{"top", in{"ref": []string{"cpu.pprof", "-"}}, "does not begin with -"},
		{"top", in{"ref": "http://example.com/debug/pprof/profile"}, "another machine"},
		{"top", in{"ref": "example.com:80"}, "another machine"},
		{"top", in{"ref": "http://localhost@example.com/"}, "another machine"},
		{"top", in{"ref": "http://127.0.0.1.example.com/"}, "another machine"},
		{"top", in{"ref": "169.254.169.254:80/latest/meta-data"}, "another machine"},
		{"top", in{"ref": "missing.pprof"}, "there is no missing.pprof in the folder"},
		{"top", in{"ref": "a\nb"}, "control characters"},
		{"top", in{"ref": strings.Repeat("x", maxValue+1)}, "the limit is 4096"},
		{"top", in{"ref": slices.Repeat([]string{"cpu.pprof"}, maxList+1)}, "the limit is 64"},
		{"top", in{"ref": "cpu.pprof", "output": "x"}, `there is no input "output"; the inputs are`},
		{"top", in{"ref": "cpu.pprof", "limits": 5}, "did you mean limit?"},
		{"top", in{"ref": 7.5}, "there is no 7.5"},
		{"top", in{"ref": in{"a": 1}}, "want a text"},
		{"top", in{}, "it needs ref"},
		{"list", in{"match": "--binary=/bin/sh", "ref": "cpu.pprof"}, "does not begin with -"},
		{"record", in{"package": "golang.org/x/tools/cmd/stress@latest"}, "want packages of this folder"},
		{"record", in{"package": "std"}, "want packages of this folder"},
		{"record", in{"package": "./../outside/p"}, "outside the folder"},
		{"record", in{"package": "./link/p"}, "outside the folder"},
		{"record", in{"package": "-exec=sh"}, "does not begin with -"},
		{"record", in{"package": "./codec", "test": "./codec"}, "one of package, test, server"},
		{"record", in{"package": "./codec", "output": "../outside/x.hone"}, "outside the folder"},
		{"record", in{"package": "./codec", "output": "new.hone"}, "leads nowhere"},
		{"record", in{"package": "./codec", "output": "codec/codec.go"}, "are called .hone"},
		{"record", in{"server": "cpu.pprof"}, "is a file"},
		{"record", in{"server": "metadata.internal:80"}, "another machine"},
		{"record", in{"test": "./codec", "args": "x"}, "args goes with package"},
		{"advise", in{}, "it needs one of ref, package"},
		{"advise", in{"ref": "a.hone", "source": ".."}, "outside the folder"},
		{"why_alloc", in{"where": "../outside/p/p.go:3"}, "outside the folder"},
		{"why_alloc", in{"where": "codec/codec.go:1/../../../outside/p/p.go:3"}, "outside the folder"},
		{"prove", in{"base": "../outside"}, "want a revision of git"},
		{"prove", in{"base": "--ext-diff"}, "does not begin with -"},
		{"prove", in{"base": "a;b"}, "want a revision of git"},
		{"compare", in{"package": "example.com/other"}, "want packages of this folder"},
		{"fix", in{"package": "./codec", "apply": "yes"}, "want true or false"},
		{"more", in{"result": "r99", "page": 1}, `there is no result "r99"`},
		{"more", in{"result": "r99", "page": "x"}, `page: "x": want a number from 1 on`},
		{"more", in{"result": "r99", "page": 1, "pages": 2}, "did you mean page?"},
		// What a caller gets wrong that means well, and what it needs to do better.
		{"top", in{"ref": "b.hone"}, "did you mean a.hone?"},
		{"top", in{"ref": "before.hone"}, "its newest recordings are a.hone"},
		{"top", in{"ref": "localhost"}, "such as localhost:6060"},
		{"list", in{"match": "", "ref": "cpu.pprof"}, "match: it is empty"},
		{"advise", in{"ref": "a.hone", "bench": "Parse"}, "bench goes with package"},
		{"advise", in{"ref": "a.hone", "finding": 0}, `finding: "0": want a number from 1 on`},
		{"fix", in{"package": "./codec", "finding": 1}, "finding goes with ref"},
		{"fix", in{"package": "./codec", "source": "codec"}, "source goes with ref"},
		{"record", in{"server": "localhost:6060", "run": "x"}, "run goes with test"},
		{"record", in{"package": "./codex"}, "there is no ./codex in the folder"},
		{"record", in{"test": "./codec", "bench": "("}, "bench: missing closing )"},
		{"record", in{"package": "./codec", "output": "a.hone"}, "a.hone is there already"},
		{"race", in{"package": "./codec", "run": "*"}, "run: missing argument to repetition"},
	} {
		text, a, failed := ask(t, c, test.tool, test.in)
		if !failed || a.Outcome != "wrong input" || !strings.Contains(text, test.want) {
			t.Errorf("%s %v: %v %q %s\nwant %s", test.tool, test.in, failed, a.Outcome, text, test.want)
		}
	}
}

// Answers come in pages, however much a program writes.
func TestPages(t *testing.T) {
	r := ran{out: strings.Repeat("a line of thirty characters…\n", 1_000_000) + "the end\n", said: strings.Repeat("x", 1<<20)}
	c := connect(t, Options{Folder: folder(t), Run: r.run}, nil)
	text, a, failed := ask(t, c, "top", map[string]any{"ref": "cpu.pprof"})
	if failed || a.Pages < 80 || a.Pages > 100 || a.Result == "" || len(text) > pageBytes+200 {
		t.Fatalf("%d bytes, %+v", len(text), a)
	}
	before, _, _ := ask(t, c, "more", map[string]any{"result": a.Result, "page": a.Pages - 1})
	last, b, _ := ask(t, c, "more", map[string]any{"result": a.Result, "page": a.Pages})
	if b.Page != a.Pages || !strings.Contains(before+last, "bytes were left out here") || !strings.Contains(last, "\nthe end\n") {
		t.Errorf("the last page is %d: %.200s", b.Page, last)
	}
	if text, _, failed := ask(t, c, "more", map[string]any{"result": a.Result, "page": a.Pages + 1}); !failed || !strings.Contains(text, "has pages 1 to") {
		t.Errorf("a page that is not there: %s", text)
	}
	for range mostResults {
		ask(t, c, "top", map[string]any{"ref": "cpu.pprof"})
	}
	if text, _, failed := ask(t, c, "more", map[string]any{"result": a.Result, "page": 1}); !failed {
		t.Errorf("it is still there: %.100s", text)
	}
	whole := strings.Repeat("é", pageBytes)
	if got := strings.Join(pages(whole), ""); got != whole {
		t.Error("a text without lines is another one in pages")
	}
}

// What a program writes moves no cursor where an answer is shown.
func TestPlainText(t *testing.T) {
	r := ran{out: "\x1b[2Jcleared\x1b]0;title\x07\r\n10%\r20%\r\n\ttab \xff\u202e\u2502\n", said: "note: \x1b[31mred\n"}
	c := connect(t, Options{Folder: folder(t), Run: r.run}, nil)
	for _, in := range []map[string]any{{"ref": "cpu.pprof"}, {"ref": "cpu.pprof", "json": true}} {
		text, a, _ := ask(t, c, "top", in)
		if text != a.Text || strings.ContainsAny(text, "\x1b\x07\r\u202e") || !strings.Contains(text, "\ttab ") || !strings.Contains(text, "\u2502\n") {
			t.Errorf("%v: %q", in, text)
		}
	}
	r.out = "{}\n"
	if text, a, _ := ask(t, c, "top", map[string]any{"ref": "cpu.pprof", "json": true}); strings.Contains(text+a.Text, "\x1b") {
		t.Errorf("beside a report: %q", text)
	}
}

func TestOutcomes(t *testing.T) {
	r := ran{out: `{"a":1}` + "\n", said: "note: well\n"}
	work := folder(t)
	c := connect(t, Options{Folder: work, Run: r.run}, nil)
	text, a, _ := ask(t, c, "top", map[string]any{"ref": "cpu.pprof", "json": true})
	if string(a.Report) != `{"a":1}` || a.Outcome != "done" || text != r.said+r.out {
		t.Errorf("%q %+v", text, a)
	}
	r.out = `"` + strings.Repeat("x", mostJSON) + `"` + "\n"
	if text, a, _ := ask(t, c, "top", map[string]any{"ref": "cpu.pprof", "json": true}); a.Report != nil || a.Pages < 4 || !strings.Contains(text, "a smaller limit or filters make it shorter") {
		t.Errorf("a report that is too long: %+v", a)
	}
	r.out = "well\n"
	for code, want := range map[int]string{1: "failed", 2: "wrong input", 3: "gate", 4: "undecided", 99: "failed"} {
		r.code = code
		if _, a, failed := ask(t, c, "prove", nil); a.Outcome != want || failed != (want == "failed" || want == "wrong input") {
			t.Errorf("%d: %+v %v", code, a, failed)
		}
	}
}

// A recording is made whatever becomes of the program, whose exit code is no outcome of hone.
func TestRecordingIsDone(t *testing.T) {
	work, code := folder(t), 0
	c := connect(t, Options{Folder: work, Run: func(_ context.Context, args []string, _, said io.Writer) (int, error) {
		if code == 1 {
			return code, nil // as where the package does not build
		}
		for _, a := range args {
			if name, ok := strings.CutPrefix(a, "--output="); ok {
				return code, os.WriteFile(filepath.Join(work, name), nil, 0o600)
			}
		}
		return 0, nil
	}}, nil)
	for code = range 4 {
		_, a, failed := ask(t, c, "record", map[string]any{"package": "./codec"})
		if made := code != 1; made != (a.Recording != "") || made != (a.Outcome == "done") || failed == made || made && a.Exit != code {
			t.Errorf("%d: %+v %v", code, a, failed)
		}
	}
}

// advise keeps the recording of the benchmarks that it ran outside of the folder. It is a ref for this caller. No other file there is, and no tool
// can name one that runs programs of strangers.
func TestKeptRuns(t *testing.T) {
	work, runs := folder(t), t.TempDir()
	mine, other, outside := filepath.Join(runs, "mine.hone"), filepath.Join(runs, "other.hone"), filepath.Join(work, "..", "outside", "secret.pprof")
	for _, name := range []string{mine, other} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var r ran
	c := connect(t, Options{Folder: work, Runs: runs, Run: r.run}, nil)
	refused := func(ref string) {
		t.Helper()
		if text, _, failed := ask(t, c, "top", map[string]any{"ref": ref}); !failed || !strings.Contains(text, "outside the folder") {
			t.Errorf("%s: %s", ref, text)
		}
	}
	refused(mine)
	for _, made := range []string{outside, filepath.Join(runs, "..", "x.hone"), runs, ""} {
		r.said = Made + made + "\n"
		if _, a, _ := ask(t, c, "advise", map[string]any{"package": "./codec"}); a.Recording != "" {
			t.Errorf("it takes %q for a recording that is kept", made)
		}
	}
	refused(outside)
	r.said = "note: a\n" + Made + mine + "\n"
	if _, a, _ := ask(t, c, "race", map[string]any{"package": "./codec"}); a.Recording != "" {
		t.Errorf("a race has the recording %s", a.Recording)
	}
	refused(mine)
	if text, a, _ := ask(t, c, "advise", map[string]any{"package": "./codec"}); a.Recording != mine || text != "note: a\n" {
		t.Errorf("%q %+v", text, a)
	}
	r.said = ""
	for _, ref := range []string{mine, mine + "@1s"} {
		if text, _, failed := ask(t, c, "top", map[string]any{"ref": ref}); failed || r.args[len(r.args)-1] != ref {
			t.Errorf("%s: %q %s", ref, r.args, text)
		}
	}
	refused(other)
}

// A revision that names no commit is not taken for a package, which it is to hone compare.
func TestCompareRevision(t *testing.T) {
	work := folder(t)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}} {
		if _, err := (git.Command{Dir: work}).Run(t.Context(), args...); err != nil {
			testrun.Missing(t, "git: %v", err)
		}
	}
	var r ran
	c := connect(t, Options{Folder: work, Run: r.run}, nil)
	if text, _, failed := ask(t, c, "compare", map[string]any{"base": "trunk"}); !failed || !strings.Contains(text, "trunk names no commit") {
		t.Error(text)
	}
	for _, base := range []string{"main", "HEAD", "main..HEAD", "a.hone"} {
		if text, _, failed := ask(t, c, "compare", map[string]any{"base": base}); failed {
			t.Errorf("%s: %s", base, text)
		}
	}
}

// Who asked can stop what it asked for, and is told how it goes.
func TestStopAndProgress(t *testing.T) {
	told := make(chan string, 10)
	r := ran{said: "hone: building…\nhone: rec", wait: true}
	c := connect(t, Options{Folder: folder(t), Run: r.run}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { told <- n.Params.Message },
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	params := &sdk.CallToolParams{Name: "record", Arguments: map[string]any{"package": "./codec"}}
	params.SetProgressToken("p")
	go func() {
		_, err := c.CallTool(ctx, params)
		ended <- err
	}()
	if line := <-told; line != "hone: building…" {
		t.Errorf("told %q", line)
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("it was not stopped")
	}
}

// What only says how it goes is not part of the answer, and no program makes that a flood.
func TestLines(t *testing.T) {
	var told []string
	to := &capped{most: mostSaid}
	l := &lines{to: to, tell: func(line string) { told = append(told, line) }}
	for _, part := range []string{"note: a\n" + Progress + "hone: buil", "ding… (10s)\nno", "te: b\n", "the end"} {
		io.WriteString(l, part)
	}
	l.end()
	if got := to.String(); got != "note: a\nnote: b\nthe end" {
		t.Errorf("the answer has %q", got)
	}
	if want := []string{"note: a", "hone: building… (10s)", "note: b"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	for range 10_000 {
		io.WriteString(l, "again and again\n")
	}
	io.WriteString(l, strings.Repeat("x", 1<<20))
	size := 0
	for _, line := range told {
		size += len(line)
	}
	if size > mostTold || len(l.line) > mostSaid {
		t.Errorf("told %d bytes, held %d", size, len(l.line))
	}
}

// All tools together take little of what a caller can take in.
func TestToolsAreShort(t *testing.T) {
	c := connect(t, Options{Folder: t.TempDir(), Run: new(ran).run}, nil)
	all, err := c.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	var names []string
	for _, tool := range all.Tools {
		if tool.OutputSchema == nil {
			t.Errorf("%s does not say what its answer looks like", tool.Name)
		}
		tool.OutputSchema = nil // clients check answers by it, and do not show it to models
		b, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		size += len(b)
		names = append(names, tool.Name)
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
	}
	for _, name := range append(slices.Clone(looks), "record", "holders", "advise", "why_alloc", "fix", "prove", "compare", "race", "more") {
		if !slices.Contains(names, name) {
			t.Errorf("there is no tool %s", name)
		}
	}
	if size > 30_000 {
		t.Errorf("%d tools take %d bytes", len(names), size)
	}
}

// Calls that look run beside each other, up to a limit; calls that measure run one after the other, and who waits for its turn can be stopped.
func TestTurns(t *testing.T) {
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	begun, resume := make(chan string, 100), make(chan struct{})
	c := connect(t, Options{Folder: folder(t), Run: func(ctx context.Context, args []string, _, _ io.Writer) (int, error) {
		mu.Lock()
		now[args[0]]++
		most[args[0]] = max(most[args[0]], now[args[0]])
		mu.Unlock()
		begun <- args[0]
		select {
		case <-resume:
		case <-ctx.Done():
		}
		mu.Lock()
		now[args[0]]--
		mu.Unlock()
		return 0, nil
	}}, nil)
	var calls sync.WaitGroup
	for range 3 * mostLooks {
		calls.Go(func() {
			c.CallTool(context.Background(), &sdk.CallToolParams{Name: "top", Arguments: map[string]any{"ref": "cpu.pprof"}})
		})
	}
	for range 3 {
		calls.Go(func() { c.CallTool(context.Background(), &sdk.CallToolParams{Name: "race"}) })
	}
	for range mostLooks + 1 {
		<-begun
	}
	ctx, stop := context.WithCancel(context.Background())
	waits := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "prove"})
		waits <- err
	}()
	stop()
	if err := <-waits; err == nil {
		t.Error("a call that waits for its turn was not stopped")
	}
	close(resume)
	calls.Wait()
	if most["top"] != mostLooks || most["race"] != 1 || most["prove"] != 0 {
		t.Errorf("at once: %v", most)
	}
}

// When the caller goes away, what it asked for is stopped, and the server ends after that.
func TestCallerGone(t *testing.T) {
	begun, stopped := make(chan bool), false
	in, inw := io.Pipe()
	outr, out := io.Pipe()
	ended := make(chan error)
	go func() {
		ended <- Serve(context.Background(), Options{Folder: folder(t), Run: func(ctx context.Context, _ []string, _, _ io.Writer) (int, error) {
			begun <- true
			<-ctx.Done()
			stopped = true
			return 130, nil
		}}, in, out)
	}()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), &sdk.IOTransport{Reader: outr, Writer: inw}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go c.CallTool(context.Background(), &sdk.CallToolParams{Name: "prove"})
	<-begun
	inw.Close()
	<-ended
	if !stopped {
		t.Error("a call goes on without a caller")
	}
}

// Other machines are asked only where the user said so: a store by its address, and no other one.
func TestStore(t *testing.T) {
	var r ran
	c := connect(t, Options{Folder: folder(t), Store: "https://hone.example.com", Run: r.run}, nil)
	if text, _, failed := ask(t, c, "look", map[string]any{"ref": "https://hone.example.com/shelf/abc"}); failed {
		t.Error(text)
	}
	for _, ref := range []string{"http://hone.example.com/x", "https://hone.example.com:444/x", "https://hone.example.com@evil.example/x", "https://a:b@hone.example.com/x"} {
		if text, _, failed := ask(t, c, "look", map[string]any{"ref": ref}); !failed || !strings.Contains(text, "another machine") {
			t.Errorf("%s: %s", ref, text)
		}
	}
}

// flags spells as no tool does.
type flags struct{}

func (flags) Option(o hint.Option) string   { return "--" + o.String() }
func (flags) Command(c hint.Command) string { return "hone " + c.String() }

// Hints are calls that a caller can make as they are, or command lines where no tool does that.
func TestSpelling(t *testing.T) {
	by := Speller{Others: flags{}}
	for _, test := range []struct {
		in   hint.Command
		want string
	}{
		{hint.Ask("", "a.hone"), `look {"ref": "a.hone"}`},
		{hint.Ask("top", "a.hone").With("cum", "").With("metric", "alloc_space"), `top {"ref": "a.hone", "metric": "alloc_space", "sort": "cum"}`},
		{hint.Ask("top", "a.hone", "b.hone").With("limit", "50").With("focus", "^a<b$"), `top {"ref": ["a.hone", "b.hone"], "focus": "^a<b$", "limit": 50}`},
		{hint.Ask("peek", "a.hone").Of("main.work"), `peek {"match": "main.work", "ref": "a.hone"}`},
		{hint.Ask("request", "a.hone").Of("slowest"), `request {"what": "slowest", "ref": "a.hone"}`},
		{hint.Ask("kinds", "a.hone").With("at", "3s..4s"), `kinds {"ref": "a.hone", "at": "3s..4s"}`},
		{hint.Ask("timeline", "a.hone"), `timeline {"ref": "a.hone"}`},
		{hint.Ask("diff", "old.hone", "new.hone"), `diff {"base": "old.hone", "ref": "new.hone"}`},
		{hint.Ask("requests", "new.hone").With("base", "old.hone"), `requests {"ref": "new.hone", "base": "old.hone"}`},
		{hint.Ask("advise", "a.hone").With("finding", "2"), `advise {"ref": "a.hone", "finding": 2}`},
		{hint.Ask("why-alloc", "a.go:12"), `why_alloc {"where": "a.go:12"}`},
		{hint.Ask("fix", "--source=v2", "a.hone", "2"), `fix {"ref": "a.hone", "finding": 2, "apply": true, "source": "v2"}`},
		{hint.Ask("fix", "--dry-run", "./codec"), `fix {"package": "./codec"}`},
		{hint.Ask("fix", "./codec").With("dry-run", ""), `fix {"package": "./codec"}`},
		{hint.Ask("record", "./cmd/app"), `record {"package": "./cmd/app"}`},
		{hint.Ask("record", "./codec").With("test", ""), `record {"test": "./codec"}`},
		{hint.Ask("record", "localhost:6060").With("for", "5s"), `record {"server": "localhost:6060", "for": "5s"}`},
		{hint.Ask("prove").With("faster", ""), `prove {"faster": true}`},
		{hint.Ask("compare", "OLD..NEW"), `compare {"base": "OLD..NEW"}`},
		{hint.Ask("compare").With("live", ""), `hone compare live`},
		{hint.Ask("advise", "a.hone").With("all", ""), `advise {"ref": "a.hone", "all": true}`},
		{hint.Ask("record").With("trace", ""), `record {"trace": true}`},
		{hint.Command{Verb: "record", Args: []string{"./cmd/app"}, Behind: []string{"-v"}}, `record {"package": "./cmd/app", "args": "-v"}`},
		{hint.Command{Verb: "record", Behind: []string{"COMMAND"}}, `hone record -- COMMAND`},
		{hint.Ask("prove", "OLDDIR", "NEWDIR"), `hone prove OLDDIR NEWDIR`},
		{hint.Ask("web", "a.hone"), `hone web a.hone`},
		{hint.Command{Program: "git", Verb: "diff"}, `hone git diff`},
	} {
		if got := by.Command(test.in); got != test.want {
			t.Errorf("%v is %s, want %s", test.in, got, test.want)
		}
	}
	for o, want := range map[hint.Option]string{
		{Name: "limit"}: "limit", {Name: "limit", Value: "50"}: `{"limit": 50}`, {Name: "min", Value: "0"}: `{"min": "0"}`,
		{Name: "cum"}: "sort", {Name: "faster"}: `{"faster": true}`, {Name: "json"}: `{"json": true}`, {Name: "o"}: "output", {Name: "relative"}: "--relative on the command line",
		{Name: "dry-run"}: `{"apply": false}`,
	} {
		if got := by.Option(o); got != want {
			t.Errorf("%v is %s, want %s", o, got, want)
		}
	}
	// Whatever it says, the tool takes it.
	r := ran{}
	c := connect(t, Options{Folder: folder(t), Run: r.run}, nil)
	for _, next := range []hint.Command{hint.Ask("top", "a.hone").With("cum", "").With("limit", "5"), hint.Ask("fix", "a.hone", "2"), hint.Ask("fix", "a.hone").With("dry-run", ""), hint.Ask("advise", "a.hone").With("finding", "2")} {
		tool, input, _ := strings.Cut(by.Command(next), " ")
		var in map[string]any
		if err := json.Unmarshal([]byte(input), &in); err != nil {
			t.Fatal(err)
		}
		if text, _, failed := ask(t, c, tool, in); failed {
			t.Errorf("%s %s: %s", tool, input, text)
		}
	}
}

// An answer has so many rows at most, and says so where more were asked for.
func TestRows(t *testing.T) {
	r := ran{out: "rows\n"}
	c := connect(t, Options{Folder: folder(t), Run: r.run}, nil)
	for _, test := range []struct {
		limit      any
		want, note string
	}{
		{5, "--limit=5", ""}, {1000, "--limit=1000", ""}, {1001, "--limit=1000", "limit 1001 is not possible here"},
		{json.RawMessage("5.0"), "--limit=5", ""}, {json.RawMessage("5e1"), "--limit=50", ""},
		{0, "--limit=1000", "limit 0 is"}, {-1, "--limit=1000", "limit -1 is"}, {"all", "--limit=1000", "limit all is"},
	} {
		text, _, failed := ask(t, c, "top", map[string]any{"ref": "cpu.pprof", "limit": test.limit})
		if failed || !slices.Contains(r.args, test.want) || !strings.Contains(text, test.note) || strings.Contains(text, "note: ") != (test.note != "") {
			t.Errorf("limit %v: %v %s", test.limit, r.args, text)
		}
	}
	for _, wrong := range []any{-2, "many", 1.5, json.RawMessage("5e300"), json.RawMessage("1e999")} {
		if text, _, failed := ask(t, c, "top", map[string]any{"ref": "cpu.pprof", "limit": wrong}); !failed || !strings.Contains(text, "want a number from 1 to 1000") {
			t.Errorf("limit %v: %s", wrong, text)
		}
	}
}
