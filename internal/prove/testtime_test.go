package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
)

// Tests that take longer than they may do not hold up a change, and leave it unproven.
func TestTestTime(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two versions")
	}
	dir := t.TempDir()
	const code = "package slow\n\nfunc Twice(n int) int { return 2 * n }\n"
	tests := fmt.Sprintf("package slow\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\n"+
		"func TestTwice(t *testing.T) {\n\tos.WriteFile(fmt.Sprintf(\"%%s%%d\", %q, os.Getpid()), nil, 0o644)\n\ttime.Sleep(time.Hour)\n}\n", filepath.Join(dir, "pid-"))
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/slow\n\ngo 1.23\n"))
		text := code
		if v == "new" {
			text = strings.Replace(text, "2 * n", "n + n", 1)
		}
		write(t, filepath.Join(dir, v, "slow.go"), []byte(text))
		write(t, filepath.Join(dir, v, "slow_test.go"), []byte(tests))
	}
	p := proveIn(t, dir, "old", "new", Options{Executions: 20, Time: time.Minute, TestTime: 100 * time.Millisecond})
	skipped := slices.ContainsFunc(p.Checks, func(c report.Check) bool { return strings.HasPrefix(c.Name, "tests") && c.Outcome == report.Skipped })
	if !skipped || !p.Untried || p.Verdict != report.NotProven {
		t.Errorf("skipped: %v, untried: %v, verdict %s: %+v", skipped, p.Untried, p.Verdict, p.Checks)
	}
	// No program goes on behind it.
	began, err := filepath.Glob(filepath.Join(dir, "pid-*"))
	if err != nil || runtime.GOOS == "windows" {
		return
	}
	for _, file := range began {
		_, id, _ := strings.Cut(filepath.Base(file), "-")
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		if runs(pid) {
			t.Errorf("test program %d still runs", pid)
		}
	}
}

// runs reports whether a process runs. One that ended may wait for its parent to take note of that.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil || p.Signal(syscall.Signal(0)) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z")
}
