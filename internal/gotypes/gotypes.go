// Package gotypes loads Go packages as typed syntax, also those that are written for a newer Go than hone was built with.
//
// Most code for a newer Go uses no new syntax. hone reads it as code of the newest Go that it knows. Where a package does use new syntax,
// loading it returns a NewerError, which says what to do.
package gotypes

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
)

// built is the Go that this program reads code with.
var built = runtime.Version()

// A NewerError says that a package needs a newer Go to read than the one that this program was built with.
type NewerError struct {
	Package string
	Needs   string // the version in go.mod or in a build constraint, such as go1.27.3
	Built   string // the version of this program, such as go1.26.8
	First   string // the first thing that could not be read
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s is written for %s, and this hone was built with %s, which cannot read all of it: %s", e.Package, shown(e.Needs), shown(e.Built), e.First)
}

// Hint returns the next step.
func (e *NewerError) Hint() hint.Text {
	return hint.Text{fmt.Sprintf("build hone with that Go: GOTOOLCHAIN=%s go install github.com/hone-perf/hone@latest", toolchain(e.Needs))}
}

// shown writes a version as people do.
func shown(v string) string { return "Go " + strings.TrimPrefix(v, "go") }

// toolchain returns the name of a release: go 1.27 in a go.mod is a language, of which go1.27.0 is the first release.
func toolchain(v string) string {
	if v == version.Lang(v) {
		return v + ".0"
	}
	return v
}

// Load loads packages as packages.Load does, with the flags in the GOFLAGS of cfg.Env, too. Types come from what the compiler exported, or from sources where this program is too old to
// read that. That a package is written for a newer Go is no error by itself.
func Load(cfg *packages.Config, patterns ...string) ([]*packages.Package, error) {
	own := *cfg
	cfg = &own
	env, flags := gocmd.Loading(cfg.Env)
	cfg.Env, cfg.BuildFlags = env, slices.Concat(flags, cfg.BuildFlags)
	cfg.ParseFile = untilDone(cfg.Context, cfg.ParseFile)
	found, err := load(cfg, patterns)
	if err != nil {
		return nil, err
	}
	const sources = packages.NeedSyntax | packages.NeedDeps
	if cfg.Mode&packages.NeedTypes != 0 && cfg.Mode&sources != sources && unreadable(found) {
		cfg.Mode |= packages.LoadAllSyntax
		if found, err = load(cfg, patterns); err != nil {
			return nil, err
		}
	}
	packages.Visit(found, nil, func(p *packages.Package) {
		forgive(p)
		mergeErrors(p)
	})
	return found, nil
}

// load loads packages. Where its context has ended meanwhile, packages are incomplete, and it returns why.
func load(cfg *packages.Config, patterns []string) ([]*packages.Package, error) {
	found, err := packages.Load(cfg, patterns...)
	if cfg.Context != nil && cfg.Context.Err() != nil {
		return nil, cfg.Context.Err()
	}
	return found, err
}

// A parseFile parses a file for packages.Load.
type parseFile = func(fset *token.FileSet, name string, src []byte) (*ast.File, error)

// untilDone returns a parser that reads no more files once a context has ended. packages.Load asks its context only while the go command runs:
// without files, it has no types to check.
func untilDone(ctx context.Context, parse parseFile) parseFile {
	if parse == nil {
		parse = func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			return parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments)
		}
	}
	if ctx == nil {
		return parse
	}
	return func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return parse(fset, name, src)
	}
}

// unreadable reports whether what the compiler exported of some package could not be read.
func unreadable(found []*packages.Package) bool {
	bad := false
	packages.Visit(found, nil, func(p *packages.Package) {
		bad = bad || len(p.Syntax) == 0 && slices.ContainsFunc(p.Errors, placeless)
	})
	return bad
}

// placeless reports whether an error is of a package as a whole, and not the go command's: such as that its export data is too new.
func placeless(e packages.Error) bool { return e.Kind == packages.UnknownError && e.Pos == "-" }

// Imports loads the types of packages, by import path, for code that imports them.
func Imports(cfg packages.Config, paths ...string) (types.Importer, error) {
	cfg.Mode = packages.LoadTypes
	found, err := Load(&cfg, paths...)
	if err != nil {
		return nil, err
	}
	known := make(importer)
	for _, p := range found {
		known[p.PkgPath] = p
	}
	return known, nil
}

