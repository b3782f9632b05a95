package prove

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// A C compiler may warn of what a module depends on. That breaks no build, and so no test.
func TestWarningsBreakNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		testrun.Unable(t, "there is no C compiler: %v", err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.22\n")
	write("c/c.go", "package c // in "+dir+", so that it is built anew\n\n// #warning \"this is old\"\n// static int one(void) { return 1; }\nimport \"C\"\n\nfunc One() int { return int(C.one()) }\n")
	write("m_test.go", "package m\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/c\"\n)\n\nfunc TestOne(t *testing.T) {\n\tif c.One() != 1 {\n\t\tt.Fatal(c.One())\n\t}\n}\n")
	in := gocmd.Command{Dir: dir, Env: append(os.Environ(), "CGO_ENABLED=1")}
	s, err := runTests(t.Context(), in, []string{"."}, false, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.broken != "" || len(s.tests) != 1 || s.fails() {
		t.Errorf("with a warning, what is broken is %q, and the tests are %v", s.broken, s.tests)
	}
	write("c/c.go", "package c\n\nfunc One() int { return \"\" }\n")
	if s, err = runTests(t.Context(), in, []string{"."}, false, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.broken, "cannot use") || !s.fails() {
		t.Errorf("with an error, what is broken is %q", s.broken)
	}
}

// Tests take several times as long with the race detector, so the step says that it is used.
func TestOldSuiteSaysRace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is said comes before anything runs
	for _, tt := range []struct {
		race, short bool
		want        string
	}{
		{false, false, "running the tests of the old version"},
		{true, false, "running the tests of the old version with the race detector"},
		{true, true, "running the short tests of the old version with the race detector"},
	} {
		var said []string
		r := &run{change: &Change{}, opt: Options{Say: func(s string) { said = append(said, s) }}}
		if _, err := r.oldSuite(ctx, nil, tt.race, tt.short); !errors.Is(err, context.Canceled) {
			t.Errorf("race %t, short %t: %v", tt.race, tt.short, err)
		}
		if !slices.Equal(said, []string{tt.want}) {
			t.Errorf("race %t, short %t: said %q; want %q", tt.race, tt.short, said, tt.want)
		}
	}
}
