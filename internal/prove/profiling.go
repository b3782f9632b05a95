package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/capture"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// A Profiling runs the benchmarks of packages with profiles. Of packages that have none, which are most, it runs the tests, and calls of
// their functions that it makes up. It can run several times, as code changes; Close lets go of what it made.
type Profiling struct {
	capture.Benchmarks
	Time time.Duration     // for what stands in for benchmarks: making calls up, and running them and tests; 0 is usualStandIn
	Seed uint64            // of what is made up
	Note func(text string) // is told once what stands in for benchmarks; nil is nobody

	began bool
	list  []standIn
	work  string // folder of what was made; "" is none
	file  string // the overlay with it; "" is none
}

// usualStandIn is how long what stands in for benchmarks takes at most.
const usualStandIn = 2 * time.Minute

// A standIn is what is run of a package that has no benchmarks.
type standIn struct {
	gocmd.TestPackage
	name  string // as the user would write it
	tests bool
	calls int    // that were made up
	why   string // there are none
	main  bool
}

// A NothingToRunError says that packages have neither benchmarks nor tests, nor functions that can be called with made-up arguments.
type NothingToRunError struct {
	Packages []string // as the user would write them
	Main     bool     // there is one, and it is a program
	Why      string   // its functions are not called
}

func (e *NothingToRunError) Error() string {
	const what = "no benchmarks, no tests, and no function that hone can call with made-up arguments"
	if len(e.Packages) == 1 {
		return fmt.Sprintf("%s has %s (%s)", e.Packages[0], what, e.Why)
	}
	return fmt.Sprintf("the %d packages have %s", len(e.Packages), what)
}

// Close removes what was made.
func (p *Profiling) Close() {
	if p.work != "" {
		os.RemoveAll(p.work)
	}
}

// Run records the packages.
func (p *Profiling) Run(ctx context.Context, opt capture.Options) (*capture.Recorded, error) {
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	// Who names benchmarks wants those and no others.
	if p.Bench == "" && !p.began {
		p.Time = cmp.Or(p.Time, usualStandIn)
		if err := p.standIns(ctx, opt); err != nil {
			return nil, err
		}
		p.began = true
	}
	b := p.Benchmarks
	calls := 0
	for _, s := range p.list {
		if s.tests || s.calls > 0 {
			b.Instead = append(b.Instead, s.ImportPath)
			calls += s.calls
		}
	}
	b.InsteadTime = p.Time / 2
	if p.file != "" {
		b.Flags = append(slices.Clip(b.Flags), "-overlay="+p.file)
	}
	return capture.Bench(ctx, opt, b)
}

// standIns finds the packages without benchmarks, and what can be run of them.
func (p *Profiling) standIns(ctx context.Context, opt capture.Options) error {
	patterns := p.Packages
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	opt.Say("looking for benchmarks in " + strings.Join(patterns, " "))
	found, err := gocmd.Command{Dir: opt.Dir}.TestPackages(ctx, patterns, p.Flags)
	if err != nil {
		return err
	}
	any := regexp.MustCompile(".")
	p.list = nil
	for i := range found {
		if t := &found[i]; t.HasBenchmark(any) || len(t.GoFiles)+len(t.CgoFiles)+len(t.TestGoFiles)+len(t.XTestGoFiles) == 0 {
			continue
		}
		p.list = append(p.list, standIn{TestPackage: found[i], name: nameIn(opt.Dir, &found[i]), tests: found[i].HasTest(), main: found[i].Name == "main"})
	}
	if len(p.list) == 0 {
		return nil
	}
	if err := p.makeUp(ctx, opt); err != nil {
		return err
	}
	empty := p.empty()
	if len(empty) == len(found) {
		e := &NothingToRunError{Packages: empty}
		if len(empty) == 1 {
			e.Main, e.Why = p.list[0].main, p.list[0].why
		}
		return e
	}
	for _, text := range p.said() {
		opt.Say(text)
		if p.Note != nil {
			p.Note(text)
		}
	}
	return nil
}

// nameIn returns what to call a package in a folder.
func nameIn(dir string, t *gocmd.TestPackage) string {
	rel, err := filepath.Rel(dir, t.Dir)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return t.ImportPath
	case rel == ".":
		return "."
	}
	return "./" + filepath.ToSlash(rel)
}

