package recording

import (
	"fmt"

	"github.com/hone-perf/hone/internal/bench"
)

// readBench reads what benchmarks measured, if a recording has that.
func (r *Recording) readBench() error {
	f, err := r.OpenFile(BenchFile)
	if err != nil {
		return nil // there is none
	}
	defer f.Close()
	if r.Bench, err = bench.Open(f, BenchFile); err != nil {
		return fmt.Errorf("%s: %w", r.Ref, err)
	}
	return nil
}
