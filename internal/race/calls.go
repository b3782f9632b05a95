package race

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/racelog"
)

const (
	callsFile = "zz_hone_calls_test.go"
	callsTime = 3 * time.Second // to find calls of a package that can be made
)

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

// addCalls writes the test that makes the calls.
func (sub *subject) addCalls(work string, number int) (gocmd.Overlay, error) {
	file := filepath.Join(work, fmt.Sprintf("calls%d_test.go", number))
	if err := os.WriteFile(file, []byte(sub.calls.Source), 0o600); err != nil {
		return nil, err
	}
	return gocmd.Overlay{filepath.Join(sub.dir, callsFile): file}, nil
}

// calledOn returns the calls on stacks.
func (sub *subject) calledOn(stacks ...[]racelog.Frame) []*prove.ParallelCall {
	var out []*prove.ParallelCall
	if sub.calls == nil {
		return nil
	}
	for _, stack := range stacks {
		for _, f := range stack {
			if filepath.Base(f.File) != callsFile {
				continue
			}
			for i := range sub.calls.Calls {
				c := &sub.calls.Calls[i]
				if c.First <= f.Line && f.Line <= c.Last {
					out = append(out, c)
				}
			}
			break // what is below it is of calls before, where one of them panicked
		}
	}
	return out
}

// calledBy says which calls showed a race, and returns a program that makes them.
func (s *Search) calledBy(sub *subject, p *racelog.Pair) (by, program string) {
	var stacks [][]racelog.Frame
	for i := range p.Accesses {
		stacks = append(stacks, p.Accesses[i].Stack)
	}
	calls := sub.calledOn(stacks...)
	if len(calls) == 0 {
		return "made-up calls of " + sub.importPath + " at the same time", ""
	}
	var names, texts []string
	for _, c := range calls {
		texts = append(texts, "go func() {\n"+indented(c.Text)+"\n}()")
	}
	for _, stack := range stacks { // what of the package was called
		if i := slices.IndexFunc(stack, func(f racelog.Frame) bool { return made(&f) }); i > 0 {
			name := s.frame(stack[i-1]).Func
			names = append(names, name[strings.IndexByte(name, '.')+1:])
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	by = strings.Join(names, " and ") + ", called by several goroutines"
	if c := calls[0]; c.Of != "" {
		by += " on one " + c.Of
		if c.Setup != "" {
			texts = slices.Insert(texts, 0, c.Setup)
		}
	}
	return by, strings.Join(texts, "\n")
}

func indented(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }
