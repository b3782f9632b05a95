package open

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// A folder with one of everything, which is where the test runs.
func files(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.folded", "main;work 3\n")
	put("b.folded", "main;rest 5\n")
	put("none.folded", "")
	put("noise", "\x00\x01\x02\x03")
	put("old.txt", "BenchmarkA 10 5 ns/op\n")
	put("program", "\x7fELFxxxx")
	put("gc.log", "gc 1 @0.001s 1%: 0.01+0.2+0.003 ms clock, 0.02+0.1/0.1/0.1+0.006 ms cpu, 4->4->0 MB, 5 MB goal, 2 P\n")
	put("run/gc.log", "gc 1 @0.001s 1%: 0.01+0.2+0.003 ms clock, 0.02+0.1/0.1/0.1+0.006 ms cpu, 4->4->0 MB, 5 MB goal, 2 P\n")
	put("empty/keep", "")
	for _, dir := range []string{"run", "empty"} {
		if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format}); err != nil {
			t.Fatal(err)
		}
	}
	p := profileOf(t)
	for _, at := range []time.Duration{time.Second, 2 * time.Second} {
		name := filepath.Join("run", recording.PartFile(recording.Heap, 0, at))
		put(name, "")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Write(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func profileOf(t *testing.T) *profile.Profile {
	t.Helper()
	p, err := profile.Parse(strings.NewReader("main;work 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	q := *p
	q.SampleTypes = slices.Clone(p.SampleTypes)
	q.SampleTypes[0] = profile.ValueType{Type: "inuse_space", Unit: "bytes"}
	return &q
}

func TestOpenProfiles(t *testing.T) {
	files(t)
	tests := []struct {
		name   string
		refs   []string
		want   Want
		metric string
		refsOf []string
		totals []int64
		err    any // pointer to the type of the error
	}{
		{name: "one", refs: []string{"a.folded"}, refsOf: []string{"a.folded"}, totals: []int64{3}},
		{name: "a sum", refs: []string{"a.folded", "b.folded"}, refsOf: []string{"a.folded b.folded"}, totals: []int64{8}},
		{name: "a base", refs: []string{"a.folded"}, want: Want{Base: []string{"b.folded"}}, refsOf: []string{"a.folded", "b.folded"}, totals: []int64{3, 5}},
		{name: "a recording", refs: []string{"run"}, metric: "inuse_space", refsOf: []string{"run"}, totals: []int64{7}},
		{name: "its metric", refs: []string{"run"}, want: Want{Metric: "heap"}, metric: "inuse_space", refsOf: []string{"run"}, totals: []int64{7}},
		{name: "its time", refs: []string{"run@1s"}, metric: "inuse_space", refsOf: []string{"run"}, totals: []int64{7}},
		{name: "a kind it lacks", refs: []string{"run"}, want: Want{Kind: recording.Goroutine}, err: new(*PickError)},
		{name: "no profile in it", refs: []string{"empty"}, err: new(*PickError)},
		{name: "no times", refs: []string{"a.folded"}, want: Want{At: query.Span{From: time.Second}}, err: new(*TimelessError)},
		{name: "no file", refs: []string{"a.foldd"}, err: new(*NoFileError)},
		{name: "no name", refs: []string{""}, err: new(*NoNameError)},
		{name: "lines", refs: []string{"old.txt"}, err: new(*LinesError)},
		{name: "no profile", refs: []string{"noise"}, err: new(*ProfilesError)},
		{name: "nobody", refs: []string{"127.0.0.1:1"}, err: new(*RefusedError)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Open(t.Context(), test.refs, test.want)
			if test.err != nil {
				if err == nil || !errors.As(err, test.err) {
					t.Fatalf("the error is %T %v, want a %T", err, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			var refs []string
			var totals []int64
			for _, r := range got.Recordings {
				refs = append(refs, r.Ref)
				sum := int64(0)
				for _, v := range r.Profile.Values(0) {
					sum += v
				}
				totals = append(totals, sum)
			}
			if got.Metric != test.metric || !slices.Equal(refs, test.refsOf) || !slices.Equal(totals, test.totals) {
				t.Errorf("metric %q of %q with %v, want %q of %q with %v", got.Metric, refs, totals, test.metric, test.refsOf, test.totals)
			}
			if r := got.Recordings[0]; r.Sources == nil || r.Code == nil {
				t.Error("there are no sources or no code")
			}
		})
	}
}

// TestOpenLeavesWant holds that what is found on the way is in the answer and not in what was asked.
func TestOpenLeavesWant(t *testing.T) {
	files(t)
	w := Want{Metric: "heap"}
	got, err := Open(t.Context(), []string{"run"}, w)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if w.Metric != "heap" || got.Metric != "inuse_space" {
		t.Errorf("metric %q became %q, want heap and inuse_space", w.Metric, got.Metric)
	}
	missing := map[string]bool{}
	w = Want{Missing: func(ref string, named bool) { missing[ref] = named }}
	if got, err = Open(t.Context(), []string{"a.folded", "noise"}, w); err != nil || len(got.Recordings[0].Profile.Notes) == 0 {
		t.Fatalf("a sum without one of two: %v", err)
	}
	if !missing["noise"] || len(missing) != 1 {
		t.Errorf("missing are %v, want noise, which was named", missing)
	}
}

func TestOpenPart(t *testing.T) {
	files(t)
	tests := []struct {
		name string
		ref  string
		part *recording.FileKind
		err  any
	}{
		{name: "of a recording", ref: "run", part: recording.GC.FileKind},
		{name: "a file", ref: "gc.log", part: recording.GC.FileKind},
		{name: "another file", ref: "old.txt", part: recording.Benchmarks.FileKind},
		{name: "not there", ref: "empty", part: recording.GC.FileKind, err: new(*NoPartError)},
		{name: "another part", ref: "run", part: recording.LoadRun.FileKind, err: new(*NoPartError)},
		{name: "no recording", ref: "gc.log", part: recording.Metrics.FileKind, err: new(*NotRecordingError)},
		{name: "a program", ref: "program", part: recording.GC.FileKind, err: new(*ProgramError)},
		{name: "no file", ref: "gc.logg", part: recording.GC.FileKind, err: new(*NoFileError)},
		{name: "no name", ref: "", part: recording.GC.FileKind, err: new(*NoNameError)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Open(t.Context(), []string{test.ref}, Want{Part: test.part})
			if test.err != nil {
				if err == nil || !errors.As(err, test.err) {
					t.Fatalf("the error is %T %v, want a %T", err, err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got.Close()
			if r := got.Recordings[0]; !test.part.Has(r) || r.Ref != test.ref {
				t.Errorf("%+v has no %s after it was closed", r, test.part.Name)
			}
		})
	}
}

func TestOpenWhole(t *testing.T) {
	files(t)
	got, err := Open(t.Context(), []string{"run@1s..2s"}, Want{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if r := got.Recordings[0]; r.Profile != nil || len(r.Parts[recording.Heap]) != 2 || got.At != (query.Span{From: time.Second, To: 2 * time.Second}) {
		t.Errorf("the recording is %+v at %v", r, got.At)
	}
	var other *NotRecordingError
	if _, err := Open(t.Context(), []string{"a.folded"}, Want{Whole: true}); !errors.As(err, &other) || other.Why() == nil {
		t.Errorf("a profile is a recording: %v", err)
	}
}

// A profile names no Go version. The recording that it is in does.
func TestGoVersion(t *testing.T) {
	const ref = "../../testdata/docs/havlak/havlak.hone"
	in, err := Open(t.Context(), []string{ref}, Want{Metric: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := in.Recordings[0].Sources.Find("/usr/local/go/src/runtime/malloc.go", "runtime.mallocgc", 1067)
	if err != nil {
		t.Fatalf("the Go that runs this test has no such function: %v", err)
	}
	if slices.ContainsFunc(text.Notes, func(n string) bool { return strings.Contains(n, "does not name the Go version") }) {
		t.Errorf("the notes are %q", text.Notes)
	}

	// What is added up has a version only where all agree.
	of := func(versions ...string) (out []*recording.Recording) {
		for _, v := range versions {
			r := &recording.Recording{Manifest: &recording.Manifest{Program: &recording.Program{Go: v}}}
			if v == "" {
				r.Manifest = nil // a bare profile
			}
			out = append(out, r)
		}
		return out
	}
	// The path of a tool of Go names it, that of another program does not.
	for program, want := range map[string]string{
		"/home/gopher/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.27.3.linux-amd64/pkg/tool/linux_amd64/compile": "go1.27.3",
		`C:\Users\u\sdk\go1.26rc1\pkg\tool\windows_arm64\link.exe`:                                              "go1.26rc1",
		"/home/u/sdk/go1.26.8/bin/gofmt":                                                                        "go1.26.8",
		"/usr/local/go/pkg/tool/linux_amd64/compile":                                                            "",
		"/srv/go1.26.8/app":          "",
		"/srv/go1.26.8/bin/app/main": "",
	} {
		p := &profile.Profile{Tables: profile.Tables{Mappings: []profile.Mapping{{File: program}}}}
		if got := goVersion([]*recording.Recording{{Profile: p}}); got != want {
			t.Errorf("%s was built with %q, want %q", program, got, want)
		}
	}
	for _, tt := range []struct {
		of   []string
		want string
	}{
		{[]string{"go1.26.8"}, "go1.26.8"},
		{[]string{"go1.26.8", "go1.26.8"}, "go1.26.8"},
		{[]string{"go1.26.8", "go1.25.1"}, ""},
		{[]string{"go1.26.8", ""}, ""},
		{nil, ""},
	} {
		if got := goVersion(of(tt.of...)); got != tt.want {
			t.Errorf("%q were built with %q, want %q", tt.of, got, tt.want)
		}
	}
}
