package gosrc

import (
	"net/url"
	"strings"
)

// A symbol is a function as the linker names it.
type symbol struct {
	name  string   // as recorded
	pkg   string   // import path of the package it was compiled into, "", or noPackage
	parts []string // what follows, without type arguments: a receiver, the names of functions, func1 for closures
}

// noPackage is the package that Go 1.27 names for some closures of functions that were inlined: _.goready.func1.
const noPackage = "_"

// parseSymbol takes a name apart. A symbol with nothing but a name tells little: it is of a C function, or of one in
// assembly that only its file knows.
//
// A closure that was inlined together with its function into another has the names of both in its own:
// main.run.(*Once).Do.func1 was written in Do and compiled in run.
func parseSymbol(name string) symbol {
	plain := withoutTypeArgs(name)
	slash := strings.LastIndexByte(plain, '/') + 1
	dot := strings.IndexByte(plain[slash:], '.')
	if dot <= 0 {
		return symbol{name: name}
	}
	pkg := plain[:slash+dot]
	for strings.Contains(pkg, "%") { // the linker writes gopkg.in/yaml%2ev3, and since Go 1.27 for closures yaml%252ev3
		plainer, err := url.PathUnescape(pkg)
		if err != nil || plainer == pkg {
			return symbol{name: name}
		}
		pkg = plainer
	}
	s := symbol{name: name, pkg: pkg}
	for part := range strings.SplitSeq(plain[slash+dot+1:], ".") {
		part = strings.TrimSuffix(part, "-fm") // a method value
		if i := strings.Index(part, "-range"); i > 0 {
			part = part[:i] // the body of a loop over a function; in one of those, f-range1-range1 since Go 1.27
		}
		if inner, ok := strings.CutPrefix(part, "(*"); ok {
			part = strings.TrimSuffix(inner, ")")
		}
		s.parts = append(s.parts, part)
	}
	return s
}

// text returns what an assembly file calls a function, without its package: ·asyncPreempt is runtime.asyncPreempt, and
// memeqbody is of no package.
func (s symbol) text() string {
	if s.pkg == "" {
		return s.name
	}
	return "·" + strings.Join(s.parts, ".")
}

// withoutTypeArgs removes what is in brackets, [...] and [go.shape.int].
func withoutTypeArgs(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// inVars reports whether s may be code of package-level variables: their closures are glob..func1, or since Go 1.21
// init.func1, and what sets them is init or map.init.0.
func (s symbol) inVars() bool {
	return len(s.parts) > 0 && (s.parts[0] == "glob" || s.parts[0] == "init" || s.parts[0] == "map")
}
