package duel

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// A program that ends well has not failed because it leaves one behind that holds on to its output.
func TestLeftBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		testrun.Missing(t, "there is no sh")
	}
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel()
	for _, tt := range []struct {
		line string
		ok   bool
	}{{"sleep 8 & echo done", true}, {"echo done; exit 3", false}} {
		results, err := new(duel).together(t.Context(), 0, false, []*exec.Cmd{command{line: tt.line}.shell(t.TempDir())}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; r.stdout != "done\n" || (r.failed == nil) != tt.ok {
			t.Errorf("%s: prints %q, and failed: %v", tt.line, r.stdout, r.failed)
		}
	}
}
