package capture

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/capture/perf"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestWatch records a stripped program that is running, and looks at what came of it.
func TestWatch(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir, err := filepath.Abs("../../examples/stripped")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "stripped")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", file, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(file, "-for", "20s")
	cmd.Env = append(os.Environ(), "GOGC=77")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()

	out, err := Watch(t.Context(), Options{Dir: dir, Out: filepath.Join(t.TempDir(), "x.hone"), For: 3500 * time.Millisecond}, cmd.Process.Pid)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		testrun.Unable(t, "NOT TESTED: this system does not let programs be sampled: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out.Name != "stripped" {
		t.Errorf("it is called %s", out.Name)
	}
	r, err := recording.Open(out.File)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Manifest
	switch p := m.Program; {
	case m.How != recording.Watched || len(m.Command) != 3 || m.Command[2] != "20s" || m.Machine == nil:
		t.Errorf("manifest is %+v", m)
	case p == nil || p.Path != "example.com/stripped" || !strings.HasPrefix(p.Go, "go1.") || p.Env["GOGC"] != "77" || p.BuildID == "":
		t.Errorf("program is %+v", p)
	case m.Usage.Real < 3*time.Second || m.Usage.User <= 0 || m.Usage.MaxRSS <= 0 || m.Ended.Before(m.Started):
		t.Errorf("usage is %+v", m.Usage)
	case !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "from outside") }):
		t.Errorf("notes are %q", m.Notes)
	}
	if n := len(r.Parts[recording.CPU]); n < 3 || n > 5 {
		t.Errorf("%d CPU profiles in 3.5 seconds", n)
	}
	if got := share(t, r, "cpu", "spell"); got < 0.02 || got > 0.98 { // about a half, but a busy machine shares out its cores as it likes
		t.Errorf("main.spell has a share of %.2f; want about a half", got)
	}
	if text, err := r.File(recording.MetricsFile, 1<<20); err != nil || strings.Count(string(text), "process/rss") < 3 {
		t.Errorf("metrics are %v %q", err, text)
	}
	if src, err := r.Sources.Find("example.com/stripped/stripped.go", "main.spell", 30); err != nil || !strings.Contains(strings.Join(src.Lines, "\n"), "func spell(") {
		t.Errorf("the source is %v %v", src, err)
	}
}

// TestWatchNothing checks that nothing is left of a recording of nothing.
func TestWatchNothing(t *testing.T) {
	dir := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	_, err := Watch(t.Context(), Options{Dir: dir}, ended.Process.Pid)
	if !errors.Is(err, perf.ErrGone) {
		t.Errorf("Watch of a process that has ended: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestCutNULs holds that empty arguments stay, also the last one.
func TestCutNULs(t *testing.T) {
	for in, want := range map[string][]string{
		"app\x00-prefix\x00\x00": {"app", "-prefix", ""},
		"app\x00\x00-v\x00":      {"app", "", "-v"},
		"app\x00":                {"app"},
		"app":                    {"app"},
		"":                       {},
	} {
		file := filepath.Join(t.TempDir(), "cmdline")
		if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cutNULs(file); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
