package race

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove"
)

func exe(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// goHere returns the go command where packages are built.
func (s *Search) goHere() gocmd.Command { return gocmd.Command{Dir: s.dir, Env: s.opt.env} }

// noBuild makes an error of what the compiler says.
func noBuild(err error) error {
	var wrong *gocmd.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("%w: %s", ErrNoBuild, strings.TrimSpace(wrong.Output))
	}
	return err
}

// buildProgram builds the one package that is to be run.
func (s *Search) buildProgram(ctx context.Context, overlay gocmd.Overlay, work string) error {
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].Name != "main" {
		return fmt.Errorf("%w: %s: arguments after -- are for one program, and this is %s", ErrAsked, strings.Join(s.opt.Packages, " "), described(list))
	}
	p := list[0]
	s.opt.Say("building " + p.ImportPath)
	file := filepath.Join(work, exe("program"))
	args := []string{"build", "-race", "-o", file}
	args, err = s.withOverlay(args, overlay, work)
	if err != nil {
		return err
	}
	if _, err := s.goHere().Run(ctx, append(args, s.opt.Packages...)...); err != nil {
		return noBuild(err)
	}
	sub := &subject{importPath: p.ImportPath, dir: p.Dir, file: file, program: true}
	s.subject = []*subject{sub}
	serving, err := s.serving(ctx, list)
	if err != nil {
		return err
	}
	sub.serving = serving[p.ImportPath]
	return nil
}

func described(list []pkg) string {
	switch {
	case len(list) == 0:
		return "no package"
	case len(list) > 1:
		return fmt.Sprintf("%d packages", len(list))
	}
	return "package " + list[0].Name
}

// withOverlay adds an overlay to the flags of a build, on top of the user's own.
func (s *Search) withOverlay(args []string, overlay gocmd.Overlay, work string) ([]string, error) {
	if len(overlay) == 0 {
		return args, nil
	}
	all := maps.Clone(s.opt.own)
	maps.Copy(all, overlay)
	file := filepath.Join(work, "overlay.json")
	if err := all.Write(file); err != nil {
		return nil, err
	}
	return append(args, "-overlay="+file), nil
}

// A pkg is what go list says about a package.
type pkg struct {
	Dir, ImportPath, Name     string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Standard                  bool
	Error                     *struct{ Err string }
}

// A NotInStdError says that a package is none of the standard library, where the go command looks for a path without a dot in its first part:
// who writes cmd/app mostly means the folder ./cmd/app.
type NotInStdError struct {
	Path string
	Err  error // of the go command
}

func (e *NotInStdError) Error() string { return e.Err.Error() }

func (e *NotInStdError) Unwrap() error { return e.Err }

func (s *Search) list(ctx context.Context) ([]pkg, error) {
	args := []string{"list", "-e", "-json=Dir,ImportPath,Name,GoFiles,TestGoFiles,XTestGoFiles,Standard,Error"}
	out, err := s.goHere().Run(ctx, append(args, s.opt.Packages...)...)
	if err != nil {
		return nil, noBuild(err)
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if p.Error != nil && len(p.GoFiles)+len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			wrong := errors.New(p.Error.Err)
			if first, _, _ := strings.Cut(p.ImportPath, "/"); p.Dir == "" && !strings.Contains(first, ".") {
				wrong = &NotInStdError{p.ImportPath, wrong}
			}
			return nil, fmt.Errorf("%w: %w", ErrNothing, wrong)
		}
		list = append(list, p)
	}
	return list, nil
}

