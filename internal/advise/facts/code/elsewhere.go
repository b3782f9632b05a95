package code

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes/writes"
)

// WrittenElsewhere reports whether a variable of the package may be written to by what was not loaded: tests, files for other systems, assembly,
// and packages that know it by a go:linkname.
func (u *Package) WrittenElsewhere(name string) bool {
	if u.elsewhere == nil {
		u.elsewhere = make(map[string]bool)
		for _, f := range u.Files {
			u.linked(f.Text)
		}
		for _, f := range u.Files {
			all, err := gocmd.Files(filepath.Dir(f.Path), "*.*")
			if err != nil {
				break
			}
			for _, one := range all {
				if u.Files[one] == nil {
					u.readElsewhere(one)
				}
			}
			break
		}
	}
	return u.elsewhere[name]
}

// What names a variable where there are no types.
var (
	linkname = regexp.MustCompile(`(?m)^//go:linkname\s+(\w+)`)
	symbols  = regexp.MustCompile(`·(\w+)`)
)

func (u *Package) linked(text []byte) {
	for _, m := range linkname.FindAllSubmatch(text, -1) {
		u.elsewhere[string(m[1])] = true
	}
}

// readElsewhere notes what a file may write to: all that one for other systems names, and what a test assigns to. Nothing is known of types there.
func (u *Package) readElsewhere(file string) {
	ext := filepath.Ext(file)
	if ext != ".go" && ext != ".s" && ext != ".S" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if ext != ".go" {
		for _, m := range symbols.FindAllSubmatch(text, -1) {
			u.elsewhere[string(m[1])] = true
		}
		return
	}
	if bytes.Contains(text, []byte("go:linkname")) {
		u.linked(text)
	}
	f, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if f == nil || f.Name.Name != u.Types.Name() {
		return
	}
	if !strings.HasSuffix(file, "_test.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				u.elsewhere[id.Name] = true
			}
			return true
		})
		return
	}
	for w := range writes.In(&types.Info{}, f) {
		switch w.How {
		case writes.Define, writes.Send, writes.Receive:
			continue
		}
		if w.Root != nil {
			u.elsewhere[w.Root.Name] = true
		}
	}
}

// LooksInside reports whether something in the package, or in its tests, compares or shows all of a value, with fields that only the package can name:
// then it tells nil from a list without elements.
func (u *Package) LooksInside() bool {
	for _, name := range []string{"DeepEqual", "%#v", "cmp.Equal", "cmp.Diff", "assert.", "require."} {
		if u.others(name) {
			return true
		}
		for _, f := range u.Files {
			if bytes.Contains(f.Text, []byte(name)) {
				return true
			}
		}
	}
	return false
}