type importer map[string]*packages.Package

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := i[path]
	if p == nil {
		return nil, fmt.Errorf("package %s is not known", path)
	}
	if len(p.Errors) > 0 {
		return nil, Problem(p)
	}
	return p.Types, nil
}

// Problem returns why a package cannot be used, or nil: a NewerError where this program is too old to read it, else the first error.
func Problem(p *packages.Package) error {
	if len(p.Errors) == 0 {
		return nil
	}
	if needs := needs(p); newer(needs) {
		return &NewerError{Package: p.PkgPath, Needs: needs, Built: built, First: p.Errors[0].Error()}
	}
	first, _, _ := strings.Cut(Text(p.Errors[0]), "\n")
	return errors.New(first)
}

// Text returns what an error of a package says, after its place if it has one.
func Text(e packages.Error) string {
	return strings.TrimPrefix(e.Error(), "-: ") // the place of an error that has none
}

// Readable returns a NewerError where this program is too old to read one of the packages that patterns name. It is for commands that would
// otherwise say so after minutes. Whatever else is wrong is left for those who load the packages.
func Readable(ctx context.Context, dir string, env []string, patterns ...string) error {
	cfg := packages.Config{Context: ctx, Dir: dir, Env: env, Mode: packages.NeedName | packages.NeedModule}
	found, err := Load(&cfg, patterns...)
	if err != nil || !slices.ContainsFunc(found, func(p *packages.Package) bool { return newer(needs(p)) }) {
		return nil
	}
	cfg.Mode |= packages.LoadSyntax
	if found, err = Load(&cfg, patterns...); err != nil {
		return nil
	}
	for _, p := range found {
		var newer *NewerError
		if errors.As(Problem(p), &newer) {
			return newer
		}
	}
	return nil
}

// Version returns the version to check a package with: that of its module, or the newest one that is known here. It is "" where a package
// is in no module.
func Version(p *packages.Package) string {
	if p.Module == nil || p.Module.GoVersion == "" {
		return ""
	}
	v := "go" + p.Module.GoVersion
	if newer(v) {
		return version.Lang(built)
	}
	return v
}

// newer reports whether a version of the language is newer than what this program reads. Built from Go's development branch it reads all.
func newer(v string) bool {
	return version.IsValid(built) && version.Compare(version.Lang(v), version.Lang(built)) > 0
}

// needs returns the newest Go that a package asks for, in go.mod or in one of its files.
func needs(p *packages.Package) string {
	v := ""
	if p.Module != nil && p.Module.GoVersion != "" {
		v = "go" + p.Module.GoVersion
	}
	for _, f := range p.Syntax {
		if version.Compare(f.GoVersion, v) > 0 {
			v = f.GoVersion
		}
	}
	return v
}

// forgive takes away the errors which say no more than that a package is written for a newer Go: it was type-checked all the same.
func forgive(p *packages.Package) {
	if len(p.Errors) == 0 || !newer(needs(p)) {
		return
	}
	// Errors of the type checker about the package clause of a file are about its version: that names disagree is found before.
	clauses := make(map[string]bool)
	for _, f := range p.Syntax {
		for _, pos := range []token.Pos{f.Package, f.Name.Pos()} {
			clauses[p.Fset.Position(pos).String()] = true
		}
	}
	real := slices.DeleteFunc(slices.Clone(p.Errors), func(e packages.Error) bool {
		// packages.Load adds an error without a place where there are others, about its version of Go.
		return e.Kind == packages.TypeError && clauses[e.Pos] || placeless(e)
	})
	if len(real) == 0 {
		p.Errors, p.TypeErrors, p.IllTyped = nil, nil, false
		return
	}
	p.Errors = real
}

// mergeErrors keeps one error for each mistake. go list joins all lines of the compiler into one error without a place. The type checker then
// reports the same mistakes with their places. If only the compiler found them, its lines stay, without the line that names the package.
func mergeErrors(p *packages.Package) {
	placed := slices.ContainsFunc(p.Errors, func(e packages.Error) bool { return e.Pos != "" && e.Pos != "-" })
	var kept []packages.Error
	for _, e := range p.Errors {
		if text, ok := strings.CutPrefix(e.Msg, "# "); ok && e.Pos == "" {
			if placed {
				continue
			}
			if _, lines, ok := strings.Cut(text, "\n"); ok {
				e.Msg = strings.TrimSpace(lines)
			}
		}
		kept = append(kept, e)
	}
	p.Errors = kept
}