// makeUp makes calls up of the functions of all packages without benchmarks, as long as there is time for it.
func (p *Profiling) makeUp(ctx context.Context, opt capture.Options) (err error) {
	if p.work, err = scratch.Dir("made-up-"); err != nil {
		return err
	}
	v := Version{Name: "as it is", Dir: opt.Dir}
	change, err := (&Change{Old: v, New: v}).withFlags(ctx, p.Flags)
	if errors.Is(err, ErrFlag) {
		for i := range p.list {
			p.list[i].why = err.Error()
		}
		return nil
	}
	if err != nil {
		return err
	}
	v = change.Old
	end := time.Now().Add(p.Time / 2)
	var made []*benchmarks
	for i := range p.list {
		s := &p.list[i]
		if i > 0 && time.Now().After(end) { // building the first is no reason to go without
			s.why = "the time for making up calls was over"
			continue
		}
		opt.Say(fmt.Sprintf("making up calls of %s, %d of %d packages without benchmarks", s.name, i+1, len(p.list)))
		g, why, err := v.makeUpOf(ctx, s, filepath.Join(p.work, fmt.Sprint(i)), Options{
			Time: min(madeUpTime, max(p.Time/time.Duration(4*len(p.list)), leastShare)), Executions: madeUpTries, Seed: p.Seed, Say: opt.Say,
		})
		var broken *BrokenError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &broken) && len(p.list) == 1:
			return fmt.Errorf("the package does not build: %w", broken)
		case err != nil:
			s.why = firstOf(err)
		case g == nil:
			s.why = why
		}
		if g != nil {
			made = append(made, g)
			for _, about := range g.about {
				s.calls += about.Calls
			}
		}
	}
	if len(made) == 0 {
		return nil
	}
	p.file, err = writeGenerated(p.work, made)
	return err
}

// makeUpOf makes up calls of the functions of one package.
func (v Version) makeUpOf(ctx context.Context, p *standIn, work string, opt Options) (*benchmarks, string, error) {
	dir, err := filepath.Rel(v.Dir, p.Dir)
	if err != nil {
		return nil, "it is on another drive", nil
	}
	sides, err := loadSides(ctx, v, []string{dir})
	if err != nil {
		return nil, "", err
	}
	s := sides[dir]
	if s == nil {
		return nil, "it has only tests", nil
	}
	return s.makeUp(ctx, work, opt)
}

// empty names the packages of which nothing can be run.
func (p *Profiling) empty() (names []string) {
	for i := range p.list {
		if s := &p.list[i]; !s.tests && s.calls == 0 {
			names = append(names, s.name)
		}
	}
	return names
}

// fewPackages is of how many packages it is said one by one what stands in for their benchmarks.
const fewPackages = 3

// said says what stands in for benchmarks.
func (p *Profiling) said() (out []string) {
	empty := p.empty()
	if len(p.list)-len(empty) <= fewPackages {
		for i := range p.list {
			if s := &p.list[i]; s.tests || s.calls > 0 {
				out = append(out, s.said())
			}
		}
	} else {
		tests, calls := 0, 0
		for i := range p.list {
			if p.list[i].tests {
				tests++
			}
			calls += p.list[i].calls
		}
		out = append(out, fmt.Sprintf("%s have no benchmarks: profiling the tests of %d and %s of their exported functions", unit.Counted(len(p.list)-len(empty), "package"), tests, madeUpCalls(calls)))
	}
	switch {
	case len(empty) == 0:
	case len(empty) <= fewPackages:
		out = append(out, fmt.Sprintf("left out, for having no benchmarks, no tests, and no function that hone can call with made-up arguments: %s", strings.Join(empty, ", ")))
	default:
		out = append(out, fmt.Sprintf("left out, for having no benchmarks, no tests, and no function that hone can call with made-up arguments: %d packages", len(empty)))
	}
	return out
}

func (s *standIn) said() string {
	functions := "exported functions"
	if s.main {
		functions = "functions"
	}
	switch {
	case s.calls == 0:
		return fmt.Sprintf("%s has no benchmarks: profiling its tests alone, since none of its functions can be called with made-up arguments (%s)", s.name, s.why)
	case !s.tests:
		return fmt.Sprintf("%s has no benchmarks and no tests: profiling %s of its %s", s.name, madeUpCalls(s.calls), functions)
	}
	return fmt.Sprintf("%s has no benchmarks: profiling its tests and %s of its %s", s.name, madeUpCalls(s.calls), functions)
}

func madeUpCalls(n int) string { return unit.Counted(n, "made-up call") }
