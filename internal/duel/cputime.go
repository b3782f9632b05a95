package duel

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
)

// clockFiles read the CPU time of a process inside package testing.
//
//go:embed clock/*.go.txt
var clockFiles embed.FS

// Units of what a benchmark with a clock reports besides its own values.
const (
	cpuUnit      = "cpu-ns/op"
	parallelUnit = "hone-parallel" // 1 when RunParallel was called
	idleUnit     = "hone-idle"     // share of the time in which it did not want a processor
)

// changes make package testing take the CPU time of the process wherever it takes the time. Lines stay where they are.
// Each of the texts must be there as often as said, or the package is left as it is.
var changes = []struct {
	old, new string
	times    int
}{
	{"\tbenchFunc        func(b *B)\n", "\tbenchFunc        func(b *B); startCPU, netCPU int64; parallel bool\n", 1},
	{"\t\tb.start = highPrecisionTimeNow()\n", "\t\tb.start = highPrecisionTimeNow(); b.startCPU = honeCPU()\n", 2},
	{"\t\tb.duration += highPrecisionTimeSince(b.start)\n", "\t\tb.netCPU += honeCPU() - b.startCPU; b.duration += highPrecisionTimeSince(b.start)\n", 1},
	{"\nfunc (b *B) ResetTimer() {\n", "\nfunc (b *B) ResetTimer() { honeMark()\n", 1},
	{"\tb.duration = 0\n", "\tb.duration = 0; b.netCPU = 0\n", 1},
	{"\tb.result = BenchmarkResult{", "\thoneReport(b); b.result = BenchmarkResult{", 1},
	{"\tnumProcs := b.parallelism * runtime.GOMAXPROCS(0)\n", "\tb.parallel = true; numProcs := b.parallelism * runtime.GOMAXPROCS(0)\n", 1},
}

// addClock adds to an overlay what makes benchmarks report the CPU time of what they time. It reports whether that could
// be done: a package testing that is written in another way is left alone.
func addClock(goroot, work string, overlay gocmd.Overlay) (bool, error) {
	const file = "testing/benchmark.go"
	text, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(file)))
	if err != nil {
		return false, fmt.Errorf("reading the standard library: %w", err)
	}
	for _, c := range changes {
		if bytes.Count(text, []byte(c.old)) != c.times {
			return false, nil
		}
		text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.new))
	}
	add := map[string][]byte{file: text}
	entries, err := clockFiles.ReadDir("clock")
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if add["testing/"+strings.TrimSuffix(e.Name(), ".txt")], err = clockFiles.ReadFile("clock/" + e.Name()); err != nil {
			return false, err
		}
	}
	dir := filepath.Join(work, "clock")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	for name, text := range add {
		own := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(own, text, 0o600); err != nil {
			return false, err
		}
		overlay[filepath.Join(goroot, "src", filepath.FromSlash(name))] = own
	}
	return true, nil
}
