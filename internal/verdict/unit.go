package verdict

import (
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// A Unit is what a unit of benchmarks measures.
type Unit struct {
	What       report.Dimension
	Name       string  // without a prefix: sec/op
	factor     float64 // from the unit of benchmarks
	Better     int     // -1 when less is better, 0 when that is not known
	more, less string
}

func UnitOf(unit string) Unit {
	switch unit {
	case "cpu-ns/op":
		return Unit{report.CPUTime, "sec/op", 1e-9, -1, "slower", "faster"}
	case "cpu-sec":
		return Unit{report.CPUTime, "sec", 1, -1, "slower", "faster"}
	case "sec":
		return Unit{report.Time, "sec", 1, -1, "slower", "faster"}
	case "ns/op":
		return Unit{report.Time, "sec/op", 1e-9, -1, "slower", "faster"}
	case "sec/op":
		return Unit{report.Time, "sec/op", 1, -1, "slower", "faster"}
	case "cpu-sec/op":
		return Unit{report.CPUTime, "sec/op", 1, -1, "slower", "faster"}
	case "B/s":
		return Unit{report.Throughput, "B/s", 1, 1, "faster", "slower"}
	case "B/op":
		return Unit{report.Memory, "B/op", 1, -1, "more", "less"}
	case "allocs/op":
		return Unit{report.Allocations, "allocs/op", 1, -1, "more", "fewer"}
	case "max-rss":
		return Unit{report.ResidentMemory, "B", 1, -1, "more", "less"}
	case "MB/s":
		return Unit{report.Throughput, "B/s", 1e6, 1, "faster", "slower"}
	}
	if of, ok := strings.CutSuffix(unit, "-ns"); ok && of != "" {
		return Unit{report.Dimension(of), "sec", 1e-9, -1, "slower", "faster"} // p99-ns
	}
	if strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec") {
		return Unit{report.Dimension(unit), unit, 1, 1, "faster", "slower"}
	}
	if isCost(unit) {
		return Unit{report.Dimension(unit), unit, 1, -1, "higher", "lower"}
	}
	return Unit{report.Dimension(unit), unit, 1, 0, "higher", "lower"}
}

// isCost reports whether a unit is an amount of time or memory, of which less is better: p99-ns, user-sec/op, heap-bytes.
func isCost(unit string) bool {
	of, _, _ := strings.Cut(unit, "/")
	of = of[strings.LastIndexByte(of, '-')+1:]
	return slices.Contains([]string{"ns", "us", "µs", "ms", "s", "sec", "B", "KB", "MB", "bytes", "allocs"}, of)
}
