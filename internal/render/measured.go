package render

import (
	"math"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

// A prefix is a multiple of a unit.
type prefix struct {
	name string
	size float64
}

var (
	decimals = []prefix{{"p", 1e-12}, {"n", 1e-9}, {"µ", 1e-6}, {"m", 1e-3}, {"", 1}}
	binaries = []prefix{{"", 1}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}}
	counts   = []prefix{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}
)

// measured prints what a benchmark measured with four digits. What is per operation does not say so: the heading does.
func measured(m report.Measured) string {
	base := strings.TrimSuffix(m.Unit, "/op")
	switch base {
	case "sec":
		return scaled(m.V, decimals, " ", "s")
	case "B", "B/s":
		return scaled(m.V, binaries, " ", base)
	}
	if math.Abs(m.V) < 1e5 {
		return scaled(m.V, counts[:1], "", "")
	}
	return scaled(m.V, counts, "", "")
}

// delta prints a difference with its sign.
func delta(d report.Delta) string {
	s := measured(report.Measured(d))
	if d.V > 0 {
		s = "+" + s
	}
	return s
}

// scaled prints x with the largest prefix in which it is at least one.
func scaled(x float64, in []prefix, sep, unit string) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "∞"
	case x == 0:
		return "0"
	}
	p := in[0]
	for _, q := range in[1:] {
		if math.Abs(x) >= q.size*0.99995 {
			p = q
		}
	}
	return fourDigits(x/p.size, len(in) > 1 && in[0].size < 1 || p.size > 1) + sep + p.name + unit
}

// fourDigits prints x with four digits before and behind the point together, and more when there are more before it. What
// is whole stays so unless it is measured on a scale without one.
func fourDigits(x float64, measured bool) string {
	if !measured && x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	digits := 3
	for y := math.Abs(x); y >= 9.9995 && digits > 0; y /= 10 {
		digits--
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return strconv.FormatFloat(x, 'g', 2, 64) // little is not nothing
	}
	if !measured && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// relative prints a change by a factor: as a percentage with two digits, or as the factor where that reads better.
func relative(factor float64) string {
	switch {
	case math.IsNaN(factor):
		return "-"
	case math.IsInf(factor, 1):
		return "new"
	case factor == 1:
		return "0%"
	case factor >= 10:
		return "×" + strconv.FormatFloat(factor, 'f', max(0, 3-len(strconv.Itoa(int(factor)))), 64)
	}
	return twoDigits(100*(factor-1)) + "%"
}

// twoDigits prints a percentage with its sign.
func twoDigits(x float64) string {
	digits := 0
	for y := math.Abs(x); y < 9.95 && digits < 3; y *= 10 {
		digits++
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	if x > 0 {
		s = "+" + s
	}
	return s
}

// interval prints where a change lies.
func (f *formatter) interval(i report.Interval) string {
	if i.Lo <= 0 || math.IsInf(i.Hi, 1) {
		return "-"
	}
	lo, hi := relative(i.Lo), relative(i.Hi)
	if strings.HasSuffix(lo, "%") && strings.HasSuffix(hi, "%") {
		lo = strings.TrimSuffix(lo, "%")
	}
	return lo + " " + f.glyphs.dots + " " + hi
}
