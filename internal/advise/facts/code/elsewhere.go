package code

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
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
	write := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.SliceExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.Ident:
				u.elsewhere[x.Name] = true
				return
			default:
				return
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, l := range n.Lhs {
					write(l)
				}
			}
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				write(n.X)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				write(n.Key)
				if n.Value != nil {
					write(n.Value)
				}
			}
		case *ast.CallExpr:
			if id := AsIdent(n.Fun); id != nil && len(n.Args) > 0 && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") {
				write(n.Args[0])
			}
		}
		return true
	})
}
