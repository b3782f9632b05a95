package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// adviseOn returns what is found in a program, with the costs in its comments. Samples are added to those.
func adviseOn(t *testing.T, src string, samples func(m *madeProfile, file string)) []report.Finding {
	t.Helper()
	return adviseOnGo(t, "1.26", src, samples)
}

// adviseOnGo does so for a module of a version of Go.
func adviseOnGo(t *testing.T, version, src string, samples func(m *madeProfile, file string)) []report.Finding {
	t.Helper()
	return adviceOn(t, version, src, samples).Findings
}

func adviceOn(t *testing.T, version, src string, samples func(m *madeProfile, file string)) *report.Advice {
	t.Helper()
	return adviceFrom(t, version, src, samples, 0)
}

// adviseAll returns all that is found in a program with costs in its comments, however little each line costs.
func adviseAll(t *testing.T, src string) []report.Finding {
	t.Helper()
	return adviceFrom(t, "1.26", src, nil, 1e-9).Findings
}

func adviceFrom(t *testing.T, version, src string, samples func(m *madeProfile, file string), least float64) *report.Advice {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "main.go")
	for name, text := range map[string]string{file: src, filepath.Join(dir, "go.mod"): "module example.com/one\n\ngo " + version + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := newProfile()
	m.read(t, file, "main")
	if samples != nil {
		samples(m, file)
	}
	a, err := advise.Run(t.Context(), All, []*recording.Recording{{Ref: "made.pprof", Profile: m.profile(t)}}, advise.Options{Dir: dir, Least: least, Debug: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range a.Notes {
		t.Errorf("note: %s", n)
	}
	return a
}

// lineOf returns the number of the line with a text.
func lineOf(src, text string) int { return strings.Count(src[:strings.Index(src, text)], "\n") + 1 }

// stack adds a heap sample of objects, with the frames of lines of a file, the leaf first: function, line.
func (m *madeProfile) stack(file string, objects int64, frames ...any) {
	var at []uint32
	for i := 0; i < len(frames); i += 2 {
		fn, n := frames[i].(string), frames[i+1].(int)
		if n == 0 {
			at = append(at, m.location(fn, "<made>", 0, 1))
		} else {
			at = append(at, m.location(fn, file, 0, n))
		}
	}
	v := make([]int64, len(madeMetrics))
	v[slices.Index(madeMetrics, "alloc_objects")], v[slices.Index(madeMetrics, "alloc_space")] = objects, 32*objects
	m.Add(at, 0, v)
}

// One line that makes more objects than all others together is spoken of, by whichever rule, and wherever it is.
func TestMostObjectsAreNeverSilent(t *testing.T) {
	for name, tt := range map[string]struct {
		src, at  string
		fn       string
		below    []any // frames below the line
		above    []any
		rule     string
		says     []string
		saysNot  []string
		fraction int64 // of 10 that the line makes; 0 is 9
	}{
		"a conversion": {
			src: "package main\n\nvar sink []string\n\nfunc keep(b []byte) {\n\tsink = append(sink[:0],\n\t\tstring(b))\n}\n\nfunc main() {\n\tfor {\n\t\tkeep([]byte(\"x\"))\n\t}\n}\n",
			at:  "string(b)", fn: "main.keep", above: []any{"main.main", 12},
			rule: "hot-objects", says: []string{"90% of all objects come from here, of 32 bytes each on average: string(b)", "why-alloc main.go:7", "string(b) copies what it converts"}, saysNot: []string{"to an interface", "append may keep it"},
		},
		"a line in the middle of a literal": {
			src: "package main\n\ntype pair struct{ a, b *int }\n\nfunc two(x, y int) pair {\n\treturn pair{\n\t\ta: new(int),\n\t\tb: new(int),\n\t}\n}\n\nfunc main() {\n\tfor {\n\t\t_ = two(1, 2)\n\t}\n}\n",
			at:  "a: new", fn: "main.two", above: []any{"main.main", 14}, rule: "hot-objects", says: []string{"new(int)"},
		},
		"a literal of a variable of the package": {
			src: "package main\n\ntype node struct{ next *node }\n\nvar grow = func(n *node) *node {\n\tx := &node{next: n}\n\treturn x\n}\n\nfunc main() {\n\tvar n *node\n\tfor {\n\t\tn = grow(n)\n\t}\n}\n",
			at:  "x := ", fn: "main.init.func1", above: []any{"main.main", 13}, rule: "hot-objects", says: []string{"&node{"}, saysNot: []string{"runs once"},
		},
		"the value of a variable of the package": {
			src: "package main\n\nimport \"strings\"\n\nvar words = strings.Fields(\"a b c\")\n\nfunc main() { println(len(words)) }\n",
			at:  "var words", fn: "main.init", below: []any{"strings.Fields", 0}, rule: "hot-objects",
			says: []string{"strings.Fields makes them", "the line runs once, when the program starts", "sync.OnceValue"},
		},
		"what runs once, before main": {
			src: "package main\n\nvar table []*int\n\nfunc fill() {\n\ttable = []*int{new(int), new(int)}\n}\n\nfunc init() { fill() }\n\nfunc main() { println(len(table)) }\n",
			at:  "table = ", fn: "main.fill", above: []any{"main.init.0", 9}, rule: "hot-objects", says: []string{"the line runs once, when the program starts"},
		},
		"the New of a pool": {
			src: "package main\n\nimport \"sync\"\n\ntype server struct{ bufs sync.Pool }\n\nfunc newServer() *server {\n\treturn &server{bufs: sync.Pool{New: func() any {\n\t\treturn &[64]byte{}\n\t}}}\n}\n\nfunc (s *server) handle() int {\n\tb := s.bufs.Get().(*[64]byte)\n\tdefer s.bufs.Put(b)\n\treturn len(b)\n}\n\nfunc main() {\n\ts := newServer()\n\tfor {\n\t\ts.handle()\n\t}\n}\n",
			at:  "return &[64]byte{}", fn: "main.newServer.func1", above: []any{"sync.(*Pool).Get", 0, "main.(*server).handle", 14, "main.main", 22},
			rule: "hot-objects", says: []string{"&[64]byte{}", "it is in the New of a sync.Pool, which Get calls when the pool is empty, here in main.(*server).handle"}, saysNot: []string{"call of newServer"},
		},
		"what a package of another module calls back": {
			src: "package main\n\nimport \"slices\"\n\nfunc order(list []string) {\n\tslices.SortFunc(list, func(a, b string) int {\n\t\treturn len(a+b) - len(b+a)\n\t})\n}\n\nfunc main() {\n\tfor {\n\t\torder([]string{\"a\", \"b\"})\n\t}\n}\n",
			at:  "return len", fn: "main.order.func1", above: []any{"slices.SortFunc", 0, "main.order", 6, "main.main", 13}, rule: "hot-objects", says: []string{"a + b"},
		},
		"the New of a pool that another pool asks": {
			src: "package main\n\nimport \"sync\"\n\ntype node struct{ b *[64]byte }\n\nvar arrays = sync.Pool{New: func() any { return &[64]byte{} }}\n\nvar nodes = sync.Pool{New: func() any {\n\treturn &node{arrays.Get().(*[64]byte)}\n}}\n\nfunc main() {\n\tfor {\n\t\tnodes.Get()\n\t}\n}\n",
			at:  "var arrays", fn: "main.init.func1", above: []any{"sync.(*Pool).Get", 0, "main.init.func2", 10, "sync.(*Pool).Get", 0, "main.main", 15}, rule: "hot-objects",
			says: []string{"here in main.main"}, saysNot: []string{"main.init"},
		},
		"a literal on the line of its variable": {
			src: "package main\n\nimport \"sync\"\n\nvar nodes = sync.Pool{New: func() any { return &[64]byte{} }}\n\nfunc main() {\n\tfor {\n\t\tnodes.Get()\n\t}\n}\n",
			at:  "var nodes", fn: "main.init.func1", above: []any{"sync.(*Pool).Get", 0, "main.main", 9}, rule: "hot-objects",
			says: []string{"it is in the New of a sync.Pool, which Get calls when the pool is empty, here in main.main"}, saysNot: []string{"once"},
		},
		"a loop before main": {
			src: "package main\n\nvar table []*int\n\nfunc init() {\n\tfor range 9 {\n\t\ttable = append(table, new(int))\n\t}\n}\n\nfunc main() { println(len(table)) }\n",
			at:  "table = ", fn: "main.init.0", rule: "hot-objects", says: []string{"the line runs when the program starts"},
		},
		"a line that makes more than any other": {
			src: "package main\n\nfunc one() *int {\n\tx := new(int)\n\treturn x\n}\n\nfunc main() {\n\tfor {\n\t\tone()\n\t}\n}\n",
			at:  "x := ", fn: "main.one", above: []any{"main.main", 10}, fraction: 4, rule: "hot-objects", says: []string{"40% of all objects come from here", "new(int)"},
		},
		"a part of what is made before main": {
			src: "package main\n\nvar table []*int\n\nfunc fill() {\n\ttable = []*int{new(int), new(int)}\n}\n\nfunc init() { fill() }\n\nfunc main() { println(len(table)) }\n",
			at:  "table = ", fn: "main.fill", above: []any{"main.init.0", 9}, fraction: 4,
		},
		"a copy for the caller": {
			src: "package main\n\nvar scratch []byte\n\nfunc encoded() []byte { return scratch }\n\nfunc marshal() []byte {\n\ttext := encoded()\n\tout := make([]byte, len(text))\n\tcopy(out, text)\n\treturn out\n}\n\nfunc main() {\n\tfor {\n\t\tmarshal()\n\t}\n}\n",
			at:  "out := ", fn: "main.marshal", below: []any{"runtime.makeslice", 0}, above: []any{"main.main", 16}, fraction: 4,
		},
		"a copy for the caller that is most": {
			src: "package main\n\nvar scratch []byte\n\nfunc encoded() []byte { return scratch }\n\nfunc marshal() []byte {\n\ttext := encoded()\n\tout := make([]byte, len(text))\n\tcopy(out, text)\n\treturn out\n}\n\nfunc main() {\n\tfor {\n\t\tmarshal()\n\t}\n}\n",
			at:  "out := ", fn: "main.marshal", below: []any{"runtime.makeslice", 0}, above: []any{"main.main", 16}, fraction: 6,
			rule: "hot-objects", says: []string{"60% of all objects"},
		},
		"a copy of what the function made": {
			src: "package main\n\nvar scratch []byte\n\nfunc encoded() []byte { return scratch }\n\nfunc marshal() []byte {\n\ttext := append(encoded(), 1)\n\tout := make([]byte, len(text))\n\tcopy(out, text)\n\treturn out\n}\n\nfunc main() {\n\tfor {\n\t\tmarshal()\n\t}\n}\n",
			at:  "out := ", fn: "main.marshal", below: []any{"runtime.makeslice", 0}, above: []any{"main.main", 16}, fraction: 4,
			rule: "hot-objects", says: []string{"40% of all objects"},
		},
		"no line has most": {
			src: "package main\n\nfunc one() *int {\n\tx := new(int)\n\treturn x\n}\n\nfunc main() {\n\tfor {\n\t\tone()\n\t}\n}\n",
			at:  "x := ", fn: "main.one", above: []any{"main.main", 10}, fraction: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := lineOf(tt.src, tt.at)
			found := adviseOn(t, tt.src, func(m *madeProfile, file string) {
				part := tt.fraction
				if part == 0 {
					part = 9
				}
				m.stack(file, part*1000, append(append(slices.Clone(tt.below), tt.fn, n), tt.above...)...)
				m.stack(file, (10-part)*1000, "os.ReadFile", 0, "runtime.main", 0)
				m.add("os.ReadFile", "<made>", 0, 1, []string{"[cpu*100]"})
			})
			i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Where.Line == n })
			if tt.rule == "" {
				if i >= 0 {
					t.Errorf("it says %+v", found[i])
				}
				return
			}
			if i < 0 {
				t.Fatalf("line %d is silent; found: %+v", n, found)
			}
			f := found[i]
			text := f.Claim + "\n" + f.Advice + "\n" + f.Escape
			for _, c := range f.Ask {
				text += "\n" + c.String()
			}
			if f.Rule != tt.rule || f.Missing.Fact == "" && len(f.Fixes) == 0 {
				t.Errorf("rule %s, no patch: %q; want rule %s\n%s", f.Rule, f.Missing, tt.rule, text)
			}
			for _, s := range tt.says {
				if !strings.Contains(text, s) {
					t.Errorf("it does not say %q:\n%s", s, text)
				}
			}
			for _, s := range tt.saysNot {
				if strings.Contains(text, s) {
					t.Errorf("it says %q:\n%s", s, text)
				}
			}
		})
	}
}

