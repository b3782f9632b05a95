package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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
	const alive = "alive" // a file that the tests of both versions write to as long as they run
	tests := fmt.Sprintf("package slow\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\n"+
		"func TestTwice(t *testing.T) {\n\tfor {\n\t\tos.WriteFile(%q, nil, 0o644)\n\t\ttime.Sleep(time.Millisecond)\n\t}\n}\n", filepath.Join(dir, alive))
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
	os.Remove(filepath.Join(dir, alive))
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(dir, alive)); err == nil && runtime.GOOS != "windows" {
		t.Error("a test program still runs")
	}
}
