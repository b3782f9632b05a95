package capture

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/testrun"
)

// work lays out a project from testdata.
func work(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A try is a program that is built, recorded, and ends somehow.
type try struct {
	name string
	dir  string
	args []string // of the program
	b    Build
	env  []string

	code   int
	signal string
	cause  string // contained
	out    string // all of it
	errs   string // contained
	note   string // contained in one
	wrote  string // what it wrote to standard output
	sudden bool   // up to a segment is lost
}

// once has it built here, for all that run it.
func (tt *try) once(t *testing.T) {
	tt.b.Dir, tt.b.Targets, tt.b.Env = tt.dir, []string{"."}, append(os.Environ(), tt.env...)
	if err := tt.b.Once(context.Background(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// do records it and holds what came of it.
func (tt *try) do(t *testing.T) {
	var out, errs bytes.Buffer
	tt.b.Dir = tt.dir
	tt.b.Env = append(os.Environ(), tt.env...)
	opt := Options{
		Out: filepath.Join(t.TempDir(), "out.hone"), Dir: tt.dir, Build: &tt.b,
		Program: Program{Args: tt.args, Env: tt.b.Env, Out: &out, Err: &errs},
	}
	rec, err := Record(context.Background(), opt)
	if err != nil {
		t.Fatalf("%v; its standard error: %s", err, &errs)
	}
	tt.wrote = out.String()
	if rec.Code != tt.code {
		t.Errorf("exit code %d, want %d; its standard error: %s", rec.Code, tt.code, &errs)
	}
	if tt.out != "" && out.String() != tt.out {
		t.Errorf("standard output is %q, want %q", &out, tt.out)
	}
	if !strings.Contains(errs.String(), tt.errs) || strings.Contains(errs.String(), " ms clock, ") {
		t.Errorf("standard error is %q, want %q in it and nothing about garbage collection", &errs, tt.errs)
	}
	r, err := recording.Open(rec.File)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Manifest
	if m.Exit == nil || m.Exit.Code != tt.code || m.Exit.Signal != tt.signal || !strings.Contains(m.Exit.Cause, tt.cause) {
		t.Errorf("the manifest says it ended with %+v, want code %d, signal %q, cause %q", m.Exit, tt.code, tt.signal, tt.cause)
	}
	if tt.note != "" && !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, tt.note) }) {
		t.Errorf("notes are %q, want one about %q", m.Notes, tt.note)
	}
	if m.Recorder == nil || m.Recorder.Bytes == 0 || m.Usage.User <= 0 || m.Usage.MaxRSS < 1<<20 {
		t.Errorf("the recorder says %+v, the usage was %+v", m.Recorder, m.Usage)
	}
	if got := share(t, r, "cpu", "hotLoop"); got < 0.5 {
		t.Errorf("hotLoop has %.0f%% of the CPU time", 100*got)
	}
	if got := share(t, r, "heap:inuse_space", "hotAlloc"); got < 0.8 {
		t.Errorf("hotAlloc has %.0f%% of the heap", 100*got)
	}
	if got := share(t, r, "heap:alloc_space", "hotDrop"); !tt.sudden && got < 0.25 {
		t.Errorf("hotDrop, which runs after the last collection, allocated %.0f%% of all bytes", 100*got)
	}
	// What ends in order writes the rest: the last CPU profile, and then the others. How long that takes depends on what
	// else the machine does.
	cut := slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "ended without warning") })
	if cut != tt.sudden {
		t.Errorf("it ended suddenly: %v; notes are %q", tt.sudden, m.Notes)
	}
	cpus, heaps := r.Parts[recording.CPU], r.Parts[recording.Heap]
	if last := heaps[len(heaps)-1].To; !tt.sudden && (last < cpus[len(cpus)-1].To || last > m.Usage.Real) {
		t.Errorf("the last CPU profile ends after %s, the last of the heap is of %s, and it ran for %s", cpus[len(cpus)-1].To, last, m.Usage.Real)
	}
	for i, p := range cpus[1:] {
		if p.From < cpus[i].To {
			t.Errorf("CPU profiles overlap: from %s after one to %s", p.From, cpus[i].To)
		}
	}
	for _, name := range []string{recording.MetricsFile, recording.SourceIndex} {
		if text, err := r.File(name, 1<<20); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
	if index, _ := r.File(recording.SourceIndex, 1<<20); !strings.Contains(string(index), "hot.go") {
		t.Errorf("hot.go is not among the sources:\n%s", index)
	}
	tt.checkCode(t, r)
}

