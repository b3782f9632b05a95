package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// honeIn runs the command in a folder, and returns what it prints on standard output and standard error.
func honeIn(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	self, selfErr := os.Executable()
	if selfErr != nil {
		t.Fatal(selfErr)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// known copies the server of testdata/known, of which it is known what a request costs.
func known(t *testing.T) string {
	if runtime.GOOS != "linux" {
		t.Skip("the server counts the CPU time of a thread, which it only can on Linux")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "known"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLoadRecord loads a server whose requests take 200 µs of CPU time and 8 KiB of memory. The recording says so, to within
// a tenth. Requests are so many that the samples are, however slow the machine is today.
func TestLoadRecord(t *testing.T) {
	testrun.Nightly(t, "measures a server for a quarter of a minute; loadrecord of TestScript and TestLoadRecordLeak record some, too")
	dir := known(t)
	out, errs, err := honeIn(t, dir, "load", "--record", ".", "--json", "-o", "run.hone", "-n", "50000", "--warmup", "500ms", "-c", "4",
		"http://127.0.0.1:{port}/", "--", "-addr", "127.0.0.1:{port}")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var r report.Load
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Server
	if s == nil || s.CPU == nil || s.Memory == nil || s.Waiting == nil || s.GC == nil || s.Before == nil {
		t.Fatalf("something is missing: %s", out)
	}
	function := func(name string) report.FunctionCost {
		i := slices.IndexFunc(s.Functions, func(f report.FunctionCost) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among the functions %+v", name, s.Functions)
		}
		return s.Functions[i]
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if got < 0.9*want || got > 1.1*want {
			t.Errorf("%s: %.5g, want %.5g within a tenth", what, got, want)
		}
		t.Logf("%s: %.5g of %.5g", what, got, want)
	}
	if !s.CPU.Counted {
		t.Errorf("CPU time is not as the kernel counts it: %+v", s.CPU)
	}
	t.Logf("the profile has %.3g of what the kernel counts", s.CPU.Sampled/s.CPU.All)
	// 195 to 212 on an idle machine, with interrupts and the signals of the profile. Beside others that want the cores the
	// profile misses some of it, down to 187, and of a thousand samples there are now and then a tenth more or less.
	if burn := function("main.burn").With / 200_000; burn < 0.83 || burn > 1.15 {
		t.Errorf("CPU of burn: %.4g of 200 µs", burn)
	} else {
		t.Logf("CPU of burn: %.4g of 200 µs", burn)
	}
	near("bytes of fill", function("main.fill").Bytes, 8192)
	if n := function("main.fill").Objects; n < 0.75 || n > 1.25 { // as there are less than a thousand samples
		t.Errorf("objects of fill: %.3g, want 1", n)
	}
	if sampled := s.Memory.Sampled / s.Memory.Bytes; sampled < 0.75 || sampled > 1.25 {
		t.Errorf("the heap profile has %.3g of what the runtime counts", sampled)
	}
	sum := 0.0
	for _, f := range s.Functions {
		sum += f.CPU
	}
	near("sum of functions", sum, s.CPU.All)
	near("parts of it", s.CPU.Serving+s.CPU.Other+s.CPU.Collecting+s.CPU.Scheduling+s.CPU.Recording+s.CPU.Unseen, s.CPU.All)
	all := 0.0
	for _, b := range s.Balance[:len(s.Balance)-1] {
		all += float64(b.Nanos)
	}
	near("balance", all, float64(r.Service.Mean()))
	if len(s.Suspects) > 0 {
		t.Errorf("nothing leaks, but %+v", s.Suspects)
	}

	// It is kept, and other views show the same time.
	shown, errs, err := honeIn(t, dir, "run.hone")
	if err != nil || !strings.Contains(shown, "main.burn") || !strings.Contains(shown, "unexplained") {
		t.Errorf("%v\n%s%s", err, shown, errs)
	}
}

func TestLoadRecordLeak(t *testing.T) {
	testrun.Live(t, "loads a server for eight seconds")
	t.Parallel()
	dir := known(t)
	out, errs, err := honeIn(t, dir, "load", "--record", ".", "--json", "-t", "8s", "--warmup", "500ms", "--rate", "1000",
		"http://127.0.0.1:{port}/leak", "--", "-addr", "127.0.0.1:{port}")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var r report.Load
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Server.Suspects, func(s report.Suspect) bool { return s.What == "memory" })
	if i < 0 || r.Server.Suspects[i].Where != "main.leak" {
		t.Errorf("4 KiB of each request are never given back, but %+v", r.Server.Suspects)
	}
}

// TestCompareLoad runs two versions of a server in turns, of which the new one allocates twice as much, and compares two runs
// that were recorded.
func TestCompareLoad(t *testing.T) {
	testrun.Nightly(t, "loads servers for half a minute")
	t.Parallel()
	old, changed := known(t), known(t)
	file := filepath.Join(changed, "main.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("memory = 8 << 10"), []byte("memory = 16 << 10"))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	row := func(c *report.Compare, what report.Dimension) report.CompareRow {
		t.Helper()
		i := slices.IndexFunc(c.Rows, func(r report.CompareRow) bool { return r.What == what })
		if i < 0 {
			t.Fatalf("there is no row of %s: %+v", what, c)
		}
		return c.Rows[i]
	}
	compare := func(args ...string) *report.Compare {
		t.Helper()
		out, errs, err := honeIn(t, dir, append([]string{"compare", "--json"}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		var c report.Compare
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	kept := filepath.Join(dir, "kept.hone")
	both := compare("--load", "http://127.0.0.1:{port}/ -c 2 -t 2500ms --warmup 300ms", "--budget", "1s", "-o", kept, old, changed, ".", "--", "-addr", "127.0.0.1:{port}")
	for _, what := range []report.Dimension{"CPU time", "memory", "allocations", "p50", "p99", "answers/s"} {
		if r := row(both, what); r.N != 3 {
			t.Errorf("%s of %d pairs: %+v", what, r.N, r)
		}
	}
	if r := row(both, "memory"); r.New < 1.5*r.Old || r.New > 2*r.Old {
		t.Errorf("memory: %+v", r)
	}
	if again := compare(kept); len(again.Rows) != len(both.Rows) {
		t.Errorf("it was kept as %+v", again)
	}

	for i, version := range []string{old, changed} {
		_, errs, err := honeIn(t, version, "load", "--record", ".", "-o", filepath.Join(dir, []string{"old.hone", "new.hone"}[i]), "-t", "8s", "--rate", "1000", "--warmup", "300ms", "-c", "2",
			"http://127.0.0.1:{port}/", "--", "-addr", "127.0.0.1:{port}")
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
	}
	two := compare("old.hone", "new.hone")
	if r := row(two, "memory"); r.Verdict != report.Worse {
		t.Errorf("memory: %+v", r)
	}
	if i := slices.IndexFunc(two.Why, func(w report.CompareWhy) bool { return w.What == "memory" }); i < 0 || two.Why[i].Rows[0].Function != "main.fill" {
		t.Errorf("why: %+v", two.Why)
	}
}

var attached [16][]byte

// TestLoadAttach loads a server that runs already, here, and asks it for profiles of itself meanwhile.
func TestLoadAttach(t *testing.T) {
	testrun.Nightly(t, "loads a server for eight seconds")
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	var n atomic.Int64
	mux.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		attached[n.Add(1)%int64(len(attached))] = make([]byte, 8<<10)
		w.Write([]byte("hi"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	out, errs, err := honeIn(t, t.TempDir(), "load", "--pprof", server.URL, "--json", "-t", "8s", "--warmup", "500ms", "-c", "4", server.URL+"/work")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var r report.Load
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Server
	if s == nil || s.CPU == nil || s.Memory == nil || s.Waiting == nil {
		t.Fatalf("something is missing: %s", out)
	}
	if s.CPU.All <= 0 || s.CPU.Counted {
		t.Errorf("CPU: %+v", s.CPU)
	}
	if !s.Waiting.Off {
		t.Errorf("the server keeps no profile of waiting, but %+v", s.Waiting)
	}
	i := slices.IndexFunc(s.Functions, func(f report.FunctionCost) bool { return strings.Contains(f.Name, "TestLoadAttach.func") })
	if i < 0 || s.Functions[i].Bytes < 0.6*8192 || s.Functions[i].Bytes > 1.5*8192 {
		t.Errorf("8 KiB for each request, but %+v", s.Functions)
	}
}