var testFunc = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`) })

// tests counts the tests in a file that are to be run.
func (s *Search) tests(text []byte) int {
	top, _, _ := strings.Cut(s.opt.Run, "/")
	rx, err := regexp.Compile(top)
	n := 0
	for _, m := range testFunc().FindAllSubmatch(text, -1) {
		if name := string(m[1]); name != "TestMain" && (err != nil || rx.MatchString(name)) {
			n++
		}
	}
	return n
}

// buildTests builds the tests of all packages that have some, or that have handlers.
func (s *Search) buildTests(ctx context.Context, overlay gocmd.Overlay, work string) error {
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: %s: no packages", ErrNothing, strings.Join(s.opt.Packages, " "))
	}
	serving, err := s.serving(ctx, list)
	if err != nil {
		return err
	}
	if err := s.makeUpCalls(ctx, list, work); err != nil {
		return err
	}
	if overlay, err = s.addYields(list, overlay, work); err != nil {
		return err
	}
	for i, p := range list {
		sub := &subject{importPath: p.ImportPath, dir: p.Dir, file: filepath.Join(work, exe(fmt.Sprintf("%d.test", i)))}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			at := filepath.Join(p.Dir, name)
			for _, o := range []gocmd.Overlay{overlay, s.opt.own} {
				if by, ok := o[at]; ok {
					at = by
					break
				}
			}
			text, err := os.ReadFile(at)
			if err != nil {
				return fmt.Errorf("reading tests: %w", err)
			}
			sub.tests += s.tests(text)
		}
		if v := serving[p.ImportPath]; v != nil && len(v.Handlers) > 0 {
			sub.serving = v
		}
		if calls := s.calls[p.ImportPath]; calls != nil && len(calls.Calls) > 0 {
			sub.calls = calls
		}
		if sub.tests == 0 && sub.serving == nil && sub.calls == nil {
			continue
		}
		s.opt.Say("building the tests of " + p.ImportPath + " with the race detector")
		sub.build = func(ctx context.Context) error { return s.buildTest(ctx, sub, overlay, work, i) }
		if err := sub.build(ctx); err != nil {
			return err
		}
		s.subject = append(s.subject, sub)
	}
	if len(s.subject) == 0 {
		what := "package " + list[0].ImportPath + " has"
		if len(list) > 1 {
			what = fmt.Sprintf("%d packages have", len(list))
		}
		tests := "tests"
		if s.opt.Run != "" {
			tests = fmt.Sprintf("tests that match %q", s.opt.Run)
		}
		return fmt.Errorf("%w: %s neither %s nor handlers of HTTP requests, nor functions that can be called", ErrNothing, what, tests)
	}
	return nil
}

// serving finds handlers, when they are to be asked.
func (s *Search) serving(ctx context.Context, list []pkg) (map[string]*prove.Serving, error) {
	out := make(map[string]*prove.Serving)
	if s.opt.NoReplay {
		return out, nil
	}
	var dirs []string
	for _, p := range list {
		rel, err := filepath.Rel(s.dir, p.Dir)
		if err != nil || !filepath.IsLocal(rel) {
			return out, nil // elsewhere: its handlers are its own
		}
		dirs = append(dirs, rel)
	}
	s.opt.Say("looking for handlers")
	found, err := prove.Requests(ctx, prove.Version{Name: "here", Dir: s.dir, Env: s.opt.env}, dirs, s.opt.Seed, requestsEach)
	var broken *prove.BrokenError
	if errors.As(err, &broken) {
		return nil, fmt.Errorf("%w: %s", ErrNoBuild, broken.Text)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		out[found[i].ImportPath] = &found[i]
	}
	return out, nil
}

// triesToBuild is how often single calls that do not compile are left out, before all beside them are.
const triesToBuild = 4

// buildTest builds the test program of a package. What does not fit into it, handlers or calls, is left out.
func (s *Search) buildTest(ctx context.Context, sub *subject, overlay gocmd.Overlay, work string, number int) error {
	for try := 0; ; try++ {
		all := maps.Clone(overlay)
		if all == nil {
			all = gocmd.Overlay{}
		}
		if sub.serving != nil {
			added, err := sub.addReplay(work, number, s.opt.Requests)
			if err != nil {
				return err
			}
			maps.Copy(all, added)
		}
		if sub.calls != nil {
			added, err := sub.addCalls(work, number)
			if err != nil {
				return err
			}
			maps.Copy(all, added)
		}
		args, err := s.withOverlay(slices.Concat([]string{"test", "-c", "-race", "-vet=off"}, s.opt.quick, []string{"-o", sub.file}), all, work)
		if err != nil {
			return err
		}
		_, err = s.goHere().Run(ctx, append(args, sub.importPath)...)
		var wrong *gocmd.Error
		switch {
		case err == nil || !errors.As(err, &wrong):
			return noBuild(err)
		case sub.calls != nil && sub.leaveOut(wrong.Output, try >= triesToBuild):
			if sub.calls == nil {
				s.note("the functions of %s are not called from several goroutines: %s", sub.importPath, firstLine(wrong.Output))
			}
		case sub.serving != nil && strings.Contains(wrong.Output, replayFile):
			s.note("the handlers of %s get no requests: %s", sub.importPath, firstLine(wrong.Output))
			sub.serving = nil
		default:
			return noBuild(err)
		}
		if sub.tests == 0 && sub.serving == nil && sub.calls == nil {
			return noBuild(err)
		}
	}
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
