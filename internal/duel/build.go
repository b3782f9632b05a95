package duel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
)

// A pkg is a package of one side that has benchmarks.
type pkg struct {
	Dir, ImportPath           string
	TestGoFiles, XTestGoFiles []string
	Module                    *module
	Error                     *struct{ Err string }

	key string // names it on both sides
}

// A module is where a package is from.
type module struct{ Path, Dir string }

func (p *pkg) tests() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

// A program is a test program.
type program struct {
	file string
	dir  string   // where it runs
	env  []string // that it runs with, beside that of this process
	sum  [sha256.Size]byte
	from *module // nil when that is not known
	// clocked says that its benchmarks report the CPU time of what they time.
	clocked bool
	turns   bool // that it can take turns with another one
}

// with returns a program that runs with an environment.
func (p *program) with(env []string) *program {
	other := *p
	other.env = env
	return &other
}

// same reports whether there is nothing in which two programs and their runs can differ.
func (p *program) same(other *program) bool {
	return p.sum == other.sum && slices.Equal(p.env, other.env)
}

// packages lists those of a side that have a benchmark that the pattern may mean.
func (s *Side) packages(ctx context.Context, patterns, flags []string, bench *regexp.Regexp) ([]*pkg, error) {
	args := append([]string{"list", "-e", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles,Module,Error"}, s.flags(flags)...)
	out, err := s.command().Run(ctx, append(args, patterns...)...)
	var wrong *gocmd.Error
	switch {
	case errors.As(err, &wrong):
		return nil, &gocmd.Error{Doing: "listing the packages of " + strings.Join(patterns, " ") + ", " + s.Name, Output: wrong.Output}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	var found []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if p.Dir == "" {
			if p.Error != nil {
				if homeless := gocmd.Homeless(s.Dir, p.Error.Err); homeless != nil {
					return nil, fmt.Errorf("%s: %w", s.Name, homeless)
				}
				return nil, fmt.Errorf("%s: %s", s.Name, p.Error.Err)
			}
			continue
		}
		// Two folders may be one module twice, or two packages of one.
		if p.key, err = filepath.Rel(s.Dir, p.Dir); err != nil || strings.HasPrefix(p.key, "..") {
			p.key = p.ImportPath
		}
		for _, f := range p.tests() {
			if hasBenchmark(filepath.Join(p.Dir, f), bench) {
				found = append(found, p)
				break
			}
		}
	}
}

// hasBenchmark reports whether a file declares a benchmark that the pattern matches.
func hasBenchmark(file string, bench *regexp.Regexp) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if f == nil || err != nil {
		return true // the compiler will say what is wrong
	}
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Benchmark") && bench.MatchString(fn.Name.Name)
	})
}

// A builder builds test programs of both sides in the same way.
type builder struct {
	side    *Side
	work    string // a folder that is thrown away
	cmd     gocmd.Command
	common  []string // flags for both sides
	flags   []string // without those that the builder has its own of
	about   gocmd.About
	overlay gocmd.Overlay // for both sides
	own     gocmd.Overlay // that of the user, without a clock
	ldflags string
	clocked bool
	turns   bool
	n       int
}