// checkCode holds that the machine code of the hottest function is in the recording, and shown where the program is not at hand.
func (tt *try) checkCode(t *testing.T, r *recording.Recording) {
	t.Helper()
	picked, _, err := r.Pick("cpu", 0, 0)
	code := recording.MachineCode.In(r)
	if err != nil || code == nil {
		t.Fatalf("%v; the code is %v", err, code)
	}
	for i := range code.Objects {
		o := &code.Objects[i]
		at := slices.IndexFunc(picked.Profile.Mappings, func(m profile.Mapping) bool { return m.File == o.File })
		if at < 0 {
			t.Fatalf("the profile does not name %s", o.File)
		}
		m := picked.Profile.Mappings[at]
		o.File = filepath.Join(t.TempDir(), "gone")
		m.File = o.File
		object, err := (&source.Options{}).Code(picked).Object(&m)
		if err != nil {
			t.Fatal(err)
		}
		fns, err := object.Functions(func(f *recording.Function) bool { return strings.HasSuffix(f.Name, ".hotLoop") })
		if err != nil || len(fns) != 1 {
			continue
		}
		list, err := object.Instructions(&fns[0])
		if err != nil || len(list) < 3 || !strings.HasSuffix(list[0].Frames[0].File, "hot.go") {
			t.Errorf("hotLoop has %d instructions, %v", len(list), err)
		}
		return
	}
	t.Errorf("hotLoop has no machine code")
}

// share returns how much of a metric is in a function and what it calls, between 0 and 1.
func share(t *testing.T, r *recording.Recording, metric, function string) float64 {
	t.Helper()
	picked, typ, err := r.Pick(metric, 0, 0)
	if err != nil {
		t.Error(err)
		return 0
	}
	p := picked.Profile
	k, err := p.SampleIndex(typ)
	if err != nil {
		t.Fatal(err)
	}
	var in, all int64
	for i, v := range p.Values(k) {
		all += v
		for _, l := range p.Stack(i, nil) {
			if slices.ContainsFunc(p.Locations[l].Lines, isIn(p.Functions, function)) {
				in += v
				break
			}
		}
	}
	return float64(in) / float64(max(all, 1))
}

// needs leaves a test out where there is nothing to run it with.
func needs(t *testing.T, commands ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	if runtime.GOOS == "windows" {
		t.Skip("signals and exit codes are others on Windows")
	}
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			testrun.Missing(t, "%v", err)
		}
	}
}

