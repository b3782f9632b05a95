package duel

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	idleUnit     = "hone-idle"     // share of the time in which it did not want a core
	loopUnit     = "hone-loop"     // 1 when it calls B.Loop
	liveUnit     = "hone-live"     // bytes of the heap that were in use at most, beside those from before
	looksUnit    = "hone-looks"    // how often that was looked at
	setupUnit    = "hone-setup"    // nanoseconds of CPU time that calling it takes besides what it times
	ownUnits     = "hone-"         // how all of those begin
)

// A change is made to package testing, in which the old text must be as often as said. Lines stay where they are.
type change struct {
	old, new string
	times    int
}

// changes make it take the CPU time of the process wherever it takes the time.
var changes = []change{
	{"\tbenchFunc        func(b *B)\n", "\tbenchFunc        func(b *B); startCPU, netCPU int64; parallel bool\n", 1},
	{"\t\tb.start = highPrecisionTimeNow()\n", "\t\tb.start = highPrecisionTimeNow(); b.startCPU = honeCPU()\n", 2},
	{"\t\tb.duration += highPrecisionTimeSince(b.start)\n", "\t\tb.netCPU += honeCPU() - b.startCPU; b.duration += highPrecisionTimeSince(b.start)\n", 1},
	{"\nfunc (b *B) ResetTimer() {\n", "\nfunc (b *B) ResetTimer() { honeMark()\n", 1},
	{"\tb.duration = 0\n", "\tb.duration = 0; b.netCPU = 0\n", 1},
	{"\tb.result = BenchmarkResult{", "\thoneReport(b); b.result = BenchmarkResult{", 1},
	{"\tnumProcs := b.parallelism * runtime.GOMAXPROCS(0)\n", "\tb.parallel = true; numProcs := b.parallelism * runtime.GOMAXPROCS(0)\n", 1},
}

// olderChanges are the same before Go 1.23.
func olderChanges() []change {
	clock := strings.NewReplacer("highPrecisionTimeNow()", "time.Now()", "highPrecisionTimeSince(", "time.Since(")
	out := slices.Clone(changes)
	for i, c := range out {
		out[i].old, out[i].new = clock.Replace(c.old), clock.Replace(c.new)
	}
	return out
}

// turnChanges make it take turns with another process, where it is told to.
var turnChanges = []change{
	{"\t\tb.N = 0\n\t\tb.ResetTimer()\n", "\t\tb.N = 0\n\t\tb.ResetTimer(); honeFirst(b)\n", 1},
	{"\tvar more bool\n", "\tif honeNext(b) { b.loop.i++; return true }; var more bool\n", 1},
	{"\t\t\t\tb.runN(b.benchTime.n)\n", "\t\t\t\thoneRunN(b, b.benchTime.n)\n", 1},
	{"\truntime.GC()\n\tb.resetRaces()\n", "\tif !honeQuiet { runtime.GC() }\n\tb.resetRaces()\n", 1},
	{"\tb.benchFunc(b)\n\tb.StopTimer()\n", "\tbegan := honeCPU(); b.benchFunc(b)\n\tb.StopTimer(); if n == 1 { honeSetup = honeCPU() - began - b.netCPU }\n", 1},
}

// changed returns text with all changes made, or none when it is written in another way.
func changed(text []byte, changes []change) ([]byte, bool) {
	whole := text
	for _, c := range changes {
		if bytes.Count(text, []byte(c.old)) != c.times {
			return whole, false
		}
		text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.new))
	}
	return text, true
}

// addClock adds to an overlay what makes benchmarks report the CPU time of what they time. It reports whether that could
// be done, and whether they can take turns: a package testing that is written in another way is left alone.
func addClock(goroot, work string, overlay gocmd.Overlay) (clocked, turns bool, err error) {
	const file = "testing/benchmark.go"
	text, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(file)))
	if err != nil {
		return false, false, fmt.Errorf("reading the standard library: %w", err)
	}
	text, ok := changed(text, changes)
	if !ok {
		if text, ok = changed(text, olderChanges()); !ok {
			return false, false, nil
		}
	}
	text, turns = changed(text, turnChanges)
	add := map[string][]byte{file: text}
	entries, err := clockFiles.ReadDir("clock")
	if err != nil {
		return false, false, err
	}
	for _, e := range entries {
		if !turns && strings.Contains(e.Name(), "_turns") {
			continue
		}
		if add["testing/"+strings.TrimSuffix(e.Name(), ".txt")], err = clockFiles.ReadFile("clock/" + e.Name()); err != nil {
			return false, false, err
		}
	}
	dir := filepath.Join(work, "clock")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, false, err
	}
	for name, text := range add {
		own := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(own, text, 0o600); err != nil {
			return false, false, err
		}
		overlay[filepath.Join(goroot, "src", filepath.FromSlash(name))] = own
	}
	return true, turns, nil
}
