package gocmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestExplain asks the compiler on this machine, so that a change of its words is noticed.
func TestExplain(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		testrun.Missing(t, "there is no go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/told\n\ngo 1.21\n",
		"told.go": `package told

type point struct{ x, y int }

var kept *point

func newPoint(x int) *point { return &point{x, x} }

func Keep(n int) {
	kept = newPoint(n)
}

func Pick(s []int, i int) int { return s[i] }
`,
		"told_test.go": "package told\n\nimport \"testing\"\n\nfunc TestKeep(t *testing.T) {\n\tp := new(int)\n\tt.Log(p)\n\tKeep(1)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tests := range []bool{false, true} {
		log, err := Command{Dir: dir}.Explain(t.Context(), tests, []string{"-gcflags=-N=0", "-tags=x"}, ".")
		if err != nil {
			t.Fatal(err)
		}
		at := func(line int, kind escape.Kind) *escape.Remark {
			found := log.At(filepath.Join(dir, "told.go"), line)
			if i := slices.IndexFunc(found, func(r escape.Remark) bool { return r.Kind == kind }); i >= 0 {
				return &found[i]
			}
			t.Fatalf("tests %v: line %d says nothing about %s: %+v", tests, line, kind, found)
			return nil
		}
		if s := at(10, escape.Heap).Story(); s.Cause != escape.Stored || len(s.Steps) < 2 {
			t.Errorf("tests %v: the story of line 10 is %s", tests, &s)
		}
		if w := at(10, escape.Heap).Written(); w.Line != 7 {
			t.Errorf("tests %v: it was written on line %d, want 7", tests, w.Line)
		}
		at(10, escape.Inlined)
		at(13, escape.Bounds)
		if r := at(7, escape.Inlinable); r.Cost == 0 {
			t.Errorf("tests %v: newPoint can be inlined at no cost", tests)
		}
		if found := log.At("told_test.go", 6); tests && !slices.ContainsFunc(found, func(r escape.Remark) bool { return r.OnHeap() }) {
			t.Errorf("nothing is known about the test: %+v", found)
		}
	}
	if _, err := (Command{Dir: dir}).Explain(t.Context(), false, nil, "./none"); err == nil {
		t.Error("a package that is not there is explained")
	}
}
