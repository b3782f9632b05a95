package calls

import (
	"errors"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/unit"
)

// labelPrefix stands before the key when frames are to be label values.
const LabelPrefix = "label:"

// GroupBy returns p in terms of something larger than its functions: by package or module each function gets the
// name of that, and by label:KEY the values of a label are all the frames there are. For any other by it returns p.
//
// Functions that are not of Go lose their names, so that their program or library stands for them.
func GroupBy(p *profile.Profile, by string) (*profile.Profile, error) {
	key, isLabel := strings.CutPrefix(by, LabelPrefix)
	switch {
	case isLabel && key == "":
		return nil, errors.New("grouping by label: say which one, as in label:KEY")
	case isLabel:
		return groupByLabel(p, key)
	case by == "package":
		return renamed(p, Packages(p.Functions)), nil
	case by == "module":
		return renamed(p, modules(p.Functions)), nil
	}
	return p, nil
}

// renamed returns p with other names for its functions, and with nothing finer left.
func renamed(p *profile.Profile, names []string) *profile.Profile {
	t := p.Tables
	t.Functions = make([]profile.Function, len(names))
	for i, name := range names {
		t.Functions[i] = profile.Function{ID: p.Functions[i].ID, Name: name, SystemName: name}
	}
	t.Locations = slices.Clone(t.Locations)
	for i := range t.Locations {
		l := &t.Locations[i]
		var lines []profile.Line
		for _, ln := range l.Lines {
			// What a package inlined into itself is one frame of it.
			if n := len(lines); n == 0 || names[lines[n-1].Function] != names[ln.Function] {
				lines = append(lines, profile.Line{Function: ln.Function})
			}
		}
		l.Lines = lines
	}
	return p.WithTables(t)
}

// Packages returns the package of each function. Closures that have none, which Go 1.27 calls _.run.func1, are of that of most
// functions in their file.
func Packages(functions []profile.Function) []string {
	out := make([]string, len(functions))
	without := make(map[string]map[string]int) // by file: how many functions there are of each package
	for i := range functions {
		f := &functions[i]
		if out[i] = f.Package(); strings.HasPrefix(f.Name, "_.") {
			without[f.File] = make(map[string]int)
		}
	}
	if len(without) == 0 {
		return out
	}
	for i := range functions {
		if in := without[functions[i].File]; in != nil {
			if pkg := profile.PackageOf(functions[i].Name); pkg != "" {
				in[pkg]++
			}
		}
	}
	for i := range functions {
		if !strings.HasPrefix(functions[i].Name, "_.") {
			continue
		}
		most := 0
		for pkg, n := range without[functions[i].File] {
			if n > most || n == most && pkg < out[i] {
				most, out[i] = n, pkg
			}
		}
	}
	return out
}

// groupByLabel returns p with stacks of one frame each: the value that the label has. Samples without it are put
// together.
func groupByLabel(p *profile.Profile, key string) (*profile.Profile, error) {
	b := profile.NewBuilder(p.Header)
	b.Notes = p.Notes
	frames := make(map[string]uint32)
	frame := func(name string) uint32 {
		at, ok := frames[name]
		if !ok {
			at = uint32(len(b.Locations))
			frames[name] = at
			b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name})
			b.Locations = append(b.Locations, profile.Location{
				Mapping: profile.NoMapping, Lines: []profile.Line{{Function: at}},
			})
		}
		return at
	}
	type set struct{ frame, labels uint32 }
	sets := make([]set, len(p.LabelSets()))
	for i, s := range p.LabelSets() {
		name := withoutLabel(key)
		if values := labelValues(s, key, unit.Auto); len(values) > 0 {
			name = strings.Join(values, ",")
		}
		if name == "" {
			name = `""` // a frame without a name would be an unknown one
		}
		sets[i] = set{frame(name), b.Labels(slices.Clone(s))}
	}
	values := make([]int64, len(p.SampleTypes))
	var stack [1]uint32
	for i := range p.NumSamples() {
		s := sets[p.Label(i)]
		for k := range values {
			values[k] = p.Values(k)[i]
		}
		stack[0] = s.frame
		b.Add(stack[:], s.labels, values)
	}
	b.Renumber()
	return b.Profile()
}

// withoutLabel stands for the value of a label in samples that do not have it.
func withoutLabel(key string) string { return "(no " + key + ")" }

// modules returns the module of each function: std for the standard library, "" for what is not of Go. Where the file
// of a function lies tells the module for sure; the rest is deduced.
func modules(functions []profile.Function) []string {
	homes, _ := HomesOf(functions, Packages(functions))
	return homes
}