func newBuilder(ctx context.Context, s *Side, work string, flags []string) (*builder, error) {
	cmd := s.command()
	about, err := cmd.About(ctx)
	if err == nil {
		err = runsHere(about)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if cmd, about, err = cmd.Replaceable(about, work); err != nil {
		return nil, err
	}
	b := &builder{side: s, work: work, common: flags, cmd: cmd, about: about, overlay: gocmd.Overlay{}}
	var overlay string
	b.flags, overlay, b.ldflags = gocmd.SplitFlags(about.GOFLAGS, s.flags(flags))
	if overlay != "" {
		if b.overlay, err = gocmd.ReadOverlay(s.Dir, overlay); err != nil {
			return nil, err
		}
	}
	b.own = maps.Clone(b.overlay)
	b.clocked, b.turns, err = addClock(about.GOROOT, work, b.overlay)
	return b, err
}

// alike makes two builders build programs that are timed in the same way, or what differs would be that, too.
func alike(a, b *builder) {
	if !a.clocked || !b.clocked {
		for _, b := range []*builder{a, b} {
			b.overlay, b.clocked, b.turns = b.own, false, false
		}
	}
	a.turns, b.turns = a.turns && b.turns, a.turns && b.turns
}

// build builds the tests of a package; with tests, those of that package instead of its own.
func (b *builder) build(ctx context.Context, p, tests *pkg, layout int) (*program, error) {
	if tests != nil {
		if rel, err := filepath.Rel(b.about.GOMODCACHE, p.Dir); b.about.GOMODCACHE != "" && err == nil && filepath.IsLocal(rel) {
			return nil, hint.Errorf(hint.Text{"copy the module to another folder, and compare the copy"},
				"%s is in the module cache, where the go command cannot use the tests of another version", p.Dir)
		}
	}
	overlay, err := b.writeOverlay(p, tests)
	if err != nil {
		return nil, err
	}
	prog := &program{dir: p.Dir, from: p.Module, file: filepath.Join(b.work, fmt.Sprintf("%d.test", b.n)), clocked: b.clocked, turns: b.turns}
	err = b.run(ctx, prog, overlay, layout, "the tests of "+p.ImportPath, p.ImportPath, "test", "-c", "-vet=off")
	if wrong := (*gocmd.Error)(nil); tests != nil && errors.As(err, &wrong) {
		return nil, hint.Errorf(hint.Text{"without ", hint.Option{Name: "new-tests"}, ", each version runs the benchmarks that it has"}, "%w", err)
	}
	return prog, err
}

// writeOverlay writes the file that replaces sources of a package, and of those that time it; with tests, also its tests.
func (b *builder) writeOverlay(p, tests *pkg) (file string, err error) {
	b.n++
	overlay := maps.Clone(b.overlay)
	if tests != nil {
		for _, f := range p.tests() {
			overlay[filepath.Join(p.Dir, f)] = ""
		}
		for _, f := range tests.tests() {
			overlay[filepath.Join(p.Dir, f)] = filepath.Join(tests.Dir, f)
		}
	}
	return b.overlayFile(overlay)
}

// overlayFile writes an overlay for what is built next.
func (b *builder) overlayFile(overlay gocmd.Overlay) (file string, err error) {
	file = filepath.Join(b.work, fmt.Sprintf("overlay%d.json", b.n))
	return file, overlay.Write(file)
}

// program builds a main package.
func (b *builder) program(ctx context.Context, pattern string) (*program, error) {
	out, err := b.cmd.Run(ctx, slices.Concat([]string{"list", "-f", "{{.Name}}"}, b.side.flags(b.common), []string{pattern})...)
	var wrong *gocmd.Error
	switch names := strings.Fields(string(out)); {
	case errors.As(err, &wrong):
		return nil, &gocmd.Error{Doing: fmt.Sprintf("looking for %s, %s", pattern, b.side.Name), Output: wrong.Output}
	case err != nil:
		return nil, err
	case len(names) != 1:
		return nil, fmt.Errorf("%s matches %d packages, but {program} stands for one", pattern, len(names))
	case names[0] != "main":
		return nil, fmt.Errorf("%s is package %s, but {program} needs package main", pattern, names[0])
	}
	b.n++
	prog := &program{file: filepath.Join(b.work, fmt.Sprintf("%d", b.n), "program")}
	if err := os.Mkdir(filepath.Dir(prog.file), 0o700); err != nil {
		return nil, err
	}
	overlay, err := b.overlayFile(b.own)
	if err != nil {
		return nil, err
	}
	if err := b.run(ctx, prog, overlay, 0, pattern, pattern, "build"); err != nil {
		return nil, err
	}
	return prog, nil
}

// run builds a program, which is called what in errors.
func (b *builder) run(ctx context.Context, prog *program, overlay string, layout int, what, pattern string, args ...string) error {
	if b.about.GOOS == "windows" {
		prog.file += ".exe"
	}
	// Without paths and build IDs in them, programs of the same code are the same.
	ldflags := "-buildid= " + b.ldflags
	if args[0] == "test" {
		ldflags = "-w " + ldflags // as go test does, which takes a quarter less time to link
	}
	if layout > 0 {
		ldflags += fmt.Sprintf(" -randlayout=%d", layout)
	}
	args = slices.Concat(args, []string{"-trimpath", "-buildvcs=false"}, b.flags)
	args = append(args, "-overlay="+overlay, "-ldflags="+strings.TrimSpace(ldflags), "-o", prog.file, pattern)
	if _, err := b.cmd.Run(ctx, args...); err != nil {
		var wrong *gocmd.Error
		if errors.As(err, &wrong) {
			return &gocmd.Error{Doing: fmt.Sprintf("building %s, %s", what, b.side.Name), Output: wrong.Output}
		}
		return err
	}
	return prog.hash()
}

func (p *program) hash() error {
	f, err := os.Open(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	h.Sum(p.sum[:0])
	return nil
}

// versionOf returns the version of Go that builds a side.
func versionOf(a gocmd.About) string { return cmp.Or(a.GOVERSION, "unknown") }

// untested returns a package of this side that has no benchmarks of its own, the one that stands where p does on the other.
func (s *Side) untested(ctx context.Context, p *pkg, flags []string) (*pkg, error) {
	pattern := "./" + filepath.ToSlash(p.key)
	if p.key == p.ImportPath {
		pattern = p.ImportPath
	}
	args := append([]string{"list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles,Module"}, s.flags(flags)...)
	out, err := s.command().Run(ctx, append(args, pattern)...)
	if err != nil {
		return nil, err
	}
	old := &pkg{key: p.key}
	return old, json.Unmarshal(out, old)
}
