package recording

import (
	"fmt"

	"github.com/hone-perf/hone/internal/bench"
)

// readBench reads what benchmarks measured, if a recording has that.
func readBench(r *Recording) (*bench.File, error) {
	in, err := r.OpenFile(BenchFile)
	if err != nil {
		return nil, nil // there is none
	}
	defer in.Close()
	f, err := bench.Open(in, BenchFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Ref, err)
	}
	return f, nil
}