// Where one or two samples were taken, that one line made most is chance.
func TestMostObjectsOfFewSamples(t *testing.T) {
	const src = "package main\n\nfunc one() *int {\n\tx := new(int)\n\treturn x\n}\n\nfunc main() {\n\tfor {\n\t\tone()\n\t}\n}\n"
	for objects, want := range map[int64]int{20_000: 0, 2_000_000: 1} {
		found := adviseOn(t, src, func(m *madeProfile, file string) {
			m.Header.Period, m.Header.PeriodType = 512<<10, profile.ValueType{Type: "space", Unit: "bytes"}
			m.stack(file, objects, "main.one", 4, "main.main", 10)
			m.add("os.ReadFile", "<made>", 0, 1, []string{"[cpu*100]"})
		})
		if len(found) != want {
			t.Errorf("with %d bytes there are %d findings, want %d: %+v", 32*objects, len(found), want, found)
		}
	}
}

// Many small objects that a line makes itself are told of beside what takes more time. Those of a function of another package, which the code
// may have to call, are not; the line is named among those that are left out.
func TestMostObjectsBesideOthers(t *testing.T) {
	const src = `package main

import (
	"reflect"
	"regexp"
)

var keep []any

func own(text string) {
	keep = append(keep[:0], []byte(text))
}

func called(t reflect.Type) {
	keep = append(keep[:0], reflect.New(t))
}

func main() {
	for {
		own("text")
		called(reflect.TypeFor[int]())
		regexp.MustCompile("a|b") // cost: [cpu*50] regexp.MustCompile regexp.compile
	}
}
`
	for at, want := range map[string]string{"[]byte(text)": "more objects are made on this line than on any other", "reflect.New(t)": ""} {
		n := lineOf(src, at)
		below, fn := "runtime.stringtoslicebyte", "main.own"
		if want == "" {
			below, fn = "reflect.New", "main.called"
		}
		a := adviceOn(t, "1.26", src, func(m *madeProfile, file string) {
			m.stack(file, 4000, below, 0, fn, n, "main.main", 20)
			m.stack(file, 6000, "os.ReadFile", 0, "runtime.main", 0)
			m.add("os.ReadFile", "<made>", 0, 1, []string{"[cpu*100]"})
			m.add("os.ReadFile", "<made>", 0, 1, []string{"[alloc_space*900000]"})
		})
		got := ""
		if i := slices.IndexFunc(a.Findings, func(f report.Finding) bool { return f.Where.Line == n }); i >= 0 {
			got = a.Findings[i].Title
		}
		if got != want || len(a.Findings) < 1 {
			t.Errorf("%s: it says %q, want %q: %+v", at, got, want, a.Findings)
		}
		named := slices.ContainsFunc(a.Unsaid, func(l report.UnsaidLine) bool { return l.Where.Line == n && l.Objects > 0.39 })
		if named != (want == "") {
			t.Errorf("%s: left out are %v", at, a.Unsaid)
		}
	}
}

