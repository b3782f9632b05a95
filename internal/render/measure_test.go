package render

import (
	"math"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

func TestScale(t *testing.T) {
	tests := []struct {
		name  string
		m     report.Measure
		asked string
		v     int64
		want  string
	}{
		{name: "one unit", m: report.Measure{Unit: "nanoseconds", Total: 5e8, Least: 1e7}, v: 1e7, want: "10ms"},
		{name: "close together", m: report.Measure{Unit: "nanoseconds", Total: 9e8, Least: 9e6 + 1}, v: 9e8, want: "900ms"},
		{name: "two units, less than 100 times", m: report.Measure{Unit: "nanoseconds", Total: 5e9, Least: 1e8}, v: 5e9, want: "5000ms"},
		{name: "two units, over 100 times", m: report.Measure{Unit: "nanoseconds", Total: 5e9, Least: 1e7}, v: 1e7, want: "0.01s"},
		{name: "nothing but the total", m: report.Measure{Unit: "bytes", Total: 3 << 20}, v: 3 << 20, want: "3MB"},
		{name: "nothing at all", m: report.Measure{Unit: "bytes"}, v: 0, want: "0"},
		{name: "counts", m: report.Measure{Unit: "count", Total: 5e9, Least: 1}, v: 1234567, want: "1234567"},
		{name: "unknown unit", m: report.Measure{Unit: "apples", Total: 5}, v: 5, want: "5apples"},
		{name: "asked for by the query", m: report.Measure{Unit: "bytes", Total: 1 << 30, Show: report.Show{Unit: "kb"}}, v: 1 << 20, want: "1024kB"},
		{name: "asked for by options", m: report.Measure{Unit: "bytes", Total: 1 << 30, Show: report.Show{Unit: "kb"}}, asked: "mb", v: 1 << 20, want: "1MB"},
		{name: "auto", m: report.Measure{Unit: "bytes", Total: 1 << 30, Least: 1}, asked: "auto", v: 1 << 20, want: "1MB"},
		{name: "factor cuts", m: report.Measure{Unit: "count", Total: 10, Least: 3, Show: report.Show{Factor: 0.5}}, v: 3, want: "1"},
		{name: "negative total", m: report.Measure{Unit: "nanoseconds", Total: -5e9}, v: -5e9, want: "-5s"},
		{name: "huge", m: report.Measure{Unit: "nanoseconds", Total: math.MaxInt64, Least: math.MaxInt64}, v: math.MaxInt64, want: "2562047.79hrs"},
	}
	for _, tt := range tests {
		f := newFormatter(Options{Unit: tt.asked})
		if got := f.text(report.Value{V: tt.v, Measure: &tt.m}); got != tt.want {
			t.Errorf("%s: %d is shown as %q, want %q", tt.name, tt.v, got, tt.want)
		}
	}
}

func TestItems(t *testing.T) {
	m := &report.Measure{Unit: "bytes", Total: 1 << 20, Least: 1 << 10}
	tests := []struct {
		item any
		want string
	}{
		{nil, ""},
		{"a\tb", `a\tb`},
		{42, "42"},
		{report.Share{Part: 1, Whole: 3}, "33.33%"},
		{report.Share{Part: -1, Whole: 3}, "-33.33%"},
		{report.Share{Part: -1, Whole: -3}, "33.33%"},
		{report.Share{Part: 0, Whole: 3}, "0%"},
		{report.Share{Part: 7, Whole: 0}, "-"},
		{report.Change{From: 1 << 10, To: 3 << 10, Measure: m}, "+2kB"},
		{report.Change{From: 3 << 10, To: 1 << 10, Measure: m}, "-2kB"},
		{report.Change{From: 5, To: 5, Measure: m}, "0"},
		{report.Growth{From: 10, To: 15}, "+50.00%"},
		{report.Growth{From: 10, To: 5}, "-50.00%"},
		{report.Growth{From: -10, To: -5}, "+50.00%"},
		{report.Growth{From: 0, To: 5}, "new"},
		{report.Growth{From: 5, To: 0}, "gone"},
		{report.Growth{From: 0, To: 0}, "0%"},
		{report.Growth{From: math.MinInt64, To: math.MaxInt64}, "+100%"},
		{report.Name{Text: "f", Inline: report.Partial}, "f (partial-inline)"},
		{report.ID("0123456789abcdef"), "0123456789abcdef"},
		{report.Measured{V: 2.5e-9, Unit: "sec/op"}, "2.500ns"},
		{report.Measured{V: 0.0123456, Unit: "sec/op"}, "12.35ms"},
		{report.Measured{V: 123.4, Unit: "sec"}, "123.4s"},
		{report.Measured{V: 12345, Unit: "sec"}, "3.429hrs"},
		{report.Measured{V: 0, Unit: "sec/op"}, "0"},
		{report.Measured{V: 1536, Unit: "B/op"}, "1.500kB"},
		{report.Measured{V: 12, Unit: "B/op"}, "12B"},
		{report.Measured{V: 2.5e6, Unit: "B/s"}, "2.384MB/s"},
		{report.Measured{V: 12, Unit: "allocs/op"}, "12"},
		{report.Measured{V: 123456, Unit: "allocs/op"}, "123456"},
		{report.Measured{V: 0.125, Unit: "hits"}, "0.125"},
		{report.Measured{V: 0.000123, Unit: "hits"}, "0.00012"},
		{report.Measured{V: math.Inf(1), Unit: "hits"}, "∞"},
		{report.Measured{V: math.NaN(), Unit: "hits"}, "-"},
		{report.Delta{V: -1.5e-6, Unit: "sec/op"}, "-1.500us"},
		{report.Delta{V: 12, Unit: "allocs/op"}, "+12"},
		{report.Delta{}, "0"},
		{report.Relative(1.0523), "+5.2%"},
		{report.Relative(0.99984), "-0.016%"},
		{report.Relative(1), "0%"},
		{report.Relative(0.1), "-90%"},
		{report.Relative(12.3), "×12.3"},
		{report.Relative(math.Inf(1)), "new"},
		{report.Interval{Lo: 0.97, Hi: 1.013}, "-3.0 … +1.3%"},
		{report.Interval{Lo: 1.5, Hi: 12}, "+50% … ×12.0"},
		{report.Interval{Lo: 0, Hi: math.Inf(1)}, "-"},
		{report.Judgment{Text: "faster", Good: 1}, "faster"},
		{time.Unix(1, 0), "1970-01-01 00:00:01 UTC"},
		{1500 * time.Millisecond, "1.50s"},
		{report.Value{V: 3 << 20, Measure: m}, "3072kB"},
		{report.Phrase{"of ", report.Value{V: 3 << 20, Measure: m}}, "of 3MB"},
		{report.Phrase{"a ", 1, report.Sep{}, report.Phrase{"b"}}, "a 1 · b"},
	}
	f := newFormatter(Options{})
	for _, tt := range tests {
		if got := f.text(tt.item); got != tt.want {
			t.Errorf("%T %v is shown as %q, want %q", tt.item, tt.item, got, tt.want)
		}
	}
}

func TestDifference(t *testing.T) {
	tests := []struct{ from, to, want int64 }{
		{1, 3, 2},
		{3, 1, -2},
		{-5, 5, 10},
		{math.MinInt64, 1, math.MaxInt64},
		{math.MaxInt64, -2, math.MinInt64},
		{math.MinInt64, math.MinInt64, 0},
	}
	for _, tt := range tests {
		if got := unit.Difference(tt.from, tt.to); got != tt.want {
			t.Errorf("unit.Difference(%d, %d) = %d, want %d", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestZone(t *testing.T) {
	f := newFormatter(Options{Zone: time.FixedZone("CET", 3600)})
	if got, want := f.text(time.Unix(0, 0)), "1970-01-01 01:00:00 CET"; got != want {
		t.Errorf("time is shown as %q, want %q", got, want)
	}
}

func TestBar(t *testing.T) {
	tests := []struct {
		x              float64
		unicode, ascii string
	}{
		{0, "", ""},
		{math.NaN(), "", ""},
		{1e-9, "▏", "."},
		{0.5, "████", "####"},
		{-0.5, "████", "####"},
		{0.55, "████▍", "####."},
		{1, "████████", "########"},
		{7, "████████", "########"},
		{math.Inf(1), "████████", "########"},
	}
	for _, tt := range tests {
		if got := unicodeGlyphs.drawBar(tt.x); got != tt.unicode {
			t.Errorf("bar of %v = %q, want %q", tt.x, got, tt.unicode)
		}
		if got := asciiGlyphs.drawBar(tt.x); got != tt.ascii {
			t.Errorf("bar of %v = %q, want %q", tt.x, got, tt.ascii)
		}
	}
}
