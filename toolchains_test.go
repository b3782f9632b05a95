package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// toolchains are late releases of the Go versions that hone supports. docs/compat-go.md says what works with each.
var toolchains = []string{"go1.22.12", "go1.23.12", "go1.24.11", "go1.25.5", "go1.26.5", "go1.27.3"}

// TestToolchains runs what needs a toolchain with each of them, as the go command fetches it: users have many, and few of them unpacked from
// an archive.
func TestToolchains(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library once for each version of Go")
	}
	for _, v := range toolchains {
		t.Run(v, func(t *testing.T) {
			cmd := exec.Command("go", "version")
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOTOOLCHAIN="+v)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("fetching %s: %v\n%s", v, err, out)
			}
			testscript.Run(t, scripts(t, "testdata/toolchains", v))
		})
	}
}
