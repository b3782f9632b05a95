package prove

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// Limits of the tests that are run against each other where no benchmark reaches what changed.
const (
	leastTest = 20 * time.Millisecond // less is mostly what is around the code
	mostTest  = 2 * time.Second       // more would leave too few runs to compare
	mostLooks = 8                     // at tests of a package, of which
	mostTests = 3                     // are compared
)

// Files with benchmarks that run tests: in the package, and outside of it.
const (
	testsFile  = "zz_tests_by_hone_test.go"
	testsXFile = "zz_xtests_by_hone_test.go"
)

// slowTests makes benchmarks of the tests that take long enough for it, reach what changed, and pass when they run again.
func (r *run) slowTests(ctx context.Context, pairs []*pair, work string) (out []*benchmarks, err error) {
	if r.suite == nil && r.plain != nil {
		key := testKey(r.plain.dirs, false)
		old, err := r.oldSuite(ctx, r.plain.dirs, false, r.plain.short)
		if err != nil && !errors.Is(err, errLongTests) {
			return nil, err
		}
		if r.suite = old; old != nil && r.opt.Tests != nil {
			r.opt.Tests.went(key, old, r.opt.Tests.now[key])
		}
	}
	if r.suite == nil {
		return nil, nil
	}
	touched, paths := touchedBy(pairs)
	if len(touched) == 0 {
		return nil, nil
	}
	for i, p := range pairs {
		names := p.slowest(r.suite)
		if len(names) == 0 {
			continue
		}
		r.opt.Say("finding the tests that reach the change, " + p.new.pkg.PkgPath)
		dir := filepath.Join(work, fmt.Sprintf("tests%d", i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		overlay, err := writeGenerated(dir, []*benchmarks{p.ofTests(names)})
		if err != nil {
			return nil, err
		}
		found, _, err := r.reachingIn(ctx, probing{
			dir: "./" + filepath.ToSlash(p.rel), flags: []string{"-overlay=" + overlay}, quiet: true, bench: "^Benchmark(" + strings.Join(names, "|") + ")$", time: "2x",
			file: filepath.Join(dir, "tests.test"), paths: paths, touched: touched,
		})
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(found, func(b reaching) bool { return b.name == "Benchmark"+name })
		})
		names = names[:min(len(names), mostTests)]
		if len(names) > 0 {
			out = append(out, p.ofTests(names))
		}
	}
	return out, nil
}

// slowest returns the tests of a package in both versions that took long enough, those that took longest first.
func (p *pair) slowest(s *suite) (names []string) {
	in := filepath.Base(p.new.pkg.PkgPath) + "."
	for name, o := range s.tests {
		test, ok := strings.CutPrefix(name, in)
		if ok && !o.failed && o.took >= leastTest && o.took <= mostTest && p.new.holding(test) != nil && p.old.holding(test) != nil {
			names = append(names, test)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := s.tests[in+a].took, s.tests[in+b].took; x != y {
			return int(y - x)
		}
		return strings.Compare(a, b)
	})
	return names[:min(len(names), mostLooks)]
}

// holding returns the package that declares a test: with the tests in it, or that of the tests outside. It is nil where none does.
func (s *side) holding(test string) *packages.Package {
	for _, pkg := range []*packages.Package{s.pkg, s.outer} {
		if pkg == nil || pkg.Types.Scope().Lookup("Benchmark"+test) != nil {
			continue
		}
		for _, f := range pkg.Syntax {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv == nil && fn.Name.Name == test && strings.HasSuffix(pkg.Fset.File(f.Pos()).Name(), "_test.go") {
					return pkg
				}
			}
		}
	}
	return nil
}

// testAgain runs a test as often as a benchmark wants it. What package testing has for generated programs takes no notice of the pattern
// of tests that the program was given.
const testAgain = `
func honeTest(b *testing.B, name string, test func(*testing.T)) {
	b.ReportAllocs()
	all := func(string, string) (bool, error) { return true, nil }
	for i := 0; i < b.N; i++ {
		if !testing.RunTests(all, []testing.InternalTest{{Name: name, F: test}}) {
			b.Fatal("the test fails when it runs again")
		}
	}
}
`

// ofTests writes benchmarks that run tests.
func (p *pair) ofTests(names []string) *benchmarks {
	out := &benchmarks{rel: p.rel, sources: make(map[string]string), rows: len(names)}
	for _, v := range []*side{p.old, p.new} {
		texts := make(map[string]string)
		for _, name := range names {
			pkg := v.holding(name)
			if texts[pkg.Name] == "" {
				texts[pkg.Name] = "package " + pkg.Name + "\n\nimport \"testing\"\n" + testAgain
			}
			texts[pkg.Name] += fmt.Sprintf("\nfunc Benchmark%s(b *testing.B) { honeTest(b, %[1]q, %[1]s) }\n", name)
		}
		for in, text := range texts {
			file := testsFile
			if strings.HasSuffix(in, "_test") {
				file = testsXFile
			}
			out.sources[filepath.Join(v.dir, file)] = text
		}
	}
	for _, name := range names {
		out.names = append(out.names, "Benchmark"+name)
	}
	return out
}
