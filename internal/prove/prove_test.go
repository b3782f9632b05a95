package prove

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hone-perf/hone/internal/report"
)

// TestCases has prove compare a package in which every file is a case: nine of ten changes of behaviour have to be
// found, and nothing else. How much is tried goes by calls, not by time, so that a busy machine finds the same.
func TestCases(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	dir := t.TempDir()
	kinds := map[string]string{} // by file
	for _, kind := range []string{"different", "same"} {
		a, err := txtar.ParseFile(filepath.Join("testdata", kind+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			kinds[filepath.Base(f.Name)] = kind
			write(t, filepath.Join(dir, f.Name), f.Data)
		}
	}
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/cases\n\ngo 1.26\n"))
	}
	p := proveFolders(t, dir, Options{Executions: 1500, Time: time.Hour, NoTests: true})
	found := map[string][]report.Difference{}
	for _, d := range p.Differences {
		found[d.File] = append(found[d.File], d)
	}
	missed, different := 0, 0
	for file, kind := range kinds {
		got := found[file]
		switch {
		case kind == "different":
			different++
			if len(got) == 0 {
				missed++
				t.Logf("%s: no difference was found", file)
			}
		case slices.ContainsFunc(got, func(d report.Difference) bool { return d.Grave }):
			t.Errorf("%s: %+v", file, got)
		}
	}
	for _, f := range p.Functions { // what does things that stay is left alone
		if strings.EqualFold(f.Name, "sameEnter") && (f.Executions > 0 || !strings.Contains(f.Why, "os.Chdir")) {
			t.Errorf("%s was called %d times: %q", f.Name, f.Executions, f.Why)
		}
	}
	if missed*10 > different {
		t.Errorf("%d of %d changes were missed", missed, different)
	}
	t.Logf("%d of %d changes found in %d calls, %v", different-missed, different, p.Executions, p.Took)
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// proveFolders compares the folders old and new in dir.
func proveFolders(t *testing.T, dir string, opt Options) *report.Proof {
	t.Helper()
	c, err := Open(context.Background(), dir, []string{"old", "new"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := Run(context.Background(), c, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
