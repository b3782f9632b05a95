package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/unit"
)

// TestFormat holds that the page prints numbers as package unit does.
func TestFormat(t *testing.T) {
	testrun.Live(t, "asks a browser")
	script, err := os.ReadFile("testdata/format.js") // from ui/src/format.ts
	if err != nil {
		t.Fatal(err)
	}
	browserCtx, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browserCtx)
	defer stop()

	// Around what is rounded, and where units change; eighths lie in the middle between hundredths.
	var values []int64
	for _, n := range []int64{
		0, 1, 2, 9, 10, 99, 100, 101, 104, 105, 106, 125, 375, 625, 875, 994, 995, 996, 999, 1000, 1001, 1004, 1005, 1024, 1125,
		1152, 1280, 1375, 1536, 1625, 1875, 3600, 12345, 99999, 123456, 1<<20 + 1<<17, 1<<20 + 5<<17, 1<<30 - 1, 1 << 53,
		1<<53 - 1, math.MaxInt64,
	} {
		for _, times := range []int64{1, 1000, 1000_000, 1000_000_000, 3600_000_000_000} {
			if n <= math.MaxInt64/times {
				values = append(values, n*times)
			}
		}
	}
	type asked struct {
		V    float64 // as the page reads it from JSON
		Unit string
	}
	var q []asked
	var want []string
	for _, u := range []string{
		"nanoseconds", "ns", "us", "μs", "microseconds", "milliseconds", "seconds", "s", "hours", "bytes", "B", "kB", "KB", "MB",
		"megabytes", "count", "", "samples", "unit", "requests", "GCU", "nanoGCU", "milligcus",
		"core-nanoseconds/839.865s", "core-ms/3s", "nanoseconds/61.5s", "bytes/7.25s", "count/600.1s", "bytes/3.3", "count/6000", "B/op", "core-bytes/6000s",
	} {
		for _, v := range values {
			for _, v := range []int64{v, -v} {
				q = append(q, asked{float64(v), u})
				want = append(want, unit.Label(int64Of(float64(v)), u))
			}
		}
	}
	for i, got := range answers(t, ctx, script, "value", q) {
		if got != want[i] {
			t.Errorf("value(%.0f, %q) is %q, and %q elsewhere", q[i].V, q[i].Unit, got, want[i])
		}
	}

	var parts [][2]float64
	want = nil
	for _, whole := range []int64{1, 3, 7, 8, 800, 1600, 9999, 10_000, 100_000, 1_000_003, 1 << 40} {
		for _, part := range []int64{0, 1, 2, 3, 5, 7, 9, 13, 37, 995, 1125, 9994, 9995, 10_005, 10_006, 1<<40 - 1} {
			parts = append(parts, [2]float64{float64(part), float64(whole)})
			want = append(want, strings.TrimSpace(unit.Percent(part, whole)))
		}
	}
	for i, got := range answers(t, ctx, script, "percent", parts) {
		if got != want[i] {
			t.Errorf("percent(%.0f, %.0f) is %q, and %q elsewhere", parts[i][0], parts[i][1], got, want[i])
		}
	}

	var columns []column
	want = nil
	for _, u := range []string{"nanoseconds", "bytes", "count", "milliseconds", "GCU", "core-nanoseconds/839.865s", "nanoseconds/61.5s", "bytes/3", "count/600s"} {
		for i, least := range values {
			total := values[(7*i+3)%len(values)]
			if least == 0 || total < least || total >= 1<<53 {
				continue
			}
			columns = append(columns, column{[]int64{0, -least, total}, total, u})
			want = append(want, unit.Common(least, total, u))
		}
	}
	for i, got := range answers(t, ctx, script, "unitOf", columns) {
		if got != want[i] {
			t.Errorf("unitOf(%v) is %q, and %q elsewhere", columns[i], got, want[i])
		}
	}

	// The largest value of a column on the page can be read, and what is little there is not nothing.
	for _, tt := range []struct {
		values []int64
		unit   string
		want   string
	}{
		{[]int64{310_910, 385_540, 21_071_810}, "nanoseconds", "0.31ms 0.39ms 21.07ms"},
		{[]int64{1000, 110_000_000}, "nanoseconds", "0.001ms 110ms"},
		{[]int64{20_000_000, 0, 1_900_000_000}, "nanoseconds", "20ms 0 1900ms"},
		{[]int64{-500, 9_999_000}, "nanoseconds", "-0.50us 9999us"},
		{[]int64{2_000_000_000, 40_000_000_000_000}, "nanoseconds", "2s 40000s"},
		{[]int64{100 << 10, 10_000 << 10}, "bytes", "0.10MB 9.77MB"},
		{[]int64{1, 20_000}, "count", "1 20000"},
	} {
		list, err := json.Marshal(tt.values)
		if err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(
			`(() => { %s; const v = %s; return v.map(format.column(v, %q)).join(" "); })()`, script, list, tt.unit)))
		if err != nil || got != tt.want {
			t.Errorf("a column of %v %s reads %q, want %q; error %v", tt.values, tt.unit, got, tt.want, err)
		}
	}

	// What benchmarks measure are fractions. Halves of the last digit go to the even one.
	var numbers []float64
	for _, x := range []float64{0, 0.5, 1, 1.5, 2.5, 4.9995, 9.9994, 9.9995, 9.9996, 12.345, 99.995, 100.05, 123.45, 999.95, 1000.5, 1001.5, 1023.96, 1234.5678, 123456.5} {
		for _, times := range []float64{1e-12, 1e-9, 1e-6, 1e-3, 0.125, 1, 1.024, 3.6, 1024, 1 << 20, 1e9} {
			numbers = append(numbers, x*times, -x*times)
		}
	}
	for function, print := range map[string]func(float64) string{
		"number": unit.Number, "share": unit.Share, "perSecond": unit.PerSecond, "sizePerSecond": unit.SizePerSecond, "relative": unit.Relative, "busyCores": unit.Cores,
	} {
		var args [][1]float64
		for _, x := range numbers {
			args = append(args, [1]float64{x})
		}
		for i, got := range answers(t, ctx, script, function, args) {
			if want := print(numbers[i]); got != want {
				t.Errorf("%s(%v) is %q, and %q elsewhere", function, numbers[i], got, want)
			}
		}
	}
	for _, u := range []string{"sec/op", "sec", "B/op", "B/s", "allocs/op", "hits"} {
		var q []asked
		for _, x := range numbers {
			q = append(q, asked{x, u})
		}
		for i, got := range answers(t, ctx, script, "measured", q) {
			if want := unit.Measured(numbers[i], u); got != want {
				t.Errorf("measured(%v, %q) is %q, and %q elsewhere", numbers[i], u, got, want)
			}
		}
	}
}

// A column is values of a table, their total, and their unit.
type column struct {
	Values []int64
	Total  int64
	Unit   string
}

// int64Of returns the number that a page can hold, as Go holds it.
func int64Of(f float64) int64 {
	if math.Abs(f) >= math.MaxInt64 {
		return int64(math.Copysign(1, f)) * math.MaxInt64
	}
	return int64(f)
}

// answers calls a function of format.ts for each of many arguments: values with units, or parts of wholes.
func answers[T any](t *testing.T, ctx context.Context, script []byte, function string, args []T) []string {
	t.Helper()
	list, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	got, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(
		`(() => { %s; return %s.map((a) => format.%s(...Object.values(a))); })()`, script, list, function)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(args) {
		t.Fatalf("%d answers to %d questions", len(got), len(args))
	}
	return got
}
