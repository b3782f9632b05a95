package race

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
)

// addYields adds files to an overlay in which goroutines let others run after they took a lock. Two that take two locks in different orders wait for
// each other only if each has its first: the few nanoseconds in between seldom coincide by themselves.
func (s *Search) addYields(list []pkg, overlay gocmd.Overlay, work string) (gocmd.Overlay, error) {
	all := maps.Clone(overlay)
	if all == nil {
		all = gocmd.Overlay{}
	}
	for i, p := range list {
		if p.Standard {
			continue // the runtime may import it
		}
		for _, name := range p.GoFiles {
			at := filepath.Join(p.Dir, name)
			source := at
			for _, o := range []gocmd.Overlay{s.opt.own, overlay} {
				if by, ok := o[at]; ok {
					source = by
				}
			}
			text, err := os.ReadFile(source)
			if err != nil {
				return nil, fmt.Errorf("reading the sources: %w", err)
			}
			with, ok := yielding(text)
			if !ok {
				continue
			}
			file := filepath.Join(work, fmt.Sprintf("%d-%s", i, name))
			if err := os.WriteFile(file, with, 0o600); err != nil {
				return nil, err
			}
			all[at] = file
		}
	}
	return all, nil
}

// yielding returns a file with a call of runtime.Gosched after each statement that locks something. Lines stay where they are. It is false if there is no
// such statement, or cgo translates the file.
func yielding(text []byte) ([]byte, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil || slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
		return nil, false
	}
	const name = "hone_runtime"
	var ends []int // of the statements
	add := func(list []ast.Stmt) {
		for _, stmt := range list {
			x, ok := stmt.(*ast.ExprStmt)
			if !ok {
				continue
			}
			call, ok := x.X.(*ast.CallExpr)
			if !ok || len(call.Args) > 0 {
				continue
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Lock" || sel.Sel.Name == "RLock") {
				ends = append(ends, fset.PositionFor(stmt.End(), false).Offset)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			add(n.List)
		case *ast.CaseClause:
			add(n.Body)
		case *ast.CommClause:
			add(n.Body)
		}
		return true
	})
	if len(ends) == 0 {
		return nil, false
	}
	slices.Sort(ends)
	var out strings.Builder
	from := fset.PositionFor(f.Name.End(), false).Offset
	fmt.Fprintf(&out, "%s; import %s \"runtime\"", text[:from], name)
	for _, end := range ends {
		fmt.Fprintf(&out, "%s; %s.Gosched()", text[from:end], name)
		from = end
	}
	out.Write(text[from:])
	return []byte(out.String()), true
}
