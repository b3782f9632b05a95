package gosrc

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/hone-perf/hone/internal/profile"
)

// A Module tells which functions are in the sources of a module. It reads packages when it is asked about them, all their files: which of them
// are built depends on the system.
type Module struct {
	Path string

	dir      string
	packages map[string]map[string]bool // functions and Type.Method by import path
}

// ModuleAt returns the module that a folder belongs to, or nil where there is none.
func ModuleAt(dir string) *Module {
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			m := &Module{Path: modfile.ModulePath(text), dir: dir, packages: map[string]map[string]bool{}}
			if m.Path == "" {
				return nil
			}
			return m
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return nil // what is wrong with it is for others to say
		}
		dir = up
	}
}

// Has reports whether the sources have a function, as profiles name it. Of package main, any program of the module may have it.
func (m *Module) Has(function string) bool {
	pkg := profile.PackageOf(function)
	names, ok := m.packages[pkg]
	if !ok {
		names = map[string]bool{}
		if pkg == "main" {
			m.mains(names)
		} else if inside, ok := strings.CutPrefix(pkg+"/", m.Path+"/"); ok {
			declared(filepath.Join(m.dir, filepath.FromSlash(inside)), "", names)
		}
		m.packages[pkg] = names
	}
	rest := function[strings.LastIndexByte(cutArguments(function), '/')+1:]
	_, rest, _ = strings.Cut(rest, ".")
	if typ, method, ok := strings.Cut(strings.TrimPrefix(rest, "(*"), ")."); ok && strings.HasPrefix(rest, "(*") {
		rest = cutArguments(typ) + "." + method
	}
	first, more, _ := strings.Cut(withoutArguments(rest), ".")
	second, _, _ := strings.Cut(more, ".")
	first, _, _ = strings.Cut(first, "-") // -fm, -range1
	second, _, _ = strings.Cut(second, "-")
	return names[first] || names[first+"."+second] || len(names) > 0 && (first == "init" || first == "glob" || first == "")
}

// cutArguments cuts a name off where type arguments or a receiver begin.
func cutArguments(name string) string {
	if i := strings.IndexAny(name, "[("); i >= 0 {
		return name[:i]
	}
	return name
}

// withoutArguments takes type arguments out of a name.
func withoutArguments(name string) string {
	for {
		from := strings.IndexByte(name, '[')
		if from < 0 {
			return name
		}
		depth, to := 0, len(name)
		for i, c := range []byte(name[from:]) {
			if c == '[' {
				depth++
			} else if c == ']' {
				if depth--; depth == 0 {
					to = from + i + 1
					break
				}
			}
		}
		name = name[:from] + name[to:]
	}
}

// mains adds what the programs of the module declare.
func (m *Module) mains(names map[string]bool) {
	filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case path == m.dir:
		case strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || d.Name() == "vendor":
			return fs.SkipDir
		default:
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		declared(path, "main", names)
		return nil
	})
}

// declared adds what the files of a folder declare, if they are of a package, or of any where that is "".
func declared(dir, pkg string, names map[string]bool) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	fset := token.NewFileSet()
	for _, name := range files {
		if pkg != "" {
			if head, err := parser.ParseFile(fset, name, nil, parser.PackageClauseOnly); err != nil || head.Name.Name != pkg {
				continue
			}
		}
		f, _ := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if f == nil {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Recv == nil || len(fn.Recv.List) == 0 {
				names[fn.Name.Name] = true
			} else if typ := typeName(fn.Recv.List[0].Type); typ != "" {
				names[typ+"."+fn.Name.Name] = true
			}
		}
	}
}