// Every way to end leaves a recording, and the program does what it would have done. Of signals and crashes that are handled alike, one of each
// kind runs before the nightly run.
func TestRecordEndings(t *testing.T) {
	needs(t, "go")
	rare := []string{"nil", "map", "fatal", "signal TERM", "signal HUP", "ignore"}
	built := try{dir: work(t, "module.txtar")}
	built.once(t)
	for _, tt := range []try{
		{args: []string{"return", "a b"}, out: "a b; 1 goroutines; GODEBUG=, recorder=\n"},
		{args: []string{"return"}, env: []string{"GODEBUG=http2client=0"}, out: "; 1 goroutines; GODEBUG=http2client=0, recorder=\n"},
		{args: []string{"exit"}, code: 3},
		{args: []string{"fatal"}, code: 1, errs: "no more\n"},
		{args: []string{"panic"}, code: 2, sudden: true, errs: "panic: oh no\n", cause: "panic: oh no"},
		{args: []string{"nil"}, code: 2, sudden: true, errs: "nil pointer", cause: "nil pointer"},
		{args: []string{"map"}, code: 2, sudden: true, errs: "concurrent map writes", cause: "concurrent map"},
		{args: []string{"deadlock"}, code: 2, errs: "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [", cause: "deadlock"},
		{args: []string{"goexit"}, code: 2, errs: "fatal error: no goroutines (main called runtime.Goexit) - deadlock!\n", cause: "runtime.Goexit"},
		{args: []string{"signal", "INT"}, code: 130, signal: "SIGINT"},
		{args: []string{"signal", "TERM"}, code: 143, signal: "SIGTERM"},
		{args: []string{"signal", "HUP"}, code: 129, signal: "SIGHUP"},
		{args: []string{"signal", "QUIT"}, code: 2, errs: "SIGQUIT: quit", cause: "SIGQUIT"},
		{args: []string{"signal", "KILL"}, code: 137, signal: "SIGKILL", sudden: true, cause: "another process sent it SIGKILL, or the kernel did because memory ran out"},
		{args: []string{"handler"}, code: 7, out: "cleaned up\n"},
		{args: []string{"ignore"}, out: "went on\n"},
		{args: []string{"profiles"}, out: "its own profile has hotLoop\n", note: "whatever it set with runtime.SetCPUProfileRate"},
		{args: []string{"waits"}, out: "woken\n"},
		{args: []string{"close"}},
		{args: []string{"drop"}, out: "<nil> <nil>\n"},
	} {
		name := strings.Join(tt.args, " ")
		tt.dir, tt.b = built.dir, built.b
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(rare, name) {
				testrun.Nightly(t, "records a program")
			}
			switch {
			case runtime.GOOS != "linux" && (name == "close" || name == "drop"):
				testrun.Unable(t, "the recorder has files of its own open")
			case name == "drop" && os.Geteuid() != 0:
				testrun.Unable(t, "only root can become somebody else")
			}
			tt.do(t)
			if name == "close" && tt.wrote != "" {
				t.Errorf("the recorder has low numbers open:\n%s", tt.wrote)
			}
		})
	}
}

// However a program is built, the recorder gets in.
func TestRecordBuilds(t *testing.T) {
	needs(t, "go")
	module := work(t, "module.txtar")
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text := `{"Replace": {"` + filepath.Join(module, "more.go") + `": "` + filepath.Join(module, "more.go.txt") + `"}}`
	if err := os.WriteFile(overlay, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(string(out))
	for _, tt := range []try{
		{name: "files", dir: module, b: Build{Targets: []string{"hot.go", "main.go"}}},
		{name: "overlay", dir: module, b: Build{Targets: []string{"."}, Flags: []string{"-tags=more"}},
			env: []string{"GOFLAGS=-overlay=" + overlay + " '-ldflags=-X main.set=linked'"}, errs: "more: linked\n"},
		{name: "v2", dir: work(t, "v2.txtar"), b: Build{Targets: []string{"example.com/tool/v2"}}},
		{name: "toolchain", dir: module, b: Build{Targets: []string{"."}},
			// As of one that the go command got by itself.
			env: []string{"GOMODCACHE=" + filepath.Dir(goroot), "GOFLAGS=-mod=mod"}},
		{name: "external test", dir: module, b: Build{Targets: []string{"./outside"}, Test: true},
			args: []string{"-test.bench=Hot", "-test.run=none"}},
		{name: "failing test", dir: module, b: Build{Targets: []string{"."}, Test: true},
			args: []string{"-test.run=Fails"}, code: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			switch tt.name {
			case "external test", "failing test":
			case "overlay", "toolchain":
				testrun.Live(t, "builds and records")
			default:
				testrun.Nightly(t, "builds and records")
			}
			if tt.args == nil && !tt.b.Test {
				tt.args = []string{"return"}
			}
			tt.do(t)
		})
	}
}

