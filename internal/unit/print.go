package unit

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Time prints a time: 1.50s, 20ms, 90s, 2hrs.
func Time(d time.Duration) string { return Label(int64(d), "nanoseconds") }

// Size prints a number of bytes: 1.50kB, 20MB.
func Size(bytes int64) string { return Label(bytes, "bytes") }

// Common returns the unit for all values of a column, as pprof chooses it: that of the least; but where the total has a larger
// unit and is over a hundred times as much, one in which the least is still a hundredth. For counts it is "".
func Common(least, total int64, from string) string {
	_, small := Scale(least, from, Minimum)
	_, large := Scale(total, from, Minimum)
	if small != large && least < math.MaxInt64/100 && least*100 < total {
		_, small = Scale(least*100, from, Minimum)
	}
	return small
}

// Share prints a share of a whole in a sentence, or one that was asked for: 34.2%, 5%, 0.125%.
func Share(part float64) string { return digits(100*part, 3, false) + "%" }

// Number prints a number without a unit: a count, or a mean of counts with four digits.
func Number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "∞"
	}
	return digits(x, 4, false)
}

// Counted prints how many there are of something that has a plain plural: 1 run, 2 runs.
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// Cores prints how many cores were busy on average, with two decimals, since it changes all the time.
func Cores(x float64) string { return strconv.FormatFloat(x+0, 'f', 2, 64) } // +0 makes -0 no -0.00

// Quota prints how many cores may be used: as many digits as somebody has set, and two if that is a fraction without an end.
func Quota(cores float64) string {
	s := strconv.FormatFloat(cores, 'f', -1, 64)
	if _, digits, _ := strings.Cut(s, "."); len(digits) > 3 {
		s = strings.TrimRight(strconv.FormatFloat(cores, 'f', 2, 64), "0")
		s = strings.TrimSuffix(s, ".")
	}
	if s == "1" {
		return "1 core"
	}
	return s + " cores"
}

// Money prints an amount of money: with cents where they matter, and else in groups of three digits.
func Money(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) >= 1e15:
		return Number(x)
	case math.Abs(x) < 100:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// PerSecond prints how many there are in a second.
func PerSecond(x float64) string { return Number(x) + "/s" }

// SizePerSecond prints how many bytes there are in a second: 1.50kB/s, 20MB/s.
func SizePerSecond(bytes float64) string { return Size(int64(math.Round(bytes))) + "/s" }

// Measured prints what a benchmark measured, in a unit of benchmarks: sec/op, B/op, B/s, allocs/op or any other. What is
// per operation does not say so: the heading does.
func Measured(x float64, of string) string {
	rate := ""
	base := strings.TrimSuffix(of, "/op")
	switch base {
	case "sec":
	case "B/s":
		base, rate = "B", "/s"
	case "B":
	default:
		return Number(x)
	}
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 1) {
		return Number(x)
	}
	f := &families[bytesFamily]
	if base == "sec" {
		f, x = &families[timeFamily], x*1e9
	}
	s := &f.steps[0]
	for i := range f.steps {
		if math.Abs(x) >= f.steps[i].size*0.99995 { // four digits make a whole of it
			s = &f.steps[i]
		}
	}
	return digits(x/s.size, 4, f == &families[timeFamily] || s.size > 1) + s.name + rate
}

// digits prints x with n digits before and behind the point together, and more when there are more before it. Zeros at the
// end stay where all of a column have so many digits.
func digits(x float64, n int, zeros bool) string {
	if x == 0 {
		return "0" // and not -0
	}
	if !zeros && x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	behind := n - 1
	for y, most := math.Abs(x), 10-5*math.Pow10(-n); y >= most && behind > 0; y /= 10 {
		behind--
	}
	s := strconv.FormatFloat(x, 'f', behind, 64)
	if strings.Trim(s, "-0.") == "" {
		return strconv.FormatFloat(x, 'g', 2, 64) // little is not nothing
	}
	if !zeros && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// AsFactor is the least growth that is printed as a factor: ×287 says more than +28600%.
const AsFactor = 10

// Relative prints a change by a factor: as a percentage with two digits, or as the factor where that reads better.
func Relative(factor float64) string {
	switch {
	case math.IsNaN(factor):
		return "-"
	case math.IsInf(factor, 1):
		return "new"
	case factor == 1:
		return "0%"
	case factor >= AsFactor:
		return "×" + strconv.FormatFloat(factor, 'f', max(0, 3-len(strconv.Itoa(int(factor)))), 64)
	}
	s := twoDigits(100 * (factor - 1))
	if factor > 1 && s != "0" {
		s = "+" + s
	}
	return s + "%"
}

// twoDigits prints a percentage with two digits, and more when there are more before the point; of what is less than a
// thousandth nothing is left.
func twoDigits(x float64) string {
	digits := 0
	for y := math.Abs(x); y < 9.95 && digits < 3; y *= 10 {
		digits++
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return s
}
