package lists

import (
	"go/ast"
	"go/types"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// A Join is a list of texts that is there to be joined, and nothing else.
type Join struct {
	List *types.Var
	Decl ast.Stmt
	All  []*ast.AssignStmt // that append to it
	Call *ast.CallExpr     // of strings.Join
}

// JoinOf returns what is done with a list of texts that is empty at first, appended to, and joined, or nil.
func JoinOf(f *code.Func, list *types.Var) *Join {
	if t, ok := types.Unalias(list.Type()).(*types.Slice); !ok || !types.Identical(t.Elem(), types.Typ[types.String]) {
		return nil
	}
	decl, value := f.Declared(list)
	if decl == nil || !isEmpty(f, decl, value) || flow.Captured(f, list, f.Decl.Body) {
		return nil
	}
	j := &Join{List: list, Decl: decl}
	known := 0
	for _, id := range f.Uses(list) {
		switch up := f.Parent(id).(type) {
		case *ast.AssignStmt:
			if f.Local(up.Lhs[0]) != list || Added(f, up) == nil || f.Statement(up) != ast.Stmt(up) {
				return nil
			}
			j.All = append(j.All, up)
			known += 2 // it is named on both sides
		case *ast.CallExpr:
			if f.Calls(up, "strings.Join") != nil && up.Args[0] == ast.Expr(id) && j.Call == nil {
				j.Call = up
				known++
			}
		}
	}
	if j.Call == nil || len(j.All) == 0 || known != len(f.Uses(list)) || f.Loop(decl) != f.Loop(j.Call) {
		return nil
	}
	return j
}
