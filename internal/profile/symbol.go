package profile

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/mod/module"

	"github.com/hone-perf/hone/internal/filename"
)

// PackageOf returns the import path of the package that a Go function, named as the linker names it, was compiled
// into: net/http for net/http.(*conn).serve. It returns "" for names that are not of Go, or of Go's assembly without a
// package, or of closures that have none; Function.Package knows more. What the compiler makes for types that belong to no package, such as
// the comparison of two unnamed structs, counts as runtime.
func PackageOf(function string) string {
	name, made := strings.CutPrefix(function, "type:")
	if !made {
		name, made = strings.CutPrefix(function, "type.") // before Go 1.20
	}
	if !made || !strings.HasPrefix(name, ".eq.") && !strings.HasPrefix(name, ".hash.") {
		return packagePath(function)
	}
	_, name, _ = strings.Cut(name[1:], ".")
	for strings.HasPrefix(name, "[") { // arrays count for what they hold
		_, name, _ = strings.Cut(name, "]")
	}
	if i := strings.IndexAny(name, " {("); i >= 0 && !strings.ContainsRune(name[:i], '[') {
		return "runtime" // struct { … } and the like
	}
	if pkg := packagePath(name); pkg != "" {
		return pkg
	}
	return "runtime" // string, interface {}
}

// packagePath returns what stands before the first dot of the last element. Receivers and type arguments may hold
// dots and slashes of their own.
func packagePath(name string) string {
	if strings.HasPrefix(name, "go:") || strings.HasPrefix(name, "go.(") {
		return "runtime" // methods of unnamed types
	}
	if i := strings.IndexAny(name, "([{<"); i >= 0 {
		name = name[:i]
	}
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot <= 0 || strings.ContainsAny(name, " \\") || strings.Contains(name, "::") {
		return ""
	}
	pkg, rest := name[:slash+dot], name[slash+dot+1:]
	if slash == 0 && isSplitOff(rest) {
		return ""
	}
	for strings.Contains(pkg, "%") { // the linker writes gopkg.in/yaml%2ev3, and since Go 1.27 for closures yaml%252ev3
		plain, err := url.PathUnescape(pkg)
		if err != nil || plain == pkg {
			break
		}
		pkg = plain
	}
	if pkg == noPackage {
		return ""
	}
	return pkg
}

// noPackage is what Go 1.27 calls the package of some closures of functions that were inlined: _.goready.func1.
const noPackage = "_"

// A Part is why the compiler made a function that has no declaration of its own.
type Part uint8

const (
	Declared    Part = iota // it has one
	Literal                 // a function literal: main.run.func1, and in that main.run.func1.2
	LoopBody                // the body of a loop over a function: main.run-range1
	GoCall                  // the call of a go statement with arguments: main.run.gowrap1
	DeferCall               // the call of a defer statement with arguments: main.run.deferwrap1
	MethodValue             // a method with its receiver: main.(*T).M-fm
)

// CutPart returns what a function is and the function that it is a part of, both read from its name. The names are those of Go 1.22 to 1.27.
func CutPart(function string) (outer string, part Part) {
	if outer, ok := strings.CutSuffix(function, "-fm"); ok {
		return outer, MethodValue
	}
	rest := strings.TrimRight(function, "0123456789")
	if rest == function {
		return function, Declared
	}
	outer = function
	switch {
	case cutSuffix(&outer, rest, ".func"):
		part = Literal
	case cutSuffix(&outer, rest, "-range"):
		part = LoopBody
	case cutSuffix(&outer, rest, ".gowrap"):
		part = GoCall
	case cutSuffix(&outer, rest, ".deferwrap"):
		part = DeferCall
	case cutSuffix(&outer, rest, ".") && !strings.HasSuffix(outer, ".init"): // declared are init.0, and map.init.0 for variables
		part = Literal
	}
	if part == Declared || !strings.Contains(outer[strings.LastIndexByte(outer, '/')+1:], ".") { // main.func1 may be declared
		return function, Declared
	}
	return outer, part
}

// cutSuffix sets outer to name without a suffix, if name has it.
func cutSuffix(outer *string, name, suffix string) bool {
	rest, ok := strings.CutSuffix(name, suffix)
	if ok {
		*outer = rest
	}
	return ok
}

// isSplitOff reports whether a name ends as compilers of C name what they split off a function or made special.
func isSplitOff(rest string) bool {
	first, number, _ := strings.Cut(rest, ".")
	switch first {
	case "cold", "constprop", "isra", "part", "llvm", "lto_priv":
		return number == "" || number[0] >= '0' && number[0] <= '9'
	}
	return false
}

// Package returns the import path of the package that f belongs to, or "" when it is not of Go. Routines of Go's
// assembly and closures that have no package in their name are told by their file; it is _ for a closure whose file does
// not tell either.
func (f *Function) Package() string {
	if pkg := PackageOf(f.Name); pkg != "" {
		return pkg
	}
	file := filename.Slashed(f.File)
	if f.Name == "" || !strings.HasSuffix(file, ".s") && !strings.HasSuffix(file, ".go") {
		return ""
	}
	unknown := ""
	if strings.HasPrefix(f.Name, noPackage+".") {
		unknown = noPackage
	}
	dir := path.Dir(file)
	if i := strings.LastIndex(dir, "/src/"); i >= 0 {
		return dir[i+len("/src/"):]
	}
	if mod, inside := ModuleOf(file); mod != "" {
		return path.Join(mod, path.Dir(inside))
	}
	if filename.IsAbs(dir) || dir == "." || strings.Contains(dir, ":") {
		return unknown
	}
	return dir
}

// ModuleOf returns the path of the module that a file belongs to and the name of the file inside, when the file lies
// in a module cache or was compiled with -trimpath. Other file names do not tell; then module is "".
func ModuleOf(file string) (path, inside string) {
	file = filename.Slashed(file)
	before, after, ok := strings.Cut(file, "@v")
	if !ok {
		return "", ""
	}
	_, inside, ok = strings.Cut(after, "/")
	if _, cached, ok := strings.Cut(before, "/mod/"); ok {
		before = cached
		if plain, err := module.UnescapePath(before); err == nil { // github.com/!burnt!sushi/toml
			before = plain
		}
	}
	if !ok || strings.HasPrefix(before, "/") || strings.Contains(before, ":") || before == "golang.org/toolchain" {
		return "", ""
	}
	return before, inside
}
