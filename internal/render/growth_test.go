package render

import (
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// A large growth is a factor, since nobody reads +28577.78%.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		from, to int64
		want     string
	}{
		{90, 25810, "×287"}, {10, 100, "×10.0"}, {10, 99, "+890.00%"}, {100, 1, "-99.00%"},
		{0, 5, "new"}, {5, 0, "gone"}, {5, 5, "0%"}, {-10, -100, "×10.0"}, {-10, 100, "+1100.00%"},
	} {
		if got := growth(report.Growth{From: tt.from, To: tt.to}); got != tt.want {
			t.Errorf("from %d to %d is %s, want %s", tt.from, tt.to, got, tt.want)
		}
	}
}
