package unit

import (
	"math"
	"testing"
)

func TestPer(t *testing.T) {
	cpu := Rate("nanoseconds", 581.25, true)
	tests := []struct {
		v        int64
		from, to string
		want     string
	}{
		{93_200_000_000, cpu, Auto, "0.16 cores"},
		{7_650_000_000, Rate("nanoseconds", 65, true), Auto, "0.118 cores"},
		{-10_000_000, cpu, Minimum, "-1.72e-05 cores"},
		{1240, Rate("ms", 1, true), "cores", "1.24 cores"},
		{0, cpu, Auto, "0"},
		{2_725_000_000, cpu, Auto, "0.00469 cores"},
		{581_200_000_000, cpu, Auto, "1 cores"},
		{93_200_000_000, Rate("nanoseconds", 581.25, false), Auto, "160.34ms/s"},
		{3 << 20, Rate("bytes", 2, false), Auto, "1.50MB/s"},
		{3 << 20, Rate("bytes", 2, false), "kB/s", "1536kB/s"},
		{3 << 20, Rate("bytes", 2, false), "kB", "1536kB/s"},
		{1, Rate("bytes", 4, false), Auto, "0.25B/s"},
		{1, Rate("count", 600, false), Auto, "0.002/s"},
		{3, Rate("count", 2, true), Minimum, "1.5/s"},
		{3 << 20, Each("bytes", 2), Auto, "1.50MB"},
		{100, Each("count", 3), Auto, "33.33"},
		{100, Each("count", 4), Auto, "25"},
		{5, "B/op", Auto, "5"},
		{5, "x/0s", Auto, "5"},
	}
	for _, tt := range tests {
		if got := Format(tt.v, tt.from, tt.to); got != tt.want {
			t.Errorf("Format(%d, %q, %q) = %q, want %q", tt.v, tt.from, tt.to, got, tt.want)
		}
	}
	for _, tt := range []struct{ of, shown string }{{cpu, "cores"}, {Rate("bytes", 2, false), "bytes/s"}, {Each("bytes", 2), "bytes"}, {"bytes", "bytes"}} {
		shown, factor := ShownIn(tt.of)
		x, _ := Scale(1<<40, tt.of, shown)
		if shown != tt.shown || math.Abs(factor*(1<<40)-x) > x/1e9 {
			t.Errorf("ShownIn(%q) = %q, %g, want %q, %g", tt.of, shown, factor, tt.shown, x/(1<<40))
		}
	}
	if !Compatible("cores", cpu) || Compatible("ms", cpu) || Compatible("cores", "cpus") || !Compatible("MB", Rate("bytes", 2, false)) {
		t.Error("units are compatible with others than they are shown in")
	}
	if got := Common(10_000_000, 93_200_000_000, cpu); got != "cores" {
		t.Errorf("a column of CPU time per second is in %q", got)
	}
}
