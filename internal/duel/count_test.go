package duel

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
)

// Instructions are counted of what needs one processor, and are the same each time.
func TestCount(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("there is no valgrind to count instructions: apt-get install valgrind")
	}
	old, new := sides(t)
	d, err := Run(context.Background(), Options{
		Old: old, New: new, Bench: "^BenchmarkWork$|Parallel", Count: true, NoWhy: true, Budget: time.Nanosecond, Plan: stat.Plan{Within: 0.99},
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
			t.Errorf("%s needs several processors, but was counted: %+v", name, r)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(context.Background(), Options{Old: old, New: new, Count: true}); !errors.Is(err, ErrNoValgrind) {
		t.Errorf("without valgrind: %v", err)
	}
}
