package advise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"time"
)

// newer reports whether the file was written after a time.
func (f *file) newer(than time.Time) bool {
	st, err := os.Stat(f.path)
	return err == nil && st.ModTime().After(than)
}

// moved finds where a line of an older version of the file is now: in the function of the same name, if its text is the same.
func (f *file) moved(was []string, line int) (decl *ast.FuncDecl, now int, ok bool) {
	set := token.NewFileSet()
	old, err := parser.ParseFile(set, "", strings.Join(was, "\n")+"\n", parser.SkipObjectResolution)
	if old == nil || err != nil {
		return nil, 0, false
	}
	tok := set.File(old.FileStart)
	for _, d := range old.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Body == nil || line < tok.Line(fn.Pos()) || line > tok.Line(fn.End()) {
			continue
		}
		from, to := tok.Line(fn.Pos()), tok.Line(fn.End())
		text := strings.Join(was[from-1:to], "\n")
		lines := strings.Split(strings.ReplaceAll(string(f.text), "\r\n", "\n"), "\n")
		for _, d := range f.ast.Decls {
			cand, isFunc := d.(*ast.FuncDecl)
			if !isFunc || cand.Body == nil || cand.Name.Name != fn.Name.Name {
				continue
			}
			a, b := f.tok.Line(cand.Pos()), f.tok.Line(cand.End())
			if strings.Join(lines[a-1:b], "\n") == text {
				return cand, line - from + a, true
			}
		}
	}
	return nil, 0, false
}
