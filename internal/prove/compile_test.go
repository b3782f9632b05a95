package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

// TestCompilesOnce checks that with an empty build cache, the standard library is compiled once for each kind of build: to load the packages,
// for tests with the race detector, and for the workers; and the worker, of which three are built, once for all of them. Several go commands that
// run at the same time do not wait for each other.
func TestCompilesOnce(t *testing.T) {
	testrun.Nightly(t, "compiles the standard library three times")
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell to count compilations with")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "compiled")
	counter := filepath.Join(dir, "count")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*/compile*-V=full*) ;;\n*/compile*' -p runtime '* | */compile*' -p example.com/once/'*'_worker '*) echo \"$*\" >>'%s' ;;\nesac\nexec \"$@\"\n", log)
	if err := os.WriteFile(counter, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for side, body := range map[string]string{"old": `s + ""`, "new": `s`} {
		for name, text := range map[string]string{
			"go.mod":    "module example.com/once\n\ngo 1.24\n",
			"x.go":      "package once\n\nfunc Same(s string) string { return " + body + " }\n",
			"x_test.go": "package once\n\nimport \"testing\"\n\nfunc TestSame(t *testing.T) { t.Log(Same(\"a\")) }\n",
		} {
			write(t, filepath.Join(dir, side, name), []byte(text))
		}
	}
	t.Setenv("GOCACHE", filepath.Join(dir, "cache"))
	t.Setenv("GOFLAGS", "-toolexec="+counter)
	c, err := Open(t.Context(), dir, []string{filepath.Join(dir, "old"), filepath.Join(dir, "new")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	proof, err := Run(t.Context(), c, Options{Time: time.Second, Executions: 50})
	if err != nil {
		t.Fatal(err)
	}
	if proof.Executions == 0 {
		t.Errorf("nothing was called: %+v", proof)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	race, other, workers := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, "_worker "):
			workers++
		case strings.Contains(line, " -race "):
			race++
		default:
			other++
		}
	}
	if workers != 1 {
		t.Errorf("the worker was compiled %d times", workers)
	}
	if race > 1 || other != 2 {
		t.Errorf("package runtime was compiled %d times with -race and %d times without, want 1 and 2", race, other)
	}
}
