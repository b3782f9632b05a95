package rules

import (
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// Errors that a loop makes before main are on no path that is taken often.
func TestErrorsBeforeMain(t *testing.T) {
	const src = "package main\n\nimport \"fmt\"\n\nvar errs []error\n\nfunc init() {\n\tfor i := range 9 {\n\t\terrs = append(errs, fmt.Errorf(\"error %d\", i))\n\t}\n}\n\nfunc main() { println(len(errs)) }\n"
	found := adviseOn(t, src, func(m *madeProfile, file string) {
		m.stack(file, 1000, "fmt.Sprintf", 0, "fmt.Errorf", 0, "main.init.0", 9)
		m.stack(file, 1500, "os.ReadFile", 0, "runtime.main", 0)
	})
	if len(found) != 1 || found[0].Rule != "hot-call" || found[0].Title != "work done when the program starts" {
		t.Errorf("found %+v", found)
	}
}

// What runs once is not said to be made for every call. In all programs, the line with "x+" compiles a regexp.
func TestCodeThatRunsOnce(t *testing.T) {
	const begin = "package main\n\nimport (\n\t\"regexp\"\n\t\"sync\"\n)\n\nvar re *regexp.Regexp\n\nvar once sync.Once\n\n"
	const compiled = "re = regexp.MustCompile(\"x+\")"
	for name, tt := range map[string]struct {
		src, fn string
		above   []any // frames above the line
		tells   bool
	}{
		"init":                         {"func init() {\n\t" + compiled + "\n}\n\nfunc main() { once.Do(func() {}) }\n", "main.init.0", nil, false},
		"main":                         {"func main() {\n\tonce.Do(func() {})\n\t" + compiled + "\n}\n", "main.main", nil, false},
		"a literal called in place":    {"func main() {\n\tdefer func() {\n\t\t" + compiled + "\n\t}()\n\tonce.Do(func() {})\n}\n", "main.main.func1", []any{"main.main", 13}, false},
		"a loop of main":               {"func main() {\n\tfor range 9 {\n\t\t" + compiled + "\n\t}\n\tonce.Do(func() {})\n}\n", "main.main", nil, true},
		"before a loop of main":        {"func main() {\n\tfor " + compiled + "; ; {\n\t\tonce.Do(func() {})\n\t}\n}\n", "main.main", nil, false},
		"a literal that main keeps":    {"var f func()\n\nfunc main() {\n\tf = func() {\n\t\t" + compiled + "\n\t}\n\tfor range 9 {\n\t\tf()\n\t}\n\tonce.Do(func() {})\n}\n", "main.main.func1", []any{"main.main", 18}, true},
		"a literal of the package":     {"var f = func() {\n\t" + compiled + "\n}\n\nfunc main() {\n\tfor range 9 {\n\t\tf()\n\t}\n\tonce.Do(func() {})\n}\n", "main.init.func1", []any{"main.main", 18}, true},
		"sync.Once":                    {"func get() {\n\tonce.Do(func() {\n\t\t" + compiled + "\n\t})\n}\n\nfunc main() {\n\tfor range 9 {\n\t\tget()\n\t}\n}\n", "main.get.func1", []any{"sync.(*Once).Do", 0, "main.get", 13, "main.main", 20}, false},
		"sync.OnceValue":               {"var get = sync.OnceValue(func() int {\n\t" + compiled + "\n\treturn 1\n})\n\nfunc main() {\n\tfor range 9 {\n\t\tget()\n\t}\n\tonce.Do(func() {})\n}\n", "main.init.func1", []any{"main.main", 19}, false},
		"a function for init":          {"func fill() {\n\t" + compiled + "\n}\n\nfunc init() { fill() }\n\nfunc main() { once.Do(func() {}) }\n", "main.fill", []any{"main.init.0", 16}, false},
		"a function for a variable":    {"var n = fill()\n\nfunc fill() int {\n\t" + compiled + "\n\treturn 1\n}\n\nfunc main() { once.Do(func() {}) }\n", "main.fill", []any{"main.init", 12}, false},
		"a function for main":          {"func run() {\n\tonce.Do(func() {})\n\t" + compiled + "\n}\n\nfunc main() { run() }\n", "main.run", []any{"main.main", 17}, true},
		"a function in a loop":         {"func fill() {\n\t" + compiled + "\n}\n\nfunc init() {\n\tfor range 9 {\n\t\tfill()\n\t}\n}\n\nfunc main() { once.Do(func() {}) }\n", "main.fill", []any{"main.init.0", 18}, true},
		"a function that is handed on": {"func fill() {\n\t" + compiled + "\n}\n\nfunc each(f func()) {\n\tfor range 9 {\n\t\tf()\n\t}\n}\n\nfunc init() { each(fill) }\n\nfunc main() { once.Do(func() {}) }\n", "main.fill", []any{"main.each", 18, "main.init.0", 22}, true},
		"a benchmark of a function":    {"func fill() {\n\t" + compiled + "\n}\n\nfunc init() { fill() }\n\nfunc main() { once.Do(func() {}) }\n", "main.fill", []any{"testing.(*B).runN", 0}, true},
		"a method named init":          {"type t struct{}\n\nfunc (t) init() {\n\t" + compiled + "\n}\n\nfunc main() {\n\tfor range 9 {\n\t\tt{}.init()\n\t}\n\tonce.Do(func() {})\n}\n", "main.t.init", []any{"main.main", 20}, true},
		"the New of a pool":            {"var pool = sync.Pool{New: func() any {\n\t" + compiled + "\n\treturn re\n}}\n\nfunc main() {\n\tfor range 9 {\n\t\tpool.Get()\n\t}\n\tonce.Do(func() {})\n}\n", "main.init.func1", []any{"sync.(*Pool).Get", 0, "main.main", 19}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := begin + tt.src
			n := lineOf(src, "regexp.MustCompile")
			found := adviseOn(t, src, func(m *madeProfile, file string) {
				m.stack(file, 1000, append([]any{"regexp.compile", 0, "regexp.MustCompile", 0, tt.fn, n}, tt.above...)...)
				m.stack(file, 1500, "os.ReadFile", 0, "runtime.main", 0)
			})
			if got := slices.ContainsFunc(found, func(f report.Finding) bool { return f.Rule == "regexp-per-call" && f.Where.Line == n }); got != tt.tells {
				t.Errorf("found %+v", found)
			}
		})
	}
}