// HomesOf returns the modules of functions, whose packages are pkgs, and which functions seem to be of the main module:
// neither their names nor their files say otherwise.
func HomesOf(functions []profile.Function, pkgs []string) (out []string, own []int) {
	out = make([]string, len(functions))
	known := make(map[string]string) // by package
	roots := make(map[string]bool)
	for i, pkg := range pkgs {
		module, _ := profile.ModuleOf(functions[i].File)
		switch {
		case pkg == "":
		case IsStd(pkg):
			out[i] = "std"
		case module != "":
			out[i] = module
			known[pkg] = module
			roots[module] = true
		}
	}
	// What the compiler made has no file, but perhaps its package does elsewhere.
	for i, pkg := range pkgs {
		if out[i] != "" || pkg == "" {
			continue
		}
		if out[i] = known[pkg]; out[i] == "" {
			out[i] = rootOf(pkg, roots)
		}
		if out[i] == "" && strings.Contains(filename.Slashed(functions[i].File), "/vendor/"+pkg+"/") {
			out[i] = likelyModule(pkg)
		}
		if out[i] == "" {
			own = append(own, i)
		}
	}
	main := mainModule(own, pkgs)
	for _, i := range own {
		switch pkg := pkgs[i]; {
		case main != "" && (pkg == "main" || within(pkg, main)):
			out[i] = main
		case pkg == "main":
			out[i] = moduleOfMain(functions[i].File)
		default:
			out[i] = likelyModule(pkg)
		}
	}
	return out, own
}

// rootOf returns the longest of roots that pkg lies in, or "".
func rootOf(pkg string, roots map[string]bool) string {
	for !roots[pkg] {
		slash := strings.LastIndexByte(pkg, '/')
		if slash < 0 {
			return ""
		}
		pkg = pkg[:slash]
	}
	return pkg
}

// within reports whether pkg is root or below it.
func within(pkg, root string) bool {
	rest, ok := strings.CutPrefix(pkg, root)
	return ok && (rest == "" || rest[0] == '/' || rest == "_test")
}

// mainModule returns the module that own packages are all of, or "" when there seem to be several.
func mainModule(own []int, pkgs []string) string {
	var common []string // elements that all paths begin with
	several := false
	likely := ""
	for _, i := range own {
		pkg := pkgs[i]
		if pkg == "main" {
			continue
		}
		elements := strings.Split(pkg, "/")
		if likely == "" {
			likely, common = likelyModule(pkg), elements
			continue
		}
		if likelyModule(pkg) != likely {
			return ""
		}
		n := 0
		for n < len(common) && n < len(elements) && common[n] == elements[n] {
			n++
		}
		several = several || n < max(len(common), len(elements))
		common = common[:n]
	}
	// On hosts that hone does not know the repository may be further down. That can be told from what several packages
	// have in common.
	host, _, _ := strings.Cut(likely, "/")
	if !several || depths[host] != 0 {
		return likely
	}
	for i, e := range common {
		if e == "internal" || e == "cmd" || e == "pkg" {
			common = common[:i]
			break
		}
	}
	if module := strings.Join(common, "/"); len(module) > len(likely) {
		return module
	}
	return likely
}

// moduleOfMain returns the module of a main package from the name of a file in it: with -trimpath and in a GOPATH that
// says what the package path does not.
func moduleOfMain(file string) string {
	file = filename.Slashed(file)
	if _, inside, ok := strings.Cut(file, "/src/"); ok {
		file = inside
	}
	host, _, ok := strings.Cut(file, "/")
	dir := strings.LastIndexByte(file, '/')
	if !ok || !strings.Contains(strings.Trim(host, "."), ".") {
		return "main"
	}
	return likelyModule(file[:dir])
}

// depths are the elements that module paths have on hosts where it is not two.
var depths = map[string]int{
	"bitbucket.org": 3,
	"codeberg.org":  3,
	"git.sr.ht":     3,
	"github.com":    3,
	"gitlab.com":    3,
	"golang.org":    3,
}

// likelyModule guesses the module of a package from its path alone.
func likelyModule(pkg string) string {
	elements := strings.Split(pkg, "/")
	n := depths[elements[0]]
	switch {
	case n != 0:
	case !strings.Contains(elements[0], "."):
		n = 1
	case elements[0] == "gopkg.in" && len(elements) > 1 && !strings.Contains(elements[1], "."):
		n = 3 // gopkg.in/user/name.v1
	default:
		n = 2
	}
	if len(elements) > n && isMajor(elements[n]) {
		n++
	}
	return strings.Join(elements[:min(n, len(elements))], "/")
}

// isMajor reports whether a path element is a major version: v2.
func isMajor(e string) bool {
	return len(e) > 1 && e[0] == 'v' && strings.Trim(e[1:], "0123456789") == ""
}

// IsStd reports whether pkg belongs to the standard library.
func IsStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	_, ok := slices.BinarySearch(stdElements, strings.TrimSuffix(first, "_test"))
	return ok
}

// stdElements are what paths in the standard library begin with. Other paths without a dot in the first element exist
// too, so that having none does not tell.
var stdElements = []string{
	"archive", "arena", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug",
	"embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io",
	"iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "simd",
	"slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time", "unicode",
	"unique", "unsafe", "uuid", "vendor", "weak",
}

// IsCoarse reports whether frames stand for so much that calls within one say nothing.
func IsCoarse(by string) bool { return by == "file" || by == "package" || by == "module" }
