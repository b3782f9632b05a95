package source

import (
	"io"
	"os"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/recording"
)

// benchHead is how much of a file is looked at for benchmark lines.
const benchHead = 1 << 20

// Bench opens a file of benchmark lines, or of what benchcmp printed. It returns nil when ref names something else.
func Bench(ref string) (*recording.Recording, error) {
	st, err := os.Stat(ref)
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil // others say what is wrong with it, and know what to do with URLs
	}
	f, err := os.Open(ref)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, benchHead))
	if err != nil || !bench.Is(head) {
		return nil, nil
	}
	return benchFile(ref)
}

// benchFile opens a file that is to have benchmark lines, whether it has any or not.
func benchFile(name string) (*recording.Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read, err := bench.Open(f, name)
	if err != nil {
		return nil, err
	}
	return recording.Benchmarks.Of(name, read), nil
}
