package gocmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A TestPackage is a package and its tests.
type TestPackage struct {
	Dir, ImportPath, Name     string
	GoFiles, CgoFiles         []string
	TestGoFiles, XTestGoFiles []string
	Error                     *struct{ Err string }
}

// TestPackages lists the packages that patterns mean.
func (c Command) TestPackages(ctx context.Context, patterns, flags []string) ([]TestPackage, error) {
	args := append([]string{"list", "-e", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Error"}, flags...)
	out, err := c.Run(ctx, append(args, patterns...)...)
	if err != nil {
		return nil, err
	}
	var found []TestPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p TestPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if p.Dir == "" {
			if p.Error != nil {
				if about, err := c.About(ctx); strings.HasPrefix(p.ImportPath, ".") && err == nil && (about.GOMOD == "" || about.GOMOD == os.DevNull) {
					return nil, NoModule(c.Dir)
				}
				if homeless := Homeless(c.Dir, p.Error.Err); homeless != nil {
					return nil, homeless
				}
				return nil, errors.New(p.Error.Err)
			}
			continue
		}
		found = append(found, p)
	}
}

// HasBenchmark reports whether the package declares a benchmark that the pattern matches.
func (p *TestPackage) HasBenchmark(rx *regexp.Regexp) bool {
	return p.declares(func(name string) bool { return strings.HasPrefix(name, "Benchmark") && rx.MatchString(name) })
}

// HasTest reports whether the package declares something that go test runs: a test, a fuzz test, or an example.
func (p *TestPackage) HasTest() bool {
	return p.declares(func(name string) bool {
		return name != "TestMain" && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example"))
	})
}

// declares reports whether one of the files with tests declares a function with a name that matches, or cannot be read.
func (p *TestPackage) declares(matches func(name string) bool) bool {
	return slices.ContainsFunc(slices.Concat(p.TestGoFiles, p.XTestGoFiles), func(name string) bool {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if f == nil || err != nil {
			return true // the compiler will say what is wrong
		}
		return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Recv == nil && matches(fn.Name.Name)
		})
	})
}
