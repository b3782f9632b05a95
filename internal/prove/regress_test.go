package prove

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestRegressionsTellVersionsApart holds that the tests that are written of differences compile when they are put into the package, pass
// with the old version, and fail with the new one.
func TestRegressionsTellVersionsApart(t *testing.T) {
	testrun.Nightly(t, "builds and calls two versions of a package, and runs tests of the differences")
	const code = `package one

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

var names = []string{"a", "b"}

type Pair struct{ Key, Value string }

func Text(s string) string { return strings.ToUpper(s) + SUFFIX }
func Check(s string) error { if len(s) LESS 3 { return errors.New("short") }; return nil }
func At(i uint8) string { if int(i) PASTEND len(names) { return "" }; return names[i] }
func Split(s string) Pair { k, v, _ := strings.Cut(s, SEP); return Pair{k, v} }
func Sorted(list []string) { if len(list) > 1 { list[0] = strings.Repeat(list[0], TWICE) } }
func Serve(w http.ResponseWriter, r *http.Request) { w.WriteHeader(CODE); fmt.Fprint(w, r.Method) }

type Buffer struct{ b []byte }

func (b *Buffer) Line(s string) []byte { KEEP; out = append(out, s...); b.b = out; return out }
`
	version := func(words ...string) string { return strings.NewReplacer(words...).Replace(code) }
	dir := t.TempDir()
	for v, text := range map[string]string{
		"old": version("SUFFIX", `""`, "LESS", "<", "PASTEND", ">=", "SEP", `"="`, "TWICE", "1", "CODE", "200", "KEEP", "var out []byte"),
		"new": version("SUFFIX", `"!"`, "LESS", "<=", "PASTEND", ">", "SEP", `":"`, "TWICE", "2", "CODE", "201", "KEEP", "out := b.b[:0]"),
	} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "one.go"), []byte(text))
	}
	p := proveIn(t, dir, "old", "new", Options{Executions: 600, NoTests: true, Time: time.Hour, Regress: true})
	if p.Regression == nil {
		t.Fatalf("no tests were written: %+v, %v", p.Differences, p.Notes)
	}
	if p.Regression.Tests < 7 || p.Regression.Package != "example.com/one" || p.Regression.Folder != "here" {
		t.Errorf("%d tests of %s in %s:\n%s\n%v", p.Regression.Tests, p.Regression.Package, p.Regression.Folder, p.Regression.Source, p.Notes)
	}
	for _, v := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(dir, v, "regress_test.go"), []byte(p.Regression.Source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := (gocmd.Command{Dir: filepath.Join(dir, "old")}).Run(context.Background(), "test", "."); err != nil {
		t.Errorf("with the old version: %v\n%s", err, out)
	}
	for _, line := range strings.Split(p.Regression.Source, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "func "), "(t *"); ok {
			if out, err := (gocmd.Command{Dir: filepath.Join(dir, "new")}).Run(context.Background(), "test", "-run=^"+name+"$", "."); err == nil {
				t.Errorf("%s passes with the new version:\n%s", name, out)
			}
		}
	}
	t.Log(p.Regression.Source)
}
