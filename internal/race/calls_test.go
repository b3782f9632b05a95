package race

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/racelog"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestCalls holds that races show in calls that are made up: in what a package keeps, and in values that are made to be shared. Values that
// are not are no race, nor are settings. There are no tests in the package.
func TestCalls(t *testing.T) {
	testrun.Live(t, "builds a package with the race detector, and calls it for some seconds")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/calls")); err != nil {
		t.Fatal(err)
	}
	s, err := Find(t.Context(), Options{Dir: dir, Time: time.Hour, Runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Report(t.Context())
	var got []string
	for _, d := range r.Races {
		name := d.Variable
		if d.More > 0 {
			name = "math/rand" // one of its fields, and not always the same
		}
		if !slices.Contains(got, name) {
			got = append(got, name)
		}
		if d.Calls == "" {
			t.Errorf("%s: no calls are shown", name)
		}
	}
	slices.Sort(got)
	if want := []string{"Cache.hits", "Name.text", "Schema.end", "math/rand", "seen", "shared.total", "slugs"}; !slices.Equal(got, want) {
		t.Errorf("races about %q, want %q", got, want)
	}
	if r.Tried.Calls == 0 || len(r.Notes) > 0 {
		t.Errorf("%d calls, notes %q", r.Tried.Calls, r.Notes)
	}
}

// TestOfTests holds that races in what is there for tests are not those of the package, and that others are.
func TestOfTests(t *testing.T) {
	const calls = "/m/p/zz_hone_calls_test.go"
	tests := []struct {
		files []string // of one access, innermost first
		want  bool
	}{
		{[]string{"/m/p/p.go", calls}, false},
		{[]string{"/go/src/math/rand/rng.go", "/m/p/p.go", calls}, false},
		{[]string{"/m/p/fake_test.go", "/m/p/p.go", calls}, true},
		{[]string{"/m/internal/ztest/writer.go", "/m/p/p.go", calls}, true},
		{[]string{"/m/contest/c.go", "/m/p/p.go", calls}, false},
		{[]string{calls}, true},
		{[]string{"/m/p/p.go", "/m/p/help_test.go", calls}, false},
		{[]string{"/m/p/help_test.go", "/m/p/p.go", "/m/p/help_test.go", calls}, true},
		{[]string{"/m/p/help_test.go", calls}, true},
		{[]string{"/m/p/p.go", calls, "/m/p/main_test.go"}, false},
	}
	for _, tt := range tests {
		r := racelog.Race{Accesses: []racelog.Access{{Stack: []racelog.Frame{{File: "/m/p/p.go"}, {File: calls}}}, {}}}
		for _, file := range tt.files {
			r.Accesses[1].Stack = append(r.Accesses[1].Stack, racelog.Frame{File: file})
		}
		if got := ofTests(&r, "/m/p"); got != tt.want {
			t.Errorf("%v: %v", tt.files, got)
		}
	}
	copied := racelog.Frame{Func: "runtime.slicecopy", File: "/go/src/runtime/slice.go"} // for the function below it
	r := racelog.Race{Accesses: []racelog.Access{{Stack: []racelog.Frame{copied, {File: "/m/p/help_test.go"}, {File: calls}}}}}
	if !ofTests(&r, "/m/p") {
		t.Error("a copy that a test makes is not of the package")
	}
	r.Accesses[0].Stack = []racelog.Frame{copied, {File: "/m/p/p.go"}, {File: "/m/p/help_test.go"}, {File: calls}}
	if ofTests(&r, "/m/p") {
		t.Error("a copy that the package makes is of the package")
	}
	r = racelog.Race{Accesses: []racelog.Access{{Stack: []racelog.Frame{{File: "/m/mocktest/p.go"}, {File: calls}}}}}
	if ofTests(&r, "/m/mocktest") {
		t.Error("a package for tests has no races of its own")
	}
}

// TestInterruptedEarly holds that a search which is interrupted while calls are made up says so, and leaves nothing behind.
func TestInterruptedEarly(t *testing.T) {
	testrun.Live(t, "builds what calls a package")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/calls")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Find(ctx, Options{Dir: dir, Time: time.Hour, Say: func(what string) {
		if strings.HasPrefix(what, "making up calls") {
			cancel()
		}
	}})
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "hone-run-*", "race-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestRepeat holds that what tests do with a value is repeated from several goroutines, where the value is made to be shared: a compiled
// template, also one that is handed to a function. What tests have beside the code, and what nobody says may be shared, is no race.
func TestRepeat(t *testing.T) {
	testrun.Nightly(t, "builds a package with the race detector, and calls it for some seconds")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/repeat")); err != nil {
		t.Fatal(err)
	}
	s, err := Find(t.Context(), Options{Dir: dir, Time: time.Hour, Runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Report(t.Context())
	var got []string
	for _, d := range r.Races {
		got = append(got, d.By)
		if d.Calls == "" {
			t.Errorf("%s: no calls are shown", d.By)
		}
	}
	slices.Sort(got)
	want := []string{"(*Template).Render, called by several goroutines on one Template", "Run, called by several goroutines on one Program"}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("races of %q, want %q", got, want)
	}
	if len(r.Notes) > 0 {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestCleanTests holds that a package without data races has none where its tests have variables that they change, in each of the ways to do that.
func TestCleanTests(t *testing.T) {
	testrun.Live(t, "builds a package with the race detector, and calls it for some seconds")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/clean")); err != nil {
		t.Fatal(err)
	}
	s, err := Find(t.Context(), Options{Dir: dir, Time: time.Hour, Runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Report(t.Context())
	for _, d := range r.Races {
		t.Errorf("a race by %s:\n%s", d.By, d.Calls)
	}
	if r.Tried.Calls == 0 {
		t.Error("nothing was called")
	}
}
