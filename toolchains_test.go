package main

import (
	"context"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"

	"github.com/hone-perf/hone/internal/testrun"
)

// toolchains are late releases of the Go versions that hone supports, oldest first. docs/compat-go.md says what works with each;
// .ci/run runs with the last.
var toolchains = []string{"go1.22.12", "go1.23.12", "go1.24.11", "go1.25.5", "go1.26.5", "go1.27.3"}

// builder is the oldest of them that builds hone: with the go line of go.mod.
const builder = "go1.26.5"

// TestToolchains runs what needs a toolchain with each of them, as the go command fetches it: users have many, and few of them unpacked from
// an archive. Without -tags live it is the Go of this test alone, and what is quick. With it, it is the oldest of them, and all that there is;
// a nightly run takes them all, and a release candidate of the next Go while there is one. Newer Go than the oldest that builds hone meets a
// hone that was built with that: hone is often older than the Go of the module it works on.
func TestToolchains(t *testing.T) {
	long(t)
	t.Parallel() // it waits as much as it works
	all, candidate := []string{strings.Fields(runtime.Version())[0]}, ""
	if testrun.InLive() {
		all = toolchains[:1]
	}
	if testrun.InNightly() { // compiles the standard library once for each version of Go
		all = toolchains
		// what others release must not fail a change
		if candidate = candidateGo(t); candidate != "" {
			all = append(all[:len(all):len(all)], candidate)
		}
	}
	dir := t.TempDir()
	older := sync.OnceValue(func() error { return buildHone(t.Context(), dir) })
	for _, v := range all {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			if out, err := goAs(t, v, "version").CombinedOutput(); err != nil {
				if v == candidate {
					t.Skipf("fetching %s: %v\n%s", v, err, out)
				}
				t.Fatalf("fetching %s: %v\n%s", v, err, out)
			}
			p := scripts(t, "testdata/toolchains", v)
			ours := version.Lang(runtime.Version()) // of this binary, which is hone, too
			if version.Compare(version.Lang(v), version.Lang(builder)) > 0 && version.Compare(ours, version.Lang(builder)) > 0 {
				if err := older(); err != nil {
					t.Fatal(err)
				}
				setup := p.Setup
				p.Setup = func(env *testscript.Env) error {
					env.Setenv("PATH", dir+string(filepath.ListSeparator)+env.Getenv("PATH"))
					return setup(env)
				}
			}
			testscript.Run(t, p)
		})
	}
}

// goAs is a go command of some version, outside of this module.
func goAs(t *testing.T, toolchain string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	return cmd
}

// buildHone builds hone with the oldest Go that can, into dir.
func buildHone(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), ".")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+builder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building hone with %s: %w\n%s", builder, err, out)
	}
	return nil
}

// candidateGo is the release candidate of the next Go, or "" where there is none or nobody says.
func candidateGo(t *testing.T) string {
	out, err := goAs(t, "local", "list", "-m", "-versions", "go").CombinedOutput()
	if err != nil {
		t.Logf("no release candidate is tried: listing the versions of Go: %v\n%s", err, out)
		return ""
	}
	released, candidate := newest(strings.Fields(string(out)))
	switch ours := toolchains[len(toolchains)-1]; {
	case released == "":
		t.Logf("no release candidate is tried: no version of Go in %q", out)
	case version.Compare(version.Lang(released), version.Lang(ours)) > 0:
		t.Logf("%s is out; the newest that is tried is %s", released, ours)
	}
	if candidate == "" {
		t.Logf("no release candidate is newer than %s", released)
	}
	return candidate
}

// newest returns the newest release among versions of the module go, and the newest candidate for a release after it.
func newest(versions []string) (released, candidate string) {
	for _, v := range versions {
		v = "go" + v
		switch {
		case !version.IsValid(v):
		case strings.Contains(v, "rc"):
			if version.Compare(v, candidate) > 0 {
				candidate = v
			}
		case strings.Contains(v, "beta"):
		case version.Compare(v, released) > 0:
			released = v
		}
	}
	if version.Compare(candidate, released) < 0 {
		candidate = ""
	}
	return released, candidate
}

// TestBuilder holds that the hone of TestToolchains is built with the Go that go.mod asks for, and that this Go is one of those that are tried.
func TestBuilder(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if version.Lang("go"+mod.Go.Version) != version.Lang(builder) || !slices.Contains(toolchains, builder) {
		t.Errorf("go.mod says go %s; hone is built with %s, and tried with %q", mod.Go.Version, builder, toolchains)
	}
	if !slices.IsSortedFunc(toolchains, version.Compare) {
		t.Errorf("%q are not in order", toolchains)
	}
}

func TestNewest(t *testing.T) {
	tests := []struct{ versions, released, candidate string }{
		{"go 1.26rc1 1.26.0 1.26.11 1.27rc1 1.27.0 1.27.4", "go1.27.4", ""},
		{"go 1.26rc1 1.26.0 1.27.4 1.27.10 1.28rc1", "go1.27.10", "go1.28rc1"},
		{"go 1.28rc2 1.27.4 1.28rc10 1.28beta1", "go1.27.4", "go1.28rc10"},
		{"go 1.28rc2 1.28.0", "go1.28.0", ""},
		{"go", "", ""},
		{"", "", ""},
	}
	for _, test := range tests {
		released, candidate := newest(strings.Fields(test.versions))
		if released != test.released || candidate != test.candidate {
			t.Errorf("of %q the newest are %q and %q; want %q and %q", test.versions, released, candidate, test.released, test.candidate)
		}
	}
}
