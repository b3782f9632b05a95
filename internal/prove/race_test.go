package prove

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// Whether a race shows is up to chance, so that only the new version has one is said when the old one was run again.
func TestRaceOfOldShowsLater(t *testing.T) {
	testrun.Nightly(t, "builds two versions with the race detector")
	const code = "package p\n\nfunc Twice(n int) int { return %s }\n"
	const test = `package p

import (
	"os"
	"sync"
	"testing"
)

func TestTwice(t *testing.T) {
	_, err := os.Stat("ran")
	if err := os.WriteFile("ran", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	add := func() { n += Twice(1) }
	if %s {
		var wg sync.WaitGroup
		wg.Go(add)
		wg.Go(add)
		wg.Wait()
		return
	}
	add()
}
`
	tests := []struct {
		old     string // when its test has a race
		outcome report.Outcome
		says    string
	}{
		{"err == nil", report.Passed, "data races as before, in "},
		{"err == nil && false", report.Failed, "data race in "},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		if ok, why := hasRace(t.Context(), gocmd.Command{Dir: dir}); !ok {
			t.Skip(why)
		}
		for v, body := range map[string]string{"old": "n + n", "new": "2 * n"} {
			races := tt.old
			if v == "new" {
				races = "err == nil || true"
			}
			write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/p\n\ngo 1.26\n"))
			write(t, filepath.Join(dir, v, "p.go"), fmt.Appendf(nil, code, body))
			write(t, filepath.Join(dir, v, "p_test.go"), fmt.Appendf(nil, test, races))
		}
		p := proveIn(t, dir, "old", "new", Options{Executions: 10, Time: time.Hour})
		i := slices.IndexFunc(p.Checks, func(c report.Check) bool { return c.Name == "race detector" })
		if i < 0 {
			t.Fatalf("the race detector was not used: %+v", p.Checks)
		}
		if c := p.Checks[i]; c.Outcome != tt.outcome || !strings.HasPrefix(c.Detail, tt.says) {
			t.Errorf("old races if %s: %s: %s; want %s: %s", tt.old, c.Outcome, c.Detail, tt.outcome, tt.says)
		}
	}
}
