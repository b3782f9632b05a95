package duel

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/testrun"
)

// Instructions are counted of what needs one core, and are the same each time.
func TestCount(t *testing.T) {
	testrun.Live(t, "counts instructions with valgrind")
	if _, err := exec.LookPath("valgrind"); err != nil {
		testrun.Missing(t, "there is no valgrind to count instructions: apt-get install valgrind")
	}
	old, new := sides(t)
	d, err := Run(context.Background(), Options{
		Old: old, New: new, Bench: "^BenchmarkWork$|Parallel", Count: true, NoWhy: true, AsIs: true, Budget: time.Nanosecond, Plan: stat.Plan{Within: 0.99, Looks: []int{fewestPairs}},
	})
	if err != nil {
		t.Fatal(err)
	}
	work := rowsOf(d)["Work"]
	if len(work.Counts) != counts {
		t.Fatalf("counted %d times: %+v, %q", len(work.Counts), work, d.Notes)
	}
	for _, p := range work.Counts {
		was, is := p.Old[recording.Instructions], p.New[recording.Instructions]
		if was < 1000 || is < 1.5*was || is > 2.2*was { // twice the turns, of one instruction at least
			t.Errorf("%v instructions were %v", is, was)
		}
		if first := work.Counts[0].Old[recording.Instructions]; math.Abs(was/first-1) > 0.02 {
			t.Errorf("%v instructions, and %v at another time", was, first)
		}
	}
	for name, r := range rowsOf(d) {
		if name != "Work" && len(r.Counts) > 0 {
			t.Errorf("%s needs several cores, but was counted: %+v", name, r)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(context.Background(), Options{Old: old, New: new, Count: true}); !errors.Is(err, ErrNoValgrind) {
		t.Errorf("without valgrind: %v", err)
	}
}

// What takes too long below valgrind is said once, and tried once.
func TestCountLimit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program that stands in for valgrind is a shell script")
	}
	dir := t.TempDir()
	tries := filepath.Join(dir, "tries")
	script := "#!/bin/sh\necho x >> '" + tries + "'\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(dir, "valgrind"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	old, new := sides(t)
	d, err := Run(context.Background(), Options{
		Old: old, New: new, Bench: "^BenchmarkWork$", Count: true, NoWhy: true, AsIs: true, Budget: time.Nanosecond, Plan: stat.Plan{Within: 0.99, Looks: []int{fewestPairs}},
		countLimit: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(d.Notes, "\n")
	if strings.Count(notes, "valgrind did not finish within 300ms") != 1 || len(rowsOf(d)["Work"].Counts) > 0 {
		t.Errorf("counted %+v, with notes %q", rowsOf(d)["Work"].Counts, d.Notes)
	}
	if tried, _ := os.ReadFile(tries); len(tried) == 0 || len(tried) > 2*counts {
		t.Errorf("tried as often as lines of %q", tried)
	}
}
