package edit

import (
	"go/ast"
	"go/token"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// Hoisted moves an expression into a variable of the package. Where the function keeps it in a variable of its own that is
// used for nothing else, that one goes.
func Hoisted(f *code.Func, e ast.Expr, name string) []Edit {
	decl := Declare(f, "var "+name+" = "+f.Src(e))
	assign, ok := f.Parent(e).(*ast.AssignStmt)
	if ok && assign.Tok == token.DEFINE && len(assign.Lhs) == 1 && f.Statement(assign) == assign {
		if v := f.Local(assign.Lhs[0]); v != nil && flow.OnlyRead(f, v, assign) {
			edits := []Edit{decl, New(assign.Pos(), NextLine(f, assign), "")}
			for _, id := range f.Uses(v) {
				edits = append(edits, Replace(id, name))
			}
			return edits
		}
	}
	return []Edit{decl, Replace(e, name)}
}
