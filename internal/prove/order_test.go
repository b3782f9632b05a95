package prove

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

const ofOrder = `
-- old/go.mod --
module example.com/order

go 1.26
-- old/core/core.go --
package core

// Double doubles.
func Double(n int) int { return 2 * n }
-- old/core/core_test.go --
package core

import "testing"

func TestDouble(t *testing.T) {
	if Double(2) != 4 {
		t.Error("wrong")
	}
}

func BenchmarkDouble(b *testing.B) {
	for range b.N {
		Double(3)
	}
}
-- old/near/near.go --
package near

import "example.com/order/core"

// Six is six.
func Six() int { return core.Double(3) }
-- old/near/near_test.go --
package near

import "testing"

func TestSix(t *testing.T) {
	if Six() != 6 {
		t.Error("not six")
	}
}

func TestNever(t *testing.T) { t.Error("it failed before, too") }

func BenchmarkSix(b *testing.B) {
	for range b.N {
		Six()
	}
}
-- old/far/far.go --
package far

import "example.com/order/near"

// Twelve is twelve.
func Twelve() int { return 2 * near.Six() }
-- old/far/far_test.go --
package far

import "testing"

func TestTwelve(t *testing.T) {
	if Twelve() != 12 {
		t.Error("not twelve")
	}
}
`

// tryOrder runs the checks of a patch, and returns their names in order and how they ended.
func tryOrder(t *testing.T, text string, hopeless bool) (names []string, checks map[string]report.Check, raced bool) {
	t.Helper()
	dir := unpack(t, ofOrder)
	old, now := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := os.CopyFS(now, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(now, "core", "core.go"), []byte(text))
	p, err := Run(t.Context(), &Change{Old: Version{Name: "old", Dir: old}, New: Version{Name: "new", Dir: now}}, Options{
		Stop: true, Executions: 20, Tests: new(Tests),
		Faster: func(context.Context, Race) (Speed, error) {
			raced = true
			return Speed{Pace: report.PaceUnknown}, nil
		},
		Hopeless: func(*report.Proof, bool) bool { return hopeless },
	})
	if err != nil {
		t.Fatal(err)
	}
	checks = make(map[string]report.Check)
	for _, c := range p.Checks {
		names = append(names, c.Name)
		checks[c.Name] = c
	}
	return names, checks, raced
}

// What takes longest comes last: the tests of packages that only use what changed, and none where the benchmarks say that it is not worth it.
func TestLongestComesLast(t *testing.T) {
	testrun.Nightly(t, "checks two patches, with benchmarks")
	const same = "package core\n\n// Double doubles.\nfunc Double(n int) int { return n + n }\n"
	names, _, raced := tryOrder(t, same, true)
	if want := []string{"builds", "vet"}; !slices.Equal(names, want) || !raced {
		t.Errorf("without hope: %v, benchmarks ran %v; want %v", names, raced, want)
	}
	names, checks, _ := tryOrder(t, same, false)
	if want := []string{"builds", "vet", "tests", users, raceCheck}; !slices.Equal(names, want) || checks[users].Outcome != report.Passed || checks[users].Detail != "3 tests of 2 packages" {
		t.Errorf("with hope: %v, %+v; want %v", names, checks[users], want)
	}
}

