// Package unit converts and prints quantities with units: bytes, times, compute units, and plain counts. Nothing else in hone
// makes text of them, so that a number reads the same in a table, in a sentence, at the terminal and in the browser. (The page
// has the same printer in TypeScript, and a test asks both the same.)
//
//   - Units are spelled as go tool pprof spells them: B kB MB GB TB PB, ns us ms s hrs, right behind the number. Steps between
//     sizes are 1024, those of sizes per second (MB/s) too.
//   - A size or a time stands in the largest unit in which it is at least one, with two decimals at most, and none when they
//     are zeros: 1.50s, 20ms, 512kB. In a column, all are in one unit, so that they compare at a glance: that of the least, see Common.
//   - What a benchmark measured has four digits, as in benchstat, since changes of a thousandth matter there: 12.35us, 1.500kB.
//   - Counts are digits without anything between them: 1234567. A mean of counts, or a rate, has four digits: 12.5, 3.142/s; one of cores has two
//     decimals: 1.00.
//     Below one, cores per second of a profile have three digits, whatever zeros are before these: 0.00469 cores.
//   - A share of a whole that is compared with others has two decimals, or two digits below one (pprof): 12.34%, 0.5%. In a
//     sentence, it has three digits without zeros at the end: 34.2%, 5%. A change has two and its sign: +1.3%.
//   - What can be typed again, such as the time in REF@1m30s or the value of an option, is spelled as package time reads it.
//
// go tool pprof's own forms are Format, Label and Percent, to the last digit. Only renderers, and those who write sentences for
// people, call this package to make text; reports keep full values.
package unit

import (
	"math"
	"strconv"
	"strings"
)

// Auto and Minimum are target units that let Scale choose: the largest unit in which the value is at least one.
// Minimum differs only for those who choose one unit for a whole table from its smallest entry.
const (
	Auto    = "auto"
	Minimum = "minimum"
)

// A step is one unit of a family: its canonical name, other spellings, and its size in the family's base.
type step struct {
	name    string
	aliases []string
	size    float64
}

// A family is a set of units that convert into each other.
type family struct {
	steps    []step
	fallback step // where values go that are too small for any step, or whose target is of another family
}

const (
	bytesFamily = iota
	timeFamily
)

var families = []family{
	bytesFamily: {
		steps: []step{
			{"B", []string{"b", "byte"}, 1},
			{"kB", []string{"kb", "kbyte", "kilobyte"}, 1 << 10},
			{"MB", []string{"mb", "mbyte", "megabyte"}, 1 << 20},
			{"GB", []string{"gb", "gbyte", "gigabyte"}, 1 << 30},
			{"TB", []string{"tb", "tbyte", "terabyte"}, 1 << 40},
			{"PB", []string{"pb", "pbyte", "petabyte"}, 1 << 50},
		},
		fallback: step{name: "B", size: 1},
	},
	timeFamily: {
		steps: []step{
			{"ns", []string{"ns", "nanosecond"}, 1},
			{"us", []string{"μs", "us", "microsecond"}, 1e3},
			{"ms", []string{"ms", "millisecond"}, 1e6},
			{"s", []string{"s", "sec", "second"}, 1e9},
			{"hrs", []string{"hour", "hr"}, 3600e9},
		},
		fallback: step{name: "s", size: 1e9},
	},
	{
		steps: []step{
			{"n*GCU", []string{"nanogcu"}, 1e-9},
			{"u*GCU", []string{"microgcu"}, 1e-6},
			{"m*GCU", []string{"milligcu"}, 1e-3},
			{"GCU", []string{"gcu"}, 1},
			{"k*GCU", []string{"kilogcu"}, 1e3},
			{"M*GCU", []string{"megagcu"}, 1e6},
			{"G*GCU", []string{"gigagcu"}, 1e9},
			{"T*GCU", []string{"teragcu"}, 1e12},
			{"P*GCU", []string{"petagcu"}, 1e15},
		},
		fallback: step{name: "GCU", size: 1},
	},
}

// cores is the family of CPU time per second. It is not one of families: for go tool pprof, a unit of that name is any other.
var cores = family{
	steps:    []step{{"cores", []string{"core"}, 1}},
	fallback: step{name: "cores", size: 1},
}

