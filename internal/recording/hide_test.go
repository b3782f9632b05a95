package recording

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	library "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/latency"
)

const planted = "zebra-crossing-77"

// withSecrets is a recording with a secret in every file that can have one, and a manifest that names it.
func withSecrets(t *testing.T) (dir string, m *Manifest) {
	t.Helper()
	dir = t.TempDir()
	p := &library.Profile{
		SampleType: []*library.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Comments: []string{"made with --token=" + planted},
		Sample: []*library.Sample{{Value: []int64{1}, Label: map[string][]string{"token": {planted}, "request_id": {"550e8400"}}}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cpu", "000000000-000001000.pb.gz"), b.String())
	write(t, filepath.Join(dir, "why", "0-old.pb.gz"), b.String())
	write(t, filepath.Join(dir, "goroutine", "000000000.pb.gz"), "goroutine profile: total 1\n1 @ 0x1\n# labels: {\"token\":\""+planted+"\", \"n\":\"1\"}\n#\t0x1\tmain.main+0x1\t/a.go:1\n\n")
	b.Reset()
	if err := trace.Start(&b); err != nil {
		t.Skip(err) // go test -trace
	}
	trace.Log(t.Context(), "password", planted)
	trace.Log(t.Context(), "page", "7")
	trace.Stop()
	write(t, filepath.Join(dir, TraceFile), b.String())
	write(t, filepath.Join(dir, FlightDir, "000000000.out"), b.String()[:b.Len()-3])
	write(t, filepath.Join(dir, OutputFile), "password="+planted+" and bye\n")
	write(t, filepath.Join(dir, CrashFile), "panic: no "+planted+"\n")
	write(t, filepath.Join(dir, BenchFile), "BenchmarkLexer/token=a 1 1 ns/op\nBenchmarkLexer/"+planted+" 1 1 ns/op\n")
	write(t, filepath.Join(dir, DiffFile), "+const p = \""+planted+"\"\n")
	write(t, filepath.Join(dir, SourcesDir, "001-main.go"), "package main\n\nconst p = \""+planted+"\"\n\nvar token = scan()\n")
	write(t, filepath.Join(dir, duelFile), `{"old":{"name":"a"},"new":{"name":"b"},"benchmarks":[{"name":"app --token=`+planted+` x"}]}`)
	if err := WriteLoad(dir, &latency.Log{Target: "http://localhost/?token=" + planted + "&n=1"}); err != nil {
		t.Fatal(err)
	}
	return dir, &Manifest{
		Format: Format, How: Built, Command: []string{"app", "--password", planted, "-v"}, Target: "http://bob:" + planted + "@localhost/",
		Started: time.Unix(1700000000, 0), Exit: &Exit{Cause: "panic: " + planted}, Notes: []string{"no profile of http://a:" + planted + "@b/"},
		Program: &Program{Env: map[string]string{"GODEBUG": "token=" + planted}, Settings: map[string]string{"-ldflags": "-X main.token=" + planted, "vcs.revision": "abc"}},
	}
}

// unzipped returns the files of a recording, unpacked.
func unzipped(t *testing.T, file string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(text, []byte("\x1f\x8b")) {
			zr, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(zr); err != nil {
				t.Fatal(err)
			}
		}
		out[f.Name] = string(text)
	}
	return out
}

func TestPackedRecordingHasNoSecretInAnyFile(t *testing.T) {
	dir, m := withSecrets(t)
	file := filepath.Join(t.TempDir(), "x.hone")
	hidden, err := Pack(dir, file, m)
	if err != nil || hidden < 15 {
		t.Fatalf("%d hidden, error %v", hidden, err)
	}
	files := unzipped(t, file)
	for name, text := range files {
		if strings.Contains(text, planted) {
			t.Errorf("%s has the secret: %.300q", name, text)
		}
	}
	for name, want := range map[string]string{
		OutputFile: "password=… and bye\n", CrashFile: "panic: no …\n", DiffFile: "+const p = \"…\"\n",
		BenchFile:                   "BenchmarkLexer/token=a 1 1 ns/op\nBenchmarkLexer/… 1 1 ns/op\n",
		"sources/001-main.go":       "package main\n\nconst p = \"…\"\n\nvar token = scan()\n",
		"goroutine/000000000.pb.gz": "goroutine profile: total 1\n1 @ 0x1\n# labels: {\"token\":\"…\", \"n\":\"1\"}\n#\t0x1\tmain.main+0x1\t/a.go:1\n\n",
	} {
		if got := files[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if want := `"page"`; !strings.Contains(files["cpu/000000000-000001000.pb.gz"], "request_id") || !strings.Contains(files[TraceFile], "page") {
		t.Errorf("what is not a secret is gone: %s", want)
	}
	if st, err := os.Stat(file); runtime.GOOS != "windows" && (err != nil || st.Mode().Perm() != 0o600) {
		t.Errorf("the mode is %v, error %v", st.Mode(), err)
	}
	if r, err := Open(file); err != nil || r.Manifest.Command[2] != "…" || r.Manifest.Program.Settings["vcs.revision"] != "abc" || len(r.Manifest.Notes) != 1 {
		t.Errorf("manifest %+v, error %v", r.Manifest, err)
	}
}

func TestPackedRecordingKeepsSecretsWhenTold(t *testing.T) {
	dir, m := withSecrets(t)
	m.KeepSecrets = true
	file := filepath.Join(t.TempDir(), "x.hone")
	if hidden, err := Pack(dir, file, m); err != nil || hidden != 0 {
		t.Fatalf("%d hidden, error %v", hidden, err)
	}
	for name, text := range unzipped(t, file) {
		if !strings.Contains(text, planted) {
			t.Errorf("%s lacks it", name)
		}
	}
}

func TestPackedRecordingWithoutSecretsHasTheSameBytes(t *testing.T) {
	dir := folder(t)
	was := map[string]string{}
	for _, kind := range []string{CPU, Heap} {
		names, _ := filepath.Glob(filepath.Join(dir, kind, "*"))
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			was[n] = string(text)
		}
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Pack(dir, filepath.Join(t.TempDir(), "x.hone"), r.Manifest); n != 0 || err != nil {
		t.Fatalf("%d hidden, error %v", n, err)
	}
	for n, text := range was {
		if now, err := os.ReadFile(n); err != nil || string(now) != text {
			t.Errorf("%s changed, error %v", n, err)
		}
	}
}

func TestUnsearchablePartIsRemoved(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, TraceFile), "go 1.11 trace\x00\x00\x00…")
	file := filepath.Join(t.TempDir(), "x.hone")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(dir, file, r.Manifest); err != nil {
		t.Fatal(err)
	}
	packed, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if len(packed.Manifest.Notes) != 1 || !strings.Contains(packed.Manifest.Notes[0], "trace.out is left out") {
		t.Errorf("notes %q", packed.Manifest.Notes)
	}
	if _, err := packed.OpenFile(TraceFile); err == nil {
		t.Error("the trace is still there")
	}
}

// A profile that is damaged stays as what answers say that they lack, but tells no secret.
func TestDamagedPartTellsNoSecret(t *testing.T) {
	dir := folder(t)
	with, _ := withSecrets(t)
	cut := func(name string, less int) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := unpack(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw[:len(raw)-less])
	}
	plain := cut(filepath.Join(dir, "cpu", "000000000-000001000.pb.gz"), 3)
	write(t, filepath.Join(dir, "cpu", "000003000-000004000.pb.gz"), plain)
	write(t, filepath.Join(dir, "cpu", "000004000-000005000.pb.gz"), cut(filepath.Join(with, "cpu", "000000000-000001000.pb.gz"), 1))
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.hone")
	if _, err := Pack(dir, file, r.Manifest); err != nil {
		t.Fatal(err)
	}
	packed, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if len(packed.Parts[CPU]) != 5 || len(packed.Manifest.Notes) != 1 || !strings.Contains(packed.Manifest.Notes[0], "000004000-000005000.pb.gz is damaged") {
		t.Errorf("%d parts, notes %q", len(packed.Parts[CPU]), packed.Manifest.Notes)
	}
	if text, err := packed.File("cpu/000003000-000004000.pb.gz", 1<<20); err != nil || string(text) != plain {
		t.Errorf("the one without secrets is %q, error %v", text, err)
	}
	if text, err := packed.File("cpu/000004000-000005000.pb.gz", 1<<20); err != nil || strings.Contains(string(text), planted) {
		t.Errorf("the one with secrets is %q, error %v", text, err)
	}
	if picked, _, err := packed.Pick("cpu", 0, 0); err != nil || picked.Profile.Damage == nil {
		t.Errorf("nobody says that profiles are damaged; error %v", err)
	}
}

