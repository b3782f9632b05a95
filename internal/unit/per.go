package unit

import (
	"math"
	"strconv"
	"strings"
)

// A per is a unit of values that are shown divided. Its name has what they are divided by, so that sums of them stay whole numbers that lose nothing:
// bytes/30s are what 30 seconds had, shown as bytes a second, and bytes/4 are what four had together.
type per struct {
	unit   string
	n      float64
	suffix string // "/s" for what is shown per second
	cores  bool   // CPU time per second
}

// cpu begins the unit of CPU time of which the time per second is shown as cores. Other times, such as of waiting, say nothing about cores.
const cpu = "core-"

// Rate returns the unit of values that are of so many seconds, and shown as what one second had. Values in nanoseconds are shown as cores if they are CPU time.
func Rate(of string, seconds float64, cpuTime bool) string {
	if f := familyOf(of); cpuTime && f == &families[timeFamily] {
		of = cpu + of
	}
	return of + "/" + strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
}

// Each returns the unit of values that n have together, and that are shown as what each has on average.
func Each(of string, n float64) string {
	return of + "/" + strconv.FormatFloat(n, 'f', -1, 64)
}

// perOf parses what Rate and Each return.
func perOf(name string) (per, bool) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return per{}, false
	}
	out := per{unit: name[:at]}
	number, second := strings.CutSuffix(name[at+1:], "s")
	if second {
		out.suffix = "/s"
	}
	if number == "" || number[0] < '0' || number[0] > '9' {
		return per{}, false // a unit of its own, such as B/op
	}
	var err error
	if out.n, err = strconv.ParseFloat(number, 64); err != nil || !(out.n > 0) || math.IsInf(out.n, 0) {
		return per{}, false
	}
	if of, ok := strings.CutPrefix(out.unit, cpu); ok && second && familyOf(of) == &families[timeFamily] {
		out.unit, out.suffix, out.cores = of, "", true
	}
	return out, true
}

// format prints what has no smaller unit, or none at all, with digits that tell it from nothing.
func (p *per) format(x float64) string {
	switch {
	case x == 0:
		return "0"
	case p.cores && math.Abs(x) < 1: // most functions take less than a hundredth of one
		return strconv.FormatFloat(x, 'g', 3, 64) + " cores"
	case p.cores:
		return Number(x) + " cores"
	}
	return Number(x) + p.suffix
}

// ShownIn returns in which unit values in a unit of Rate or Each are shown, without a prefix, and by what to multiply them for that.
func ShownIn(name string) (shown string, factor float64) {
	p, ok := perOf(name)
	switch {
	case !ok:
		return name, 1
	case p.cores:
		x, _ := Scale(1<<40, name, "cores")
		return "cores", x / (1 << 40)
	}
	return p.unit + p.suffix, 1 / p.n
}
