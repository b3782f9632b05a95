package prove

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// Where no benchmark reaches what changed, tests do that take long enough, reach it, and pass when they run again.
func TestSlowTestsAreCompared(t *testing.T) {
	testrun.Nightly(t, "runs tests that take seconds")
	dir := t.TempDir()
	const code = `package words

import "strings"

type list []string

func (l list) joined() string { return strings.Join(l, " ") }

func Other(n int) int { return n }
`
	const tests = `package words

import (
	"testing"
	"time"
)

func spend(f func()) {
	for end := time.Now().Add(60 * time.Millisecond); time.Now().Before(end); {
		f()
	}
}

func TestSlow(t *testing.T) { spend(func() { list{"a"}.joined() }) }

func TestQuick(t *testing.T) { list{"a"}.joined() }

func TestElsewhere(t *testing.T) { spend(func() { Other(1) }) }

var ran bool

func TestOnlyOnce(t *testing.T) {
	spend(func() { list{"a"}.joined() })
	if ran {
		t.Error("again")
	}
	ran = true
}

var Joined = func() string { return list{"a"}.joined() }
`
	const outside = `package words_test

import (
	"testing"
	"time"

	"example.com/words"
)

func TestOutside(t *testing.T) {
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		words.Joined()
	}
}
`
	for _, v := range []string{"old", "new"} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/words\n\ngo 1.23\n"))
		text := code
		if v == "new" {
			text = strings.Replace(text, "strings.Join(l, \" \")", "strings.Join([]string(l), \" \")", 1)
		}
		write(t, filepath.Join(dir, v, "words.go"), []byte(text))
		write(t, filepath.Join(dir, v, "words_test.go"), []byte(tests))
		write(t, filepath.Join(dir, v, "outside_test.go"), []byte(outside))
	}
	var raced []string
	p := proveIn(t, dir, "old", "new", Options{Executions: 20, Time: time.Minute, Faster: func(ctx context.Context, race Race) (Speed, error) {
		for _, v := range []Version{race.Old, race.New} {
			args := append([]string{"test", "-vet=off", "-run=^$", "-benchtime=3x", "-bench=" + race.Bench}, race.Flags...)
			out, err := (gocmd.Command{Dir: v.Dir}).Run(ctx, append(args, race.Packages...)...)
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
			for line := range strings.Lines(string(out)) {
				if name, rest, ok := strings.Cut(line, " "); ok && strings.Contains(rest, "allocs/op") {
					raced = append(raced, v.Name+" "+strings.TrimSpace(name))
				}
			}
		}
		return Speed{Pace: report.PaceSame}, nil
	}})
	slices.Sort(raced)
	for i, name := range raced {
		raced[i], _, _ = strings.Cut(name, "-") // GOMAXPROCS
	}
	got := slices.DeleteFunc(raced, func(name string) bool { return strings.Contains(name, "Generated") })
	want := []string{"new BenchmarkTestOutside", "new BenchmarkTestSlow", "old BenchmarkTestOutside", "old BenchmarkTestSlow"}
	if !slices.Equal(got, want) {
		t.Errorf("ran %q; want %q; notes: %q", got, want, p.Notes)
	}
	if !strings.Contains(p.Notes.String(), "tests that reach it and take long enough") {
		t.Errorf("no note says that tests are compared: %q", p.Notes)
	}
}
