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

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/racelog"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// Fix proves the patches that are known for what was found, and writes those that are proven: each variable by itself, on top of
// those before it. A patch is proven when the package builds and vet finds nothing new, when the same runs that showed the race,
// and as many again, show it no more, and when no test fails that did not fail before. Files are changed only in the end, and
// only where they still are what the patch was made of.
func (s *Search) Fix(ctx context.Context) ([]report.RaceFix, error) {
	if len(s.opt.own) > 0 {
		return nil, errors.New("with -overlay, hone cannot prove patches: it patches the files on disk")
	}
	var out []report.RaceFix
	seen := make(map[string]bool)
	for _, p := range s.groups.Pairs() {
		s.code.pkgs, s.code.texts = nil, nil // files may have changed
		v, err := s.code.variable(ctx, &p.Race)
		if err != nil {
			return out, err
		}
		if v == nil || seen[v.name] {
			continue
		}
		seen[v.name] = true
		f, err := v.patch()
		if err != nil {
			continue // the report says why
		}
		s.opt.Say("proving the patch of " + v.name)
		f.Dir = s.opt.Dir
		fix, err := s.prove(ctx, v, f)
		if err != nil {
			return out, fmt.Errorf("proving the patch of %s: %w", v.name, err)
		}
		if fix.Proven {
			if fix.Written, err = s.write(ctx, f); err != nil {
				return append(out, fix), err
			}
		}
		out = append(out, fix)
	}
	return out, nil
}

// prove tries a patch on a copy of the search.
func (s *Search) prove(ctx context.Context, v *variable, f *mending) (report.RaceFix, error) {
	fix := report.RaceFix{Variable: v.name, Patch: f.Diff()}
	check := func(name string, o report.Outcome, detail string) {
		fix.Checks = append(fix.Checks, report.Check{Name: name, Outcome: o, Detail: detail})
	}
	work, err := scratch.Dir("race-fix-")
	if err != nil {
		return fix, err
	}
	defer os.RemoveAll(work)
	overlay, err := f.Overlay(work)
	if err != nil {
		return fix, err
	}
	t := newSearch(s.opt, work)
	t.dir, t.calls = s.dir, s.calls // those that showed the race; what does not compile with the patch is left out
	if err := t.prepare(ctx, overlay, work); err != nil {
		var wrong *gocmd.Error
		if errors.Is(err, ErrNoBuild) || errors.As(err, &wrong) {
			fix.Checks = append(fix.Checks, report.BuildCheck(report.Failed, err.Error()))
			return fix, nil
		}
		return fix, err
	}
	fix.Checks = append(fix.Checks, report.BuildCheck(report.Passed, ""))
	said, err := prove.VetWith(ctx, t.goHere(), filepath.Join(work, "overlay.json"), v.pkg.PkgPath)
	if err != nil {
		return fix, err
	}
	if said != "" {
		check("vet", report.Failed, said)
		return fix, nil
	}
	check("vet", report.Passed, "")

	began := time.Now()
	if err := t.again(ctx, s.how); err != nil {
		return fix, err
	}
	for _, p := range t.groups.Pairs() {
		if v.maybe(&p.Race) {
			check("the race is gone", report.Failed, fmt.Sprintf("the race still occurs, in %d of %d runs", len(p.Sources), t.out.Tried.Runs))
			return fix, nil
		}
	}
	check("the race is gone", report.Passed, fmt.Sprintf("in %s that showed it in %d, in %s", unit.Counted(t.out.Tried.Runs, "run"), s.runsWith(v), unit.Time(time.Since(began))))
	if h := t.newHang(s.hangs); h != nil {
		check("nothing hangs", report.Failed, h.Text)
		return fix, nil
	}
	if t.out.Tried.Failed > 0 && s.out.Tried.Failed == 0 {
		check("it runs", report.Failed, strings.ReplaceAll(t.out.Notes.String(), "\n", "; "))
		return fix, nil
	}
	for name, why := range t.failing {
		if _, before := s.failing[name]; !before {
			check("tests", report.Failed, strings.TrimSpace(name+" "+why))
			return fix, nil
		}
	}
	bad, err := t.plainTests(ctx, overlay, work)
	if err != nil {
		return fix, err
	}
	if bad != "" {
		check("tests", report.Failed, bad)
		return fix, nil
	}
	how := "all without the race detector"
	if t.out.Tried.Tests > 0 {
		how = unit.Counted(t.out.Tried.Tests, "test") + " with the race detector, and all without it"
	}
	check("tests", report.Passed, how)
	fix.Proven = true
	return fix, nil
}

