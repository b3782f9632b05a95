package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hone runs the command in this folder, and returns what it prints. It has to succeed.
func hone(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
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
				Count int64
				State string
				Where struct {
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
			state := g.State
			switch {
			case g.State == "chan send" && (g.Where.Name != "main.lookup.func1" || filepath.Base(g.Where.File) != "leaky.go" || g.Where.Line != 33):
				t.Errorf("%q: %d goroutines send in %+v", at, g.Count, g.Where)
			case g.State != "chan send" && g.State != "chan receive", g.Where.Name == "main.main":
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
		t.Errorf("what the recorder allocates is not labelled:\n%s", out)
	}
}