// A few samples of append growing the list do not hide that the objects are its elements.
func TestElementsOfAppend(t *testing.T) {
	for cpu, want := range map[string]string{"[cpu] runtime.growslice": "slice allocated on every call", "[cpu*9] runtime.growslice": "slice grown by append"} {
		src := `package main

var keep [][]byte

func more() {
	keep = append(keep, make([]byte, 1024)) // cost: ` + cpu + ` runtime.mallocgc, [alloc_space*1000], [alloc_objects]
}

func main() {
	for {
		more() // cost: [cpu] runtime.usleep
	}
}
`
		found := adviseOn(t, src, func(m *madeProfile, _ string) {
			m.Header.Period, m.Header.PeriodType = 1000, profile.ValueType{Type: "cpu", Unit: "nanoseconds"} // of one sample
		})
		i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Rule == "hot-allocation" })
		if i < 0 || found[i].Title != want || strings.Contains(found[i].Claim, "of all objects") != (want != "slice grown by append") {
			t.Errorf("%s: %+v; want %q", cpu, found, want)
		}
	}
}

// A line counts with the CPU time that the collector needs for what it allocates, as in what the finding says. A line that makes more than half
// of all bytes has a finding, however little CPU time it takes.
func TestLargeAllocators(t *testing.T) {
	for name, tt := range map[string]struct {
		bytes, collector string // of all bytes, and of 100 of CPU, of which the line has 2
		once             bool
		want             string
		unsaid           int // lines
	}{
		"the collector takes the time":         {bytes: "40", collector: "10", want: "object allocated on every call"},
		"neither takes much":                   {bytes: "40", collector: "1", unsaid: 1},
		"most bytes":                           {bytes: "60", collector: "1", want: "most bytes are allocated on one line"},
		"most bytes, made once":                {bytes: "60", collector: "1", once: true, unsaid: 1},
		"few bytes, and the collector is busy": {bytes: "10", collector: "60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn, call := "parse", "parse()"
			if tt.once {
				fn, call = "init", ""
			}
			rest, err := strconv.Atoi(tt.bytes)
			if err != nil {
				t.Fatal(err)
			}
			src := `package main

var states []*[99]int

func ` + fn + `() {
	states = append(states[:0], new([99]int)) // cost: [cpu*2] runtime.newobject runtime.mallocgc, [alloc_space*` + tt.bytes + `], [alloc_objects]
}

func main() {
	for {
		` + call + `
	}
}
`
			advice := adviceOn(t, "1.26", src, func(m *madeProfile, file string) {
				m.add("runtime.gcBgMarkWorker", "<made>", 0, 1, []string{"[cpu*" + tt.collector + "]"})
				m.add("os.ReadFile", "<made>", 0, 1, []string{"[cpu*100]"})
				m.add("os.ReadFile", "<made>", 0, 1, []string{"[alloc_space*" + strconv.Itoa(100-rest) + "]"})
				m.add("os.ReadFile", "<made>", 0, 1, []string{"[alloc_objects*99]"})
			})
			got, found := "", advice.Findings
			if i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Where.Line == 6 }); i >= 0 {
				got = found[i].Title
			}
			if got != tt.want {
				t.Errorf("it says %q; want %q: %+v", got, tt.want, found)
			}
			if len(advice.Unsaid) != tt.unsaid {
				t.Errorf("these lines are left out: %v; want %d", advice.Unsaid, tt.unsaid)
			}
		})
	}
}