// newHang returns a deadlock of another kind or in another function than those before; a patch moves lines.
func (s *Search) newHang(before []*report.Hang) *report.Hang {
	in := func(h *report.Hang) map[string]bool {
		out := make(map[string]bool)
		for _, w := range h.Waiting {
			out[w.Func] = true
		}
		return out
	}
	for _, h := range s.hangs {
		known := slices.ContainsFunc(before, func(old *report.Hang) bool {
			was := in(old)
			for name := range in(h) {
				if !was[name] {
					return false
				}
			}
			return old.Kind == h.Kind
		})
		if !known {
			return h
		}
	}
	return nil
}

// runsWith counts the runs that showed a race about a variable.
func (s *Search) runsWith(v *variable) int {
	runs := make(map[int]bool)
	for _, p := range s.groups.Pairs() {
		for i := range p.Accesses {
			if at, ok := p.Accesses[i].Place(); ok && v.lines[at.File][at.Line] {
				for _, n := range p.Sources {
					runs[n] = true
				}
			}
		}
	}
	return len(runs)
}

// again does the same runs, and at least as many as find a race that shows in every third run only.
func (s *Search) again(ctx context.Context, runs []How) error {
	const enough = 12
	for n := 0; n < max(len(runs), min(enough, 2*len(runs))); n++ {
		how := runs[n%len(runs)]
		if n >= len(runs) {
			how.Seed += 1 << 20
		}
		if how.Subject >= len(s.subject) {
			continue
		}
		s.opt.Say("with the patch: " + s.say(how))
		if _, err := s.run(ctx, how, s.opt.Time); err != nil {
			return err
		}
	}
	return nil
}

// maybe reports whether a race in the patched code may be about the variable. The patch moved lines, so that it is known by its
// name; where there is none, any race in a file that was changed counts: rather too many than too few.
func (v *variable) maybe(r *racelog.Race) bool {
	if r.Global != "" {
		return r.Global[strings.LastIndexByte(r.Global, '.')+1:] == v.obj.Name()
	}
	for i := range r.Accesses {
		if _, ok := v.lines[racelog.User(r.Accesses[i].Stack).File]; ok {
			return true
		}
	}
	return false
}

// plainTests runs the tests of the patched code without the race detector, and returns what fails that did not fail before.
func (s *Search) plainTests(ctx context.Context, overlay gocmd.Overlay, work string) (string, error) {
	s.opt.Say("with the patch: tests without the race detector")
	file := filepath.Join(work, "plain.json")
	if err := overlay.Write(file); err != nil {
		return "", err
	}
	var flags []string
	if s.opt.Run != "" {
		flags = append(flags, "-run="+s.opt.Run)
	}
	return prove.TestsWith(ctx, s.goHere(), file, flags, s.opt.Packages...)
}

// write changes the files of a patch, all of them or none.
func (s *Search) write(ctx context.Context, f *mending) ([]string, error) {
	for _, name := range f.Names() {
		if s.uncommitted(ctx, name) {
			s.note("%s had uncommitted changes: the patch is on top of them", s.rel(name))
		}
	}
	out, err := f.Write()
	if err != nil {
		return nil, fmt.Errorf("the patch is proven, but %w", err)
	}
	return out, nil
}

// uncommitted reports whether git knows the file in another state.
func (s *Search) uncommitted(ctx context.Context, name string) bool {
	status, err := git.Command{Dir: filepath.Dir(name)}.Line(ctx, "status", "--porcelain", "--", name)
	return err == nil && status != ""
}
