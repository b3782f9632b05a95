package profileview

import (
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// originsOf returns whose code each function is.
func originsOf(functions []profile.Function) []report.Origin {
	pkgs := calls.Packages(functions)
	homes, own := calls.HomesOf(functions, pkgs)
	out := make([]report.Origin, len(functions))
	for i, pkg := range pkgs {
		switch {
		case pkg == "":
			out[i] = report.Foreign
		case isRuntime(pkg):
			out[i] = report.GoRuntime
		case homes[i] == "std":
			out[i] = report.StdLibrary
		default:
			out[i] = report.Dependency
		}
	}
	// In a GOPATH, and with -mod=vendor of some build systems, the files of dependencies look like one's own. Then
	// the module of main tells.
	program := ""
	for _, i := range own {
		if pkgs[i] == "main" && homes[i] != "main" {
			program = homes[i]
		}
	}
	alone := !slices.ContainsFunc(own, func(i int) bool { return pkgs[i] != "main" && homes[i] == program })
	for _, i := range own {
		if pkgs[i] == recording.RecorderPackage {
			continue // which hone added to the program
		}
		if alone || pkgs[i] == "main" || homes[i] == program {
			out[i] = report.OwnCode
		}
	}
	return out
}

// isRuntime reports whether pkg is part of the runtime of Go rather than of its library.
func isRuntime(pkg string) bool {
	return pkg == "runtime" || pkg == "runtime/cgo" ||
		strings.HasPrefix(pkg, "internal/runtime/") || strings.HasPrefix(pkg, "runtime/internal/")
}

// Most returns the total of a sample type, and the function outside of the standard library that most of it is in: on each stack, the innermost
// such function counts, as its callers only lead there. The recorder is not part of the program.
func Most(p *profile.Profile, typ string) (total int64, function string) {
	k, err := p.SampleIndex(typ)
	if err != nil {
		return 0, ""
	}
	origins := originsOf(p.Functions)
	innermost := func(stack []uint32) string {
		for _, l := range stack {
			for _, line := range p.Locations[l].Lines {
				if o := origins[line.Function]; o != report.StdLibrary && o != report.GoRuntime {
					return p.Functions[line.Function].Name
				}
			}
		}
		return ""
	}
	in := make(map[string]int64)
	var stack []uint32
	for i, v := range p.Values(k) {
		total += v
		stack = p.Stack(i, stack[:0])
		if f := innermost(stack); f != "" && !strings.HasPrefix(f, recording.RecorderPackage+".") {
			in[f] += v
		}
	}
	for f, v := range in {
		if most := in[function]; v > most || v == most && f < function {
			function = f
		}
	}
	return total, function
}

// origins returns whose code each frame of t is. A frame that stands for functions of several origins has none; but
// the runtime is part of the standard library.
func (a *question) origins(t *calls.FrameTable) []report.Origin {
	out := make([]report.Origin, len(t.Frames))
	if strings.HasPrefix(a.query.By, calls.LabelPrefix) {
		return out // values of labels are no code
	}
	functions := originsOf(a.named) // groups have the numbers of the functions that they stand for
	known := make([]bool, len(t.Frames))
	isStd := func(o report.Origin) bool { return o == report.StdLibrary || o == report.GoRuntime }
	set := func(f int32, o report.Origin) {
		switch was := out[f]; {
		case !known[f], was == o:
			out[f], known[f] = o, true
		case isStd(was) && isStd(o):
			out[f] = report.StdLibrary
		default:
			out[f] = ""
		}
	}
	for i := range a.Profile.Locations {
		lines, at := a.Profile.Locations[i].Lines, t.Of(uint32(i))
		for j, f := range at { // without inlines, only the outermost is there
			if len(lines) == 0 {
				set(f, report.Foreign)
				continue
			}
			set(f, functions[lines[len(lines)-1-j].Function])
		}
	}
	return out
}

// originList is whose code frames are, by frame.
type originList []report.Origin

// Size returns about how many bytes l takes.
func (l originList) Size() int64 { return 16 * int64(len(l)) }

// originsOnce is origins, for the frames that summed adds up. They are kept with their costs.
func (a *question) originsOnce(t *calls.FrameTable) (originList, error) {
	return recording.Remember(a.rec, "origins "+a.costing(), func() (originList, error) { return a.origins(t), nil })
}

// whereOf returns a function that tells where functions are declared, by their names. It looks at them when it is called first.
func whereOf(functions []profile.Function) func(function string) report.FlamePlace {
	known := sync.OnceValue(func() map[string]*profile.Function {
		known := make(map[string]*profile.Function, len(functions))
		for i := range functions {
			if f := &functions[i]; known[f.Name] == nil || known[f.Name].File == "" {
				known[f.Name] = f
			}
		}
		return known
	})
	return func(function string) report.FlamePlace {
		f := known()[function]
		if function == "" || f == nil {
			return report.FlamePlace{}
		}
		return report.FlamePlace{Package: f.Package(), File: f.File, Line: f.StartLine}
	}
}

// SetOrigins says of the rows of a ranking whose code they are. Only rows that are functions have an origin.
func SetOrigins(p *profile.Profile, top *report.Top) {
	origins := make(map[string]report.Origin, len(p.Functions))
	for i, o := range originsOf(p.Functions) {
		origins[p.Functions[i].Name] = o
	}
	for i := range top.Rows {
		top.Rows[i].Origin = origins[top.Rows[i].Name]
	}
}