// Benchmarks of packages that only use what changed count as long as there is time to find them; without any other, in any case.
func TestBenchmarksOfUsers(t *testing.T) {
	testrun.Live(t, "builds packages with counters three times")
	dir := unpack(t, ofOrder)
	old, now := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	tests := []struct {
		time time.Duration
		own  bool // core has a benchmark
		want []string
	}{
		{time.Minute, true, []string{"./core", "./near"}},
		{time.Nanosecond, true, []string{"./core"}},
		{time.Nanosecond, false, []string{"./near"}},
	}
	for _, tt := range tests {
		if err := os.CopyFS(now, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(now, "core", "core.go"), []byte("package core\n\n// Double doubles.\nfunc Double(n int) int { return n + n }\n"))
		if !tt.own {
			write(t, filepath.Join(now, "core", "core_test.go"), []byte("package core\n"))
		}
		var packages []string
		p, err := Run(t.Context(), &Change{Old: Version{Name: "old", Dir: old}, New: Version{Name: "new", Dir: now}}, Options{
			Stop: true, Time: tt.time, Tests: new(Tests),
			Faster: func(_ context.Context, race Race) (Speed, error) {
				packages = race.Packages
				return Speed{Pace: report.PaceUnknown}, nil
			},
			Hopeless: func(*report.Proof, bool) bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		late := strings.Contains(p.Notes.String(), "benchmarks of 1 package that use it were left out")
		if !slices.Equal(packages, tt.want) || late != (tt.own && len(tt.want) == 1) {
			t.Errorf("%v, benchmarks in core: %t: those of %v ran, want %v; notes: %q", tt.time, tt.own, packages, tt.want, p.Notes)
		}
		if err := os.RemoveAll(now); err != nil {
			t.Fatal(err)
		}
	}
}

// A patch that fails a test is not built with the race detector for that.
func TestFailedTestComesBeforeRaces(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	names, checks, _ := tryOrder(t, "package core\n\n// Double doubles.\nfunc Double(n int) int { return n + 3 }\n", false)
	if want := []string{"builds", "vet", "tests"}; !slices.Equal(names, want) || checks["tests"].Outcome != report.Failed {
		t.Errorf("%v, %+v; want %v, the last of them failed", names, checks["tests"], want)
	}
}

const users = "tests of packages that use it"

// Where calls show no difference, the tests of who uses it still may, and those that failed before do not count.
func TestUsersTestsCount(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := unpack(t, ofOrder)
	old, now := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := os.CopyFS(now, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(now, "near", "near.go"), []byte("package near\n\n// Six is six.\nfunc Six() int { return 7 }\n"))
	r := &run{change: &Change{Old: Version{Dir: old}, New: Version{Dir: now}}, proof: &report.Proof{}, users: []string{"./far"}}
	r.opt = Options{Time: time.Minute, Say: func(string) {}, Stop: true}
	if err := r.testUsers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.proof.Checks; len(c) != 1 || c[0].Name != users || c[0].Outcome != report.Failed {
		t.Errorf("another result: %+v", c)
	}
	r.proof, r.users = &report.Proof{}, []string{"./core"}
	r.opt.Time = 1 // less than any test takes
	if err := r.testUsers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.proof.Checks; len(c) != 1 || c[0].Outcome != report.Skipped || len(r.doubts) != 1 {
		t.Errorf("no time: %+v, doubts %v", c, r.doubts)
	}
}

// Packages that use a change and have no tests are not built to run none.
func TestUsersWithoutTests(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old/none/none.go", "new/none/none.go", "old/both/both_test.go", "new/both/both_test.go", "new/fresh/fresh_test.go", "old/gone/gone_test.go", "new/gone/gone.go"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, []byte("package x\n"))
	}
	c := &Change{Old: Version{Dir: filepath.Join(dir, "old")}, New: Version{Dir: filepath.Join(dir, "new")}}
	for name, want := range map[string]bool{"./none": false, "./both": true, "./fresh": true, "./gone": true} {
		if got := c.hasTests(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

// Who uses a package compiles as before where only bodies of its functions change, and where what is new cannot be seen.
func TestSameOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	const before = "package p\n\ntype Set struct{ list []int }\n\nfunc (s *Set) Add(n int) { s.list = append(s.list, n) }\n"
	tests := []struct {
		name, old, new string
		want           bool
	}{
		{"body", "append(s.list, n)", "append(s.list, n+0)", true},
		{"parameter", "Add(n int) {", "Add(n int, more ...int) {", false},
		{"receiver", "(s *Set)", "(s Set)", false},
		{"field", "list []int", "list []int; N int", false},
		{"new helper", "func (", "func help() {}\n\nfunc (", true},
		{"new method for all", "func (", "func (s *Set) Len() int { return 0 }\n\nfunc (", false},
		{"gone", "func (s *Set) Add(n int) { s.list = append(s.list, n) }", "", false},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		for version, text := range map[string]string{"old": before, "new": strings.Replace(before, tt.old, tt.new, 1)} {
			if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, version, "go.mod"), []byte("module example.com/p\n\ngo 1.23\n"))
			write(t, filepath.Join(dir, version, "p.go"), []byte(text))
		}
		c := &Change{Old: Version{Name: "old", Dir: filepath.Join(dir, "old")}, New: Version{Name: "new", Dir: filepath.Join(dir, "new")}}
		pairs, _, err := pairUp(t.Context(), c, []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		if got := sameOutside(pairs); got != tt.want {
			t.Errorf("%s: sameOutside = %t, want %t", tt.name, got, tt.want)
		}
	}
}
