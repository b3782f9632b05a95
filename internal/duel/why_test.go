package duel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/stat"
	"github.com/hone-perf/hone/internal/testrun"
)

// With profiles that explain a change comes how long operations took while they were made.
func TestWhyTook(t *testing.T) {
	testrun.Live(t, "builds and measures programs")
	var sides [2]Side
	for i, turns := range []int{1000, 6000} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":    "module example.com/m\n\ngo 1.24\n",
			"m.go":      fmt.Sprintf("package m\n\nvar n int\n\n//go:noinline\nfunc work() {\n\tfor i := range %d {\n\t\tn += i * n\n\t}\n}\n", turns),
			"m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkWork(b *testing.B) {\n\tfor b.Loop() {\n\t\twork()\n\t}\n}\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sides[i].Name, sides[i].Dir = sideNames[i], dir
	}
	// One more pair than can tell nothing, and no time for those that would confirm it.
	plan := stat.Plan{Alpha: 0.2, Looks: []int{4}}
	d, err := Run(context.Background(), Options{Old: sides[0], New: sides[1], Budget: time.Nanosecond, How: recording.Alternate, Plan: plan, Noise: &Noise{}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Why) != 1 || d.Why[0].Kind != recording.CPU || !(d.Why[0].Took[0] > 0 && d.Why[0].Took[1] > 2*d.Why[0].Took[0]) {
		t.Errorf("%+v of %+v", d.Why, d.Benchmarks)
	}
}