// What was not written for want of rights is no program that ended too soon.
func TestRecordDenied(t *testing.T) {
	s := Options{}.session()
	s.folder = t.TempDir()
	text := `{"failed": 19, "error": "open cpu: permission denied", "denied": true, "since": 250000000, "ended": true}`
	if err := os.WriteFile(filepath.Join(s.folder, agent.Status), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.manifest.Program, s.manifest.Usage = &recording.Program{}, &recording.Usage{}
	s.finish(&ending{}, &built{})
	want := "19 parts of the recording could not be written, the first 250ms after the start: open cpu: permission denied; if the program becomes another user, record it as that user"
	if notes := s.manifest.Notes; len(notes) != 1 || notes[0] != want {
		t.Errorf("notes are %q, want %q", notes, want)
	}
}

func TestRecordMistakes(t *testing.T) {
	needs(t, "go")
	dir := work(t, "module.txtar")
	out := filepath.Join(t.TempDir(), "out.hone")
	for _, tt := range []struct {
		name, err string
		b         Build
	}{
		{"broken", "broken.go:3:15: undefined: nothing", Build{Targets: []string{"./broken"}}},
		{"library", "not a program", Build{Targets: []string{"./outside"}}},
		{"no tests", "has no tests", Build{Targets: []string{"./broken"}, Test: true}},
		{"missing", "no required module provides package", Build{Targets: []string{"example.com/none"}}},
		{"missing folder", "directory not found", Build{Targets: []string{"./none"}}},
		{"several", "one can be recorded at a time", Build{Targets: []string{"./..."}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.b.Dir = dir
			rec, err := Record(context.Background(), Options{Out: out, Dir: dir, Build: &tt.b})
			if rec != nil || err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Record gave %v, %v; want an error with %q", rec, err, tt.err)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
		t.Errorf("there is %q", left)
	}
}

// A condition of --when is reported as soon as the recorder or hone notices it.
func TestConditionsAreReported(t *testing.T) {
	needs(t, "go", "sh")
	dir := work(t, "garbage.txtar")
	when, err := ParseConditions("rss>1MB")
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{
		"inside":  {Build: &Build{Targets: []string{"."}, Dir: dir}},
		"outside": {Program: Program{Args: []string{"sh", "-c", "sleep 2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "outside" && runtime.GOOS != "linux" {
				t.Skip("what another process has is only known on Linux")
			}
			var told []recording.Event
			opt.Out, opt.Dir, opt.When, opt.Captures = filepath.Join(t.TempDir(), "a.hone"), dir, when, 1
			opt.Trouble = func(e recording.Event) { told = append(told, e) }
			out, err := Record(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			if len(told) != 1 || !slices.Equal(told, out.Manifest.Events) {
				t.Errorf("it was told of %+v, and recorded %+v", told, out.Manifest.Events)
			}
		})
	}
}

func TestRecordCommand(t *testing.T) {
	needs(t, "sh")
	dir := t.TempDir()
	opt := Options{Out: "a.hone", Dir: dir, Program: Program{Args: []string{"sh", "-c", "sleep 0.3; exit 5"}}}
	rec, err := Record(context.Background(), opt)
	if err != nil || rec.Code != 5 || rec.File != "a.hone" {
		t.Fatalf("%+v, %v", rec, err)
	}
	r, err := recording.Open(filepath.Join(dir, "a.hone"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Manifest.How != recording.Ran || r.Manifest.Exit.Code != 5 || len(r.Manifest.Notes) == 0 {
		t.Errorf("the manifest is %+v", r.Manifest)
	}
	if metrics, err := r.File(recording.MetricsFile, 1<<20); err != nil || runtime.GOOS == "linux" && !bytes.Contains(metrics, []byte(`"process/rss":`)) {
		t.Errorf("metrics are %q, %v", metrics, err)
	}
	if _, err := Record(context.Background(), opt); !errors.Is(err, ErrExists) {
		t.Errorf("doing it again: %v", err)
	}
	// Another one that is at it, or was.
	if err := os.Mkdir(filepath.Join(dir, "b.hone.part"), 0o755); err != nil {
		t.Fatal(err)
	}
	opt.Out = "b.hone"
	if _, err := Record(context.Background(), opt); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "b.hone.part: ") {
		t.Errorf("with the folder of another: %v", err)
	}
	opt.Out, opt.For, opt.Program.Args = "c.hone", 300*time.Millisecond, []string{"sleep", "60"}
	if rec, err = Record(context.Background(), opt); err != nil || rec.Code != 143 {
		t.Errorf("stopped early: %+v, %v", rec, err)
	}
}

func isIn(functions []profile.Function, name string) func(profile.Line) bool {
	return func(l profile.Line) bool {
		f := functions[l.Function].Name
		return strings.HasSuffix(f, "."+name)
	}
}