func TestStrippedRecordingHasOnlyFunctionsAndLines(t *testing.T) {
	dir, m := withSecrets(t)
	m.KeepSecrets = true
	m.Dir, m.Machine = "/home/bob/work", &Machine{OS: "linux", Arch: "amd64", CPUs: 2, CPU: "model", Kernel: "kernel-bob"}
	full := folder(t)
	for _, kind := range []string{CPU, Heap} {
		names, _ := filepath.Glob(filepath.Join(full, kind, "*"))
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, kind, filepath.Base(n)), string(text))
		}
	}
	os.RemoveAll(filepath.Join(dir, "goroutine"))
	write(t, filepath.Join(dir, GCFile), "gc 1 @0.1s 0%: …\nhello bob\n")
	write(t, filepath.Join(dir, MetricsFile), "{\"t\":1,\"/a\":2}\n{\"t\":\"bob\"}\n")
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.hone")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Strip(r, f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	files := unzipped(t, file)
	for name, text := range files {
		for _, gone := range []string{planted, "bob", "/home", "/build", "request_id", "localhost", "model"} {
			// A benchmark is called by what it is called in the code.
			if strings.Contains(text, gone) && name != BenchFile {
				t.Errorf("%s has %s: %.300q", name, gone, text)
			}
		}
	}
	for _, name := range []string{TraceFile, OutputFile, CrashFile, DiffFile, "sources/001-main.go"} {
		if _, ok := files[name]; ok {
			t.Errorf("%s is still there", name)
		}
	}
	if files[GCFile] != "gc 1 @0.1s 0%: …\n" || files[MetricsFile] != "{\"t\":1,\"/a\":2}\n" {
		t.Errorf("logs: %q, %q", files[GCFile], files[MetricsFile])
	}
	stripped, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer stripped.Close()
	was, _, err := r.Pick("heap", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := stripped.Pick("heap", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(now.Profile.Functions) != len(was.Profile.Functions) || now.Profile.Functions[0].Name != was.Profile.Functions[0].Name || now.Profile.NumSamples() != was.Profile.NumSamples() {
		t.Errorf("functions %+v, want %+v", now.Profile.Functions, was.Profile.Functions)
	}
}