// find returns the step called name in f, or nil. Case and a plural s do not matter.
func (f *family) find(name string) *step {
	name = strings.ToLower(name)
	if len(name) > 2 {
		name = strings.TrimSuffix(name, "s")
	}
	for i := range f.steps {
		for _, a := range f.steps[i].aliases {
			if a == name {
				return &f.steps[i]
			}
		}
	}
	return nil
}

// Scale converts v from one unit to another. The unit it returns is "" where naming it would say nothing, as
// for counts. Units it does not know leave the value as it is.
func Scale(v int64, from, to string) (float64, string) {
	if v < 0 && -v > 0 { // math.MinInt64 has no positive twin
		x, u := Scale(-v, from, to)
		return -x, u
	}
	per, rated := perOf(from)
	if rated {
		from = per.unit
		to = strings.TrimSuffix(to, per.suffix) // as Scale itself returns it
	}
	for i := range families {
		f := &families[i]
		src := f.find(from)
		if src == nil {
			continue
		}
		base := float64(v) * src.size
		if rated {
			base /= per.n
			if per.cores {
				f, base = &cores, base/1e9
			}
		}
		dst := &f.fallback
		if to == Auto || to == Minimum {
			if s := f.natural(base); s != nil {
				dst = s
			} else if rated {
				dst = &f.steps[0] // of the least there is
			}
		} else if s := f.find(to); s != nil {
			dst = s
		}
		return base / dst.size, dst.name + per.suffix
	}
	if rated {
		return float64(v) / per.n, per.suffix
	}
	switch to {
	case "count", "sample", "unit", Minimum, Auto:
		return float64(v), ""
	}
	return float64(v), to
}

// natural returns the largest unit in which base is at least one, or nil.
func (f *family) natural(base float64) *step {
	var best *step
	for i := range f.steps {
		s := &f.steps[i]
		if (best == nil || s.size >= best.size) && base/s.size >= 1 {
			best = s
		}
	}
	return best
}

// Format prints v in unit to with at most two decimals: 1.50MB, 20ms, 0.
func Format(v int64, from, to string) string {
	x, u := Scale(v, from, to)
	if per, ok := perOf(from); ok && (per.cores || u == per.suffix) {
		return per.format(x)
	}
	s := strings.TrimSuffix(strconv.FormatFloat(x, 'f', 2, 64), ".00")
	if s == "0" || s == "-0" {
		return "0"
	}
	return s + u
}

// Label prints v in its natural unit.
func Label(v int64, from string) string { return Format(v, from, Auto) }

// Percent prints |v| as a share of |total| in six columns with at least two digits: " 12.34%", "  100%", "  0.5%".
func Percent(v, total int64) string {
	var share float64
	if total != 0 {
		share = math.Abs(float64(v)/float64(total)) * 100
	}
	switch {
	case share >= 99.95 && share <= 100.05:
		return "  100%"
	case share >= 1:
		return pad(strconv.FormatFloat(share, 'f', 2, 64))
	}
	// %g writes exponents with at least two digits, and so does FormatFloat.
	return pad(strconv.FormatFloat(share, 'g', 2, 64))
}

func pad(digits string) string {
	const width = 5
	if len(digits) < width {
		digits = strings.Repeat(" ", width-len(digits)) + digits
	}
	return digits + "%"
}

// Compatible reports whether values in units a and b can be added after conversion.
func Compatible(a, b string) bool {
	if a == b {
		return true
	}
	f := familyOf(b)
	return f != nil && (f == familyOf(a) || f.find(a) != nil)
}

// Choices returns the units that values in unit a can be shown in; none when it stands alone.
func Choices(a string) []string {
	f := familyOf(a)
	if f == nil {
		return nil
	}
	var names []string
	for _, s := range f.steps {
		names = append(names, s.name)
	}
	return names
}

// familyOf returns the family of a unit, or nil.
func familyOf(name string) *family {
	if per, ok := perOf(name); ok {
		if per.cores {
			return &cores
		}
		name = per.unit
	}
	for i := range families {
		if families[i].find(name) != nil {
			return &families[i]
		}
	}
	return nil
}
