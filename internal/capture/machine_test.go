package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
)

// What control groups count tells who was killed for want of memory, in both of their versions.
func TestOOMCount(t *testing.T) {
	dir := t.TempDir()
	inner, outer := filepath.Join(dir, "inner"), filepath.Join(dir, "outer")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(inner, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n") // version 1
	put(outer, "low 0\nhigh 0\nmax 12\noom 1\noom_kill 4\noom_group_kill 0\n")
	c := &OOM{files: []string{inner, outer}, before: []int{oomKills(inner), oomKills(outer)}, limit: 64 << 20}
	if got := c.evidence(); got != "" {
		t.Errorf("without a kill it says %q", got)
	}
	put(inner, "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
	if got := c.evidence(); !strings.Contains(got, "killed it at the memory limit of its control group, 64MB (oom_kill of the group went from 3 to 4)") {
		t.Errorf("after a kill it says %q", got)
	}
	// The group may go with the last process in it.
	if err := os.Remove(inner); err != nil {
		t.Fatal(err)
	}
	if got := c.evidence(); got != "" {
		t.Errorf("with the group gone it says %q", got)
	}
	put(outer, "oom_kill 5\n")
	if got := c.evidence(); !strings.Contains(got, "from 4 to 5") {
		t.Errorf("of the group around it, it says %q", got)
	}
	if got := (&OOM{}).evidence(); got != "" {
		t.Errorf("without a group it says %q", got)
	}
}

func TestLeaksExperiment(t *testing.T) {
	for version, want := range map[string]string{
		"go1.25.3": "needs Go 1.26 or later", "go1.26.8": "goroutineleakprofile", "go1.26.8 X:goroutineleakprofile": "goroutineleakprofile",
		"go1.27.3": "", "go1.27rc1": "", "devel go1.28-abcdef": "",
	} {
		got, err := leaksExperiment(version)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
}

func TestGoVersions(t *testing.T) {
	for _, tt := range []struct {
		version string
		flight  bool
		want    string
	}{
		{"go1.26.8", true, ""},
		{"go1.25", true, ""},
		{"go1.24.9", true, "needs Go 1.25 or later, but this is go1.24.9"},
		{"go1.24.9", false, ""},
		{"go1.22.1", false, "needs Go 1.23 or later, but this is go1.22.1"},
		{"go1.9", false, "needs Go 1.23"},
		{"go1.27rc1", true, ""},
		{"devel go1.27-abcdef", true, ""},
		{"go1.26.8 X:goroutineleakprofile", true, ""},
	} {
		err := check(gocmd.About{GOVERSION: tt.version, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}, tt.flight, false)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, flight %v: %v, want %q", tt.version, tt.flight, err, tt.want)
		}
	}
	// The hint for tests builds what can be recorded.
	err := check(gocmd.About{GOVERSION: "go1.22.1", GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}, false, true)
	if !strings.Contains(hint.Next(err).String(), "go test -c") {
		t.Errorf("tests with Go 1.22: %v has no hint with go test -c", err)
	}
	err = check(gocmd.About{GOVERSION: "go1.26.8", GOOS: "plan9", GOARCH: runtime.GOARCH}, false, false)
	if err == nil || !strings.Contains(err.Error(), "the go command builds for plan9") {
		t.Errorf("for another system: %v", err)
	}
}

// A program that keeps its recorder from writing, as one does that has no memory left, lacks more than the last second.
func TestMissing(t *testing.T) {
	metrics := recording.Metrics.Of("x.hone", &recording.Series{Times: []time.Duration{0, 1010 * time.Millisecond}})
	parts := &recording.Recording{Parts: map[string][]recording.Part{recording.CPU: {{To: 250 * time.Millisecond}, {From: 250 * time.Millisecond, To: 2 * time.Second}}}}
	for _, tt := range []struct {
		rec  *recording.Recording
		run  time.Duration
		want string
	}{
		{metrics, 2 * time.Second, "so up to a second of it is missing at the end"},
		{metrics, 36670 * time.Millisecond, "and the last 35.66s of its 36.67s are missing"},
		{parts, 3 * time.Second, "so up to a second of it is missing at the end"},
		{parts, 5 * time.Second, "and the last 3s of its 5s are missing"},
		{nil, 5 * time.Second, "and the last 5s of its 5s are missing"},
		{nil, 100 * time.Millisecond, "so up to a second of it is missing at the end"},
	} {
		if got := missing(tt.rec, tt.run); !strings.HasPrefix(got, tt.want) {
			t.Errorf("of a run of %s: %s; want %s", tt.run, got, tt.want)
		}
	}
}

// What the kernel killed has the exit code of a kill, and only then the count of its group is about it.
func TestKilledForMemory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	group := filepath.Join(t.TempDir(), "memory.events")
	put := func(n string) {
		t.Helper()
		if err := os.WriteFile(group, []byte("oom 1\noom_kill "+n+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("1")
	oom := &OOM{files: []string{group}, before: []int{oomKills(group)}, limit: 300 << 20}
	ended := func(script string) *os.ProcessState {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Run()
		return cmd.ProcessState
	}
	if got := oom.Killed(ended("kill -9 $$")); got != "" {
		t.Errorf("another killed it, and hone says %q", got)
	}
	put("2")
	const want = "out of memory: the kernel killed it at the memory limit of its control group, 300MB (oom_kill of the group went from 1 to 2)"
	if got := oom.Killed(ended("kill -9 $$")); got != want {
		t.Errorf("the kernel killed it, and hone says %q", got)
	}
	if got := oom.Killed(ended("exit 1")); got != "" {
		t.Errorf("it ended by itself, and hone says %q", got)
	}
	if got := oom.Killed(nil); got != "" {
		t.Errorf("it did not run, and hone says %q", got)
	}
}

// Benchmarks that waited for their CPU limit say so, and others do not.
func TestNoteThrottled(t *testing.T) {
	s := Options{}.session()
	before := agent.Throttling{Periods: 100, Throttled: 50, Seconds: 3}
	s.noteThrottled(before, agent.Throttling{Periods: 125, Throttled: 50, Seconds: 3}, 0.5)
	if n := s.manifest.Notes; len(n) != 0 {
		t.Errorf("nothing was throttled, and the notes are %q", n)
	}
	s.noteThrottled(before, agent.Throttling{Periods: 125, Throttled: 57, Seconds: 3.4}, 0.5)
	if n := s.manifest.Notes; len(n) != 1 || !strings.Contains(n[0], "throttled the control group in 7 of 25 periods, as its limit is 0.5 cores") {
		t.Errorf("the notes are %q", n)
	}
}
