package code

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hone-perf/hone/internal/gocmd"
)

// NewName returns a name for a variable of the package that nothing in it has.
func (f *Func) NewName(base string) string {
	if token.IsKeyword(base) || base == "" {
		base += "Value"
	}
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name += strconv.Itoa(i)
		}
		if f.Pkg.Types.Scope().Lookup(name) == nil && types.Universe.Lookup(name) == nil && !f.Pkg.names[name] && !f.Mentions(name) {
			if f.Pkg.names == nil {
				f.Pkg.names = make(map[string]bool)
			}
			f.Pkg.names[name] = true
			return name
		}
	}
}

// Mentions reports whether any file of the package has an identifier.
func (fn *Func) Mentions(name string) bool {
	for _, f := range fn.Pkg.Files {
		found := false
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return fn.Pkg.others(name)
}

// others reports whether a name is in any of the files of the folder that were not loaded: tests, and those for other systems.
func (u *Package) others(name string) bool {
	if u.rest == nil {
		u.rest = []byte{}
		for _, f := range u.Files {
			all, err := gocmd.Files(filepath.Dir(f.Path), "*.go")
			if err != nil {
				break
			}
			for _, one := range all {
				if text, err := os.ReadFile(one); err == nil && u.Files[one] == nil {
					u.rest = append(u.rest, text...)
				}
			}
			break
		}
	}
	return bytes.Contains(u.rest, []byte(name))
}
