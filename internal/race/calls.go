package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/racelog"
)

// callsTime is the time to find calls of a package that can be made.
const callsTime = 5 * time.Second

// makeUpCalls makes up the calls of all packages, once.
func (s *Search) makeUpCalls(ctx context.Context, list []pkg, work string) error {
	if s.calls != nil || s.opt.NoCalls || s.opt.Run != "" {
		return nil
	}
	s.calls = make(map[string]*prove.Parallel)
	var dirs []string
	for _, p := range list {
		rel, err := filepath.Rel(s.dir, p.Dir)
		if err != nil || !filepath.IsLocal(rel) {
			return nil
		}
		dirs = append(dirs, rel)
	}
	// All packages together take as long as the search at most, or little for one.
	each := max(min(callsTime, s.opt.Time/time.Duration(max(1, len(dirs)))), callsTime/6)
	found, err := prove.ParallelCalls(ctx, prove.Version{Name: "here", Dir: s.dir, Env: s.opt.env}, dirs, work, s.opt.Seed, each, s.opt.Say)
	var broken *prove.BrokenError
	if errors.As(err, &broken) {
		return fmt.Errorf("%w: %s", ErrNoBuild, broken.Text)
	}
	if err != nil {
		return err
	}
	for i := range found {
		p := &found[i]
		s.calls[p.ImportPath] = p
		if p.Left != "" {
			s.note("no functions of %s are called from several goroutines: %s", p.ImportPath, firstLine(p.Left))
		}
	}
	return nil
}

// addCalls writes the tests that make the calls.
func (sub *subject) addCalls(work string, number int) (gocmd.Overlay, error) {
	out := make(gocmd.Overlay)
	for _, f := range sub.calls.Files {
		file := filepath.Join(work, fmt.Sprintf("calls%d_%s", number, f.Name)) // either name may be in a message of the compiler
		if err := os.WriteFile(file, []byte(f.Source), 0o600); err != nil {
			return nil, err
		}
		out[filepath.Join(sub.dir, f.Name)] = file
	}
	return out, nil
}

// leaveOut leaves out the calls that a message of the compiler is about, or all in their file, and reports whether there are any.
func (sub *subject) leaveOut(message string, all bool) bool {
	found := false
	for _, f := range sub.calls.Files {
		var lines []int
		for line := range strings.Lines(message) {
			if _, at, ok := strings.Cut(line, f.Name+":"); ok {
				number, _, _ := strings.Cut(at, ":")
				if n, err := strconv.Atoi(number); err == nil {
					lines = append(lines, n)
				}
			}
		}
		if len(lines) > 0 && sub.calls != nil {
			found = true
			if all {
				lines = nil
			}
			sub.calls = sub.calls.Without(f.Name, lines)
		}
		if sub.calls == nil {
			break
		}
	}
	return found
}

// calledOn returns the calls on stacks.
func (sub *subject) calledOn(stacks ...[]racelog.Frame) []*prove.ParallelCall {
	var out []*prove.ParallelCall
	if sub.calls == nil {
		return nil
	}
	for _, stack := range stacks {
		for _, f := range stack {
			if !made(&f) {
				continue
			}
			for i := range sub.calls.Calls {
				c := &sub.calls.Calls[i]
				if c.File == filepath.Base(f.File) && c.First <= f.Line && f.Line <= c.Last {
					out = append(out, c)
				}
			}
			break // what is below it is of calls before, where one of them panicked
		}
	}
	return out
}

// calledBy returns the calls that goroutines make.
func (sub *subject) calledBy(all []racelog.Stopped) []*prove.ParallelCall {
	stacks := make([][]racelog.Frame, len(all))
	for i := range all {
		stacks[i] = all[i].Stack
	}
	return sub.calledOn(stacks...)
}

// calledBy says which calls led to stacks, and returns a program that makes them.
func (s *Search) calledBy(sub *subject, stacks ...[]racelog.Frame) (by, program string) {
	calls := sub.calledOn(stacks...)
	if len(calls) == 0 {
		return "made-up calls of " + sub.importPath + " at the same time", ""
	}
	var names, texts []string
	for _, c := range calls {
		texts = append(texts, "go func() {\n"+indented(c.Text)+"\n}()")
	}
	for _, stack := range stacks { // what of the package was called
		if i := slices.IndexFunc(stack, func(f racelog.Frame) bool { return made(&f) }); i > 0 && !racelog.Library(stack[i-1].Func) {
			name := s.frame(stack[i-1]).Func
			names = append(names, name[strings.IndexByte(name, '.')+1:])
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	by = cmp.Or(strings.Join(names, " and "), "functions") + ", called by several goroutines"
	if c := calls[0]; c.Of != "" {
		by += " on one " + c.Of
		if c.Setup != "" {
			texts = slices.Insert(texts, 0, c.Setup)
		}
	}
	return by, strings.Join(texts, "\n")
}

func indented(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }

// forTests is files of packages that are there for tests, by the name of their folder.
var forTests = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/(\w+_|[a-z]|http|io|zap|log)?(test|tests|testing|testutils?|testhelpers?|mocks?|fakes?)/[^/]+$`)
})

// ofRuntime reports whether a function is what copy, a map or a conversion is compiled to.
func ofRuntime(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/")
}

// ofTests reports whether a race that calls showed is in what tests have beside the code, such as a fake writer, or in the calls
// themselves: that is not made to be shared. The package itself is in dir. Functions of tests that make a call of the package for
// their caller are as good as the caller.
func ofTests(r *racelog.Race, dir string) bool {
	for i := range r.Accesses {
		stack := r.Accesses[i].Stack
		for len(stack) > 0 && ofRuntime(stack[0].Func) { // it copies for the function that called it
			stack = stack[1:]
		}
		n := slices.IndexFunc(stack, func(f racelog.Frame) bool { return made(&f) })
		if n < 0 {
			n = len(stack)
		}
		for n > 0 && n < len(stack) && strings.HasSuffix(stack[n-1].File, "_test.go") {
			n--
		}
		if n == 0 && len(stack) > 0 {
			return true
		}
		for j := range n {
			if file := stack[j].File; strings.HasSuffix(file, "_test.go") || forTests().MatchString(file) && filepath.Dir(file) != dir {
				return true
			}
		}
	}
	return false
}
