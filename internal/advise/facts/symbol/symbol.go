// Package symbol reads names of functions as profiles have them.
package symbol

import (
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// IsRuntime reports whether a function is one of the runtime, or of what it is made of.
func IsRuntime(fn string) bool {
	return strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "internal/runtime/") || strings.HasPrefix(fn, "internal/abi.") ||
		strings.HasPrefix(fn, "internal/bytealg.") || fn == "memeqbody" || fn == "cmpbody" || fn == "memeq" || fn == "aeshashbody"
}

// IsSized reports whether a function allocates a value of one size, such as runtime.mallocgcSmallNoScanSC2. Since Go 1.27 compiled code calls those
// where it called runtime.newobject before; in Go 1.26 the runtime alone does.
func IsSized(fn string) bool {
	kind, ok := strings.CutPrefix(fn, "runtime.mallocgc")
	if !ok {
		return false
	}
	kind, size, ok := strings.Cut(kind, "SC")
	return ok && kind != "" && size != "" && strings.Trim(size, "0123456789") == ""
}

// Short is the name of a function without the path of its package. What a module is called does not say its major version: rand.IntN is in
// math/rand/v2.
func Short(fn string) string {
	slash := strings.LastIndexByte(fn, '/')
	last := fn[slash+1:]
	version, name, ok := strings.Cut(last, ".")
	if number, is := strings.CutPrefix(version, "v"); ok && is && slash > 0 && number != "" && strings.Trim(number, "0123456789") == "" {
		return fn[strings.LastIndexByte(fn[:slash], '/')+1:slash] + "." + name
	}
	return last
}

// ShortNames names functions without the paths of their packages.
func ShortNames(fns []string) string {
	var list []string
	for _, fn := range fns {
		list = append(list, Short(fn))
	}
	return strings.Join(list, ", ")
}

// IsInit reports whether a function, as profiles name it, runs before main: init, init.0, map.init.0.
func IsInit(fn string) bool {
	_, rest, _ := strings.Cut(fn[strings.LastIndexByte(fn, '/')+1:], ".")
	rest, of := strings.CutPrefix(rest, "map.")
	number, ok := strings.CutPrefix(rest, "init")
	if number == "" {
		return ok && !of
	}
	number, dot := strings.CutPrefix(number, ".")
	return ok && dot && number != "" && strings.Trim(number, "0123456789") == ""
}

// IsInside reports whether a function is a part of a declared one, so that it begins on a line inside of that: a function literal, such as
// main.run.func1, the body of a loop over a function, such as main.run-range1, or the call of a go statement, such as main.run.gowrap1.
func IsInside(fn string) bool {
	_, part := profile.CutPart(fn)
	return part != profile.Declared && part != profile.MethodValue
}

// InLiteral reports whether a function is a function literal, or a part of one.
func InLiteral(fn string) bool {
	for {
		outer, part := profile.CutPart(fn)
		switch part {
		case profile.Declared:
			return false
		case profile.Literal:
			return true
		}
		fn = outer
	}
}

// IsLoopBody reports whether a function is the body of a loop over a function, in the function of a name.
func IsLoopBody(fn, of string) bool {
	rest, ok := strings.CutPrefix(fn, of)
	return ok && strings.HasPrefix(rest, "-range")
}

// WithoutTypes returns the name of a function without type arguments.
func WithoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// PackageOf returns the import path in the name of a function. It is main for all commands.
func PackageOf(fn string) string {
	fn, _, _ = strings.Cut(fn, "[")
	slash := strings.LastIndexByte(fn, '/') + 1
	if dot := strings.IndexByte(fn[slash:], '.'); dot >= 0 {
		fn = fn[:slash+dot]
	}
	return strings.NewReplacer("%252e", ".", "%2e", ".").Replace(fn) // escaped twice in closures since Go 1.27
}
