package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// hone runs the command in this folder, and returns what it prints. It has to succeed.
func hone(t *testing.T, args ...string) string {
	t.Helper()
	return honeAt(t, "", args...)
}

// honeFails runs hone, and returns its exit code and what it said to standard error.
func honeFails(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil || cmd.ProcessState == nil {
		t.Fatalf("hone %s: %v, want it to fail", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// honeAt does it in another folder.
func honeAt(t *testing.T, dir string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hone %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// A program is recorded as it is, and the recording shows its goroutines, those that leak with their line, and no others.
func TestRecordLeaky(t *testing.T) {
	long(t)
	t.Setenv("GODEBUG", "memprofilerate=4096") // what the recorder allocates is so little that the usual rate can miss it
	goCommand(t, "-C", "examples/leaky", "build", "-o", os.DevNull, ".")
	file := filepath.Join(t.TempDir(), "leaky.hone")
	// It ends long before it is asked to.
	if out := hone(t, "record", "--for", "5m", "--every", "1s", "-o", file, "./examples/leaky", "--", "-for", "4s"); out != "58 goroutines, 1000 sessions\n" {
		t.Errorf("the program printed %q", out)
	}
	for at, want := range map[string]map[string]int64{
		"@3.9s": {"chan send": 50, "chan receive": 7, "": 1}, // main sleeps or works
		"":      {"chan send": 50},                           // of the others some have ended
	} {
		var got struct {
			Groups []struct {
				Count  int64
				States []string
				Where  struct {
					Name, File string
					Line       int
				}
				Stack []struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(hone(t, "goroutines", "--json", file+at)), &got); err != nil {
			t.Fatal(err)
		}
		count := map[string]int64{}
		for _, g := range got.Groups {
			state := strings.Join(g.States, " ")
			switch {
			case state == "chan send" && (g.Where.Name != "main.lookup.func1" || filepath.Base(g.Where.File) != "leaky.go" || g.Where.Line != 33):
				t.Errorf("%q: %d goroutines send in %+v", at, g.Count, g.Where)
			case state != "chan send" && state != "chan receive", g.Where.Name == "main.main":
				state = ""
			}
			count[state] += g.Count
			for _, f := range g.Stack {
				if strings.Contains(f.Name, "recorder") {
					t.Errorf("%q: the recorder is among the goroutines of the program: %+v", at, g)
				}
			}
		}
		for state, n := range want {
			if count[state] != n {
				t.Errorf("%q: %d goroutines in state %q, want %d, of %+v", at, count[state], state, n, got.Groups)
			}
		}
	}
	if out := hone(t, "tags", "--metric", "alloc_space", file); !strings.Contains(out, "overhead") || !strings.Contains(out, "recorder") {
		t.Errorf("what the recorder allocates is not labeled:\n%s", out)
	}
}

// A recordedTrouble is what hone says of a recording in JSON, as far as it is about trouble.
type recordedTrouble struct {
	Recording struct {
		Lookout struct{ When []string }
		Events  []struct {
			At           time.Duration `json:"at_ns"`
			When, Of     string
			Value, Limit float64
		}
		Notes []string
	}
}

func troubleIn(t *testing.T, file string) recordedTrouble {
	t.Helper()
	var got recordedTrouble
	if err := json.Unmarshal([]byte(hone(t, "--json", file)), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// When there is trouble, profiles are taken at once, and what led up to it is kept.
func TestRecordTrouble(t *testing.T) {
	testrun.Live(t, "records programs for eight seconds")
	t.Parallel()
	bin := filepath.Join(buildExample(t, "leaky"), "leaky")
	dir := t.TempDir()

	t.Run("inside", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(dir, "inside.hone")
		hone(t, "record", "-o", file, "--when", "goroutines>40, heap > 30MB", "--window", "1s", "--cooldown", "60s", "--captures", "2", "--flight", "1s",
			"./examples/leaky", "--", "-for", "8s")
		got := troubleIn(t, file).Recording
		if len(got.Events) != 2 || got.Events[0].When != "goroutines>40" || got.Events[1].When != "heap>30MB" {
			t.Fatalf("events are %+v; the notes are %q", got.Events, got.Notes)
		}
		for _, e := range got.Events {
			if e.Value <= e.Limit {
				t.Errorf("%s: %g is not above %g", e.When, e.Value, e.Limit)
			}
		}
		z, err := zip.OpenReader(file)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		kept := time.Duration(0)
		at := map[string]int{}
		for _, f := range z.File {
			kind, name, _ := strings.Cut(f.Name, "/")
			at[kind]++
			var from, to int64
			if n, _ := fmt.Sscanf(name, "%d-%d.pb.gz", &from, &to); n == 2 && kind == "cpu" {
				kept += time.Duration(to-from) * time.Millisecond
			}
		}
		// A second before each of two times, one before the end, and what of a profile is older.
		if kept == 0 || kept > 7*time.Second {
			t.Errorf("%s of CPU profiles were kept", kept)
		}
		if at["heap"] < 3 || at["goroutine"] < 3 || at["flight"] != 3 {
			t.Errorf("there are %v", at)
		}
		millis := strconv.FormatInt(got.Events[0].At.Milliseconds(), 10) + "ms.."
		if out := hone(t, "timeline", "--at", millis, file); !strings.Contains(out, "heap>30MB") || !strings.Contains(out, "hone goroutines ") {
			t.Errorf("the timeline does not say what the trouble was:\n%s", out)
		}
		if out := hone(t, file); !strings.Contains(out, "above 30MB") {
			t.Errorf("the first look does not say what the trouble was:\n%s", out)
		}
	})

	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("what another process has is only known on Linux")
		}
		file := filepath.Join(dir, "outside.hone")
		hone(t, "record", "-o", file, "--when", "rss>20MB,gc>99%", "--", bin, "-for", "4s")
		var got struct {
			Events []struct{ When string }
		}
		if err := json.Unmarshal([]byte(hone(t, "timeline", "--json", file)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Events) == 0 || got.Events[0].When != "rss>20MB" {
			t.Errorf("events are %+v", got.Events)
		}
	})

	t.Run("server", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(dir, "server.hone")
		url := serveExample(t, bin)
		hone(t, "record", "-o", file, "--for", "4s", "--when", "goroutines>40,heap>1TB,cpu>10000%", url)
		got := troubleIn(t, file).Recording
		if len(got.Events) == 0 || got.Events[0].When != "goroutines>40" {
			t.Errorf("events are %+v; the notes are %q", got.Events, got.Notes)
		}
		var times struct {
			Points []struct{ Heap, Goroutines int64 }
		}
		if err := json.Unmarshal([]byte(hone(t, "timeline", "--json", file)), &times); err != nil {
			t.Fatal(err)
		}
		if n := len(times.Points); n < 2 || times.Points[n-1].Heap < 1<<20 || times.Points[n-1].Goroutines < 50 {
			t.Errorf("the timeline has %+v", times.Points)
		}
		if out := hone(t, "mem", file); !strings.Contains(out, "held by Go") || !strings.Contains(out, "objects") {
			t.Errorf("of its memory it says\n%s", out)
		}
	})
}
